//! linerate.

use anyhow::Result;
use serde_json::Value;

use super::{Dialect, PORT, Printed, Task, Told, document};
use crate::bench::dialect::{self, Dialect as _};
use crate::bench::streams::fairness::Fairness;
use crate::bench::streams::workload::{Direction, Workload};

/// linerate.
pub(super) struct Linerate;

impl Dialect for Linerate {
    fn server(&self, task: &Task, _flags: &str) -> String {
        format!("serve --bind {} --port {PORT} --quiet", task.address)
    }

    fn client(&self, task: &Task, flags: &str) -> String {
        let Task { address, workload, seconds, congestion } = task;
        let what = match workload.length {
            None => format!("--tcp --congestion {congestion}"),
            Some(length) => format!("--udp --length {length}"),
        };
        let direction = match workload.direction {
            Direction::Send => "--send",
            Direction::Reverse => "--receive",
            Direction::Both => "--bidir",
        };
        let streams = workload.streams;
        let line = format!(
            "test {address} -p {PORT} -q {what} {direction} --streams {streams} \
             --time {seconds}s --json {flags}"
        );
        line.trim_end().to_owned()
    }

    fn read(&self, _task: &Task, printed: &Printed) -> Result<Told> {
        let printed = document(printed)?;
        let delivered = dialect::Linerate.read(&printed)?;
        let record = printed.pointer("/records/0").unwrap_or(&printed);
        let skew = |name| record.pointer(&format!("/runtime/{name}_skew_seconds"))?.as_f64();
        Ok(Told {
            bytes: delivered.bytes,
            rate: delivered.rate,
            fairness: fairness(record),
            start_skew: skew("start"),
            stop_skew: skew("stop"),
            engines: engines(record),
        })
    }

    fn takes(&self, _workload: Workload) -> bool {
        true
    }
}

/// Those of the first direction: a plan has one pair for all.
fn engines(record: &Value) -> Option<String> {
    let engines = record.pointer("/outcome/directions/0/engines")?;
    let name = |side: &str| engines.get(side)?.get("name")?.as_str();
    Some(format!("{},{}", name("send")?, name("receive")?))
}

/// The receiver's word on each stream.
fn fairness(record: &Value) -> Option<Fairness> {
    let streams = record.get("peer_streams")?.as_array()?;
    let bytes: Option<Vec<u64>> = streams.iter().map(|one| one.get("bytes")?.as_u64()).collect();
    Fairness::of(&bytes?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::TASK;
    use super::*;

    fn record() -> Value {
        json!({
            "peer_streams": [{"id": 1, "bytes": 3}, {"id": 2, "bytes": 1}],
            "outcome": {
                "ending": {"state": "completed"},
                "directions": [{
                    "direction": "send",
                    "delivered": {"bytes": 4, "seconds": 1.0, "rate": 32},
                }],
                "cpu": {"total": 99.0, "user": 1.0, "system": 98.0},
            },
        })
    }

    fn read(printed: &Value) -> Told {
        let printed = Printed { client: printed.to_string(), ..Printed::default() };
        Linerate.read(&TASK, &printed).expect("complete")
    }

    #[test]
    fn a_task_is_a_command_line() {
        let line = "test 127.0.0.1 -p 5201 -q --tcp --congestion cubic --send --streams 16 \
                    --time 5s --json";
        assert_eq!(Linerate.client(&TASK, ""), line);
    }

    #[test]
    fn the_receivers_bytes_are_shared_out() {
        let told = read(&record());
        assert_eq!((told.bytes, told.fairness), (4, Fairness::of(&[3, 1])));
        assert_eq!((told.start_skew, told.stop_skew), (None, None));
        assert_eq!(told.engines, None);
    }

    #[test]
    fn engines_are_named_as_on_the_command_line() {
        let mut record = record();
        record["outcome"]["directions"][0]["engines"] =
            json!({"send": {"name": "vmsplice"}, "receive": {"name": "msg-trunc"}});
        assert_eq!(engines(&record).as_deref(), Some("vmsplice,msg-trunc"));
    }

    #[test]
    fn the_skews_are_those_of_the_runtime() {
        let mut record = record();
        record["runtime"] = json!({"start_skew_seconds": 0.002, "stop_skew_seconds": 0.001});
        let told = read(&json!({"records": [record]}));
        assert_eq!((told.start_skew, told.stop_skew), (Some(0.002), Some(0.001)));
    }
}
