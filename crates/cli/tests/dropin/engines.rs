//! How bytes are moved: without copies, in pieces, from and to files.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::capture::Capture;
use crate::support::{Directory, Server, client, report, run, server_report};

#[test]
fn zero_copy_sends_with_sendfile() {
    let json = report("-Z -n 8M");
    assert_engine(&json, "sendfile");
    assert_eq!(json["end"]["sum_received"]["bytes"], 8 << 20);
    // The server sends so too.
    let of_the_server = server_report("-Z -R -n 8M");
    assert_engine(&of_the_server, "sendfile");
}

#[test]
fn a_receiver_skips_the_copy() {
    let json = report("--skip-rx-copy -R -n 8M");
    assert_engine(&json, "msg-trunc");
    assert!(json["end"]["sum_received"]["bytes"].as_u64() >= Some(8 << 20), "{json:#}");
    assert_engine(&server_report("--skip-rx-copy -n 8M"), "msg-trunc");
}

#[test]
fn datagrams_go_and_come_in_pieces() {
    let server = Server::start("-J -1");
    let capture = Capture::on_loopback(&format!("udp port {}", server.port));
    let finished = run(client(server.port, "-u --gsro -l 1000 -k 500 -b 200M -J"));
    finished.assert_success();
    let json = finished.json();
    assert_engine(&json, "gso");
    assert_engine(&server.running.finish().json(), "gro");
    assert_eq!(json["end"]["sum"]["packets"], 500);
    // Loopback carries a piece as one packet.
    if let Some(capture) = capture {
        let longest = capture.packets().iter().map(|packet| packet.length).max();
        assert!(longest > Some(1000), "{longest:?}");
    }
}

#[test]
fn a_file_is_sent_and_received_as_it_is() {
    for direction in ["", "-R"] {
        let directory = Directory::new(&format!("file{direction}"));
        let (there, here) = (directory.file("there"), directory.file("here"));
        let contents: Vec<u8> = (0..1_000_003_u32).map(|n| (n % 251).to_le_bytes()[0]).collect();
        let (source, target) = if direction.is_empty() { (&here, &there) } else { (&there, &here) };
        fs::write(source, &contents).expect("a file");
        let server = Server::start(&format!("-F {}", there.display()));
        let options = format!("-F {} {direction} -l 8K -J", here.display());
        let options = if direction.is_empty() { options } else { format!("{options} -n 1000003") };
        let finished = run(client(server.port, &options));
        finished.assert_success();
        assert_begins_with(target, &contents);
    }
    let finished = run(client(1, "-F /dev/null -u"));
    finished.assert_usage("cannot transfer file using UDP");
    let server = Server::start("");
    let finished = run(client(server.port, "-F /nonexistent/file"));
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stderr.contains("/nonexistent/file"), "{finished:?}");
}

/// What was received is all of the contents, once at least.
fn assert_begins_with(path: &Path, contents: &[u8]) {
    let received = fs::read(path).expect("a file");
    let length = received.len().min(contents.len());
    assert_eq!(received.len(), contents.len(), "{}", path.display());
    assert!(received[..length] == contents[..length], "{} differs", path.display());
}

fn assert_engine(json: &Value, engine: &str) {
    let streams = json["linerate"]["streams"].as_array().expect("streams");
    assert!(
        !streams.is_empty() && streams.iter().all(|stream| stream["engine"] == engine),
        "{streams:#?}"
    );
}
