//! Results of many streams: a row of numbers for each (clause 13.14).
//!
//! iperf3's own form takes a kilobyte for a stream. No iperf3 has so many.

use std::fmt;

use measurement::outcome::CpuUse;
use measurement::sample::StreamCounter;
use measurement::{StreamCounters, StreamSample, TcpSample};
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};
use serde::{Serialize, Serializer};

use super::{Beside, Detail, MOST_STREAMS, Results, StreamResult, json, missing};

/// The results as a JSON document.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    cpu_util_total: f64,
    cpu_util_user: f64,
    cpu_util_system: f64,
    sender_has_retransmits: i64,
    /// iperf3's list is there and empty.
    streams: [(); 0],
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion_used: Option<&'a str>,
    linerate: Table<'a>,
}

#[derive(Serialize)]
struct Table<'a> {
    rows: Vec<Cells>,
    #[serde(flatten)]
    beside: Beside<'a>,
}

/// The numbers of one stream; -1: unknown.
type Row = [i64; COLUMNS];

/// So many of them as are length.
struct Cells {
    row: Row,
    length: usize,
}

impl Serialize for Cells {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.row[..self.length].serialize(serializer)
    }
}

impl Cells {
    fn new(stream: &StreamResult, detail: Detail) -> Self {
        let mut row = row(stream);
        if detail == Detail::Least {
            for column in OMITTED {
                row[column] = -1;
            }
        }
        let length = if detail == Detail::All { COLUMNS } else { LEAST_COLUMNS };
        Self { row, length }
    }
}

impl<'a> Document<'a> {
    pub(super) fn new(results: &'a Results, detail: Detail) -> Self {
        let mut beside =
            if detail == Detail::Least { Beside::default() } else { Beside::new(results) };
        beside.evidence = beside.evidence.filter(|_| detail == Detail::All);
        let CpuUse { total, user, system } = results.cpu;
        Self {
            cpu_util_total: total,
            cpu_util_user: user,
            cpu_util_system: system,
            sender_has_retransmits: results.sender_has_retransmits,
            streams: [],
            congestion_used: results.congestion_used.as_deref(),
            linerate: Table {
                rows: results.streams.iter().map(|one| Cells::new(one, detail)).collect(),
                beside,
            },
        }
    }
}

fn row(stream: &StreamResult) -> Row {
    let StreamSample { counters, tcp, .. } = stream.counted.unwrap_or_default();
    let omitted = |count: Option<u64>| number(count.unwrap_or(0));
    let iperf3: [i64; LEAST_COLUMNS] = [
        number(stream.id.into()),
        number(stream.bytes),
        stream.retransmits,
        nanos(stream.jitter),
        number(stream.errors),
        omitted(stream.omitted_errors),
        number(stream.packets),
        omitted(stream.omitted_packets),
        nanos(stream.seconds),
    ];
    let own = columns().map(|column| match column {
        Column::Counter(counter) => number((counter.get)(&counters)),
        Column::Tcp(get, _) => tcp.map_or(-1, |tcp| number(get(tcp))),
    });
    let mut row = [-1; COLUMNS];
    for (cell, number) in row.iter_mut().zip(iperf3.into_iter().chain(own)) {
        *cell = number;
    }
    row
}

/// A column behind those that iperf3 has too.
enum Column {
    Counter(&'static StreamCounter),
    Tcp(fn(TcpSample) -> u64, fn(&mut TcpSample, u64)),
}

/// The columns behind those of iperf3, in the order of clause 13.14: the counters in the order of
/// their declaration, and what TCP adds.
fn columns() -> impl Iterator<Item = Column> {
    let own = StreamCounters::ALL.iter().filter(|one| !IN_IPERF3.contains(&one.name));
    let tcp = TCP.into_iter().map(|(get, set)| Column::Tcp(get, set));
    own.map(Column::Counter).chain(tcp)
}

/// Parses the list of rows in `text`. Columns beyond the known ones are ignored.
pub(super) fn read(text: &str) -> Result<Vec<StreamResult>, String> {
    let rows = json::list(text, MOST_STREAMS, |row| {
        let (row, length) =
            measurement::json::read::<Read>(row).ok().map(|read| (read.row, read.length))?;
        let stream = stream(row)?;
        Some(if length < COLUMNS { StreamResult { counted: None, ..stream } } else { stream })
    });
    rows.ok_or_else(|| missing("rows"))
}

/// A row as it was read; what was not length is zero.
struct Read {
    row: Row,
    length: usize,
}

impl<'a> Deserialize<'a> for Read {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(RowVisitor)
    }
}

