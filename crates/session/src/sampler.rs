//! Reads all counters at one instant.

use dataplane::Pool;
use measurement::{Sample, StreamSample};

use crate::sockets::Opened;

/// All streams now: the workers' counters and, for TCP, the kernel's.
pub(crate) fn sample(pool: &Pool, streams: &[Opened]) -> Sample {
    let at = dataplane::now();
    let streams = pool
        .read()
        .zip(streams)
        .map(|((id, _, counters), stream)| StreamSample {
            id,
            counters,
            tcp: stream.socket.tcp_sample(),
        })
        .collect();
    Sample { at, streams }
}
