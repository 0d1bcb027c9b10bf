//! netperf, with netserver beside it.

use anyhow::{Context, Result};

use super::{Description, Printed, Program, Report, file_and_version, pair, printed as asked};
use crate::figures::{Figures, Metric};
use crate::workload::{Exchange, Test, Traffic, Workload};

/// netperf.
pub struct Netperf;

impl Program for Netperf {
    fn kind(&self) -> &'static str {
        "netperf"
    }

    fn recognizes(&self, description: &Description) -> bool {
        description.help.contains("Usage: netperf")
    }

    /// `Netperf version 2.7.1`, which it prints for `-V` alone.
    fn name(&self, description: &Description) -> Result<String> {
        Ok(file_and_version(description, &asked(&description.path, "-V")?))
    }

    fn takes(&self, workload: &Workload) -> bool {
        matches!(workload.traffic, Traffic::Exchange(_))
    }

    fn server_program(&self) -> Option<&'static str> {
        Some("netserver")
    }

    /// Neither a daemon nor a process for each test, so that its CPU time is its own.
    fn server(&self, test: &Test) -> String {
        format!("-D -f -4 -L {} -p {}", test.address, test.port)
    }

    fn client(&self, test: &Test) -> String {
        let (Test { address, port, .. }, seconds) = (test, test.seconds());
        let size = test.workload.length.unwrap_or(1);
        let kind = match test.workload.traffic {
            Traffic::Exchange(Exchange::Udp) => "UDP_RR",
            Traffic::Exchange(Exchange::Connect) => "TCP_CRR",
            _ => "TCP_RR",
        };
        format!(
            "-4 -H {address} -p {port} -t {kind} -l {seconds} -P 0 -- -r {size},{size} \
             -k THROUGHPUT,ELAPSED_TIME,MEAN_LATENCY,P50_LATENCY,P99_LATENCY"
        )
    }

    fn read(&self, _test: &Test, printed: &Printed) -> Result<Report> {
        read(&printed.client).context("not what netperf prints with -k")
    }
}

fn read(printed: &str) -> Option<Report> {
    let seconds = |key| pair::<f64>(printed, key).map(|microseconds| microseconds / 1e6);
    let mut figures = Figures::default();
    figures.push(Metric::Mean, seconds("MEAN_LATENCY"));
    figures.push(Metric::P50, seconds("P50_LATENCY"));
    figures.push(Metric::P99, seconds("P99_LATENCY"));
    let rate: f64 = pair(printed, "THROUGHPUT")?;
    let count = rate * pair::<f64>(printed, "ELAPSED_TIME")?;
    Some(Report { count, rate, figures, engines: None })
}

#[cfg(test)]
mod tests {
    use super::super::test;
    use super::*;

    #[test]
    fn a_test_is_a_command_line() {
        let test = test(Workload::exchange(Exchange::Tcp, 64));
        assert_eq!(Netperf.server(&test), "-D -f -4 -L 127.0.0.1 -p 5201");
        let line = "-4 -H 127.0.0.1 -p 5201 -t TCP_RR -l 5 -P 0 -- -r 64,64 \
                    -k THROUGHPUT,ELAPSED_TIME,MEAN_LATENCY,P50_LATENCY,P99_LATENCY";
        assert_eq!(Netperf.client(&test), line);
    }

    #[test]
    fn its_values_are_read() {
        let printed = "THROUGHPUT=90000.5\nELAPSED_TIME=2.00\nMEAN_LATENCY=9.50\n\
                       P50_LATENCY=8\nP99_LATENCY=24\n";
        let report = read(printed).expect("complete");
        assert_eq!((report.count, report.rate), (180_001.0, 90_000.5));
        let expected = [(Metric::Mean, 9.5 / 1e6), (Metric::P50, 8e-6), (Metric::P99, 24e-6)];
        assert_eq!(report.figures, Figures::from_iter(expected));
        assert_eq!(read("establish control: are you sure\n"), None);
    }
}
