//! neper: a program for each kind of traffic, whose lines are `key=value`.

use anyhow::{Context, Result};

use super::{Description, Program, Report, option, pair};
use crate::workload::{Direction, Exchange, Test, Traffic};

/// Its programs, each for one kind of traffic.
pub(super) const NEPER: Program = Program {
    kind: "neper",
    recognizes: |description| description.help.contains("--control-port"),
    name: |description| Ok(format!("neper {} {}", description.file(), description.version.trim())),
    takes: |description, workload| {
        let is_sent = workload.direction == Direction::Send || workload.traffic != Traffic::Udp;
        traffic(description) == workload.traffic && is_sent
    },
    ways: |workload| match workload.traffic {
        // Its usual buffer is 16 KiB.
        Traffic::Tcp => &["--skip-rx-copy -B 131072"],
        Traffic::Udp | Traffic::Exchange(_) => &[],
    },
    server: both_ends,
    client: |test| {
        let (both_ends, seconds) = (both_ends(test), test.seconds());
        let streams = test.workload.streams;
        let what = match test.workload.traffic {
            Traffic::Exchange(_) => format!("-l {seconds} -p 50,99"),
            _ => format!("-F {streams} -T {} -l {seconds}", streams.min(THREADS)),
        };
        format!("{both_ends} -c -H {} {what}", test.address)
    },
    read: |test, printed| match test.workload.traffic {
        Traffic::Exchange(_) => {
            exchanges(&printed.client).context("not what neper prints of exchanges")
        }
        Traffic::Tcp | Traffic::Udp => streams(&printed.client, test.seconds()),
    },
    ..Program::USUAL
};

/// They print a bare number for their version: they differ in their options, and those of
/// exchanges in their names alone.
fn traffic(description: &Description) -> Traffic {
    let has = |option| description.help.contains(option);
    let file = description.file();
    match (has("--request-size"), has("--congestion-control")) {
        (false, true) => Traffic::Tcp,
        (false, false) => Traffic::Udp,
        (true, _) if file.contains("crr") => Traffic::Exchange(Exchange::Connect),
        (true, _) if file.contains("udp") => Traffic::Exchange(Exchange::Udp),
        (true, _) => Traffic::Exchange(Exchange::Tcp),
    }
}

/// Both ends are given what goes which way.
fn both_ends(test: &Test) -> String {
    let Test { port, flags, .. } = test;
    let length = test.workload.length;
    let what = match test.workload.traffic {
        Traffic::Exchange(exchange) => {
            // Without it connections are reset, and not closed as others close them.
            let way = if exchange == Exchange::Connect { "--time-wait" } else { "" };
            [&option("-Q", length), &option("-R", length), way].join(" ")
        }
        Traffic::Udp => option("-B", length),
        Traffic::Tcp => {
            let way = test.workload.direction.one_of(["", "-M", "-r -w"]);
            format!("{way} {}", option("--congestion-control", test.congestion.as_ref()))
        }
    };
    format!("--nolog -C {} -P {port} {what} {flags}", port - 1)
}

/// It prints the rate at which either end received, in bits a second.
fn streams(printed: &str, seconds: u32) -> Result<Report> {
    let value = |key| pair::<f64>(printed, key).with_context(|| format!("no {key}"));
    let rate = value("local_throughput")? + value("remote_throughput")?;
    let count = rate / 8.0 * f64::from(seconds);
    Ok(Report { count, rate, ..Report::default() })
}

fn exchanges(printed: &str) -> Option<Report> {
    let times = ["latency_mean", "latency_p50", "latency_p99"].map(|key| pair(printed, key));
    Some(Report::of_exchanges(
        pair(printed, "num_transactions")?,
        pair(printed, "throughput")?,
        times,
    ))
}

/// Enough for both directions on a small machine; its default is one for all streams.
const THREADS: u32 = 2;

#[cfg(test)]
mod tests {
    use super::super::test;
    use super::*;
    use crate::workload::Workload;

    #[test]
    fn a_test_is_a_command_line() {
        let plain = test(Workload::tcp(16));
        let server = "--nolog -C 5200 -P 5201 --congestion-control cubic";
        assert_eq!(NEPER.server(&plain), server);
        let flagged = Test { flags: "-Z".to_owned(), ..plain };
        let client = format!("{server} -Z -c -H 127.0.0.1 -F 16 -T 2 -l 5");
        assert_eq!(NEPER.client(&flagged), client);
        let reverse = test(Workload::tcp(1).towards(Direction::Reverse));
        let server = "--nolog -C 5200 -P 5201 -M --congestion-control cubic";
        assert_eq!(NEPER.server(&reverse), server);
        let client = "--nolog -C 5200 -P 5201 -B 64 -c -H 127.0.0.1 -F 1 -T 1 -l 5";
        assert_eq!(NEPER.client(&test(Workload::datagrams(64))), client);
        let client = "--nolog -C 5200 -P 5201 -Q 64 -R 64 -c -H 127.0.0.1 -l 5 -p 50,99";
        assert_eq!(NEPER.client(&test(Workload::exchange(Exchange::Tcp, 64))), client);
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
        let times = [Some(0.5), Some(0.25), Some(1.0)];
        assert_eq!(report, Report::of_exchanges(75_136.0, 74_926.11, times));
        assert_eq!(exchanges("num_transactions=1\n"), None);
    }
}
