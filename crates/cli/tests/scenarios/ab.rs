//! A/B tests: two settings in turn over loopback, and what cannot be compared. Whether a difference is
//! found rightly is a measurement (`cargo xtask proof ab`), unless it is one of many times.

use std::path::Path;

use crate::support::{
    Directory, Finished, Running, Server, eventually, linerate, linerate_on, link, list, run,
    shell, skip,
};

fn ab(server: &Server, options: &str) -> Finished {
    run(linerate(&server.arguments("ab", &format!("-q {options}"))))
}

#[test]
fn many_times_the_rate_is_found_at_the_first_look() {
    let (server, directory) = (Server::start(), Directory::new("ab"));
    let file = directory.file("ab.json");
    let options = "--a=-b1M --b=-b20M -t 200ms --pairs 8 --seed 4";
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
    finished.assert_prints(&["A/B test, TCP receive", "RESULT"]);
}

#[test]
fn a_program_reads_one_line() {
    let server = Server::start();
    let finished = ab(&server, "--b= -b 20M -t 100ms --pairs 4 --margin 50% --format json-compact");
    assert_eq!(finished.stdout.lines().count(), 1, "{finished:?}");
    assert_eq!(finished.json()["schema"], "linerate/ab/1");
}

#[test]
fn a_change_of_a_side_is_made_and_undone_between_the_tests() {
    let Some(link) = link() else { return };
    let features = || {
        let output = link.near.command("ethtool").args(["-k", "near0"]).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let Ok(before) = features() else { return };
    let (_server, state) = (Server::start_on(&link.far, ""), Directory::new("ab-change"));
    let journal = state.path().join("state");
    let options = format!("-q -t 200ms --pairs 4 --json --state {}", journal.display());
    let mut command = linerate_on(&link.near, &format!("ab {} {options}", link.far.ipv4()));
    for change in ["ethtool -K near0 tso off", "ethtool -K near0 gso off"] {
        command.args(["--b-change", change]);
    }
    let finished = run(command);
    finished.assert_success();
    let record = finished.json();
    let changes = ["ethtool -K near0 tso off", "ethtool -K near0 gso off"];
    assert_eq!(record["b"]["changes"], serde_json::json!(changes));
    assert!(record["a"]["changes"].is_null());
    assert_eq!(features().expect("ethtool(8)"), before);
    assert!(!journal.join("tuning.journal").exists());
}

#[test]
fn a_change_is_undone_when_the_ab_test_is_killed() {
    let Some(link) = link() else { return };
    let (_server, state) = (Server::start_on(&link.far, ""), Directory::new("ab-kill"));
    let journal = state.path().join("state");
    let options = format!("-q -t 2s --state {}", journal.display());
    let mut command = linerate_on(&link.near, &format!("ab {} {options}", link.far.ipv4()));
    command.args(["--b-change", "sysctl -w net.ipv4.tcp_sack=0"]);
    let running = Running::start(command);
    let is_changed = || shell(&link.near, "sysctl net.ipv4.tcp_sack | grep -q '= 0'");
    eventually("change", is_changed);
    running.signal("KILL");
    eventually("undone change", || !is_changed());
    assert_eq!(running.finish().code, None);
}

#[test]
fn two_servers_are_compared() {
    let (one, other) = (Server::start(), Server::start());
    let server = format!("127.0.0.1:{}", other.address.port());
    let options = format!("--b-host {server} -b 20M -t 200ms --pairs 4 --margin 50% --json");
    let finished = ab(&one, &options);
    finished.assert_success();
    let record = finished.json();
    assert_eq!(record["b"]["server"], server);
    assert!(record["finding"].is_string(), "{record:#}");
    let records = list(&record["records"]);
    let port =
        |record: &serde_json::Value| record["streams"][0]["peer"].as_str().map(str::to_owned);
    let ports: std::collections::BTreeSet<_> = records.iter().filter_map(port).collect();
    assert_eq!(ports.len(), 2, "{record:#}");
}

/// Each of them speaks to the same linerate, as a process of its own.
#[test]
fn a_linerate_and_an_iperf3_are_compared() {
    if std::process::Command::new("iperf3").arg("--version").output().is_err() {
        return skip("no iperf3 is installed").unwrap_or_default();
    }
    let server = Server::start();
    let own = env!("CARGO_BIN_EXE_linerate");
    let programs = format!("--a-program {own} --b-program iperf3");
    let finished = ab(&server, &format!("{programs} -b 20M -t 1s --pairs 4 --margin 50% --json"));
    finished.assert_success();
    let record = finished.json();
    assert!(record["finding"].is_string(), "{record:#}");
    assert_eq!((&record["a"]["program"], &record["b"]["program"]), (&own.into(), &"iperf3".into()));
    let rate = record["b"]["rate_bits_per_second"].as_f64().expect("a rate");
    assert!(rate > 0.0, "{record:#}");
    let of = |side: &str| {
        list(&record["records"]).iter().filter(|one| one["tags"]["ab"] == side).count()
    };
    assert!(of("A") >= 4 && of("A") == of("B"), "{record:#}");
}

#[test]
fn a_program_that_fails_is_told_in_a_sentence() {
    if std::process::Command::new("iperf3").arg("--version").output().is_err() {
        return;
    }
    let finished = run(linerate("ab 127.0.0.1:1 -q -t 1s --b-program iperf3 --a-program iperf3"));
    finished.assert_complaint(1, &["iperf3: unable to connect to server"]);
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
    refused("--b-change reboot", "no command that linerate knows: reboot");
    refused(
        "--b-program /bin/true",
        "--b-program /bin/true: it is neither an iperf3 nor a linerate",
    );
    refused("--b-program /nowhere/x", "--b-program /nowhere/x: no such file or directory");
    let own = env!("CARGO_BIN_EXE_linerate");
    refused(&format!("--b-program {own} --latency"), "leave --latency out");
    refused(&format!("--b-program {own} -t 300ms"), "it takes whole seconds");
    let mut command = linerate(&format!("ab 127.0.0.1 -q --b-program {own}"));
    command.args(["--a-change", "sysctl -w net.core.rmem_max=1"]);
    run(command).assert_complaint(2, &["whether a change cut the connection"]);
    let mut command = linerate("ab 127.0.0.1 -q");
    command.args(["--b-change", "-w 4M"]);
    run(command).assert_complaint(2, &["-w 4M is an option of the test: type --b '-w 4M'"]);
    refused("--b=--help", "--b: help and version are no settings");
    refused("--b=-N --margin 0", "choose between 0.1% and 50%");
    refused("--b=-N --pairs 2", "choose between 4 and 1000");
    refused("--b=-N --format flent", "shows single tests only");
    run(linerate("ab 127.0.0.1:1 -q --b=-N")).assert_complaint(1, &["refused"]);
}
