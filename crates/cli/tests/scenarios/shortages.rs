//! A server that the kernel refuses something while it serves: it ends no more than what needed it,
//! and serves the next client.

use std::process::Command;
use std::time::Duration;

use crate::support::{
    PATIENCE, Running, Server, across, client, eventually, free_port, limited, linerate,
    linerate_on, link, program, run, test,
};

#[test]
fn a_server_that_gets_no_more_memory_for_threads_and_payload_recovers_when_it_does() {
    let server = Server::start_with("--bind 127.0.0.1 --user root");
    test(&server, "--tcp --send -t 100ms").assert_success();
    let idle = rested(&server);
    let all = limit(&server, "as");
    let mut failed = 0;
    // A stack or a payload is refused (ENOMEM, mmap(2)); the heap has room for what is small.
    for spare in [1, 2, 4, 8_u64] {
        set_limit(&server, "as", &(address_space(&server) + (spare << 20)).to_string());
        let refused = run(client(&server, "--tcp --receive -t 100ms -P 64 -l 1M"));
        failed += u32::from(!refused.ran_to_its_end());
        set_limit(&server, "as", &all);
        test(&server, "--tcp --receive -t 100ms -P 3").assert_success();
        assert_eq!(rested(&server), idle, "with {spare}");
    }
    assert!(failed > 0, "memory was enough");
}

#[test]
fn a_server_whose_datagrams_are_too_long_for_the_path_serves_the_next_client() {
    let Some(link) = link() else { return };
    let server = Server::start_on(&link.far, "");
    let to = link.far.ipv4();
    let options = "-u -R -b 10M -l 9000 -t 1 --dont-fragment";
    // Nothing arrives (EMSGSIZE, ip(7)), or the server says why it ended the test.
    let finished = run(linerate_on(&link.near, &format!("iperf3 -c {to} {options} --json")));
    assert!(finished.took < PATIENCE, "{finished:?}");
    server.line_with("UDP receive");
    across(&link, "test", "--udp --receive -b 10M -t 200ms").assert_success();
}

#[test]
fn one_stream_works_with_sixteen_files_at_both_ends() {
    let few = |words: &str| limited("-n 16", &linerate(words));
    for (client, says) in [
        ("iperf3 -n 1M -c 127.0.0.1", "iperf Done."),
        ("iperf3 -n 1M -R -c 127.0.0.1", "iperf Done."),
        ("iperf3 -n 100K -u -b 5M -c 127.0.0.1", "iperf Done."),
        ("test --tcp --send -t 200ms 127.0.0.1", "TCP send"),
    ] {
        let port = free_port();
        let server = few(&format!("iperf3 -s -1 -B 127.0.0.1 -p {port}"));
        let server = Running::start_listening(server, port);
        let finished = run(few(&format!("{client} -p {port}")));
        finished.assert_success();
        finished.assert_prints(&[says]);
        assert_eq!(server.finish().code, Some(0), "{client}");
    }
}

/// Threads and descriptors of a server without a client, when those of the last one are gone.
fn rested(server: &Server) -> (u64, usize) {
    let usage = server.running.usage();
    let now = || Some((usage.threads()?, usage.descriptors()?));
    let mut last = None;
    eventually("server at rest", || {
        let before = std::mem::replace(&mut last, now());
        std::thread::sleep(Duration::from_millis(200));
        before.is_some() && before == now()
    });
    last.expect("it runs")
}

/// The soft limit of a resource (prlimit(1)).
fn limit(server: &Server, resource: &str) -> String {
    let asked =
        prlimit(server, &[&format!("--{resource}"), "--raw", "--noheadings", "--output=SOFT"]);
    asked.trim().to_owned()
}

fn set_limit(server: &Server, resource: &str, soft: &str) {
    prlimit(server, &[&format!("--{resource}={soft}:")]);
}

fn prlimit(server: &Server, words: &[&str]) -> String {
    let mut command = program(Command::new("prlimit"));
    command.args(["--pid", &server.running.id().to_string()]).args(words);
    let finished = run(command);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    finished.stdout
}

/// Bytes that a process has mapped (`VmSize`, proc_pid_status(5)).
fn address_space(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.running.id()));
    let status = status.expect("a process of ours");
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}
