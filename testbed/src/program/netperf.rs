//! netperf, with netserver beside it.

use anyhow::Context;

use super::{Description, Program, Report, file_and_version, pair, printed as asked};
use crate::workload::{Exchange, Test, Traffic};

pub(super) const NETPERF: Program = Program {
    kind: "netperf",
    recognizes: |description| description.help.contains("Usage: netperf"),
    // `Netperf version 2.7.1`, which it prints for `-V` alone.
    name: |description| {
        let version = asked(&description.path, "-V")?;
        Ok(file_and_version(&Description { version, ..description.clone() }))
    },
    takes: |_, workload| matches!(workload.traffic, Traffic::Exchange(_)),
    server_file: Some("netserver"),
    // Neither a daemon nor a process for each test, so that its CPU time is its own.
    server: |test| format!("-D -f -4 -L {} -p {}", test.address, test.port),
    client: |test| {
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
    },
    read: |_, printed| read(&printed.client).context("not what netperf prints with -k"),
    ..Program::USUAL
};

fn read(printed: &str) -> Option<Report> {
    let seconds = |key| pair::<f64>(printed, key).map(|microseconds| microseconds / 1e6);
    let rate: f64 = pair(printed, "THROUGHPUT")?;
    let count = rate * pair::<f64>(printed, "ELAPSED_TIME")?;
    let times = ["MEAN_LATENCY", "P50_LATENCY", "P99_LATENCY"].map(seconds);
    Some(Report::of_exchanges(count, rate, times))
}

#[cfg(test)]
mod tests {
    use super::super::test;
    use super::*;
    use crate::workload::Workload;

    #[test]
    fn a_test_is_a_command_line() {
        let test = test(Workload::exchange(Exchange::Tcp, 64));
        assert_eq!(NETPERF.server(&test), "-D -f -4 -L 127.0.0.1 -p 5201");
        let line = "-4 -H 127.0.0.1 -p 5201 -t TCP_RR -l 5 -P 0 -- -r 64,64 \
                    -k THROUGHPUT,ELAPSED_TIME,MEAN_LATENCY,P50_LATENCY,P99_LATENCY";
        assert_eq!(NETPERF.client(&test), line);
    }

    #[test]
    fn its_values_are_read() {
        let printed = "THROUGHPUT=90000.5\nELAPSED_TIME=2.00\nMEAN_LATENCY=9.50\n\
                       P50_LATENCY=8\nP99_LATENCY=24\n";
        let report = read(printed).expect("complete");
        let times = [Some(9.5 / 1e6), Some(8e-6), Some(24e-6)];
        assert_eq!(report, Report::of_exchanges(180_001.0, 90_000.5, times));
        assert_eq!(read("establish control: are you sure\n"), None);
    }
}
