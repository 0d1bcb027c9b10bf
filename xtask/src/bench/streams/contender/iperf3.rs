//! iperf3.

use anyhow::Result;
use serde_json::Value;

use super::{Dialect, PORT, Printed, Task, Told, document};
use crate::bench::dialect::{self, Dialect as _};
use crate::bench::streams::fairness::Fairness;
use crate::bench::streams::workload::{Direction, Workload};

/// iperf3.
pub(super) struct Iperf3;

impl Dialect for Iperf3 {
    fn server(&self, task: &Task, _flags: &str) -> String {
        format!("-s -B {} -p {PORT}", task.address)
    }

    fn client(&self, task: &Task, flags: &str) -> String {
        let Task { address, workload, seconds, congestion } = task;
        let what = match workload.length {
            None => format!("-C {congestion}"),
            Some(length) => format!("-u -b 0 -l {length}"),
        };
        let direction = match workload.direction {
            Direction::Send => "",
            Direction::Reverse => "-R ",
            Direction::Both => "--bidir ",
        };
        let streams = workload.streams;
        let line = format!(
            "-c {address} -p {PORT} {what} {direction}-P {streams} -t {seconds} -J {flags}"
        );
        line.trim_end().to_owned()
    }

    fn read(&self, _task: &Task, printed: &Printed) -> Result<Told> {
        let printed = document(printed)?;
        let delivered = dialect::Iperf3.read(&printed)?;
        let back = printed.pointer("/end/sum_received_bidir_reverse").and_then(dialect::sum);
        let streams = printed.pointer("/end/streams").and_then(Value::as_array);
        let bytes = streams.and_then(|streams| {
            streams.iter().map(|one| one.pointer("/receiver/bytes")?.as_u64()).collect()
        });
        Ok(Told {
            bytes: delivered.bytes + back.map_or(0, |back| back.bytes),
            rate: delivered.rate + back.map_or(0.0, |back| back.rate),
            fairness: bytes.and_then(|bytes: Vec<u64>| Fairness::of(&bytes)),
            start_skew: None,
            stop_skew: None,
            engines: None,
        })
    }

    /// `MAX_STREAMS` in its iperf.h.
    fn takes(&self, workload: Workload) -> bool {
        workload.streams <= 128
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
        let workload = Workload { direction: Direction::Both, ..Workload::datagrams(64) };
        let task = Task { workload, ..TASK };
        let line = "-c 127.0.0.1 -p 5201 -u -b 0 -l 64 --bidir -P 1 -t 5 -J --gsro";
        assert_eq!(Iperf3.client(&task, "--gsro"), line);
    }

    #[test]
    fn the_receivers_bytes_are_shared_out() {
        let printed = json!({"end": {
            "streams": [{"receiver": {"bytes": 3}}, {"receiver": {"bytes": 1}}],
            "sum_received": {"bytes": 4, "bits_per_second": 32.0},
        }});
        let printed = Printed { client: printed.to_string(), ..Printed::default() };
        let told = Iperf3.read(&TASK, &printed).expect("complete");
        assert_eq!((told.bytes, told.fairness), (4, Fairness::of(&[3, 1])));
    }

    #[test]
    fn both_directions_are_added_up() {
        let printed = json!({"end": {
            "sum_received": {"bytes": 4, "bits_per_second": 32.0},
            "sum_received_bidir_reverse": {"bytes": 3, "bits_per_second": 24.0},
        }});
        let printed = Printed { client: printed.to_string(), ..Printed::default() };
        let told = Iperf3.read(&TASK, &printed).expect("complete");
        assert_eq!((told.bytes, told.rate), (7, 56.0));
    }
}
