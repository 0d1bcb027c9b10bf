//! iperf3, and whatever takes its options and prints its JSON, as riperf3 does.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::{Printed, Program, Report, document, option};
use crate::figures::Figures;
use crate::workload::{End, Output, Rate, Test, Traffic, Workload};

/// How to call iperf3 and read its JSON.
pub const IPERF3: Program = Program {
    kind: "iperf3",
    recognizes: |description| description.version.starts_with("iperf 3"),
    // As many streams as `MAX_STREAMS` in its iperf.h.
    takes: |_, workload| {
        workload.streams <= 128 && !matches!(workload.traffic, Traffic::Exchange(_))
    },
    ways: |workload| match workload.traffic {
        Traffic::Tcp => &["-Z", "-Z --skip-rx-copy"],
        Traffic::Udp => &["--gsro"],
        Traffic::Exchange(_) => &[],
    },
    server: |test| format!("-s -B {} -p {}", test.address, test.port),
    client,
    read,
    ..Program::USUAL
};

fn client(test: &Test) -> String {
    let Test { address, port, flags, .. } = test;
    let Workload { traffic, direction, streams, length, rate } = test.workload;
    let rate = match rate {
        Rate::Usual => None,
        Rate::Unlimited => Some(0),
        Rate::BitsPerSecond(rate) => Some(rate),
    };
    let end = match test.end {
        End::Seconds(seconds) => format!("-t {seconds}"),
        End::Bytes(bytes) => format!("-n {bytes}"),
        End::Blocks(blocks) => format!("-k {blocks}"),
    };
    let options = [
        if traffic == Traffic::Udp { "-u".to_owned() } else { option("-C", test.congestion()) },
        option("-b", rate),
        option("-l", length),
        option("-w", test.window),
        option("-M", test.mss),
        option("-O", test.omitted()),
    ];
    let direction = direction.one_of(["", "-R", "--bidir"]);
    let json = if test.output == Output::Json { "-J" } else { "" };
    let (family, options) = (test.family_option("-4", "-6"), options.join(" "));
    format!(
        "-c {address} -p {port} {family} {options} {direction} -P {streams} {end} {json} {flags}"
    )
}

fn read(_test: &Test, printed: &Printed) -> Result<Report> {
    let document = document(printed)?;
    // With -J it complains in the document and ends with 0.
    if let Some(error) = document.get("error").and_then(Value::as_str) {
        bail!("{error}");
    }
    let end = document.get("end").context("no `end` in the JSON")?;
    let received = end.get("sum_received").and_then(sum).or_else(|| old_udp_sum(end));
    let received = received.context("no `sum_received` in the JSON")?;
    let back = end.get("sum_received_bidir_reverse").and_then(sum).unwrap_or_default();
    let (count, rate) = (received.0 + back.0, received.1 + back.1);
    let streams = end.get("streams").and_then(Value::as_array);
    let bytes: Option<Vec<u64>> = streams.and_then(|streams| {
        streams.iter().map(|one| one.pointer("/receiver/bytes")?.as_u64()).collect()
    });
    let figures = bytes.map_or_else(Figures::default, |b| Figures::of_streams(&b, rate));
    Ok(Report { count, rate, figures, engines: None })
}

/// Bytes and bits a second of a sum of the document.
fn sum(sum: &Value) -> Option<(f64, f64)> {
    Some((sum.get("bytes")?.as_f64()?, sum.get("bits_per_second")?.as_f64()?))
}

/// Before 3.10, UDP has `sum` only: the sender's bytes, and what was lost of them.
fn old_udp_sum(end: &Value) -> Option<(f64, f64)> {
    let (bytes, rate) = sum(end.get("sum")?)?;
    let (lost, all) = (end["sum"]["lost_packets"].as_f64()?, end["sum"]["packets"].as_f64()?);
    let arrived = (all - lost).max(0.0) / all.max(1.0);
    Some((bytes * arrived, rate * arrived))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::test;
    use super::*;
    use crate::figures::Metric;
    use crate::workload::{Direction, Family};

    fn read(printed: &Value) -> Result<Report> {
        super::super::read(&IPERF3, Workload::tcp(1), printed)
    }

    #[test]
    fn a_test_is_a_command_line() {
        let line = "-c 127.0.0.1 -p 5201 -C cubic -P 16 -t 5 -J";
        assert_eq!(IPERF3.client(&test(Workload::tcp(16))), line);
        let both = Workload::datagrams(64).towards(Direction::Both);
        let line = "-c 127.0.0.1 -p 5201 -u -b 0 -l 64 --bidir -P 1 -t 5 -J --gsro";
        let test = Test { flags: "--gsro".to_owned(), ..test(both) };
        assert_eq!(IPERF3.client(&test), line);
        assert_eq!(IPERF3.server(&test), "-s -B 127.0.0.1 -p 5201");
    }

    #[test]
    fn each_setting_is_an_option() {
        let test = Test {
            end: End::Blocks(7),
            omit_seconds: 1,
            congestion: None,
            window: Some(65_536),
            mss: Some(1000),
            family: Family::Option,
            output: Output::Text,
            ..test(Workload { rate: Rate::BitsPerSecond(1_000_000), ..Workload::tcp(1) })
        };
        let line = "-c 127.0.0.1 -p 5201 -4 -b 1000000 -w 65536 -M 1000 -O 1 -P 1 -k 7";
        assert_eq!(IPERF3.client(&test), line);
    }

    #[test]
    fn the_receivers_sum_counts_and_its_streams_share_it() {
        let report = read(&json!({"end": {
            "streams": [{"receiver": {"bytes": 6}}, {"receiver": {"bytes": 2}}],
            "sum_sent": {"bytes": 9, "bits_per_second": 9.0},
            "sum_received": {"bytes": 8, "bits_per_second": 7.5},
        }}));
        let report = report.expect("complete");
        assert_eq!((report.count, report.rate), (8.0, 7.5));
        assert_eq!(report.figures.get(Metric::Jain), Some(0.8));
    }

    #[test]
    fn both_directions_are_added_up() {
        let report = read(&json!({"end": {
            "sum_received": {"bytes": 4, "bits_per_second": 32.0},
            "sum_received_bidir_reverse": {"bytes": 3, "bits_per_second": 24.0},
        }}));
        let report = report.expect("complete");
        assert_eq!((report.count, report.rate), (7.0, 56.0));
    }

    #[test]
    fn old_udp_sums_lose_what_was_lost() {
        let sum =
            json!({"bytes": 1_000, "bits_per_second": 100.0, "lost_packets": 1, "packets": 4});
        let report = read(&json!({"end": {"sum": sum}})).expect("complete");
        assert_eq!((report.count, report.rate), (750.0, 75.0));
    }

    #[test]
    fn an_error_in_the_document_is_an_error() {
        let error = read(&json!({"end": {}, "error": "busy"})).expect_err("busy");
        assert_eq!(error.to_string(), "busy");
    }
}
