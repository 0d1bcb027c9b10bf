//! netperf, with netserver beside it.

use anyhow::{Context, Result};

use super::super::figures::Told;
use super::{Dialect, Exchange, PORT, Task};

/// netperf.
pub(super) struct Netperf;

impl Dialect for Netperf {
    fn server_program(&self) -> Option<&'static str> {
        Some("netserver")
    }

    /// Neither a daemon nor a process for each test, so that its CPU time is its own.
    fn server(&self, task: &Task) -> String {
        format!("-D -f -4 -L {} -p {PORT}", task.address)
    }

    fn client(&self, task: &Task) -> String {
        let Task { exchange, address, seconds, size } = task;
        let test = match exchange {
            Exchange::Tcp => "TCP_RR",
            Exchange::Udp => "UDP_RR",
            Exchange::Connect => "TCP_CRR",
        };
        format!(
            "-4 -H {address} -p {PORT} -t {test} -l {seconds} -P 0 -- -r {size},{size} \
             -k THROUGHPUT,ELAPSED_TIME,MEAN_LATENCY,P50_LATENCY,P99_LATENCY"
        )
    }

    fn read(&self, _task: &Task, printed: &str) -> Result<Told> {
        read(printed).context("not what netperf prints with -k")
    }

    fn takes(&self, _exchange: Exchange) -> bool {
        true
    }
}

fn read(printed: &str) -> Option<Told> {
    let value = |key: &str| -> Option<f64> {
        let mut pairs = printed.lines().filter_map(|line| line.split_once('='));
        pairs.find(|(known, _)| *known == key)?.1.trim().parse().ok()
    };
    let rate = value("THROUGHPUT")?;
    Some(Told {
        count: rate * value("ELAPSED_TIME")?,
        rate,
        mean: value("MEAN_LATENCY"),
        p50: value("P50_LATENCY"),
        p99: value("P99_LATENCY"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::TASK;
    use super::*;

    #[test]
    fn a_task_is_a_command_line() {
        assert_eq!(Netperf.server(&TASK), "-D -f -4 -L 127.0.0.1 -p 5201");
        let line = "-4 -H 127.0.0.1 -p 5201 -t TCP_RR -l 3 -P 0 -- -r 64,64 \
                    -k THROUGHPUT,ELAPSED_TIME,MEAN_LATENCY,P50_LATENCY,P99_LATENCY";
        assert_eq!(Netperf.client(&TASK), line);
    }

    #[test]
    fn its_values_are_read() {
        let printed = "THROUGHPUT=90000.5\nELAPSED_TIME=2.00\nMEAN_LATENCY=9.80\n\
                       P50_LATENCY=8\nP99_LATENCY=24\n";
        let told = read(printed).expect("complete");
        assert_eq!((told.count, told.rate), (180_001.0, 90_000.5));
        assert_eq!((told.mean, told.p50, told.p99), (Some(9.8), Some(8.0), Some(24.0)));
        assert_eq!(read("establish control: are you sure\n"), None);
    }
}
