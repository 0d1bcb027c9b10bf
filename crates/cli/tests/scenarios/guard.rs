//! A server that faces strangers: who is answered, what all clients have together, and what a
//! server tells of them.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{
    Directory, LINERATE, Running, Server, client, json, linerate, list, plain_iperf3, program, run,
    test, under_way, unprivileged,
};

#[test]
fn a_client_whose_address_is_not_admitted_hears_so_and_others_are_served() {
    for access in ["--allow 127.0.0.1", "--deny 127.0.0.0/8 --allow 127.0.0.1/32"] {
        let server = Server::start_with(&format!("--bind 127.0.0.1 {access}"));
        let refused = test(&server, "--tcp --send -t 100ms --bind 127.0.0.2");
        refused.assert_refusal(1, &["does not admit this address", "--allow, --deny"]);
        server.line_with("127.0.0.2:");
        test(&server, "--tcp --send -t 100ms").assert_success();
    }
}

#[test]
fn an_iperf3_whose_address_is_not_admitted_hears_an_error_and_no_silence() {
    let server = Server::start_with("--bind 127.0.0.1 --deny 127.0.0.2");
    let (ip, port) = (server.address.ip(), server.address.port());
    let Some(command) = plain_iperf3(&format!("-c {ip} -p {port} -B 127.0.0.2 -t 1")) else {
        return;
    };
    let finished = run(command);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    // Versions before 3.17 have no words for it.
    let words = ["test authorization failed", "int_errno=142"];
    assert!(words.iter().any(|words| finished.stderr.contains(words)), "{finished:?}");
    server.line_with("its address may not test here (--allow, --deny)");
}

#[test]
fn a_linerate_client_keeps_to_the_limits_that_it_hears_of() {
    let server = Server::start_with("--bind 127.0.0.1 --max-rate 8M --max-time 2s");
    for row in ["--tcp --send", "--tcp --receive", "--udp --receive -b 100M", "--tcp --bidir -P 2"]
    {
        let began = Instant::now();
        let record = json(&server, &format!("{row} -t 20s"));
        assert!(began.elapsed() < Duration::from_secs(12), "{row}");
        assert_eq!(record["outcome"]["ending"]["state"], "completed", "{row}: {record}");
        let directions = list(&record["outcome"]["directions"]);
        let rates = directions.iter().map(|direction| {
            let end = ["delivered", "acknowledged", "offered"].map(|end| &direction[end]);
            let end = end.into_iter().find(|end| !end.is_null()).expect("a rate");
            end["rate_bits_per_second"].as_f64().expect("a number")
        });
        let rate: f64 = rates.sum();
        assert!((2e6..8.8e6).contains(&rate), "{row}: {rate}");
        let notes = record["outcome"]["notes"].to_string();
        assert!(notes.contains("the server allows at most"), "{row}: {notes}");
        assert!(notes.contains("2 s"), "{row}: {notes}");
    }
}

#[test]
fn an_iperf3_that_receives_is_sent_no_more_than_the_limit() {
    let server = Server::start_with("--bind 127.0.0.1 --max-rate 8M");
    let (ip, port) = (server.address.ip(), server.address.port());
    let Some(command) = plain_iperf3(&format!("-c {ip} -p {port} -R -t 2 -J")) else { return };
    let finished = run(command);
    finished.assert_ran_to_its_end();
    let rate = finished.json()["end"]["sum_received"]["bits_per_second"].as_f64().expect("a rate");
    assert!((2e6..9.5e6).contains(&rate), "{rate}");
}

#[test]
fn tests_share_the_rate_of_the_server_and_of_their_prefix() {
    let server = Server::start_with("--bind 127.0.0.1 --max-total-rate 32M,127.0.0.2/32=4M");
    let asked = |record: &Value| {
        let asked = &record["outcome"]["directions"][0]["asked_bits_per_second"];
        asked.as_u64().expect("a rate")
    };
    let own = json(&server, "--tcp --send -t 300ms --bind 127.0.0.2");
    assert_eq!(asked(&own), 2_000_000, "half of its prefix: {own}");
    let first = under_way(&server, "--tcp --send -t 60s --json");
    let second = json(&server, "--tcp --send -t 300ms --bind 127.0.0.3");
    assert_eq!(asked(&second), 8_000_000, "half of what the first leaves");
    first.signal("INT");
    assert_eq!(asked(&first.finish().json()), 16_000_000);
}

