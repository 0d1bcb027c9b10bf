//! linerate: `test` and `latency`.

use anyhow::{Context, Result, bail};
use measurement::outcome::{Ending, Outcome};
use serde_json::Value;

use super::{Printed, Program, Report, document, option};
use crate::figures::{Figures, Metric};
use crate::workload::{End, Exchange, Output, Rate, Test, Traffic, Workload};

/// How to call linerate and read its records. It serves each version whose records have the current
/// format of results.
pub const LINERATE: Program = Program {
    kind: "linerate",
    recognizes: |description| description.version.starts_with("linerate"),
    server: |test| format!("serve --bind {} --port {} --quiet", test.address, test.port),
    client,
    read,
    ..Program::USUAL
};

fn client(test: &Test) -> String {
    let Test { address, port, flags, .. } = test;
    let (command, task) = match test.workload.traffic {
        Traffic::Exchange(exchange) => ("latency", exchanges(test, exchange)),
        Traffic::Tcp => ("test", streams(test, "--tcp")),
        Traffic::Udp => ("test", streams(test, "--udp")),
    };
    let family = test.family_option("--ipv4", "--ipv6");
    let json = if test.output == Output::Json { "--json" } else { "" };
    format!("{command} {address} -p {port} {family} {task} {json} {flags}")
}

fn streams(test: &Test, transport: &str) -> String {
    let Workload { direction, streams, length, rate, .. } = test.workload;
    let direction = direction.one_of(["--send", "--receive", "--bidir"]);
    let end = match test.end {
        End::Seconds(seconds) => format!("--time {seconds}s"),
        End::Bytes(bytes) => format!("--bytes {bytes}"),
        End::Blocks(blocks) => format!("--blocks {blocks}"),
    };
    let rate = match rate {
        Rate::BitsPerSecond(rate) => Some(rate),
        // Without -b it would search for the rate without loss.
        Rate::Usual | Rate::Unlimited => (test.workload.traffic == Traffic::Udp).then_some(0),
    };
    let options = [
        option("--congestion", test.congestion()),
        option("--length", length),
        option("--rate", rate),
        option("--window", test.window),
        option("--mss", test.mss),
        option("--omit", test.omitted().map(|seconds| format!("{seconds}s"))),
    ];
    format!("-q {transport} {direction} --streams {streams} {end} {}", options.join(" "))
}

fn exchanges(test: &Test, exchange: Exchange) -> String {
    let length = test.workload.length;
    let sizes = [option("--request", length), option("--response", length)];
    format!("--only {exchange} -t {}s {}", test.seconds(), sizes.join(" "))
}

fn read(test: &Test, printed: &Printed) -> Result<Report> {
    let document = document(printed)?;
    // Several rows are wrapped in a set, one is not.
    let record = document.pointer("/records/0").unwrap_or(&document);
    let outcome = record.get("outcome").context("a record without outcome")?;
    match test.workload.traffic {
        Traffic::Exchange(_) => read_exchanges(outcome),
        Traffic::Tcp | Traffic::Udp => read_streams(record, outcome),
    }
}

fn read_streams(record: &Value, outcome: &Value) -> Result<Report> {
    let outcome: Outcome = serde_json::from_value(outcome.clone()).context("unknown outcome")?;
    if let Ending::Failed { error } = outcome.ending {
        bail!("{error}");
    }
    let delivered: Option<Vec<_>> =
        outcome.directions.iter().map(|direction| direction.delivered).collect();
    let delivered = delivered.filter(|delivered| !delivered.is_empty());
    let delivered = delivered.context("a record without the receiver's report")?;
    let bits = |bytes: u64| bytes as f64 * 8.0;
    let count = delivered.iter().map(|one| one.bytes).sum::<u64>() as f64;
    let rate = delivered.iter().map(|one| bits(one.bytes) / one.span.as_secs_f64()).sum();
    let mut figures = shares(record, rate).unwrap_or_default();
    let skew = |name| record.pointer(&format!("/runtime/{name}_skew_seconds"))?.as_f64();
    figures.push(Metric::StartSkew, skew("start"));
    figures.push(Metric::StopSkew, skew("stop"));
    Ok(Report { count, rate, figures, engines: engines(record) })
}

/// The receiver's report on each stream.
fn shares(record: &Value, rate: f64) -> Option<Figures> {
    let streams = record.get("reported")?.get("streams")?.as_array()?;
    let bytes = streams.iter().map(|one| one.get("bytes")?.as_u64());
    Some(Figures::of_streams(&bytes.collect::<Option<Vec<_>>>()?, rate))
}

/// Those of the first direction: a plan has one pair for all.
fn engines(record: &Value) -> Option<String> {
    let engines = record.pointer("/outcome/directions/0/engines")?;
    let name = |side: &str| engines.get(side)?.get("name")?.as_str();
    Some(format!("{},{}", name("send")?, name("receive")?))
}

fn read_exchanges(outcome: &Value) -> Result<Report> {
    if let Some(error) = outcome.pointer("/ending/error").and_then(Value::as_str) {
        bail!("{error}");
    }
    round_trips(outcome).context("a record without round trips")
}

