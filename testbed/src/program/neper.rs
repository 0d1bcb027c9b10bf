//! neper: a program for each kind of traffic, whose lines are `key=value`.

use anyhow::{Context, Result};

use super::{Description, Printed, Program, Report, option, pair, words};
use crate::figures::{Figures, Metric};
use crate::workload::{Direction, Exchange, Test, Traffic, Workload};

/// neper's program for one kind of traffic.
pub struct Neper(pub Traffic);

impl Program for Neper {
    fn kind(&self) -> &'static str {
        "neper"
    }

    /// neper prints a bare number for its version: its programs differ in their options, and those
    /// of exchanges in their names alone.
    fn recognizes(&self, description: &Description) -> bool {
        let has = |option| description.help.contains(option);
        if !has("--control-port") {
            return false;
        }
        let file = description.file();
        let traffic = if !has("--request-size") {
            if has("--congestion-control") { Traffic::Tcp } else { Traffic::Udp }
        } else if file.contains("crr") {
            Traffic::Exchange(Exchange::Connect)
        } else if file.contains("udp") {
            Traffic::Exchange(Exchange::Udp)
        } else {
            Traffic::Exchange(Exchange::Tcp)
        };
        self.0 == traffic
    }

    fn name(&self, description: &Description) -> Result<String> {
        Ok(format!("neper {} {}", description.file(), description.version.trim()))
    }

    fn takes(&self, workload: &Workload) -> bool {
        let is_sent = workload.direction == Direction::Send || self.0 != Traffic::Udp;
        self.0 == workload.traffic && is_sent
    }

    fn ways(&self, workload: &Workload) -> &'static [&'static str] {
        match workload.traffic {
            // Its usual buffer is 16 KiB.
            Traffic::Tcp => &["--skip-rx-copy -B 131072"],
            Traffic::Udp | Traffic::Exchange(_) => &[],
        }
    }

    /// Both ends are given what goes which way.
    fn server(&self, test: &Test) -> String {
        let Test { port, flags, .. } = test;
        let length = test.workload.length;
        let what = match (self.0, test.workload.direction) {
            (Traffic::Exchange(_), _) => [option("-Q", length), option("-R", length)].join(" "),
            (Traffic::Udp, _) => option("-B", length),
            (Traffic::Tcp, direction) => {
                let way = match direction {
                    Direction::Send => "",
                    Direction::Reverse => "-M",
                    Direction::Both => "-r -w",
                };
                format!("{way} {}", option("--congestion-control", test.congestion.as_ref()))
            }
        };
        words(&format!("--nolog -C {} -P {port} {what} {flags}", port - 1))
    }

    fn client(&self, test: &Test) -> String {
        let (server, seconds) = (self.server(test), test.seconds());
        let streams = test.workload.streams;
        let what = match self.0 {
            Traffic::Exchange(_) => format!("-l {seconds} -p 50,99"),
            _ => format!("-F {streams} -T {} -l {seconds}", streams.min(THREADS)),
        };
        format!("{server} -c -H {} {what}", test.address)
    }

    fn read(&self, test: &Test, printed: &Printed) -> Result<Report> {
        match self.0 {
            Traffic::Exchange(_) => {
                exchanges(&printed.client).context("not what neper prints of exchanges")
            }
            Traffic::Tcp | Traffic::Udp => streams(&printed.client, test.seconds()),
        }
    }
}

/// It prints the rate at which either end received, in bits a second.
fn streams(printed: &str, seconds: u32) -> Result<Report> {
    let value = |key| pair::<f64>(printed, key).with_context(|| format!("no {key}"));
    let rate = value("local_throughput")? + value("remote_throughput")?;
    let count = rate / 8.0 * f64::from(seconds);
    Ok(Report { count, rate, ..Report::default() })
}

fn exchanges(printed: &str) -> Option<Report> {
    let mut figures = Figures::default();
    figures.push(Metric::Mean, pair(printed, "latency_mean"));
    figures.push(Metric::P50, pair(printed, "latency_p50"));
    figures.push(Metric::P99, pair(printed, "latency_p99"));
    let (count, rate) = (pair(printed, "num_transactions")?, pair(printed, "throughput")?);
    Some(Report { count, rate, figures, engines: None })
}

/// Enough for both directions on a small machine; its default is one for all streams.
const THREADS: u32 = 2;

#[cfg(test)]
mod tests {
    use super::super::test;
    use super::*;

    const TCP: Neper = Neper(Traffic::Tcp);
    const REQUESTS: Neper = Neper(Traffic::Exchange(Exchange::Tcp));

    #[test]
    fn a_test_is_a_command_line() {
        let plain = test(Workload::tcp(16));
        let server = "--nolog -C 5200 -P 5201 --congestion-control cubic";
        assert_eq!(TCP.server(&plain), server);
        let flagged = Test { flags: "-Z".to_owned(), ..plain };
        let client = format!("{server} -Z -c -H 127.0.0.1 -F 16 -T 2 -l 5");
        assert_eq!(TCP.client(&flagged), client);
        let reverse = test(Workload::tcp(1).towards(Direction::Reverse));
        let server = "--nolog -C 5200 -P 5201 -M --congestion-control cubic";
        assert_eq!(TCP.server(&reverse), server);
        let client = "--nolog -C 5200 -P 5201 -B 64 -c -H 127.0.0.1 -F 1 -T 1 -l 5";
        assert_eq!(Neper(Traffic::Udp).client(&test(Workload::datagrams(64))), client);
        let client = "--nolog -C 5200 -P 5201 -Q 64 -R 64 -c -H 127.0.0.1 -l 5 -p 50,99";
        assert_eq!(REQUESTS.client(&test(Workload::exchange(Exchange::Tcp, 64))), client);
    }

    #[test]
    fn what_both_ends_received_is_added_up() {
        let printed = "num_flows=16\nlocal_throughput=8000\nremote_throughput=24000\n";
        let report = streams(printed, 5).expect("complete");
        assert_eq!((report.count, report.rate), (20_000.0, 32_000.0));
        assert!(streams("num_flows=16\n", 5).is_err());
    }

    #[test]
    fn the_times_of_exchanges_are_read() {
        let printed = "num_transactions=75136\nlatency_mean=0.5\nlatency_p50=0.25\n\
                       latency_p99=1\nthroughput=74926.11\nlocal_throughput=74926\n";
        let report = exchanges(printed).expect("complete");
        assert_eq!((report.count, report.rate), (75_136.0, 74_926.11));
        let expected = [(Metric::Mean, 0.5), (Metric::P50, 0.25), (Metric::P99, 1.0)];
        assert_eq!(report.figures, Figures::from_iter(expected));
        assert_eq!(exchanges("num_transactions=1\n"), None);
    }
}
