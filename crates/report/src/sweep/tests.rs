//! Pictures of sweeps with known curves, at several widths.

use std::time::Duration;

use measurement::plan::PlanDraft;
use measurement::record::StreamRecord;
use measurement::{DatagramLedger, Direction, Throughput, Transport};

use super::*;

const RATE: Dimension = Dimension {
    title: "rate",
    key: "rate_bits_per_second",
    unit: Some(Unit::BitsPerSecond),
    shows_packets: false,
};
const SIZE: Dimension = Dimension {
    title: "size",
    key: "datagram_bytes",
    unit: Some(Unit::Bytes),
    shows_packets: true,
};
const STREAMS: Dimension =
    Dimension { title: "streams", key: "streams", unit: Some(Unit::Count), shows_packets: false };
const CONGESTION: Dimension =
    Dimension { title: "congestion", key: "congestion", unit: None, shows_packets: false };

/// A record of one second in which so many datagrams of `size` bytes were sent and lost; without
/// loss that is known, one of TCP.
fn record(size: u64, sent: u64, lost: Option<u64>) -> TestRecord {
    let transport = if lost.is_some() { Transport::Udp } else { Transport::Tcp };
    let plan = PlanDraft::new(transport, Direction::Send).check().expect("a plan");
    let mut record = TestRecord::imported(plan, "a script");
    let span = Duration::from_secs(1);
    let arrived = sent - lost.unwrap_or(0);
    record.outcome.directions = vec![DirectionOutcome {
        delivered: Some(Throughput::over(arrived * size, span)),
        datagrams: lost.map(|lost| DatagramLedger {
            sent,
            received: arrived,
            lost,
            ..DatagramLedger::default()
        }),
        ..DirectionOutcome::unknown(Direction::Send)
    }];
    record
}

/// A path of 583 Mbit/s, with datagrams of 1,250 bytes.
fn saturation() -> Vec<(u64, TestRecord)> {
    let rates = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000].map(|rate| rate * 1_000_000);
    let most = 583_000_000;
    let each = rates.map(|rate: u64| {
        (rate, record(1_250, rate / 10_000, Some(rate.saturating_sub(most) / 10_000)))
    });
    each.to_vec()
}

fn sweep<'a>(axis: Dimension, records: &'a [(u64, TestRecord)]) -> Sweep<'a> {
    let point = |(setting, record): &'a (u64, TestRecord)| Point {
        settings: vec![Setting::Number(*setting)],
        record,
    };
    Sweep {
        axes: vec![axis],
        points: records.iter().map(point).collect(),
        knee: None,
        no_knee: None,
    }
}

fn pictures(sweep: &Sweep<'_>, width: usize, glyphs: Glyphs) -> String {
    let mut out = Vec::new();
    sweep.write_pictures(width, glyphs, &mut out).expect("a vector takes all");
    let text = String::from_utf8(out).expect("text");
    assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
    text
}

#[test]
fn rate_and_loss_over_the_rate_asked_and_near_the_knee() {
    let records = saturation();
    let mut sweep = sweep(RATE, &records);
    let at = BitRate::from_bits_per_second(512_000_000);
    let above = &records[10].1;
    sweep.knee = Some(Knee { at, around: (256_000_000, 1_000_000_000), above });
    for width in [60, 80, 120] {
        insta::assert_snapshot!(
            format!("saturation_{width}"),
            pictures(&sweep, width, Glyphs::Braille)
        );
    }
    insta::assert_snapshot!("saturation_ascii", pictures(&sweep, 80, Glyphs::Ascii));
}

#[test]
fn the_knee_stands_below_the_pictures() {
    let records = saturation();
    let mut sweep = sweep(RATE, &records);
    let at = BitRate::from_bits_per_second(512_000_000);
    sweep.knee = Some(Knee { at, around: (1_000_000, 1_000_000_000), above: &records[10].1 });
    let mut out = Vec::new();
    sweep.write(40, Glyphs::Ascii, &mut out).expect("a vector takes all");
    let out = String::from_utf8(out).expect("text");
    let knee = "\nKNEE   at 512.0 Mbit/s: the last rate of\n       which at least 98 % arrives\n";
    assert!(out.ends_with(knee) && !out.contains("LIMIT"), "{out}");
    assert!(!out.contains("near the knee"), "all of the curve is drawn already: {out}");
    assert!(out.contains("512.0 Mbit/s   512.0 Mbit/s   51.20 k/s      0 %"), "{out}");
}

#[test]
fn packets_over_the_size_of_datagrams() {
    let records: Vec<_> = [64, 128, 256, 512, 1_024, 1_448]
        .map(|size| (size, record(size, (125_000_000 / size).min(600_000), Some(0))))
        .to_vec();
    let sweep = sweep(SIZE, &records);
    insta::assert_snapshot!("sizes_ascii", pictures(&sweep, 80, Glyphs::Ascii));
    insta::assert_snapshot!("sizes_60", pictures(&sweep, 60, Glyphs::Braille));
}

