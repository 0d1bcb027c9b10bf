//! iperf3, and whatever takes its options and prints its JSON.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::{Delivered, Dialect, Task, words};
use crate::bench::row::{PAYLOAD, Row, Traffic};

/// iperf3.
pub(in crate::bench) struct Iperf3;

impl Dialect for Iperf3 {
    fn server(&self, port: u16) -> Vec<String> {
        words(&format!("-s -B 127.0.0.1 -p {port}"))
    }

    fn client(&self, port: u16, task: Task) -> Vec<String> {
        let task = match task {
            Task::Row { row, seconds, congestion } => {
                format!("{} -t {seconds} -J", row_flags(row, congestion))
            }
            Task::Trial { congestion } => format!("-n 64K -C {congestion} -J"),
            Task::Mebibyte => "-n 1M".to_owned(),
        };
        words(&format!("-c 127.0.0.1 -p {port} {task}"))
    }

    fn read(&self, printed: &Value) -> Result<Delivered> {
        // With -J it complains in the document and ends with 0.
        if let Some(error) = printed.get("error").and_then(Value::as_str) {
            bail!("{error}");
        }
        let end = printed.get("end").context("no `end` in the JSON")?;
        let received = end.get("sum_received").and_then(sum);
        received.or_else(|| old_udp_sum(end)).context("no `sum_received` in the JSON")
    }
}

fn row_flags(row: Row, congestion: &str) -> String {
    let traffic = match row.traffic {
        Traffic::Tcp => format!("-C {congestion}"),
        Traffic::Udp => format!("-u -b 0 -l {PAYLOAD}"),
    };
    format!("{traffic} {} -P {}", if row.reverse { "-R" } else { "" }, row.streams)
}

/// A sum of the document.
pub(in crate::bench) fn sum(sum: &Value) -> Option<Delivered> {
    let bytes = sum.get("bytes")?.as_u64()?;
    Some(Delivered { bytes, rate: sum.get("bits_per_second")?.as_f64()? })
}

/// Before 3.10, UDP has `sum` only: the sender's bytes, and what was lost of them.
fn old_udp_sum(end: &Value) -> Option<Delivered> {
    let sent = sum(end.get("sum")?)?;
    let (lost, all) = (end["sum"]["lost_packets"].as_u64()?, end["sum"]["packets"].as_u64()?);
    let arrived = all.saturating_sub(lost);
    Some(Delivered {
        bytes: sent.bytes * arrived / all.max(1),
        rate: sent.rate * arrived as f64 / all.max(1) as f64,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::bench::row::ROWS;

    #[test]
    fn the_receivers_sum_counts() {
        let end = json!({"end": {
            "sum_sent": {"bytes": 9, "bits_per_second": 9.0},
            "sum_received": {"bytes": 8, "bits_per_second": 7.5},
        }});
        let expected = Delivered { bytes: 8, rate: 7.5 };
        assert_eq!(Iperf3.read(&end).expect("complete"), expected);
    }

    #[test]
    fn old_udp_sums_lose_what_was_lost() {
        let sum =
            json!({"bytes": 1_000, "bits_per_second": 100.0, "lost_packets": 1, "packets": 4});
        let expected = Delivered { bytes: 750, rate: 75.0 };
        assert_eq!(Iperf3.read(&json!({"end": {"sum": sum}})).expect("complete"), expected);
    }

    #[test]
    fn an_error_in_the_document_is_an_error() {
        let error = Iperf3.read(&json!({"end": {}, "error": "busy"})).expect_err("busy");
        assert_eq!(error.to_string(), "busy");
    }

    #[test]
    fn rows_become_options() {
        let line =
            |row| Iperf3.client(7, Task::Row { row, seconds: 5, congestion: "cubic" }).join(" ");
        assert_eq!(line(ROWS[1]), "-c 127.0.0.1 -p 7 -C cubic -R -P 1 -t 5 -J");
        assert_eq!(line(ROWS[3]), "-c 127.0.0.1 -p 7 -u -b 0 -l 1460 -P 1 -t 5 -J");
    }
}
