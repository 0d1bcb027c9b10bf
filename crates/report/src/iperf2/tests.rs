//! The text of tests whose numbers are known.

use std::time::Duration;

use measurement::outcome::{CpuUse, DatagramLedger, Throughput};
use measurement::plan::PlanDraft;
use measurement::record::{OneWayDelay, PeerStream};
use measurement::{
    BitRate, ByteSize, Course, Direction, Sample, StreamCounters, StreamRecord, StreamSample,
    TestPlan, Timestamp, Transport,
};

use super::{Carried, Form, Text};
use crate::iperf3::UnitFormat;

fn plan(transport: Transport, direction: Direction, streams: u32) -> TestPlan {
    let mut draft = PlanDraft { streams, ..PlanDraft::new(transport, direction) };
    draft.options.rate = Some(BitRate::from_bits_per_second(1_048_576));
    draft.check().expect("a plan")
}

fn streams(count: u32, sender: bool) -> Vec<StreamRecord> {
    let stream = |id: u32| StreamRecord {
        local: Some(format!("127.0.0.1:{}", 40_000 + id).parse().expect("an address")),
        peer: Some("127.0.0.1:5001".parse().expect("an address")),
        send_buffer: Some(ByteSize::from_bytes(16 << 10)),
        receive_buffer: Some(ByteSize::from_bytes(128 << 10)),
        ..StreamRecord::unknown(id, sender, ByteSize::from_bytes(1_470))
    };
    (1..=count).map(stream).collect()
}

/// A sample after `millis` in which each stream has moved so many bytes and datagrams.
fn sample(millis: u64, streams: &[StreamRecord], bytes: u64, sequence: u64) -> Sample {
    let counters = StreamCounters { bytes, sequence, ..StreamCounters::default() };
    let one =
        |stream: &StreamRecord| StreamSample { id: stream.id, counters, ..StreamSample::default() };
    let at = Timestamp::default().after(Duration::from_millis(5_000 + millis));
    Sample { at, streams: streams.iter().map(one).collect() }
}

fn course<'a>(
    plan: &'a TestPlan,
    streams: &'a [StreamRecord],
    samples: &'a [Sample],
) -> Course<'a> {
    let (stopped, cpu) = (samples.last().map(|last| last.at), CpuUse::default());
    Course { plan, streams, samples, intervals: &[], base: 0, stopped, cpu }
}

#[test]
fn tcp_has_rows_of_intervals_sums_and_the_whole() {
    let (plan, streams) = (plan(Transport::Tcp, Direction::Send, 2), streams(2, true));
    let samples = [
        sample(0, &streams, 0, 0),
        sample(1_000, &streams, 1_310_660, 0),
        sample(2_000, &streams, 2_621_380, 0),
    ];
    let course = course(&plan, &streams, &samples);
    let mut text = Text::new(Form::Text, UnitFormat::Adaptive);
    let mut out = text.opened(("there", 5_001), &plan, &streams);
    out += &text.sampled(&course, "");
    out += &text.summary(&course, &[], "");
    let expected = "\
------------------------------------------------------------
Client connecting to there, TCP port 5001
TCP window size: 16.0 KByte (default)
------------------------------------------------------------
[  1] local 127.0.0.1 port 40001 connected with 127.0.0.1 port 5001
[  2] local 127.0.0.1 port 40002 connected with 127.0.0.1 port 5001
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-1.0000 sec  1.25 MBytes  10.5 Mbits/sec
[  2] 0.0000-1.0000 sec  1.25 MBytes  10.5 Mbits/sec
[SUM] 0.0000-1.0000 sec  2.50 MBytes  21.0 Mbits/sec
[  1] 1.0000-2.0000 sec  1.25 MBytes  10.5 Mbits/sec
[  2] 1.0000-2.0000 sec  1.25 MBytes  10.5 Mbits/sec
[SUM] 1.0000-2.0000 sec  2.50 MBytes  21.0 Mbits/sec
[  1] 0.0000-2.0000 sec  2.50 MBytes  10.5 Mbits/sec
[  2] 0.0000-2.0000 sec  2.50 MBytes  10.5 Mbits/sec
[SUM] 0.0000-2.0000 sec  5.00 MBytes  21.0 Mbits/sec
";
    assert_eq!(out, expected);
}