#[test]
fn one_address_leaves_rate_to_others_however_many_tests_it_runs() {
    let server = Server::start_with("--bind 127.0.0.1 --max-total-rate 32M");
    let greedy =
        [(); 4].map(|()| under_way(&server, "--tcp --send -t 60s --json --bind 127.0.0.2"));
    let other = json(&server, "--tcp --send -t 300ms --bind 127.0.0.3");
    let asked = &other["outcome"]["directions"][0]["asked_bits_per_second"];
    assert_eq!(asked, 4_500_000, "half of what the other address leaves");
    drop(greedy);
}

#[test]
fn a_server_lists_its_tests() {
    let server = Server::start_with("--bind 127.0.0.1 --max-total-rate 40M");
    let port = server.address.port();
    let status = |options: &str| run(linerate(&format!("serve status --port {port} {options}")));
    let idle = status("");
    idle.assert_success();
    idle.assert_prints(&[&format!("127.0.0.1:{port}: 0 tests")]);
    let running = under_way(&server, "--tcp --receive -P 2 -t 60s --bind 127.0.0.4");
    let listed = status("--json");
    listed.assert_success();
    let test = listed.json()["servers"][0]["tests"][0].take();
    assert!(test["client"].as_str().is_some_and(|client| client.starts_with("127.0.0.4:")));
    assert_eq!(test["test"], "TCP receive, 2 streams", "{test}");
    assert_eq!(
        (&test["state"], &test["limit_bits_per_second"]),
        (&"running".into(), &20_000_000.into())
    );
    let number = |key: &str| test[key].as_f64().unwrap_or_else(|| panic!("no {key}: {test}"));
    assert!((5e6..30e6).contains(&number("rate_bits_per_second")), "{test}");
    assert!((1.0..60.0).contains(&number("seconds_left")), "{test}");
    status("").assert_prints(&["TCP receive, 2 streams", "20.00 Mbit/s", "time left"]);
    drop(running);
}

#[test]
fn a_server_tells_its_tests_only_to_root_and_its_user() {
    let server = Server::start_with("--bind 127.0.0.1");
    let arguments = format!("serve status --port {}", server.address.port());
    let Some(stranger) = unprivileged(&arguments) else { return };
    let finished = run(stranger);
    if finished.code != Some(0) {
        finished.assert_refusal(1, &["answers only root and the user who started it"]);
    }
    let none = run(linerate("serve status --port 1"));
    none.assert_refusal(1, &["no linerate serve runs on port 1"]);
}

#[test]
fn a_socket_that_another_user_has_or_that_is_silent_does_not_fail_the_list() {
    let server = Server::start_with("--bind 127.0.0.1");
    let port = server.address.port();
    let silent = SocketAddr::from_abstract_name(format!("linerate/serve/127.0.0.9:{port}"));
    let silent = UnixListener::bind_addr(&silent.expect("a name")).expect("bound");
    let other = unprivileged(&format!("serve --verbose --bind 127.0.0.8 --port {port}"));
    let other = other.map(Server::spawn);
    let listed = run(linerate(&format!("serve status --port {port}")));
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert!(listed.stdout.contains(&format!("127.0.0.1:{port}: 0 tests")), "{listed:?}");
    let note = format!("cannot ask the server at 127.0.0.9:{port}: timed out\n");
    assert!(listed.stderr.contains(&note), "{listed:?}");
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0);
    if other.is_some() && is_root {
        let note = format!("user 65534 has the socket of the server at 127.0.0.8:{port}: ");
        assert!(listed.stderr.contains(&note), "{listed:?}");
        assert!(!listed.stdout.contains("127.0.0.8"), "{listed:?}");
    }
    drop(silent);
}

