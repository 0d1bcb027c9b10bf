//! Whatever goes wrong, one sentence on standard error says what to do about it.

use std::io::{Read, Write, pipe};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use crate::support::{
    Directory, Finished, LINERATE, Running, Server, free_port, json, linerate, linerate_on, link,
    program, run, shell, skip, test, under_way, unprivileged,
};

#[test]
fn an_unknown_host_is_an_error() {
    // On a host of its own the question goes nowhere.
    let Some(link) = link() else { return };
    let finished = run(linerate_on(&link.near, "test no-such-host.invalid"));
    finished.assert_refusal(1, &["cannot find host 'no-such-host.invalid'", "check the name"]);
}

#[test]
fn a_host_without_an_address_of_the_family_is_an_error() {
    run(linerate("test 127.0.0.1 -6")).assert_refusal(1, &["has no IPv6 address"]);
    run(linerate("test ::1 -4")).assert_refusal(1, &["has no IPv4 address"]);
}

#[test]
fn a_full_disk_leaves_the_file_that_was_there() {
    let directory = Directory::new("full-disk");
    let namespace = |script: &str| {
        let mut command = program(Command::new("unshare"));
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]);
        command.arg(&directory.0).arg(LINERATE);
        command
    };
    let mount = "mount -t tmpfs -o size=16k none \"$1\"";
    if run(namespace(mount)).code != Some(0) {
        return skip::<()>("no namespace with a disk of its own").unwrap_or_default();
    }
    // One page is free.
    let fill = "printf old > file && chmod 640 file && head -c 8k /dev/zero > rest";
    let play = "\"$2\" capture --output file; echo \" $?\"; cat file; stat -c ' %a' file; ls -A";
    let finished = run(namespace(&format!("{mount} && cd \"$1\" && {fill} && {play}")));
    assert!(finished.stderr.to_lowercase().contains("no space left on device"), "{finished:?}");
    assert_eq!(finished.stdout, " 1\nold 640\nfile\nrest\n", "{finished:?}");
}

#[test]
fn a_port_that_nobody_listens_on_is_an_error() {
    let port = free_port();
    run(linerate(&format!("test 127.0.0.1 --port {port}"))).assert_refusal(
        1,
        &[&format!("cannot connect to 127.0.0.1:{port}: connection refused"), "linerate serve"],
    );
}

#[test]
fn a_network_without_a_route_is_an_error() {
    let Some(link) = link() else { return };
    // TEST-NET-1 (RFC 5737): the link's hosts know no way there.
    let finished = run(linerate_on(&link.near, "test 192.0.2.1"));
    finished.assert_refusal(1, &["192.0.2.1:5201: network is unreachable", "ip route"]);
}

#[test]
fn a_listener_that_speaks_another_protocol_is_an_error() {
    let finished = against(|mut client| {
        client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").expect("a connection");
        Some(client)
    });
    finished.assert_refusal(1, &["does not speak iperf3's protocol"]);
}

#[test]
fn a_listener_that_closes_at_once_is_an_error() {
    let finished = against(|mut client| {
        // A close with the cookie unread would be a reset, which means a busy iperf3.
        client.read_exact(&mut [0; 37]).expect("a cookie");
        None
    });
    finished.assert_refusal(1, &["closed the control connection"]);
}

#[test]
fn a_host_that_cannot_be_observed_is_named() {
    let server = Server::start();
    let port = free_port();
    let finished = test(&server, &format!("--tcp -t 100ms --observe 127.0.0.1:{port}"));
    let words =
        ["cannot observe 127.0.0.1: cannot connect", "does \"linerate serve --observe\" run"];
    finished.assert_refusal(1, &words);
}

#[test]
fn more_hosts_than_a_record_holds_are_not_observed() {
    let server = Server::start();
    let finished = test(&server, &format!("--observe {}", vec!["127.0.0.1"; 63].join(",")));
    finished.assert_refusal(2, &["--observe takes 62 hosts at most"]);
}