fn report() -> PeerStream {
    let (bytes, seconds, jitter_seconds) = (267_540, 2.0188, 0.000_002_4);
    let (datagrams, lost) = (182, 3);
    PeerStream { id: 1, bytes, seconds, datagrams, lost, jitter_seconds, ..PeerStream::default() }
}

#[test]
fn udp_has_the_servers_report() {
    let (plan, streams) = (plan(Transport::Udp, Direction::Send, 1), streams(1, true));
    let samples = [sample(0, &streams, 0, 0), sample(2_000, &streams, 182 * 1_470, 182)];
    let course = course(&plan, &streams, &samples);
    let mut text = Text::new(Form::Text, UnitFormat::Adaptive);
    let out =
        text.opened(("there", 5_001), &plan, &streams) + &text.summary(&course, &[report()], "");
    let expected = "\
------------------------------------------------------------
Client connecting to there, UDP port 5001
Sending 1470 byte datagrams, IPG target: 11215.21 us
UDP buffer size: 16.0 KByte (default)
------------------------------------------------------------
[  1] local 127.0.0.1 port 40001 connected with 127.0.0.1 port 5001
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-2.0000 sec   261 KBytes  1.07 Mbits/sec
[  1] Sent 183 datagrams
[  1] Server Report:
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[  1] 0.0000-2.0188 sec   261 KBytes  1.06 Mbits/sec   0.002 ms 3/182 (1.6%)
";
    assert_eq!(out, expected);
    let (mean_seconds, min_seconds) = (0.000_046, -0.000_008);
    let delay = OneWayDelay { mean_seconds, min_seconds, ..OneWayDelay::default() };
    let timed = PeerStream { one_way: Some(delay), ..report() };
    let out = text.summary(&course, &[timed], "");
    assert!(out.contains("Lost/Total Datagrams  Latency avg/min/max/stdev\n"), "{out}");
    assert!(out.ends_with(" 3/182 (1.6%) 0.046/-0.008/0.000/0.000 ms\n"), "{out}");
}

#[test]
fn what_a_client_receives_by_udp_has_jitter_and_loss() {
    let counters =
        |bytes, sequence, unique| StreamCounters { bytes, sequence, unique, ..Default::default() };
    let all = |count: u32, moved: StreamCounters, direction| {
        let plan = plan(Transport::Udp, direction, count);
        let mut streams = streams(count, false);
        if direction == Direction::Both {
            streams.insert(0, self::streams(1, true).remove(0));
        }
        let mut samples = [sample(0, &streams, 0, 0), sample(1_000, &streams, 0, 0)];
        samples[1].streams.iter_mut().for_each(|one| one.counters = moved);
        let mut text = Text::new(Form::Text, UnitFormat::Adaptive);
        text.summary(&course(&plan, &streams, &samples), &[], "")
    };
    let two = all(2, counters(13_230, 10, 9), Direction::Receive);
    let expected = "\
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[ *1] 0.0000-1.0000 sec  12.9 KBytes   106 Kbits/sec   0.000 ms 1/10 (10%)
[ *2] 0.0000-1.0000 sec  12.9 KBytes   106 Kbits/sec   0.000 ms 1/10 (10%)
[SUM] 0.0000-1.0000 sec  25.8 KBytes   212 Kbits/sec   0.000 ms 2/20 (10%)
";
    assert_eq!(two, expected);
    let both = all(1, counters(14_700, 10, 10), Direction::Both);
    let expected = "\
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[  1] 0.0000-1.0000 sec  14.4 KBytes   118 Kbits/sec
[ *1] 0.0000-1.0000 sec  14.4 KBytes   118 Kbits/sec   0.000 ms 0/10 (0%)
[  1] Sent 11 datagrams
";
    assert_eq!(both, expected);
}

