//! How a server lives.

use std::fs;
use std::net::Ipv4Addr;
use std::time::Duration;

use crate::evidence::{listeners, parent, session};
use crate::peer::Control;
use crate::support::{
    Directory, Server, client, eventually, free_port, iperf3, run, signal, until,
};

#[test]
fn a_server_serves_one_client_after_another() {
    let mut server = Server::start("");
    for _ in 0..3 {
        run(client(server.port, "-n 1M")).assert_success();
    }
    assert!(server.running.is_running());
    let text = server.stop().stdout;
    assert!(text.contains("(test #1)") && text.contains("(test #4)"), "{text}");
}

#[test]
fn a_server_with_one_off_ends_after_one_client() {
    for flag in ["-1", "--one-off"] {
        let server = Server::start(flag);
        run(client(server.port, "-n 1M")).assert_success();
        server.running.finish().assert_success();
    }
}

#[test]
fn a_server_for_one_client_ends_after_one_that_got_no_test() {
    let server = Server::start("-1 --server-max-duration 1");
    run(client(server.port, "-t 5")).assert_relayed("maximum permitted limit");
    let finished = server.running.finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stderr.contains("maximum permitted limit"), "{finished:?}");
    for garbage in [&b"GET / HTTP/1.1\r\nHost: somewhere.invalid\r\n\r\n"[..], b"x", b""] {
        let server = Server::start("-1");
        let mut stranger = Control::connect((Ipv4Addr::LOCALHOST, server.port).into());
        stranger.write(garbage);
        drop(stranger);
        assert_eq!(server.running.finish().code, Some(0));
    }
}

#[test]
fn a_daemon_goes_on_without_its_parent() {
    let directory = Directory::new("daemon");
    let [pidfile, log] = ["pid", "log"].map(|name| directory.file(name));
    let port = free_port();
    let files = format!("-I {} --logfile {}", pidfile.display(), log.display());
    let finished = run(iperf3(&format!("-s -D -1 -p {port} {files}")));
    finished.assert_success();
    assert!(finished.took < Duration::from_secs(10), "{:?}", finished.took);
    let pid = until("number of the daemon", || fs::read_to_string(&pidfile).ok()?.parse().ok());
    let daemon = Daemon(pid);
    eventually("listener", || !listeners(pid, port).is_empty());
    assert_ne!(parent(pid), Some(std::process::id()));
    assert_ne!(session(pid), session(std::process::id()), "it would end with this terminal");
    run(client(port, "-n 1M")).assert_success();
    eventually("end of the daemon", || parent(pid).is_none());
    assert!(fs::read_to_string(log).expect("a log").contains("Accepted connection"));
    std::mem::forget(daemon);
}

/// Ends a daemon that a failed test has left behind.
struct Daemon(u32);

impl Drop for Daemon {
    fn drop(&mut self) {
        if parent(self.0).is_some() {
            signal(self.0, "KILL");
        }
    }
}
