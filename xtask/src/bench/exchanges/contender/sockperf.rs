//! sockperf: `ping-pong`, with whole round trips.

use anyhow::{Context, Result};

use super::super::figures::Told;
use super::{Dialect, Exchange, PORT, Task};

/// sockperf.
pub(super) struct Sockperf;

impl Dialect for Sockperf {
    fn server(&self, task: &Task) -> String {
        format!("server -i {} -p {PORT}{}", task.address, protocol(task))
    }

    fn client(&self, task: &Task) -> String {
        let Task { address, seconds, size, .. } = task;
        let protocol = protocol(task);
        format!("ping-pong -i {address} -p {PORT}{protocol} -t {seconds} -m {size} --full-rtt")
    }

    fn read(&self, _task: &Task, printed: &str) -> Result<Told> {
        read(printed).context("not what sockperf prints")
    }

    fn takes(&self, exchange: Exchange) -> bool {
        exchange != Exchange::Connect
    }
}

fn protocol(task: &Task) -> &'static str {
    if task.exchange == Exchange::Tcp { " --tcp" } else { "" }
}

/// All that it exchanged took CPU time; the rate is of those outside the warm-up.
fn read(printed: &str) -> Option<Told> {
    let line = |start: &str| printed.lines().find_map(|line| line.split_once(start)?.1.into());
    let (total, valid) = (line("[Total Run]")?, line("[Valid Duration]")?);
    let percentile = |name: &str| {
        let percentile: Option<&str> = line(&format!("---> percentile {name} ="));
        percentile?.trim().parse().ok()
    };
    let mean: Option<&str> = line("avg-rtt=");
    Some(Told {
        count: field(total, "ReceivedMessages")?,
        rate: field(valid, "ReceivedMessages")? / field(valid, "RunTime")?,
        mean: mean?.split_whitespace().next()?.parse().ok(),
        p50: percentile("50.000"),
        p99: percentile("99.000"),
    })
}

/// The number behind `name=`.
fn field(line: &str, name: &str) -> Option<f64> {
    let value = line.split([' ', ';']).find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    value?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::TASK;
    use super::*;

    const PRINTED: &str = "\
sockperf: [Total Run] RunTime=1.000 sec; Warm up time=400 msec; SentMessages=103934; ReceivedMessages=103933
sockperf: [Valid Duration] RunTime=0.500 sec; SentMessages=50001; ReceivedMessages=50000
sockperf: \u{1b}[2;35m====> avg-rtt=9.939 (std-dev=98.047)\u{1b}[0m
sockperf: ---> percentile 99.990 = 4731.050
sockperf: ---> percentile 99.000 =   14.785
sockperf: ---> percentile 50.000 =    6.901
";

    #[test]
    fn a_task_is_a_command_line() {
        assert_eq!(Sockperf.server(&TASK), "server -i 127.0.0.1 -p 5201 --tcp");
        let udp = Task { exchange: Exchange::Udp, ..TASK };
        let line = "ping-pong -i 127.0.0.1 -p 5201 -t 3 -m 64 --full-rtt";
        assert_eq!(Sockperf.client(&udp), line);
    }

    #[test]
    fn its_report_is_read() {
        let told = read(PRINTED).expect("complete");
        assert_eq!((told.count, told.rate), (103_933.0, 100_000.0));
        assert_eq!((told.mean, told.p50, told.p99), (Some(9.939), Some(6.901), Some(14.785)));
        assert_eq!(read("sockperf: no connection\n"), None);
    }
}
