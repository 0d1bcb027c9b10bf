//! What a server does not let its clients do.

use std::time::Duration;

use crate::support::{Server, client, free_port, iperf3, run, side_by_side};

#[test]
fn a_rate_above_the_limit_is_refused() {
    let server = Server::start("--server-bitrate-limit 50M");
    let refused = run(client(server.port, "-b 30M -P 2 -t 20"));
    refused.assert_relayed("total required bandwidth is larger than server limit");
    assert_eq!(refused.stdout, format!("Connecting to host 127.0.0.1, port {}\n", server.port));
    let json = run(client(server.port, "-b 30M -P 2 -J")).json();
    assert_eq!(json["error"], "total required bandwidth is larger than server limit");
    for key in ["connecting_to", "cookie", "timestamp", "tcp_mss_default"] {
        assert!(json["start"].get(key).is_some(), "{key}: {json:#}");
    }
    run(client(server.port, "-b 20M -P 2 -t 1")).assert_success();
}

#[test]
fn a_test_that_exceeds_the_limit_is_stopped() {
    side_by_side(["", "-R"], |direction| {
        let server = Server::start("--server-bitrate-limit 50M/1");
        let finished = run(client(server.port, &format!("-t 20 {direction}")));
        finished.assert_relayed("total required bandwidth is larger than server limit");
        assert!(finished.stdout.contains("connected to"), "{finished:?}");
        assert!(finished.took < Duration::from_secs(12), "{finished:?}");
        run(client(server.port, "-b 10M -t 1")).assert_success();
    });
}

#[test]
fn a_duration_above_the_limit_is_refused() {
    let server = Server::start("--server-max-duration 2");
    let finished = run(client(server.port, "-t 5"));
    let limit = "client's requested duration exceeds the server's maximum permitted limit";
    finished.assert_relayed(limit);
    run(client(server.port, "-t 1")).assert_success();
}

#[test]
fn a_test_without_a_duration_is_stopped_at_the_limit() {
    let server = Server::start("--server-max-duration 2");
    let finished = run(client(server.port, "-n 100G -b 10M"));
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.took < Duration::from_secs(12), "{finished:?}");
    run(client(server.port, "-t 1")).assert_success();
}

#[test]
fn a_server_for_one_client_ends_when_nobody_comes() {
    let finished = run(iperf3(&format!("-s -1 -p {} --idle-timeout 1", free_port())));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.took >= Duration::from_millis(900), "{finished:?}");
}

#[test]
fn a_server_that_nobody_comes_to_listens_on() {
    let mut server = Server::start("--idle-timeout 1");
    // Idle for longer than that.
    std::thread::sleep(Duration::from_millis(1500));
    assert!(server.running.is_running());
    run(client(server.port, "-n 1M")).assert_success();
}

#[test]
fn the_object_of_a_refused_test_has_the_rate_that_was_asked_for() {
    let server = Server::start("-1 -J --server-bitrate-limit 1M");
    run(client(server.port, "-b 2M"));
    let json = server.running.finish().json();
    assert_eq!(json["start"]["target_bitrate"], 2_000_000, "{json:#}");
    assert_eq!(json["end"], serde_json::json!({}), "{json:#}");
}
