//! linerate.

use anyhow::{Context, Result, bail};
use measurement::outcome::{Ending, Outcome};
use serde_json::Value;

use super::{Delivered, Dialect, Task, words};
use crate::bench::row::{PAYLOAD, Row, Traffic};

/// linerate, any version whose record has today's outcome.
pub(in crate::bench) struct Linerate;

impl Dialect for Linerate {
    fn server(&self, port: u16) -> Vec<String> {
        words(&format!("serve --bind 127.0.0.1 --port {port} --quiet"))
    }

    fn client(&self, port: u16, task: Task) -> Vec<String> {
        let task = match task {
            Task::Row { row, seconds, congestion } => {
                format!("{} --time {seconds}s --json", row_flags(row, congestion))
            }
            Task::Trial { congestion } => {
                format!("--tcp --send --bytes 64K --congestion {congestion} --json")
            }
            Task::Mebibyte => "--tcp --send -n 1M".to_owned(),
        };
        words(&format!("test 127.0.0.1 -p {port} -q {task}"))
    }

    fn read(&self, printed: &Value) -> Result<Delivered> {
        let record = printed.pointer("/records/0").unwrap_or(printed);
        let outcome = record.get("outcome").cloned().context("a record without outcome")?;
        let outcome: Outcome = serde_json::from_value(outcome).context("unknown outcome")?;
        if let Ending::Failed { error } = outcome.ending {
            bail!("{error}");
        }
        let delivered: Option<Vec<_>> =
            outcome.directions.iter().map(|direction| direction.delivered).collect();
        let delivered = delivered.filter(|delivered| !delivered.is_empty());
        let delivered = delivered.context("a record without the receiver's word")?;
        Ok(Delivered {
            bytes: delivered.iter().map(|one| one.bytes).sum(),
            rate: delivered.iter().map(|one| one.bytes as f64 * 8.0 / one.span.as_secs_f64()).sum(),
        })
    }
}

fn row_flags(row: Row, congestion: &str) -> String {
    let direction = if row.reverse { "--receive" } else { "--send" };
    let traffic = match row.traffic {
        Traffic::Tcp => format!("--tcp --congestion {congestion}"),
        Traffic::Udp => format!("--udp --length {PAYLOAD}"),
    };
    format!("{traffic} {direction} --streams {}", row.streams)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::bench::row::ROWS;

    fn record() -> Value {
        json!({"outcome": {
            "ending": {"state": "completed"},
            "directions": [{
                "direction": "send",
                "delivered": {"bytes": 2_000, "seconds": 2.0, "rate": 8_000},
            }],
            "cpu": {"total": 99.0, "user": 1.0, "system": 98.0},
        }})
    }

    #[test]
    fn the_receivers_word_is_read_from_one_record_and_from_a_set() {
        let expected = Delivered { bytes: 2_000, rate: 8_000.0 };
        assert_eq!(Linerate.read(&record()).expect("complete"), expected);
        assert_eq!(Linerate.read(&json!({"records": [record()]})).expect("complete"), expected);
    }

    #[test]
    fn a_failed_test_gives_no_number() {
        let mut failed = record();
        failed["outcome"]["ending"] = json!({"state": "failed", "error": "the peer left"});
        let error = Linerate.read(&failed).expect_err("failed");
        assert_eq!(error.to_string(), "the peer left");
    }

    #[test]
    fn rows_become_options() {
        let line =
            |row| Linerate.client(7, Task::Row { row, seconds: 5, congestion: "cubic" }).join(" ");
        let head = "test 127.0.0.1 -p 7 -q";
        assert_eq!(
            line(ROWS[1]),
            format!("{head} --tcp --congestion cubic --receive --streams 1 --time 5s --json")
        );
        assert_eq!(
            line(ROWS[3]),
            format!("{head} --udp --length 1460 --send --streams 1 --time 5s --json")
        );
    }
}