#[test]
fn a_listener_that_says_nothing_is_an_error() {
    let finished = against(Some);
    finished.assert_refusal(1, &["no answer", "does an iperf3 or linerate run there?"]);
    assert!(finished.took < Duration::from_secs(20), "{finished:?}");
}

#[test]
fn a_value_out_of_range_or_unreadable_is_a_usage_error() {
    let cases = [
        ("-b fast", "'fast'"),
        ("-b 10X", "'10X'"),
        ("-n 1Q", "'1Q'"),
        ("-n 0", "choose 1 byte or more"),
        ("-k 0", "choose 1 or more"),
        ("-k -1", "'-1'"),
        ("-l 2M", "choose between 1 byte and 1,048,576 bytes"),
        ("-u -l 15", "choose between 16 bytes and 65,507 bytes"),
        ("-u -l 65508", "choose between 16 bytes and 65,507 bytes"),
        ("-t 0", "choose between"),
        ("-t soon", "'soon'"),
        ("-t -5", "'-5'"),
        ("-t 2d", "'2d'"),
        ("-O 601s", "choose between 0s and 600s"),
        ("-i 1ms", "choose between 10ms and 3600s"),
        ("-P 0", "choose between 1 and 131,070"),
        ("-P 131071", "choose between 1 and 131,070"),
        ("--bidir -P 65536", "choose between 1 and 65,535"),
        ("-P many", "'many'"),
        ("-B 127.0.0.1,::1", "--bind has IPv4 and IPv6 (127.0.0.1, ::1)"),
        ("-w 1G", "choose between 1 byte and"),
        ("-M 40", "choose between 88 bytes and"),
        ("-C a-name-that-is-too-long", "no congestion control 'a-name-that-is-too-long' here"),
        ("-p 65536", "'65536'"),
        ("-B here", "'here'"),
        ("--repeat 0", "'0'"),
        ("--cpus 1023", "CPU 1023"),
        ("--cpus 3-1", "'3-1'"),
        ("--cpus cores,1", "'cores' cannot be combined"),
        ("--cpus away-from:", "as in away-from:eth0"),
        ("--cpus away-from:nope", "no interface has the name 'nope'"),
        ("--pacing even", "--pacing needs a rate: add -b RATE"),
        ("-b 0 --pacing smooth", "--pacing needs a rate: add -b RATE"),
        ("--tcp -b 1M --pacing even", "type --udp"),
        ("--tag site", "site=lab"),
        ("--color purple", "auto, always or never"),
        ("--connect-timeout x", "'x'"),
    ];
    for (options, words) in cases {
        run(linerate(&format!("test 127.0.0.1 {options}"))).assert_refusal(2, &[words]);
    }
}

#[test]
fn flags_that_contradict_each_other_are_a_usage_error() {
    let cases = [
        ("--tcp --udp", ["'--tcp'", "'--udp'"]),
        ("--send --receive", ["'--send'", "'--receive'"]),
        ("--bidir --send", ["'--bidir'", "'--send'"]),
        ("-n 1M -t 1s", ["'--time'", "'--bytes'"]),
        ("-k 5 -n 1M", ["'--blocks'", "'--bytes'"]),
        ("-4 -6", ["'--ipv4'", "'--ipv6'"]),
        ("-q -v", ["'--quiet'", "'--verbose'"]),
    ];
    for (options, words) in cases {
        run(linerate(&format!("test 127.0.0.1 {options}"))).assert_refusal(2, &words);
    }
}

#[test]
fn a_command_line_that_makes_no_sense_is_a_usage_error() {
    let cases = [
        ("test", "type linerate test HOST"),
        ("test 127.0.0.1 --sned", "'--sned'"),
        ("tset 127.0.0.1", "did you mean linerate test?"),
        ("serve --bind everywhere", "'everywhere'"),
        ("serve 127.0.0.1", "type --bind 127.0.0.1"),
        ("completions tcsh", "bash, elvish, fish, powershell or zsh"),
        ("demo --link-rate 0", "choose --link-rate"),
        ("demo --time 0", "choose between"),
    ];
    for (arguments, words) in cases {
        run(linerate(arguments)).assert_refusal(2, &[words]);
    }
}

