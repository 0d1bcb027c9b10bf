//! Samples as records have them: a list of numbers for each counter of a stream in place of an
//! object for each sample.
//!
//! Each list has the first number, then the differences from each sample to the next; differences
//! of zero at the end are left out, and so are lists of zeros. Records of earlier versions have an
//! object for each sample, as does a record whose samples are not of the same streams.

use std::collections::BTreeMap;
use std::fmt::{self, Formatter};

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::column::Column;
use super::{Sample, StreamCounters, StreamSample, TcpSample, UdpSample};
use crate::differences;
use crate::units::Timestamp;

/// Samples of the same streams.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Samples {
    /// Times of the samples, on the clock of the host that took them, in nanoseconds: the first,
    /// then the differences from each to the next.
    at_nanos: Vec<i64>,
    /// Counters of the streams, in the order of the `streams` of the record.
    streams: Vec<Stream>,
}

/// Numbers by the name of their field: the first sample, then the differences from each to the
/// next; those of zero at the end are left out, and so are fields that are always zero.
type Numbers = BTreeMap<String, Vec<i64>>;

/// Counters and socket state of one stream in all samples.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Stream {
    /// Id of the stream on the wire.
    id: u32,
    /// Counters of the stream, by the names of `StreamCounters`.
    counters: Numbers,
    /// State of the TCP connection (`TCP_INFO`), by the names of `TcpSample`. None: the stream is
    /// UDP.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    tcp: Option<Numbers>,
    /// Memory of the UDP socket, by the names of `UdpSample`. None: the stream is TCP, or the kernel
    /// does not report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    udp: Option<Numbers>,
}

/// Both forms, for the schema.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Samples")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum Form {
    /// A list of numbers for each counter of a stream.
    Columns(Samples),
    /// Samples of different streams, and those of records before `linerate/record/3`.
    List(Vec<Sample>),
}

const UDP: &[Column<UdpSample>] = &[
    Column { name: "drops", get: |udp| udp.drops, set: |udp, value| udp.drops = value },
    Column {
        name: "receive_queue_bytes",
        get: |udp| udp.receive_queue,
        set: |udp, value| udp.receive_queue = value,
    },
    Column {
        name: "send_queue_bytes",
        get: |udp| udp.send_queue,
        set: |udp, value| udp.send_queue = value,
    },
];

fn counters() -> impl Iterator<Item = Column<StreamCounters>> {
    let all = StreamCounters::ALL.iter();
    let all = all.map(|one| Column { name: one.name, get: one.get, set: one.set });
    all.chain([Column {
        name: "last_nanos",
        get: |counters: &StreamCounters| counters.last.nanos(),
        set: |counters, value| counters.last = Timestamp::from_nanos(value),
    }])
}

impl Samples {
    /// None: the samples are not of the same streams, or so idle that their reader would take much
    /// memory for little text.
    fn of(samples: &[Sample]) -> Option<Self> {
        let first = samples.first()?;
        let shape = |stream: &StreamSample| (stream.id, stream.tcp.is_some(), stream.udp.is_some());
        let is_same =
            |sample: &Sample| sample.streams.iter().map(shape).eq(first.streams.iter().map(shape));
        if !samples.iter().all(is_same) {
            return None;
        }
        let at = samples.iter().map(|sample| sample.at.nanos());
        let columns = Self {
            at_nanos: differences::written(at),
            streams: (0..first.streams.len()).map(|index| Stream::of(samples, index)).collect(),
        };
        (columns.at_nanos.len() == samples.len() && columns.is_modest()).then_some(columns)
    }

    /// Whether the samples take memory in proportion to their numbers.
    fn is_modest(&self) -> bool {
        let numbers: usize = self.streams.iter().map(Stream::numbers).sum();
        self.at_nanos.len().saturating_mul(self.streams.len())
            <= LEAST_SHARE * (self.at_nanos.len() + numbers)
    }

    fn read(&self) -> Vec<Sample> {
        let length = self.at_nanos.len();
        let sample = |at| Sample {
            at: Timestamp::from_nanos(at),
            streams: self.streams.iter().map(Stream::empty).collect(),
        };
        let mut samples: Vec<_> = differences::read(&self.at_nanos, length).map(sample).collect();
        for (index, stream) in self.streams.iter().enumerate() {
            stream.fill(&mut samples, index);
        }
        samples
    }
}

impl Stream {
    /// The stream with this index in each of `samples`, in each of which it is alike.
    fn of(samples: &[Sample], index: usize) -> Self {
        let streams = || samples.iter().map(|sample| &sample.streams[index]);
        let first = &samples[0].streams[index];
        let tcp = || streams().map(|stream| stream.tcp.unwrap_or_default());
        let udp = || streams().map(|stream| stream.udp.unwrap_or_default());
        let of_counters = counters().map(|column| {
            (column.name, differences::written(streams().map(|one| (column.get)(&one.counters))))
        });
        let of_tcp = TcpSample::COLUMNS
            .iter()
            .map(|column| (column.name, differences::written(tcp().map(|one| (column.get)(&one)))));
        let of_udp = UDP
            .iter()
            .map(|column| (column.name, differences::written(udp().map(|one| (column.get)(&one)))));
        Self {
            id: first.id,
            counters: used(of_counters),
            tcp: first.tcp.map(|_| used(of_tcp)),
            udp: first.udp.map(|_| used(of_udp)),
        }
    }

    fn numbers(&self) -> usize {
        let parts = [Some(&self.counters), self.tcp.as_ref(), self.udp.as_ref()];
        parts.into_iter().flatten().flat_map(BTreeMap::values).map(Vec::len).sum()
    }

