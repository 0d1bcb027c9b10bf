//! Long logs: memory and time. Limits are generous; `cargo xtask bench import` measures.

use std::fmt::Write;
use std::time::Duration;

use linerate_report::import::transcript::runs;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// One test, since memory is that of the process.
#[test]
fn long_texts_take_memory_and_time_in_proportion() {
    // A client that ran for days; runs one after another; braces in one another; lines of a letter;
    // rates that turn out to be prose.
    let texts = [
        (log(100_000, 40_000), 1),
        ((0..2_000).map(|port| log(5, port)).collect(), 2_000),
        ("{\"start\":\n".repeat(100_000), 0),
        ("{\"event\": {\n".repeat(25_000) + &"}\n".repeat(50_000), 0),
        ("1\n".repeat(100_000), 0),
        ("1 bits/sec\nx\n".repeat(50_000), 0),
    ];
    for (text, count) in texts {
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let begin = linux::clock::monotonic();
        let found = runs(&[text.as_bytes()]);
        let took = linux::clock::monotonic().saturating_sub(begin);
        let peak = MEMORY.peak_usage().saturating_sub(before);
        assert_eq!(found.runs.len(), count);
        assert!(peak < MOST_TIMES * text.len(), "{peak} bytes for a text of {}", text.len());
        assert!(took < Duration::from_secs(60), "{took:?} for {} bytes", text.len());
    }
}

/// The log of a client that ran for so many seconds from this port.
fn log(seconds: u32, port: u16) -> String {
    let mut text = format!(
        "Connecting to host 10.0.0.2, port 5201\n\
         [  5] local 10.0.0.1 port {port} connected to 10.0.0.2 port 5201\n\
         [ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n"
    );
    for at in 0..seconds {
        let to = at + 1;
        _ = writeln!(
            text,
            "[  5] {at:>4}.00-{to}.00   sec  15.1 MBytes   127 Mbits/sec    0    148 KBytes"
        );
    }
    text
}

/// Bytes in memory for each byte of text: a record of a short run is longer than its text.
const MOST_TIMES: usize = 16;
