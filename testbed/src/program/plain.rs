//! Plain loops in C: what a program could do that did nothing else. Their words are `server` or
//! `client`, the address, the port, and what is sent; they print JSON.

use anyhow::Context;
use serde_json::Value;

use super::{Program, Report, document};
use crate::figures::{Figures, Metric};
use crate::workload::{Direction, Test, Traffic, Workload};

/// How to call the plain loops in C, which do nothing but send or receive, for comparison. They are
/// never asked for their names.
pub const PLAIN: Program = Program {
    kind: "plain C loop",
    takes: |_, workload| workload.direction == Direction::Send && is_worth_it(workload),
    server: |test| {
        let Test { address, port, flags, .. } = test;
        match test.workload.length {
            None => format!("server {address} {port} {}", test.workload.streams),
            Some(length) => format!("server {address} {port} {length} {flags}"),
        }
    },
    client: |test| {
        let Test { address, port, flags, congestion, .. } = test;
        let (streams, seconds) = (test.workload.streams, test.seconds());
        let congestion = congestion.as_deref().unwrap_or_default();
        match test.workload.length {
            None => format!("client {address} {port} {streams} {seconds} {congestion}"),
            Some(length) => format!("client {address} {port} {length} {flags} {seconds}"),
        }
    },
    read: |_, printed| read(&document(printed)?).context("the plain loop reported too little"),
    ..Program::USUAL
};

/// With few streams of TCP iperf3 is what to compare with.
fn is_worth_it(workload: &Workload) -> bool {
    match workload.traffic {
        Traffic::Tcp => workload.streams >= 128,
        Traffic::Udp => true,
        Traffic::Exchange(_) => false,
    }
}

fn read(printed: &Value) -> Option<Report> {
    let number = |name| printed.get(name)?.as_f64();
    let bytes = number("bytes")?;
    let rate = bytes * 8.0 / number("seconds")?;
    let mut figures = Figures::default();
    // Datagrams are of one stream.
    if printed.get("streams").is_some() {
        figures.push(Metric::Jain, number("jain")?);
        figures.push(Metric::Least, number("least")? * rate / bytes);
        figures.push(Metric::WithoutProgress, number("without_progress")?);
    }
    Some(Report { count: bytes, rate, figures, engines: None })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::test;
    use super::*;

    #[test]
    fn a_test_is_a_command_line() {
        let tcp = test(Workload::tcp(16));
        assert_eq!(PLAIN.server(&tcp), "server 127.0.0.1 5201 16");
        assert_eq!(PLAIN.client(&tcp), "client 127.0.0.1 5201 16 5 cubic");
        let datagrams = Test { flags: "1".to_owned(), ..test(Workload::datagrams(64)) };
        assert_eq!(PLAIN.server(&datagrams), "server 127.0.0.1 5201 64 1");
        assert_eq!(PLAIN.client(&datagrams), "client 127.0.0.1 5201 64 1 5");
    }

    #[test]
    fn its_document_is_read() {
        let mut printed = json!({
            "bytes": 4, "seconds": 2.0, "streams": 2, "jain": 0.8, "least": 1,
            "without_progress": 0,
        });
        let report = read(&printed).expect("complete");
        assert_eq!((report.count, report.rate), (4.0, 16.0));
        assert_eq!(report.figures.get(Metric::Least), Some(4.0));
        printed["jain"] = Value::Null;
        assert_eq!(read(&printed), None);
    }
}
