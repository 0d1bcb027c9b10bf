//! The history of runs, and comparisons, as people use them.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::{
    Directory, Finished, Server, client, linerate, list, run, skip, unprivileged,
};

/// Runs a command whose history is in a directory.
fn within(directory: &Directory, mut command: Command) -> Finished {
    command.env("XDG_STATE_HOME", directory.path());
    run(command)
}

/// A short row over loopback.
fn test(directory: &Directory, server: &Server, options: &str) -> Finished {
    let options = format!("--tcp --send -t 100ms --no-evidence --quiet {options}");
    within(directory, client(server, &options))
}

/// The records of a file in the tests of crate report.
fn four_rows() -> String {
    format!("{}/../report/tests/records/four-rows.json", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn runs_are_listed_named_shown_and_exported() {
    let directory = Directory::new("history");
    let server = Server::start();
    let asks = |line: &str| within(&directory, linerate(line));
    for words in ["history", "show", "tag last x", "export", "compare last last~1"] {
        asks(words).assert_refusal(1, &["no test was run yet by this user"]);
    }
    test(&directory, &server, "--tag site=lab").assert_success();
    test(&directory, &server, "").assert_success();
    test(&directory, &server, "--no-store").assert_success();
    let table = asks("history");
    table.assert_success();
    table.assert_prints(&["site=lab", "TCP send", "bit/s", "127.0.0.1"]);
    let runs = asks("history --json").json();
    assert_eq!(list(&runs["runs"]).len(), 2, "{runs}");
    assert_eq!(runs["runs"][0]["id"], 2);
    assert_eq!(runs["runs"][0]["rows"][0]["row"], "TCP send");
    let found = |words: &str| list(&asks(&format!("history --json {words}")).json()["runs"]).len();
    assert_eq!((found("--tag site"), found("--tag site=attic"), found("--row udp")), (1, 0, 0));
    asks("history --tag nosuch").assert_prints(&["no run is there with --tag nosuch", "lists all"]);
    assert_eq!((found("--since 1d"), found("--since 2099-01-01"), found("-n 1")), (2, 0, 1));
    asks("tag last~1 before").assert_success();
    assert_eq!(found("--tag before"), 1);
    let shown = asks("show before --json").json();
    assert_eq!(shown["tags"]["site"], "lab", "{shown}");
    let file = directory.path().join("out.json");
    asks(&format!("export 1 2 -o {}", file.display())).assert_success();
    let both: Value = serde_json::from_slice(&fs::read(&file).expect("a file")).expect("JSON");
    assert_eq!(list(&both["records"]).len(), 2);
    assert_eq!(asks("export --all").stdout.lines().count(), 2);
    let explained = asks("explain last~1");
    explained.assert_prints(&["TCP send"]);
    assert!(
        explained.stderr.starts_with("linerate: this is run 1, linerate test, 20"),
        "{explained:?}"
    );
    for words in ["explain 2", "explain before"] {
        asks(words).assert_prints(&["TCP send"]);
    }
    asks("explain 99").assert_refusal(1, &["there is no run 99"]);
    let long = format!("tag last {}", "x".repeat(65));
    asks(&long).assert_refusal(2, &["at most 64 characters"]);
    asks("show nonesuch").assert_refusal(1, &["no run or tag 'nonesuch'", "linerate history"]);
    asks("show 99").assert_refusal(1, &["there is no run 99"]);
    assert_eq!(asks("history --keep 1").stdout, "1 run deleted\n");
    assert_eq!(found(""), 1);
}

#[test]
fn a_run_that_cannot_be_kept_is_told_on_one_line_and_goes_on() {
    let directory = Directory::new("unkept");
    let server = Server::start();
    let blocked = directory.path().join("file");
    fs::write(&blocked, "no folder").expect("a file");
    let told = |finished: Finished, words: &[&str]| {
        assert!(finished.ran_to_its_end() && finished.stdout.contains("TCP send"), "{finished:?}");
        let [line] = finished.stderr.lines().collect::<Vec<_>>()[..] else {
            panic!("{finished:?}")
        };
        for word in ["the run is not in the history", "--no-store"].iter().chain(words) {
            assert!(line.contains(word), "no '{word}' in {line}");
        }
    };
    let options = "--tcp --send -t 100ms --no-evidence --quiet";
    let mut command = client(&server, options);
    command.env("XDG_STATE_HOME", &blocked);
    told(run(command), &["cannot open the store"]);
    let mut command = client(&server, options);
    command.env_remove("XDG_STATE_HOME").env_remove("HOME");
    told(run(command), &["HOME is not set", "--store"]);
    let foreign = format!("{options} --store {}", blocked.display());
    told(run(client(&server, &foreign)), &["is no store of linerate"]);
    assert_eq!(fs::read_to_string(&blocked).expect("a file"), "no folder");
    let (ip, port) = (server.address.ip(), server.address.port());
    let Some(mut command) = unprivileged(&format!("test {ip} --port {port} {options}")) else {
        return skip::<()>("no user without privileges").unwrap_or_default();
    };
    command.env_remove("LINERATE_NO_STORE").env("XDG_STATE_HOME", Path::new("/proc/1"));
    told(run(command), &["cannot open the store"]);
}

#[test]
fn a_broker_that_does_not_answer_as_one_is_told_in_a_sentence() {
    let rows = four_rows();
    let publish = |broker: &str| run(linerate(&format!("export {rows} --mqtt {broker}")));
    // Packets of MQTT 3.1.1: a length beyond what is taken, and a confirmation of nothing.
    for answer in [&b"\x30\xff\xff\xff\x7f"[..], b"\x20\x02\x00\x00\x40\x02\x00\x63"] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let answered = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            stream.write_all(answer).expect("it reads");
            // Until the client goes away.
            _ = stream.read_to_end(&mut Vec::new());
        });
        let named = format!("cannot publish to {address}");
        let words = [named.as_str(), "does not speak MQTT 3.1.1"];
        publish(&format!("mqtt://{address}")).assert_complaint(1, &words);
        answered.join().expect("no panic");
    }
    let closed =
        TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    publish(&format!("mqtt://{closed}")).assert_complaint(1, &["connection refused"]);
    publish("mqtts://127.0.0.1").assert_complaint(2, &["without TLS"]);
    publish("mqtt://a:b@127.0.0.1").assert_complaint(2, &["LINERATE_MQTT_PASSWORD"]);
}

