//! Reads all counters at one instant.

use dataplane::Pool;
use measurement::{Sample, StreamSample};

use crate::sockets::Opened;

/// All streams now: the workers' counters and, for TCP, the kernel's.
pub(crate) fn sample(pool: &Pool, streams: &[Opened]) -> Sample {
    let at = dataplane::now();
    // The kernel first, stream by stream: what is acknowledged was counted before.
    let streams = streams
        .iter()
        .map(|stream| stream.socket.tcp_sample())
        .zip(pool.sample())
        .map(|(tcp, (id, counters))| StreamSample { id, counters, tcp })
        .collect();
    Sample { at, streams }
}
