//! sockperf: `ping-pong`, with whole round trips.

use anyhow::Context;

use super::{Program, Report, file_and_version};
use crate::workload::{Exchange, Test, Traffic};

pub(super) const SOCKPERF: Program = Program {
    kind: "sockperf",
    recognizes: |description| description.version.starts_with("sockperf"),
    // `sockperf, version 3.7-..`
    name: |description| Ok(file_and_version(description)),
    takes: |_, workload| {
        matches!(workload.traffic, Traffic::Exchange(Exchange::Tcp | Exchange::Udp))
    },
    server: |test| format!("server -i {} -p {} {}", test.address, test.port, protocol(test)),
    client: |test| {
        let (Test { address, port, .. }, seconds) = (test, test.seconds());
        let (protocol, size) = (protocol(test), test.workload.length.unwrap_or(14));
        format!("ping-pong -i {address} -p {port} {protocol} -t {seconds} -m {size} --full-rtt")
    },
    read: |_, printed| read(&printed.client).context("not what sockperf prints"),
    ..Program::USUAL
};

fn protocol(test: &Test) -> &'static str {
    if test.workload.traffic == Traffic::Exchange(Exchange::Tcp) { "--tcp" } else { "" }
}

/// All that it exchanged took CPU time; the rate is of those outside the warm-up.
fn read(printed: &str) -> Option<Report> {
    let line = |start: &str| Some(printed.lines().find_map(|line| line.split_once(start))?.1);
    let (total, valid) = (line("[Total Run]")?, line("[Valid Duration]")?);
    // Behind a mean stands its deviation.
    let seconds = |start: &str| {
        let microseconds: f64 = line(start)?.split_whitespace().next()?.parse().ok()?;
        Some(microseconds / 1e6)
    };
    let times = ["avg-rtt=", "---> percentile 50.000 =", "---> percentile 99.000 ="].map(seconds);
    let rate = field(valid, "ReceivedMessages")? / field(valid, "RunTime")?;
    Some(Report::of_exchanges(field(total, "ReceivedMessages")?, rate, times))
}

/// The number behind `name=`.
fn field(line: &str, name: &str) -> Option<f64> {
    let value = line.split([' ', ';']).find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    value?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::test;
    use super::*;
    use crate::workload::Workload;

    const PRINTED: &str = "\
sockperf: [Total Run] RunTime=1.000 sec; Warm up time=400 msec; SentMessages=103934; ReceivedMessages=103933
sockperf: [Valid Duration] RunTime=0.500 sec; SentMessages=50001; ReceivedMessages=50000
sockperf: \u{1b}[2;35m====> avg-rtt=9.939 (std-dev=98.047)\u{1b}[0m
sockperf: ---> percentile 99.990 = 4731.050
sockperf: ---> percentile 99.000 =   14.785
sockperf: ---> percentile 50.000 =    6.901
";

    #[test]
    fn a_test_is_a_command_line() {
        let tcp = test(Workload::exchange(Exchange::Tcp, 64));
        assert_eq!(SOCKPERF.server(&tcp), "server -i 127.0.0.1 -p 5201 --tcp");
        let line = "ping-pong -i 127.0.0.1 -p 5201 -t 5 -m 64 --full-rtt";
        assert_eq!(SOCKPERF.client(&test(Workload::exchange(Exchange::Udp, 64))), line);
    }

    #[test]
    fn its_report_is_read() {
        let report = read(PRINTED).expect("complete");
        let times = [9.939, 6.901, 14.785].map(|microseconds| Some(microseconds / 1e6));
        assert_eq!(report, Report::of_exchanges(103_933.0, 100_000.0, times));
        assert_eq!(read("sockperf: no connection\n"), None);
    }
}