struct RowVisitor;

impl<'a> Visitor<'a> for RowVisitor {
    type Value = Read;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row of numbers")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut cells: A) -> Result<Read, A::Error> {
        let (mut row, mut length) = ([0; COLUMNS], 0);
        for cell in &mut row {
            let Some(number) = cells.next_element::<i64>()? else { break };
            if number > json::MOST.cast_signed() {
                return Err(A::Error::custom("beyond what can be meant"));
            }
            *cell = number;
            length += 1;
        }
        if length < LEAST_COLUMNS {
            return Err(A::Error::invalid_length(length, &self));
        }
        while cells.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Read { row, length })
    }
}

fn stream(row: Row) -> Option<StreamResult> {
    let cells = row.map(|number| u64::try_from(number).ok());
    let (iperf3, own) = cells.split_first_chunk::<LEAST_COLUMNS>()?;
    let [id, bytes, retransmits, jitter, errors, omitted_errors, packets, omitted_packets, span] =
        *iperf3;
    let id = u32::try_from(id?).ok()?;
    let mut counters =
        StreamCounters { bytes: bytes?, jitter_nanos: jitter?, ..StreamCounters::default() };
    let mut tcp = TcpSample { retransmits: retransmits.unwrap_or(0), ..TcpSample::default() };
    for (cell, column) in own.iter().zip(columns()) {
        match column {
            Column::Counter(counter) => (counter.set)(&mut counters, (*cell)?),
            Column::Tcp(_, set) => set(&mut tcp, cell.unwrap_or(0)),
        }
    }
    // Without acknowledged bytes it is no TCP sender.
    let tcp = own[OWN_COUNTERS].map(|_| tcp);
    Some(StreamResult {
        id,
        bytes: bytes?,
        retransmits: retransmits.map_or(-1, u64::cast_signed),
        jitter: seconds(jitter?),
        errors: errors?,
        omitted_errors,
        packets: packets?,
        omitted_packets,
        seconds: seconds(span?),
        counted: Some(StreamSample { id, counters, tcp, udp: None }),
    })
}