#[test]
fn a_full_device_is_told_in_words() {
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    for words in ["export", "explain"] {
        let mut command = linerate(&format!("{words} {}", four_rows()));
        let ended = command.stdout(full()).output().expect("it ends");
        let text = String::from_utf8_lossy(&ended.stderr);
        assert!(text.ends_with("cannot print the result: no space left on device\n"), "{text}");
    }
}

#[test]
fn runs_of_other_settings_are_series_of_their_own() {
    let directory = Directory::new("series");
    let server = Server::start();
    for rate in ["5M", "5M", "9M"] {
        test(&directory, &server, &format!("-b {rate}")).assert_success();
    }
    let told = within(&directory, linerate("history --by kernel --json")).json();
    let series: Vec<_> =
        list(&told["series"]).iter().map(|one| one["series"].to_string()).collect();
    assert_eq!(series.len(), 2, "{series:?}");
    let of = |rate: &str| series.iter().filter(|one| one.contains(rate)).count();
    assert_eq!((of("rate_bits_per_second 5000000"), of("rate_bits_per_second 9000000")), (1, 1));
}

#[test]
fn a_comparison_tells_what_it_is_of_and_scripts_get_a_code() {
    let directory = Directory::new("compare");
    let asks = |line: &str| within(&directory, linerate(line));
    let rows = four_rows();
    let one = asks(&format!("compare {rows} {rows}"));
    one.assert_success();
    one.assert_prints(&["UDP receive", "too few runs", "--repeat 5", "Settings that differ: none"]);
    asks(&format!("compare {rows} {rows} --fail-below 5%"))
        .assert_complaint(1, &["too few runs for --fail-below"]);
    let text = fs::read_to_string(&rows).expect("records");
    let set: Value = serde_json::from_str(&text).expect("JSON");
    let sides = [("before", [1.0, 1.01, 0.99]), ("after", [0.8, 0.81, 0.79])];
    for (name, factors) in sides {
        let mut side = set.clone();
        side["summaries"] = Value::Array(Vec::new());
        let scaled = factors.iter().flat_map(|factor| {
            list(&set["records"]).iter().cloned().map(move |record| scale(record, *factor))
        });
        side["records"] = scaled.collect();
        fs::write(directory.path().join(format!("{name}.json")), side.to_string()).expect("a file");
    }
    let file = |name: &str| directory.path().join(format!("{name}.json")).display().to_string();
    let (before, after) = (file("before"), file("after"));
    let worse = asks(&format!("compare {before} {after} --fail-below 5%"));
    assert_eq!(worse.code, Some(4), "{worse:?}");
    assert_eq!(worse.stderr.lines().count(), 4, "{worse:?}");
    assert!(worse.stderr.starts_with("required: TCP send: -20."), "{worse:?}");
    worse.assert_prints(&["worse", "Welch"]);
    asks(&format!("compare {after} {before} --fail-below 5%")).assert_success();
    let table = asks(&format!("compare {before} {after} --format markdown")).stdout;
    let lines: Vec<_> = table.lines().take_while(|line| line.starts_with('|')).collect();
    assert_eq!(lines.len(), 6, "{table}");
    assert!(table.contains("Kernel: "), "{table}");
    let json = asks(&format!("compare {before} {after} --json")).json();
    assert_eq!(json["schema"], "linerate/comparison/1");
    assert_eq!(json["rows"][0]["method"], "welch");
    asks("compare nowhere.json last").assert_refusal(1, &["there is no file nowhere.json"]);
}

/// A record whose rates are others.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates are positive")]
fn scale(mut record: Value, factor: f64) -> Value {
    let directions = record["outcome"]["directions"].as_array_mut().expect("directions");
    for direction in directions {
        for kind in ["delivered", "acknowledged", "offered"] {
            for name in ["rate", "rate_bits_per_second"] {
                if let Some(rate) = direction[kind][name].as_f64() {
                    direction[kind][name] = Value::from((rate * factor).round() as u64);
                }
            }
        }
    }
    record
}