#[test]
fn a_one_off_server_gives_its_one_test_all_of_the_rate() {
    let server = Server::start_with("--bind 127.0.0.1 --one-off --max-total-rate 8M");
    let finished = Running::start(client(&server, "--tcp --send -t 300ms --json")).finish();
    finished.assert_ran_to_its_end();
    let asked = &finished.json()["outcome"]["directions"][0]["asked_bits_per_second"];
    assert_eq!(asked, 8_000_000);
    server.finish();
}

#[test]
fn a_server_with_a_key_serves_those_who_have_it_and_nobody_else() {
    let directory = Directory::new("keys");
    let new_key = |name: &str| {
        let file = directory.file(name).display().to_string();
        run(linerate(&format!("key new {file}"))).assert_success();
        file
    };
    let (own, other) = (new_key("own.key"), new_key("other.key"));
    let server = Server::start_with(&format!("--bind 127.0.0.1 --key {own}"));
    for row in ["--tcp", "--udp", "--tcp --bidir -P 3"] {
        test(&server, &format!("{row} -t 100ms --key {own}")).assert_success();
    }
    let keyless = test(&server, "--tcp --send -t 100ms");
    keyless.assert_refusal(1, &["admits only clients that have its key: type --key FILE"]);
    let wrong = test(&server, &format!("--tcp --send -t 100ms --key {other}"));
    wrong.assert_refusal(1, &["its key is another one"]);
    server.line_with("not a user of this server, or without its key");
    let (ip, port) = (server.address.ip(), server.address.port());
    if let Some(command) = plain_iperf3(&format!("-c {ip} -p {port} -t 1")) {
        let finished = run(command);
        assert_eq!(finished.code, Some(1), "{finished:?}");
    }
    let open = Server::start();
    let unknown = test(&open, &format!("--tcp --send -t 100ms --key {own}"));
    unknown.assert_refusal(1, &["it has no key: start it with --key FILE"]);
    // What it logged has no key.
    let key = std::fs::read_to_string(&own).expect("a key");
    let log: String = server.running.lines_from(0).iter().map(|line| line.text.clone()).collect();
    assert!(log.contains("TCP send") && !log.contains(key.trim()), "{log}");
}

#[test]
fn a_client_with_a_key_counts_once_among_the_starts_of_its_address() {
    let directory = Directory::new("key-starts");
    let file = directory.file("lab.key").display().to_string();
    run(linerate(&format!("key new {file}"))).assert_success();
    let server = Server::start_with(&format!("--bind 127.0.0.1 --max-starts 1 --key {file}"));
    let row = format!("--tcp --send -n 1K --connect-timeout 1s --key {file}");
    test(&server, &row).assert_ran_to_its_end();
    // At the same time: a busy machine runs less than one in a second.
    let all: Vec<_> = (0..8).map(|_| Running::start(client(&server, &row))).collect();
    let mut refused = all.into_iter().map(Running::finish).filter(|one| !one.ran_to_its_end());
    refused.next().expect("eight at once").assert_refusal(5, &["the server is busy"]);
}

#[test]
fn a_key_that_does_not_fit_on_the_disk_leaves_no_file() {
    let directory = Directory::new("key-full");
    let file = directory.file("lab.key").display().to_string();
    // As on a full disk a write fails (EFBIG, setrlimit(2)).
    let mut full = program(Command::new("sh"));
    full.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" key new \"$1\"", LINERATE, &file]);
    run(full).assert_refusal(1, &["cannot write the key", "file too large"]);
    assert!(directory.names().is_empty(), "{:?}", directory.names());
    run(linerate(&format!("key new {file}"))).assert_success();
    assert_eq!(directory.names(), ["lab.key"]);
}

#[test]
fn a_record_of_a_test_with_a_key_does_not_contain_it() {
    let directory = Directory::new("key-in-record");
    let file = directory.file("lab.key").display().to_string();
    run(linerate(&format!("key new {file}"))).assert_success();
    let server = Server::start_with(&format!("--bind 127.0.0.1 --key {file}"));
    let finished = test(&server, &format!("--tcp --send -t 100ms --json --key {file}"));
    finished.assert_success();
    let key = std::fs::read_to_string(&file).expect("a key");
    assert!(!finished.stdout.contains(key.trim()));
    let again = run(linerate(&format!("key new {file}")));
    again.assert_refusal(1, &["a key is never overwritten"]);
}