#[test]
fn without_a_command_the_help_stands_on_standard_error() {
    let finished = run(linerate(""));
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(2), ""), "{finished:?}");
    assert!(finished.stderr.contains("Examples:"), "{finished:?}");
}

#[test]
fn an_address_that_is_not_local_is_an_error() {
    let server = Server::start();
    test(&server, "--bind 192.0.2.1").assert_refusal(1, &["check the address given with --bind"]);
    test(&server, "--bind ::1").assert_refusal(1, &["of the same family", "--bind"]);
    run(linerate("serve --port 0 --bind 192.0.2.1"))
        .assert_refusal(1, &["cannot listen on 192.0.2.1:0", "no interface has that address"]);
}

#[test]
fn a_port_in_use_is_an_error() {
    let server = Server::start();
    let port = server.address.port();
    run(linerate(&format!("serve --bind 127.0.0.1 --port {port}"))).assert_refusal(
        1,
        &[&format!("cannot listen on 127.0.0.1:{port}: address already in use"), "--port"],
    );
}

#[test]
fn a_privileged_port_is_an_error() {
    let first = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    if first.is_ok_and(|text| text.trim().parse::<u16>().is_ok_and(|first| first <= 80)) {
        return skip("port 80 is for everybody here").unwrap_or_default();
    }
    let Some(command) = unprivileged("serve --bind 127.0.0.1 --port 80") else { return };
    run(command).assert_refusal(1, &["127.0.0.1:80: permission denied", "choose a higher --port"]);
}

#[test]
fn a_busy_server_is_an_error_of_its_own_code() {
    let server = Server::start_with("--bind 127.0.0.1 --one-at-a-time");
    let other = under_way(&server, "--tcp --send -t 20s");
    let finished = test(&server, "--json");
    finished.assert_complaint(5, &["the server is busy with another test; try again"]);
    assert_eq!(finished.json()["error"]["kind"], "busy");
    assert!(finished.took < Duration::from_secs(5), "{finished:?}");
    server.line_with("not served: busy");
    drop(other);
    server.line_with("closed");
    json(&server, "--tcp --send -t 100ms");
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_before_the_test() {
    let directory = Directory::new("unwritable");
    let missing = directory.file("missing").join("record.json");
    let taken = directory.file("taken");
    std::fs::create_dir(&taken).expect("a directory");
    // Nobody listens there, which a test would find first.
    let port = free_port();
    for file in [missing, taken] {
        for command in ["test", "latency", "diagnose"] {
            let mut command = linerate(&format!("{command} 127.0.0.1 --port {port} --output"));
            command.arg(&file);
            let sentence = format!("cannot write {}: ", file.display());
            run(command).assert_refusal(2, &[&sentence, "choose another file"]);
        }
        assert_eq!(directory.names(), ["taken"], "no half-written file");
    }
}

#[test]
fn a_test_that_fails_leaves_the_file_of_an_earlier_one() {
    let directory = Directory::new("earlier");
    let file = directory.file("record.json");
    std::fs::write(&file, "an earlier record").expect("a file");
    let mut command = linerate(&format!("test 127.0.0.1 --port {} --output", free_port()));
    command.arg(&file);
    run(command).assert_refusal(1, &["cannot connect"]);
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "an earlier record");
    assert_eq!(directory.names(), ["record.json"]);
}

