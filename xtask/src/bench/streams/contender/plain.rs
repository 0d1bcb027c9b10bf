//! The plain loop in C (`reference/streams.c`).

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Dialect, PORT, Task, Told};
use crate::bench::streams::fairness::Fairness;

/// The plain loop.
pub(super) struct Plain;

impl Dialect for Plain {
    fn server(&self, task: &Task) -> String {
        format!("server {} {PORT} {}", task.address, task.streams)
    }

    fn client(&self, task: &Task) -> String {
        let Task { address, streams, seconds, congestion } = task;
        format!("client {address} {PORT} {streams} {seconds} {congestion}")
    }

    fn read(&self, printed: &Value) -> Result<Told> {
        read(printed).context("the plain loop told too little")
    }

    /// With few streams iperf3 is what to compare with.
    fn takes(&self, streams: u32) -> bool {
        streams >= 128
    }
}

fn read(printed: &Value) -> Option<Told> {
    let number = |name| printed.get(name)?.as_f64();
    let bytes = printed.get("bytes")?.as_u64()?;
    Some(Told {
        bytes,
        rate: bytes as f64 * 8.0 / number("seconds")?,
        fairness: Some(Fairness {
            jain: number("jain")?,
            least: number("least")?,
            without_progress: number("without_progress")?,
        }),
        start_skew: None,
        stop_skew: None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::TASK;
    use super::*;

    #[test]
    fn a_task_is_a_command_line() {
        assert_eq!(Plain.server(&TASK), "server 127.0.0.1 5201 16");
        assert_eq!(Plain.client(&TASK), "client 127.0.0.1 5201 16 5 cubic");
    }

    #[test]
    fn its_document_is_read() {
        let mut printed = json!({
            "bytes": 4, "seconds": 2.0, "streams": 2, "jain": 0.8, "least": 1,
            "without_progress": 0,
        });
        let told = Plain.read(&printed).expect("complete");
        assert_eq!((told.bytes, told.rate), (4, 16.0));
        printed["jain"] = Value::Null;
        assert!(Plain.read(&printed).is_err());
    }
}
