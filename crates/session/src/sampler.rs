//! Reads all counters at one instant.

use dataplane::Pool;
use measurement::{Sample, StreamSample};

use crate::sockets::Opened;

/// All streams now: the workers' counters and, for TCP, the kernel's.
pub(crate) fn sample(pool: &Pool, streams: &[Opened]) -> Sample {
    let at = dataplane::now();
    // All of the kernel's first: what is acknowledged was counted before.
    let kernel: Vec<_> = streams.iter().map(|stream| stream.socket.tcp_sample()).collect();
    let streams = kernel
        .into_iter()
        .zip(pool.sample())
        .map(|(tcp, (id, counters))| StreamSample { id, counters, tcp })
        .collect();
    Sample { at, streams }
}