#[test]
fn programs_get_errors_as_json_too() {
    let port = free_port();
    let cases = [
        ("test 127.0.0.1 --json --nonesuch", 2, "usage"),
        ("test 127.0.0.1 --json -t 0", 2, "usage"),
        ("test 127.0.0.1 --format json-compact --tcp --max-loss 1%", 2, "usage"),
        (&format!("test 127.0.0.1 --port {port} --json"), 1, "unreachable"),
        (&format!("latency 127.0.0.1 --port {port} --json"), 1, "unreachable"),
        ("explain nonesuch --json", 1, "failed"),
    ];
    for (line, code, kind) in cases {
        let finished = run(linerate(line));
        finished.assert_complaint(code, &[]);
        let error = &finished.json()["error"];
        assert_eq!((&error["kind"], &error["exit_code"]), (&kind.into(), &code.into()), "{line}");
        let message = error["message"].as_str().expect("a sentence");
        assert_eq!(finished.stderr, format!("linerate: {message}\n"));
    }
    run(linerate("test 127.0.0.1 --nonesuch")).assert_refusal(2, &["'--nonesuch'"]);
}

#[test]
fn what_is_required_of_rows_decides_the_exit_code() {
    let server = Server::start();
    let one = "--tcp --send -t 100ms";
    let missed = test(&server, &format!("{one} --min-rate 90T --max-latency 1us"));
    assert_eq!(missed.code, Some(4), "{missed:?}");
    missed.assert_prints(&["TCP send"]);
    let lines: Vec<_> = missed.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{missed:?}");
    assert!(lines[0].starts_with("required: TCP send delivered "), "{lines:?}");
    assert!(lines[0].ends_with(", less than --min-rate 90.00 Tbit/s"), "{lines:?}");
    assert!(lines[1].ends_with(", more than --max-latency 1us"), "{lines:?}");
    test(&server, &format!("{one} --min-rate 1K --max-latency 60s")).assert_success();
    test(&server, "-u -R -b 1M -t 100ms --max-loss 100%").assert_success();
}

#[test]
fn what_no_row_can_tell_is_a_usage_error() {
    let cases = [
        ("test 127.0.0.1 --tcp --max-loss 0.1%", "--max-loss needs datagrams"),
        ("test 127.0.0.1 --udp --max-latency 5ms", "add --latency"),
        ("latency 127.0.0.1 --only tcp --min-rate 1M", "--min-rate needs a rate"),
        ("test 127.0.0.1 --max-loss 0.1", "a share looks like 0.1%"),
        ("test 127.0.0.1 --require invalid", "did you mean 'valid'"),
    ];
    for (line, words) in cases {
        run(linerate(line)).assert_refusal(2, &[words]);
    }
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let server = Server::start();
    let port = server.address.port();
    let commands = [
        "--help",
        "test --help",
        "--version",
        "man",
        "completions bash",
        &format!("test 127.0.0.1 --port {port} --tcp -t 100ms"),
        &format!("test 127.0.0.1 --port {port} --tcp -t 100ms --json"),
    ];
    for arguments in commands {
        let mut command = linerate(arguments);
        let (reader, writer) = pipe().expect("a pipe");
        drop(reader);
        command.stdout(writer);
        run(command).assert_success();
    }
}

/// A test against a listener that does `answer` with the first connection and keeps
/// what that gives back.
fn against(answer: impl FnOnce(TcpStream) -> Option<TcpStream> + Send + 'static) -> Finished {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let client = Running::start(linerate(&format!("test 127.0.0.1 --port {port} --tcp")));
    let (connection, _) = listener.accept().expect("a connection");
    let kept = answer(connection);
    let finished = client.finish_within(Duration::from_secs(25));
    drop(kept);
    finished
}

#[test]
fn an_address_that_this_host_has_lost_is_not_the_fault_of_the_other_end() {
    let Some(link) = link() else { return };
    let server = Server::start_on(&link.far, "");
    let words = format!("test {} --tcp --send -b 20M -t 60s", link.far.ipv4());
    let running = Running::start(linerate_on(&link.near, &words));
    server.line_with("begins: ");
    assert!(shell(&link.near, "ip link delete near0"));
    let finished = running.finish();
    let words = format!("this host has lost its address {}", link.near.ipv4());
    assert!(finished.stdout.contains(&words) || finished.stderr.contains(&words), "{finished:?}");
    assert_ne!(finished.code, Some(0));
}
