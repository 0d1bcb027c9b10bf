//! Reads all counters at one instant.

use dataplane::Pool;
use measurement::{Sample, StreamSample, Timestamp};

use crate::sockets::Opened;

/// All streams at the instant `at`, which is now: the workers' counters and, for TCP, the kernel's.
pub(crate) fn sample(pool: &Pool, streams: &[Opened], at: Timestamp) -> Sample {
    // All of the kernel's first: what is acknowledged was counted before.
    let report = |stream: &Opened| (stream.socket.tcp_sample(), stream.socket.udp_sample());
    let kernel: Vec<_> = streams.iter().map(report).collect();
    let streams = kernel
        .into_iter()
        .zip(pool.sample())
        .map(|((tcp, udp), (id, counters))| StreamSample { id, counters, tcp, udp })
        .collect();
    Sample { at, streams }
}