#[test]
fn values_are_separated_by_commas() {
    let (plan, streams) = (plan(Transport::Udp, Direction::Send, 1), streams(1, true));
    let samples = [sample(0, &streams, 0, 0), sample(2_000, &streams, 182 * 1_470, 182)];
    let course = course(&plan, &streams, &samples);
    let mut text = Text::new(Form::Csv, UnitFormat::Adaptive);
    assert_eq!(text.opened(("there", 5_001), &plan, &streams), "");
    let expected = "\
20261126173756,127.0.0.1,40001,127.0.0.1,5001,1,0.0-2.0,267540,1070160,0.000,0,183,0.000,0
20261126173756,127.0.0.1,5001,127.0.0.1,40001,1,0.0-2.0,267540,1060194,0.002,3,182,1.648,0
";
    assert_eq!(text.summary(&course, &[report()], "20261126173756"), expected);
}

#[test]
fn a_server_that_sends_is_marked_and_a_unit_holds_for_amounts_too() {
    let (plan, streams) = (plan(Transport::Tcp, Direction::Receive, 1), streams(1, false));
    let samples = [sample(0, &streams, 0, 0), sample(1_500, &streams, 393_216, 0)];
    let course = course(&plan, &streams, &samples);
    let mut text = Text::new(Form::Text, "m".parse().expect("a unit"));
    let out = text.summary(&course, &[], "");
    assert!(out.contains("[ *1] 0.0000-1.5000 sec  0.38 MBytes  2.10 Mbits/sec"), "{out}");
    let mut text = Text::new(Form::Text, "K".parse().expect("a unit"));
    let out = text.summary(&course, &[], "");
    assert!(out.contains("[ *1] 0.0000-1.5000 sec   384 KBytes   256 KBytes/sec"), "{out}");
}

#[test]
fn a_server_prints_what_it_received() {
    assert!(Text::listening(Transport::Udp, 5_001).contains("Server listening on UDP port 5001"));
    let streams = streams(1, false);
    let ledger = DatagramLedger {
        sent: 182,
        received: 182,
        lost: 0,
        tail: None,
        unaccounted: None,
        reordered: None,
        duplicate: None,
        late: None,
    };
    let delivered = Throughput::over(267_540, Duration::from_micros(2_018_800));
    let datagrams = Some((ledger, 0.000_002));
    let received = Carried { first: 3, streams: &streams, moved: delivered, each: &[], datagrams };
    let expected = "\
[  3] local 127.0.0.1 port 40001 connected with 127.0.0.1 port 5001
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[  3] 0.0000-2.0188 sec   261 KBytes  1.06 Mbits/sec   0.002 ms 0/182 (0%)
";
    assert_eq!(received.text(Form::Text, UnitFormat::Adaptive, ""), expected);
    let streams = self::streams(2, false);
    let moved = Throughput::over(3_072, Duration::from_secs(1));
    let several =
        Carried { first: 4, streams: &streams, moved, each: &[1_024, 2_048], datagrams: None };
    let text = several.text(Form::Text, UnitFormat::Adaptive, "");
    let rows: Vec<_> =
        text.lines().filter_map(|row| row.split_once(" 0.0000-1.0000 sec ")).collect();
    let labels = rows.iter().map(|(label, _)| *label);
    assert_eq!(labels.collect::<Vec<_>>(), ["[  4]", "[  5]", "[SUM]"], "{text}");
    assert!(rows[1].1.trim_start().starts_with("2.00 KBytes"), "{text}");
    let text = several.text(Form::Csv, UnitFormat::Adaptive, "20261127");
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.contains(",5,0.0-1.0,2048,16384\n"), "{text}");
}