fn round_trips(outcome: &Value) -> Option<Report> {
    let trips = outcome.get("round_trips")?;
    let number = |name: &str| trips.get(name)?.as_f64();
    let times = ["mean_seconds", "p50_seconds", "p99_seconds"].map(number);
    let rate = number("responses_per_second")?;
    Some(Report::of_exchanges(number("count")?, rate, times))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::test;
    use super::*;
    use crate::workload::{Direction, Family};

    fn record() -> Value {
        json!({
            "reported": {"streams": [{"id": 1, "bytes": 3}, {"id": 2, "bytes": 1}]},
            "outcome": {
                "ending": {"state": "completed"},
                "directions": [{
                    "direction": "send",
                    "delivered": {"bytes": 4, "seconds": 1.0, "rate_bits_per_second": 32},
                }],
                "cpu": {"total_percent": 99.0, "user_percent": 1.0, "system_percent": 98.0},
            },
        })
    }

    fn read(printed: &Value) -> Result<Report> {
        super::super::read(&LINERATE, Workload::tcp(2), printed)
    }

    #[test]
    fn a_test_is_a_command_line() {
        let line = "test 127.0.0.1 -p 5201 -q --tcp --send --streams 16 --time 5s \
                    --congestion cubic --json";
        assert_eq!(LINERATE.client(&test(Workload::tcp(16))), line);
        let datagrams = Workload::datagrams(1460).towards(Direction::Reverse);
        let line = "test 127.0.0.1 -p 5201 -q --udp --receive --streams 1 --time 5s --length 1460 \
                    --rate 0 --json --engine send";
        let test = Test { flags: "--engine send".to_owned(), ..test(datagrams) };
        assert_eq!(LINERATE.client(&test), line);
        assert_eq!(LINERATE.server(&test), "serve --bind 127.0.0.1 --port 5201 --quiet");
    }

    #[test]
    fn each_setting_is_an_option() {
        let test = Test {
            end: End::Bytes(1 << 20),
            omit_seconds: 1,
            congestion: None,
            window: Some(65_536),
            mss: Some(1000),
            family: Family::Option,
            output: Output::Text,
            ..test(Workload { rate: Rate::BitsPerSecond(1_000_000), ..Workload::tcp(1) })
        };
        let line = "test 127.0.0.1 -p 5201 --ipv4 -q --tcp --send --streams 1 --bytes 1048576 \
                    --rate 1000000 --window 65536 --mss 1000 --omit 1s";
        assert_eq!(LINERATE.client(&test), line);
    }

    #[test]
    fn an_exchange_is_a_command_line() {
        let line =
            "latency 127.0.0.1 -p 5201 --only connect -t 5s --request 64 --response 64 --json";
        assert_eq!(LINERATE.client(&test(Workload::exchange(Exchange::Connect, 64))), line);
    }

    #[test]
    fn the_receivers_report_is_read_from_one_record_and_from_a_set() {
        for printed in [record(), json!({"records": [record()]})] {
            let report = read(&printed).expect("complete");
            assert_eq!((report.count, report.rate, report.engines), (4.0, 32.0, None));
            assert_eq!(report.figures, Figures::of_streams(&[3, 1], 32.0));
        }
    }

    #[test]
    fn a_failed_test_gives_no_number() {
        let mut failed = record();
        failed["outcome"]["ending"] = json!({"state": "failed", "error": "the peer left"});
        assert_eq!(read(&failed).expect_err("failed").to_string(), "the peer left");
    }

    #[test]
    fn engines_are_named_as_on_the_command_line() {
        let mut record = record();
        record["outcome"]["directions"][0]["engines"] =
            json!({"send": {"name": "vmsplice"}, "receive": {"name": "msg-trunc"}});
        assert_eq!(engines(&record).as_deref(), Some("vmsplice,msg-trunc"));
    }

    #[test]
    fn the_skews_are_those_of_the_runtime() {
        let mut record = record();
        record["runtime"] = json!({"start_skew_seconds": 0.002, "stop_skew_seconds": 0.001});
        let figures = read(&json!({"records": [record]})).expect("complete").figures;
        assert_eq!(figures.get(Metric::StartSkew), Some(0.002));
        assert_eq!(figures.get(Metric::StopSkew), Some(0.001));
    }

    #[test]
    fn the_round_trips_are_read() {
        let trips = json!({"count": 9000, "lost": 0, "seconds": 3.0,
            "responses_per_second": 3000.0, "min_seconds": 0.125, "mean_seconds": 0.25,
            "p50_seconds": 0.25, "p90_seconds": 0.5, "p99_seconds": 0.5, "p999_seconds": 1.0,
            "max_seconds": 2.0});
        let workload = Workload::exchange(Exchange::Tcp, 64);
        let read = |printed: Value| super::super::read(&LINERATE, workload, &printed);
        let report = read(json!({"outcome": {"round_trips": trips}})).expect("complete");
        let times = [Some(0.25), Some(0.25), Some(0.5)];
        assert_eq!(report, Report::of_exchanges(9_000.0, 3_000.0, times));
        assert!(read(json!({"records": []})).is_err());
    }
}
