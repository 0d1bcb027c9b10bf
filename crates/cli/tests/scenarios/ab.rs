//! A/B tests: two settings in turn over loopback, and what cannot be compared.

use std::path::Path;

use crate::support::{Directory, Finished, Server, linerate, run};

fn ab(server: &Server, options: &str) -> Finished {
    run(linerate(&server.arguments("ab", &format!("-q {options}"))))
}

#[test]
fn twice_the_rate_is_found_at_the_first_look() {
    let (server, directory) = (Server::start(), Directory::new("ab"));
    let file = directory.file("ab.json");
    let options = "--a=-b10M --b=-b20M -t 200ms --pairs 8 --seed 4";
    let finished = ab(&server, &format!("{options} --json -o {}", file.display()));
    finished.assert_success();
    let record = finished.json();
    assert_eq!(record["finding"], "faster", "{record:#}");
    // Pairs of which a run lacked CPU may have been repeated.
    assert_eq!(record["pairs"], 4, "{record:#}");
    assert!(record["effect"]["interval"]["low"].as_f64() > Some(1.5), "{record:#}");
    let records = record["records"].as_array().expect("records");
    let of = |side: &str| records.iter().filter(|one| one["tags"]["ab"] == side).count();
    assert_eq!((of("A"), of("B")), (records.len() / 2, records.len() / 2));
    assert!(records.iter().all(|one| (one["tags"]["ab"] == "B") == is_fast(one)), "{record:#}");
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/ab.json");
    let schema = serde_json::from_str(&std::fs::read_to_string(schema).expect("a schema"));
    let schema = jsonschema::validator_for(&schema.expect("JSON")).expect("a schema");
    assert!(schema.is_valid(&record), "{record:#}");
    let stored = std::fs::read_to_string(file).expect("a file");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&stored).expect("JSON"), record);
}

fn is_fast(record: &serde_json::Value) -> bool {
    record["plan"]["options"]["rate_bits_per_second"] == 20_000_000
}

#[test]
fn people_read_a_sentence() {
    let server = Server::start();
    let finished = ab(&server, "--b= -b 20M -R -t 200ms --pairs 4 --margin 50%");
    finished.assert_success();
    finished.assert_prints(&["A/B test, TCP receive", "RESULT", "by less than 50 %"]);
}

#[test]
fn a_program_reads_one_line() {
    let server = Server::start();
    let finished = ab(&server, "--b= -b 20M -t 100ms --pairs 4 --margin 50% --format json-compact");
    assert_eq!(finished.stdout.lines().count(), 1, "{finished:?}");
    assert_eq!(finished.json()["schema"], "linerate/ab/1");
}

#[test]
fn what_cannot_be_compared_is_told_in_a_sentence() {
    let refused = |options: &str, words: &str| {
        run(linerate(&format!("ab 127.0.0.1 -q {options}"))).assert_complaint(2, &[words]);
    };
    refused("", "--b");
    refused("--b=-w4X", "--b: --window: '4X' is not a size");
    refused("--b=-u", "--b: UDP needs a rate");
    refused("--b=--repeat=3", "--b: --repeat");
    for shared in ["--no-evidence", "-o=x.json", "--json", "--min-rate=1G", "--tag=a=b"] {
        refused(&format!("--b={shared}"), "outside of --a and --b");
    }
    refused("--b=--help", "--b: help and version are no settings");
    refused("--b=-N --margin 0", "choose between 0.1% and 50%");
    refused("--b=-N --pairs 2", "choose between 4 and 1000");
    refused("--b=-N --format csv", "choose table, json or json-compact");
    run(linerate("ab 127.0.0.1:1 -q --b=-N")).assert_complaint(1, &["refused"]);
}
