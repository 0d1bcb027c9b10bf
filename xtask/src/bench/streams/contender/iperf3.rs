//! iperf3.

use anyhow::Result;
use serde_json::Value;

use super::{Dialect, PORT, Task, Told};
use crate::bench::dialect::{self, Dialect as _};
use crate::bench::streams::fairness::Fairness;

/// iperf3.
pub(super) struct Iperf3;

impl Dialect for Iperf3 {
    fn server(&self, task: &Task, _flags: &str) -> String {
        format!("-s -B {} -p {PORT}", task.address)
    }

    fn client(&self, task: &Task, flags: &str) -> String {
        let Task { address, streams, seconds, congestion, length } = task;
        let what = match length {
            None => format!("-C {congestion}"),
            Some(length) => format!("-u -b 0 -l {length}"),
        };
        let line = format!("-c {address} -p {PORT} {what} -P {streams} -t {seconds} -J {flags}");
        line.trim_end().to_owned()
    }

    fn read(&self, printed: &Value) -> Result<Told> {
        let delivered = dialect::Iperf3.read(printed)?;
        let streams = printed.pointer("/end/streams").and_then(Value::as_array);
        let bytes = streams.and_then(|streams| {
            streams.iter().map(|one| one.pointer("/receiver/bytes")?.as_u64()).collect()
        });
        Ok(Told {
            bytes: delivered.bytes,
            rate: delivered.rate,
            fairness: bytes.and_then(|bytes: Vec<u64>| Fairness::of(&bytes)),
            start_skew: None,
            stop_skew: None,
        })
    }

    /// `MAX_STREAMS` in its iperf.h.
    fn takes(&self, streams: u32, _length: Option<u32>) -> bool {
        streams <= 128
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::TASK;
    use super::*;

    #[test]
    fn a_task_is_a_command_line() {
        assert_eq!(Iperf3.client(&TASK, ""), "-c 127.0.0.1 -p 5201 -C cubic -P 16 -t 5 -J");
    }

    #[test]
    fn the_receivers_bytes_are_shared_out() {
        let printed = json!({"end": {
            "streams": [{"receiver": {"bytes": 3}}, {"receiver": {"bytes": 1}}],
            "sum_received": {"bytes": 4, "bits_per_second": 32.0},
        }});
        let told = Iperf3.read(&printed).expect("complete");
        assert_eq!((told.bytes, told.fairness), (4, Fairness::of(&[3, 1])));
    }
}