    fn empty(&self) -> StreamSample {
        StreamSample {
            id: self.id,
            counters: StreamCounters::default(),
            tcp: self.tcp.as_ref().map(|_| TcpSample::default()),
            udp: self.udp.as_ref().map(|_| UdpSample::default()),
        }
    }

    /// Sets the fields of the stream with this index in each of `samples`.
    fn fill(&self, samples: &mut [Sample], index: usize) {
        for column in counters() {
            fill(samples, &self.counters, column.name, |sample, value| {
                (column.set)(&mut sample.streams[index].counters, value);
            });
        }
        for (column, numbers) in
            TcpSample::COLUMNS.iter().filter_map(|one| Some((one, self.tcp.as_ref()?)))
        {
            fill(samples, numbers, column.name, |sample, value| {
                if let Some(tcp) = &mut sample.streams[index].tcp {
                    (column.set)(tcp, value);
                }
            });
        }
        for (column, numbers) in UDP.iter().filter_map(|one| Some((one, self.udp.as_ref()?))) {
            fill(samples, numbers, column.name, |sample, value| {
                if let Some(udp) = &mut sample.streams[index].udp {
                    (column.set)(udp, value);
                }
            });
        }
    }
}

fn fill(samples: &mut [Sample], numbers: &Numbers, name: &str, set: impl Fn(&mut Sample, u64)) {
    let Some(differences) = numbers.get(name) else { return };
    let values = differences::read(differences, samples.len());
    for (sample, value) in samples.iter_mut().zip(values) {
        set(sample, value);
    }
}

/// Those that are not always zero.
fn used<'a>(columns: impl Iterator<Item = (&'a str, Vec<i64>)>) -> Numbers {
    let used = columns.filter(|(_, differences)| !differences.is_empty());
    used.map(|(name, differences)| (name.to_owned(), differences)).collect()
}

/// Writes the samples of a record.
pub(crate) fn serialize<S: Serializer>(
    samples: &[Sample],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match Samples::of(samples) {
        Some(columns) => columns.serialize(serializer),
        None => samples.serialize(serializer),
    }
}

/// Reads the samples of a record of any version.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Sample>, D::Error> {
    struct EitherForm;

    impl<'de> Visitor<'de> for EitherForm {
        type Value = Vec<Sample>;

        fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
            f.write_str("samples")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(list))
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            let columns = Samples::deserialize(MapAccessDeserializer::new(map))?;
            if columns.is_modest() {
                Ok(columns.read())
            } else {
                Err(A::Error::custom("samples with too few numbers for their streams"))
            }
        }
    }

    deserializer.deserialize_any(EitherForm)
}

/// A reader takes the memory of at most so many samples of a stream for each number.
const LEAST_SHARE: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Part(#[serde(with = "super")] Vec<Sample>);

    fn sample(at: u64, bytes: u64, tcp: Option<TcpSample>) -> Sample {
        let last = Timestamp::from_nanos(at.saturating_sub(5));
        let counters = StreamCounters { bytes, blocks: 3, last, ..StreamCounters::default() };
        let udp = tcp.is_none().then(|| UdpSample { send_queue: bytes % 7, ..Default::default() });
        let streams = vec![StreamSample { id: 4, counters, tcp, udp }];
        Sample { at: Timestamp::from_nanos(at), streams }
    }

    fn again(samples: Vec<Sample>) -> (serde_json::Value, Part) {
        let text = serde_json::to_string(&Part(samples)).expect("JSON");
        (serde_json::from_str(&text).expect("JSON"), serde_json::from_str(&text).expect("samples"))
    }

    #[test]
    fn samples_are_lists_of_differences_and_come_back() {
        let tcp = |rtt_micros| {
            Some(TcpSample {
                rtt_micros,
                delivery_rate_is_of_application: true,
                ..Default::default()
            })
        };
        let samples =
            vec![sample(100, 0, tcp(80)), sample(200, 5_000, tcp(60)), sample(290, 9_000, tcp(60))];
        let (json, read) = again(samples.clone());
        assert_eq!(read, Part(samples));
        assert_eq!(json["at_nanos"], serde_json::json!([100, 100, 90]));
        let stream = &json["streams"][0];
        assert_eq!(stream["counters"]["bytes"], serde_json::json!([0, 5_000, 4_000]));
        assert_eq!(stream["counters"]["blocks"], serde_json::json!([3]));
        assert_eq!(stream["tcp"]["rtt_micros"], serde_json::json!([80, -20]));
        assert_eq!(stream["tcp"]["delivery_rate_app_limited"], serde_json::json!([1]));
        assert!(stream["tcp"].get("pmtu").is_none(), "always zero");
        let (_, read) = again(vec![sample(1, 9, None), sample(2, 3, None)]);
        assert_eq!(read, Part(vec![sample(1, 9, None), sample(2, 3, None)]));
    }

    #[test]
    fn samples_of_different_streams_are_written_one_by_one() {
        let mixed = vec![sample(1, 0, None), sample(2, 0, Some(TcpSample::default()))];
        let none_at_all = vec![Sample::default(); 100];
        for samples in [mixed, none_at_all, Vec::new()] {
            let (json, read) = again(samples.clone());
            assert!(json.is_array(), "{json}");
            assert_eq!(read, Part(samples));
        }
    }

    #[test]
    fn few_numbers_do_not_fill_the_memory() {
        let stream = r#"{"id": 1, "counters": {}},"#;
        let streams = stream.repeat(1_000);
        let times = "1,".repeat(1_000);
        let text = format!(
            "{{\"at_nanos\": [{}], \"streams\": [{}]}}",
            times.trim_end_matches(','),
            streams.trim_end_matches(',')
        );
        let error = serde_json::from_str::<Part>(&text).expect_err("too few numbers");
        assert!(error.to_string().contains("too few numbers"), "{error}");
    }
}
