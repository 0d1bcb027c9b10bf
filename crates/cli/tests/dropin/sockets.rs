//! Options of sockets, as the kernel shows them at both ends.

use std::fs;

use crate::capture::Capture;
use crate::evidence::{connections, is_at_the_server, number_after};
use crate::support::{
    Running, Server, await_words, client, eventually, long_test, run, side_by_side, test,
};

#[test]
fn a_window_is_the_size_of_both_buffers_at_both_ends() {
    // The kernel doubles what it grants (socket(7)).
    assert_streams_have("-w 64K", &["rb131072,", "tb131072,"]);
}

#[test]
fn a_congestion_control_is_that_of_both_ends() {
    let read = |name: &str| {
        fs::read_to_string(format!("/proc/sys/net/ipv4/tcp_{name}")).expect("a setting of TCP")
    };
    let own = read("congestion_control");
    let available = read("available_congestion_control");
    let other = available.split_whitespace().find(|name| *name != own.trim()).unwrap_or("reno");
    assert_streams_have(&format!("-C {other}"), &[&format!(" {other} ")]);
    assert_streams_have(&format!("--congestion {other}"), &[&format!(" {other} ")]);
    test("-C nosuchthing -n 1M").assert_error("TCP_CONGESTION");
}

#[test]
fn a_segment_size_is_announced_and_kept() {
    let server = Server::start("");
    let capture = Capture::on_loopback(&format!("tcp dst port {}", server.port));
    let client = Running::start(client(server.port, "-M 1000 -t 20 -b 10M"));
    let segments = |line: &String| number_after(line, " mss:").is_some_and(|mss| mss <= 1000);
    eventually("a stream of small segments", || connections(server.port).iter().any(segments));
    drop(client);
    let Some(capture) = capture else { return };
    let announced: Vec<_> = capture.packets().iter().filter_map(|packet| packet.segment).collect();
    assert!(announced.contains(&1000), "{announced:?}");
}

#[test]
fn the_kernel_is_told_the_rate_of_fq_rate() {
    assert_streams_have("--fq-rate 20M", &["bps/20000000bps"]);
}

#[test]
fn the_control_connection_is_kept_alive_as_asked() {
    side_by_side(
        [("--cntl-ka=300/2/3", ""), ("", "--cntl-ka=300/2/3"), ("", "--cntl-ka=300")],
        |(of_the_server, of_the_client)| {
            let (server, _client) = long_test(of_the_server, &format!("{of_the_client} -b 1M"));
            let at_the_server = !of_the_server.is_empty();
            // More than a minute is left; the kernel's own would be two hours.
            let kept = |line: &String| {
                line.contains("timer:(keepalive,4min")
                    && is_at_the_server(line, server.port) == at_the_server
            };
            eventually("a timer of keepalive", || connections(server.port).iter().any(kept));
        },
    );
    // iperf3 refuses what would never give up.
    let finished = run(client(1, "--cntl-ka=6/2/3"));
    finished.assert_usage("");
}

#[test]
fn multipath_tcp_is_asked_for_at_both_ends() {
    let enabled = fs::read_to_string("/proc/sys/net/mptcp/enabled").unwrap_or_default();
    if enabled.trim() != "1" {
        let finished = test("-m -n 1M");
        return finished.assert_error("Multipath TCP");
    }
    let server = Server::start("-m");
    let Some(capture) = Capture::on_loopback(&format!("tcp port {}", server.port)) else { return };
    run(client(server.port, "-m -n 1M")).assert_success();
    let packets = capture.packets();
    let asks = |at_the_server: bool| {
        let of_that_end =
            packets.iter().filter(|packet| (packet.from.1 == server.port) == at_the_server);
        of_that_end.filter(|packet| packet.segment.is_some() && packet.multipath).count()
    };
    assert!(asks(false) >= 1, "no SYN of the client asks for it");
    assert!(asks(true) >= 1, "no SYN of the server agrees");
}

#[test]
fn without_delay_each_block_is_a_segment() {
    let Some(with_delay) = whole_blocks("") else { return };
    let without_delay = whole_blocks("-N").expect("a capture");
    assert!(with_delay.joined >= 3, "{with_delay:?}");
    // A sender that a busy machine keeps from a CPU writes several at once later.
    assert!(without_delay.joined < without_delay.single, "{without_delay:?}");
    let (with_delay, without_delay) = (with_delay.mean(), without_delay.mean());
    assert!(with_delay > 1.5 * without_delay, "{with_delay} {without_delay} blocks a segment");
}

/// Segments of one block, segments of several, and the blocks in all of them.
#[derive(Debug, Default)]
struct WholeBlocks {
    single: u64,
    joined: u64,
    blocks: u64,
}

impl WholeBlocks {
    fn mean(&self) -> f64 {
        self.blocks as f64 / (self.single + self.joined) as f64
    }
}

/// The segments of whole blocks. Nothing reads them, so that the kernel delays what it
/// acknowledges, and TCP waits for that (RFC 896) unless `TCP_NODELAY` is set.
fn whole_blocks(option: &str) -> Option<WholeBlocks> {
    let server = Server::start("");
    let capture = Capture::on_loopback(&format!("tcp dst port {}", server.port))?;
    let options = format!("-l 100 -b 400k -t 20 -i 0.2 {option}");
    let client = Running::start(client(server.port, &options));
    await_words(&client, "0.00-0.");
    server.running.signal("STOP");
    let sent = || {
        let lines = connections(server.port);
        let ours = lines.iter().filter(|line| !is_at_the_server(line, server.port));
        ours.filter_map(|line| number_after(line, "bytes_sent:")).sum::<u64>()
    };
    let before = sent();
    eventually("blocks that nobody reads", || sent() > before + 20_000);
    drop(client);
    let mut counted = WholeBlocks::default();
    for packet in capture.packets().iter().filter(|packet| packet.length % 100 == 0) {
        let blocks = u64::try_from(packet.length).expect("a length") / 100;
        counted.blocks += blocks;
        match blocks {
            0 => {}
            1 => counted.single += 1,
            _ => counted.joined += 1,
        }
    }
    Some(counted)
}

/// A stream at each end has all of these words in its line of ss(8).
fn assert_streams_have(options: &str, words: &[&str]) {
    let (server, _client) = long_test("", &format!("{options} -b 10M --bidir"));
    for at_the_server in [false, true] {
        let fits = |line: &String| {
            is_at_the_server(line, server.port) == at_the_server
                && words.iter().all(|word| line.contains(word))
        };
        let what = format!("{words:?} of {options}, at the server: {at_the_server}");
        eventually(&what, || connections(server.port).iter().any(fits));
    }
}