#[test]
fn a_curve_for_each_setting_of_a_second_axis() {
    let rates: Vec<_> = (0..6_u64)
        .flat_map(|power| ["cubic", "reno"].map(|name| (1 << power, name)))
        .map(|(streams, name)| {
            let each = if name == "reno" { 20_000 } else { 30_000 };
            (streams, name, record(1_250, (streams * each).min(500_000 - streams * 1_000), None))
        })
        .collect();
    let points = rates.iter().map(|(streams, name, record)| Point {
        settings: vec![Setting::Number(*streams), Setting::Name((*name).to_owned())],
        record,
    });
    let sweep = Sweep {
        axes: vec![STREAMS, CONGESTION],
        points: points.collect(),
        knee: None,
        no_knee: None,
    };
    insta::assert_snapshot!("two_axes_80", pictures(&sweep, 80, Glyphs::Braille));
    let mut csv = Vec::new();
    sweep.grid(Audience::Programs).write_csv(&mut csv).expect("a vector takes all");
    let csv = String::from_utf8(csv).expect("text");
    assert!(csv.starts_with("streams,congestion,direction,delivered_bits_per_second,"), "{csv}");
    assert!(csv.contains("\n4,cubic,send,1200000000,"), "{csv}");
    assert_eq!(csv.lines().count(), 13);
}

#[test]
fn no_curve_of_two_axes_is_hidden() {
    let all: Vec<_> = (0..12_u64)
        .flat_map(|buffer| [1_u64, 2, 4].map(|streams| (streams, buffer)))
        .map(|(streams, buffer)| (streams, buffer, record(1_250, 1_000 * streams, Some(buffer))))
        .collect();
    let buffer = Dimension {
        title: "buffer",
        key: "buffer_bytes",
        unit: Some(Unit::Bytes),
        shows_packets: false,
    };
    let points = all.iter().map(|(streams, buffer, record)| Point {
        settings: vec![Setting::Number(*streams), Setting::Number(1_024 << buffer)],
        record,
    });
    let axes = vec![STREAMS, buffer];
    let sweep = Sweep { axes, points: points.collect(), knee: None, no_knee: None };
    insta::assert_snapshot!("twelve_curves_80", pictures(&sweep, 80, Glyphs::Ascii));
}

#[test]
fn names_have_bars_and_a_single_point_nothing() {
    let records = [record(1_250, 90_000, None), record(1_250, 45_000, None)];
    let point =
        |(name, record): (&str, _)| Point { settings: vec![Setting::Name(name.into())], record };
    let points: Vec<_> = ["cubic", "reno"].into_iter().zip(&records).map(point).collect();
    let mut sweep = Sweep { axes: vec![CONGESTION], points, knee: None, no_knee: None };
    insta::assert_snapshot!("bars_60", pictures(&sweep, 60, Glyphs::Braille));
    sweep.points.truncate(1);
    assert_eq!(pictures(&sweep, 60, Glyphs::Braille), "");
}

#[test]
fn a_sweep_without_loss_has_no_axis_of_loss() {
    let records: Vec<_> = saturation().into_iter().take(4).collect();
    let text = pictures(&sweep(RATE, &records), 80, Glyphs::Ascii);
    assert!(!text.contains("lost") && text.starts_with("\ndelivered, Mbit/s\n"), "{text}");
}

#[test]
fn people_read_what_was_resent_as_a_share_and_programs_its_number() {
    let mut records = [1, 2].map(|streams| (streams, record(1_250, 80_000, None))).to_vec();
    records[1].1.outcome.directions[0].retransmits = Some(1_730);
    let table = |sweep: &Sweep<'_>| {
        let mut out = Vec::new();
        sweep.grid(Audience::People).write_text(&mut out, 0).expect("a vector takes all");
        String::from_utf8(out).expect("text")
    };
    let text = table(&sweep(STREAMS, &records));
    assert!(text.contains("1,730 seg\n"), "no MSS: {text}");
    let mut stream = StreamRecord::unknown(1, true, ByteSize::from_bytes(1_250));
    stream.mss = Some(1_250);
    records[1].1.streams = vec![stream];
    let text = table(&sweep(STREAMS, &records));
    assert!(text.contains("2.12 %") && !text.contains("1,730"), "{text}");
    let mut csv = Vec::new();
    sweep(STREAMS, &records).grid(Audience::Programs).write_csv(&mut csv).expect("a vector");
    assert!(String::from_utf8(csv).expect("text").contains(",1730,"));
}

#[test]
fn each_rule_is_told_once_with_its_points() {
    let mut records = saturation();
    for at in [3, 5] {
        let reason = |stamp, rule: &str, text: &str| measurement::Reason {
            rule: rule.parse().expect("a rule"),
            stamp,
            host: None,
            text: text.to_owned(),
        };
        records[at].1.judgement = Some(measurement::Judgement {
            stamp: measurement::Stamp::Invalid,
            reasons: vec![
                reason(measurement::Stamp::Suspect, "link-speed-low", &format!("waited {at} ms")),
                reason(measurement::Stamp::Invalid, "rx-ring-small", "sent too little"),
                reason(measurement::Stamp::Valid, "mtu-small", "only information"),
            ],
            ..Default::default()
        });
    }
    let mut out = Vec::new();
    let mut sweep = sweep(RATE, &records);
    sweep.write_reasons(80, &mut out).expect("written");
    let told = "\n\
        INVALID  at rate 8.000 Mbit/s: sent too little (also at rate 32.00 Mbit/s)\n\
        SUSPECT  at rate 8.000 Mbit/s: waited 3 ms (also at rate 32.00 Mbit/s)\n";
    assert_eq!(String::from_utf8(out).expect("text"), told);
    sweep.no_knee = Some(NoKnee::FallsShort);
    let mut out = Vec::new();
    sweep.write(80, Glyphs::Ascii, &mut out).expect("written");
    let end = "\nKNEE   none: of no rate at least 98 % arrives; sweep lower rates\n";
    assert!(String::from_utf8(out).expect("text").ends_with(end));
}