fn micros(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn number(count: u64) -> i64 {
    count.min(json::MOST).cast_signed()
}

#[expect(clippy::cast_possible_truncation, reason = "a float beyond the range becomes its end")]
fn nanos(seconds: f64) -> i64 {
    ((seconds * 1e9) as i64).clamp(0, json::MOST.cast_signed())
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// As many as clause 13.14 lists.
const COLUMNS: usize = LEAST_COLUMNS + OWN_COUNTERS + TCP.len();
/// Counters that stand before the columns of TCP.
const OWN_COUNTERS: usize = StreamCounters::ALL.len() - IN_IPERF3.len();
/// Counters that stand among iperf3's columns.
const IN_IPERF3: [&str; 2] = ["bytes", "jitter_nanos"];
/// A number of a TCP sender: how it is read from a sample and put into one.
type TcpColumn = (fn(TcpSample) -> u64, fn(&mut TcpSample, u64));
/// What a row has of a TCP sender; acknowledged bytes say that it is one.
const TCP: [TcpColumn; 4] = [
    (|tcp| tcp.acknowledged, |tcp, count| tcp.acknowledged = count),
    (|tcp| tcp.bytes_retransmitted, |tcp, count| tcp.bytes_retransmitted = count),
    (|tcp| tcp.rtt_micros.into(), |tcp, count| tcp.rtt_micros = micros(count)),
    (|tcp| tcp.min_rtt_micros.into(), |tcp, count| tcp.min_rtt_micros = micros(count)),
];
/// Those that a row has at least: iperf3's.
const LEAST_COLUMNS: usize = 9;
/// What the omitted start had of errors and of datagrams.
const OMITTED: [usize; 2] = [5, 7];

#[cfg(test)]
mod tests {
    use super::*;

    fn results(streams: u32) -> Results {
        let stream = |id: u32| {
            let bytes = u64::from(id) << 30;
            let counters = StreamCounters {
                bytes,
                sequence: 9,
                unique: 8,
                blocked_nanos: 7,
                ..StreamCounters::default()
            };
            let tcp = id.is_multiple_of(2).then(|| TcpSample {
                acknowledged: 7,
                retransmits: 3,
                rtt_micros: 5,
                ..TcpSample::default()
            });
            StreamResult {
                id,
                bytes,
                retransmits: if tcp.is_some() { 3 } else { -1 },
                errors: 2,
                omitted_errors: Some(1),
                packets: 9,
                omitted_packets: Some(4),
                seconds: 1.5,
                counted: Some(StreamSample { id, counters, tcp, udp: None }),
                ..StreamResult::default()
            }
        };
        Results { streams: (1..=streams).map(stream).collect(), ..Results::default() }
    }

    fn text(results: &Results) -> String {
        serde_json::to_string(&Document::new(results, Detail::All)).expect("serialises")
    }

    #[test]
    fn rows_survive_the_wire_and_are_short() {
        let results = results(1000);
        let text = text(&results);
        assert_eq!(Results::from_json(text.as_bytes()), Ok(results));
        assert!(text.len() < 1000 * 115, "{} bytes: 131,070 streams fit 15 MiB", text.len());
    }

    #[test]
    fn every_counter_of_a_stream_is_in_its_row() {
        let mut counters = StreamCounters::default();
        for (value, counter) in (1..).zip(StreamCounters::ALL) {
            (counter.set)(&mut counters, value);
        }
        let mut original = results(1);
        let stream = &mut original.streams[0];
        (stream.bytes, stream.jitter) = (counters.bytes, seconds(counters.jitter_nanos));
        stream.counted = Some(StreamSample { id: 1, counters, tcp: None, udp: None });
        assert_eq!(Results::from_json(text(&original).as_bytes()), Ok(original));
    }

    #[test]
    fn a_row_that_makes_no_sense_is_named() {
        let text = text(&results(2));
        let cases = [
            text.replace("[[1,", "[[-1,"),
            text.replace("[[1,", "[[4294967296,"),
            text.replace("[[1,", "[[1.5,"),
            text.replace("[[1,", "[[9007199254740993,"),
            text.replace("[[1,", "[[],[1,"),
            text.replace("[[1,", "[null,[1,"),
        ];
        for case in cases {
            let error = Results::from_json(case.as_bytes()).expect_err(&case);
            assert!(error.contains("rows"), "{error}");
        }
        let longer = text.replace("]]", ",7]]");
        assert_eq!(Results::from_json(longer.as_bytes()), Ok(results(2)), "of a newer one");
    }

    #[test]
    fn rows_that_end_early_say_what_iperf3_says() {
        let original = results(3);
        let read = |detail| {
            let text = serde_json::to_vec(&Document::new(&original, detail)).expect("serialises");
            Results::from_json(&text).expect("readable").streams
        };
        let less = original.streams.iter().map(|one| StreamResult { counted: None, ..one.clone() });
        let less: Vec<_> = less.collect();
        assert_eq!(read(Detail::Less), less);
        let unknown =
            |one: StreamResult| StreamResult { omitted_errors: None, omitted_packets: None, ..one };
        assert_eq!(read(Detail::Least), less.into_iter().map(unknown).collect::<Vec<_>>());
        let shorter = text(&original).replace("[[1,", "[[1,2,3,4,5,6,7,8],[1,");
        assert!(Results::from_json(shorter.as_bytes()).is_err());
    }
}
