//! The plain loops in C (`reference/streams.c`, `reference/datagrams.c`).

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Dialect, PORT, Printed, Task, Told, document};
use crate::bench::streams::fairness::Fairness;
use crate::bench::streams::workload::{Direction, Workload};

/// The plain loop.
pub(super) struct Plain;

impl Dialect for Plain {
    fn server(&self, task: &Task, flags: &str) -> String {
        match task.workload.length {
            None => format!("server {} {PORT} {}", task.address, task.workload.streams),
            Some(length) => format!("server {} {PORT} {length} {flags}", task.address),
        }
    }

    fn client(&self, task: &Task, flags: &str) -> String {
        let Task { address, workload, seconds, congestion } = task;
        let streams = workload.streams;
        match workload.length {
            None => format!("client {address} {PORT} {streams} {seconds} {congestion}"),
            Some(length) => format!("client {address} {PORT} {length} {flags} {seconds}"),
        }
    }

    fn read(&self, _task: &Task, printed: &Printed) -> Result<Told> {
        read(&document(printed)?).context("the plain loop told too little")
    }

    /// With few streams of TCP iperf3 is what to compare with.
    fn takes(&self, workload: Workload) -> bool {
        let Workload { streams, direction, length } = workload;
        direction == Direction::Send && (streams >= 128 || length.is_some())
    }
}

fn read(printed: &Value) -> Option<Told> {
    let number = |name| printed.get(name)?.as_f64();
    let bytes = printed.get("bytes")?.as_u64()?;
    Some(Told {
        bytes,
        rate: bytes as f64 * 8.0 / number("seconds")?,
        // Datagrams are of one stream.
        fairness: if printed.get("streams").is_some() { Some(fairness(printed)?) } else { None },
        start_skew: None,
        stop_skew: None,
        engines: None,
    })
}

fn fairness(printed: &Value) -> Option<Fairness> {
    let number = |name| printed.get(name)?.as_f64();
    Some(Fairness {
        jain: number("jain")?,
        least: number("least")?,
        without_progress: number("without_progress")?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::TASK;
    use super::*;

    #[test]
    fn a_task_is_a_command_line() {
        assert_eq!(Plain.server(&TASK, ""), "server 127.0.0.1 5201 16");
        assert_eq!(Plain.client(&TASK, ""), "client 127.0.0.1 5201 16 5 cubic");
    }

    #[test]
    fn its_document_is_read() {
        let mut printed = json!({
            "bytes": 4, "seconds": 2.0, "streams": 2, "jain": 0.8, "least": 1,
            "without_progress": 0,
        });
        let told = read(&printed).expect("complete");
        assert_eq!((told.bytes, told.rate), (4, 16.0));
        printed["jain"] = Value::Null;
        assert_eq!(read(&printed), None);
    }
}
