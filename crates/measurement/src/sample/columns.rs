//! Samples as records have them: a list of numbers for each counter of a stream in place of an
//! object for each sample.
//!
//! Each list has the first number, then the differences from each sample to the next; differences
//! of zero at the end are left out, and so are lists of zeros. Of many streams the lists are one
//! table. A record whose samples are not of the same streams has an object for each sample.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::fields::{Fields, Kind};
use super::{Sample, StreamSample};
use crate::differences;
use crate::list_or::ListOr;
use crate::units::Timestamp;
use crate::values::{Column, Values, are_many};

/// Samples of the same streams.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Samples {
    /// Times of the samples, on the clock of the host that took them, in nanoseconds: the first,
    /// then the differences from each to the next.
    at_nanos: Vec<i64>,
    /// Counters of the streams, in the order of the `streams` of the record; of more than 256
    /// streams one table.
    streams: ListOr<Stream, Table>,
}

/// Numbers by the name of their field: the first sample, then the differences from each to the
/// next; those of zero at the end are left out, and so are fields that are always zero.
type Stream = Fields<u32, Vec<i64>>;

/// The same of many streams: numbers of all streams in the first sample, then the differences
/// from each sample to the next. One number in place of a list is that of all streams.
type Table = Fields<Vec<u32>, Vec<Values<i64>>>;

impl Samples {
    /// None: the samples are not of the same streams, or so idle that their reader would take much
    /// memory for little text.
    fn of(samples: &[Sample]) -> Option<Self> {
        let first = samples.first()?;
        let shape = |stream: &StreamSample| (stream.id, Kind::of(stream));
        let is_same =
            |sample: &Sample| sample.streams.iter().map(shape).eq(first.streams.iter().map(shape));
        if !samples.iter().all(is_same) {
            return None;
        }
        let at = samples.iter().map(|sample| sample.at.nanos());
        let list = || (0..first.streams.len()).map(|index| Stream::of(samples, index)).collect();
        let columns = Self {
            at_nanos: differences::written(at),
            streams: Table::of(samples).map_or_else(|| ListOr::List(list()), ListOr::Object),
        };
        (columns.at_nanos.len() == samples.len() && columns.is_modest()).then_some(columns)
    }

    /// Whether the samples take memory in proportion to their numbers.
    fn is_modest(&self) -> bool {
        let (streams, numbers) = match &self.streams {
            ListOr::List(streams) => {
                (streams.len(), streams.iter().flat_map(Fields::numbers).map(Vec::len).sum())
            }
            ListOr::Object(table) => (table.id.len(), table.written()),
        };
        self.at_nanos.len().saturating_mul(streams) <= LEAST_SHARE * (self.at_nanos.len() + numbers)
    }

    /// None: a list of the table has not the length that it must have.
    fn read(&self) -> Option<Vec<Sample>> {
        let length = self.at_nanos.len();
        let streams = || match &self.streams {
            ListOr::List(streams) => streams.iter().map(|one| one.zero(one.id)).collect(),
            ListOr::Object(table) => table.id.iter().map(|id| table.zero(*id)).collect(),
        };
        let sample = |at| Sample { at: Timestamp::from_nanos(at), streams: streams() };
        let mut samples: Vec<_> = differences::read(&self.at_nanos, length).map(sample).collect();
        match &self.streams {
            ListOr::List(streams) => {
                for (index, stream) in streams.iter().enumerate() {
                    stream.fill(&mut samples, index);
                }
            }
            ListOr::Object(table) if table.is_even(length) => table.fill(&mut samples),
            ListOr::Object(_) => return None,
        }
        Some(samples)
    }
}

impl Stream {
    /// The stream with this index in each of `samples`, in each of which it is alike.
    fn of(samples: &[Sample], index: usize) -> Self {
        let first = &samples[0].streams[index];
        Self::gather(first.id, Kind::of(first), |get| {
            let values = samples.iter().map(|sample| get(&sample.streams[index]));
            Some(differences::written(values)).filter(|numbers| !numbers.is_empty())
        })
    }

    /// Sets the fields of the stream with this index in each of `samples`.
    fn fill(&self, samples: &mut [Sample], index: usize) {
        self.each(|numbers, set| {
            let values = differences::read(numbers, samples.len());
            for (sample, value) in samples.iter_mut().zip(values) {
                set(&mut sample.streams[index], value);
            }
        });
    }
}

impl Table {
    /// None: the streams are few, or not of one kind.
    fn of(samples: &[Sample]) -> Option<Self> {
        let streams = &samples.first()?.streams;
        let kind = Kind::of(streams.first()?);
        let is_one = are_many(streams.len()) && streams.iter().all(|one| Kind::of(one) == kind);
        let id = streams.iter().map(|stream| stream.id);
        is_one.then(|| Self::gather(id.collect(), kind, |get| rows(samples, get)))
    }

    /// How many numbers are written beside the ids.
    fn written(&self) -> usize {
        self.numbers().flatten().map(Values::written).sum()
    }

    fn is_even(&self, samples: usize) -> bool {
        let is_full = |row: &Values<i64>| row.fits(self.id.len());
        self.numbers().all(|rows| rows.len() <= samples && rows.iter().all(is_full))
    }

    /// Sets the fields of the streams in each of `samples`, which have as many.
    fn fill(&self, samples: &mut [Sample]) {
        self.each(|rows, set| {
            for index in 0..self.id.len() {
                let mut rows = rows.iter();
                let mut value = 0_u64;
                for sample in &mut *samples {
                    let difference = rows.next().map_or(0, |row| row.at(index));
                    value = value.wrapping_add(difference.cast_unsigned());
                    set(&mut sample.streams[index], value);
                }
            }
        });
    }
}

/// The first numbers of all streams, then the differences; none: all are zero.
fn rows(samples: &[Sample], get: &dyn Fn(&StreamSample) -> u64) -> Option<Vec<Values<i64>>> {
    let zero = samples[0].streams.iter().map(|_| 0);
    let first = zero.zip(&samples[0].streams).map(|(before, now)| (before, get(now)));
    let difference = |(before, now): (u64, u64)| now.wrapping_sub(before).cast_signed();
    let mut rows = vec![Values::of(first.map(difference))?];
    for pair in samples.windows(2) {
        let both = pair[0].streams.iter().zip(&pair[1].streams);
        rows.push(Values::of(both.map(|(before, now)| difference((get(before), get(now)))))?);
    }
    let used = rows.iter().rposition(|row| !row.is_default()).map_or(0, |at| at + 1);
    rows.truncate(used);
    (!rows.is_empty()).then_some(rows)
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

/// Reads the samples of a record.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Sample>, D::Error> {
    let columns = match ListOr::<Sample, Samples>::deserialize(deserializer)? {
        ListOr::List(samples) => return Ok(samples),
        ListOr::Object(columns) => columns,
    };
    if !columns.is_modest() {
        return Err(D::Error::custom("samples with too few numbers for their streams"));
    }
    columns.read().ok_or_else(|| D::Error::custom("lists of samples of different lengths"))
}

/// A reader takes the memory of at most so many samples of a stream for each number.
const LEAST_SHARE: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{StreamCounters, TcpSample, UdpSample};

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

    /// Samples of 300 streams, of which each moved another number of bytes.
    fn samples_of_many(ends: &[u64]) -> Vec<Sample> {
        let stream = |id: u32, end: u64| {
            let bytes = end * u64::from(id);
            let counters = StreamCounters { bytes, blocks: end, ..StreamCounters::default() };
            let tcp = TcpSample { segment: 1448, rtt_micros: 300 - id, ..TcpSample::default() };
            StreamSample { id, counters, tcp: Some(tcp), udp: None }
        };
        let sample = |end: &u64| Sample {
            at: Timestamp::from_nanos(100 + end),
            streams: (0..300).map(|id| stream(id, *end)).collect(),
        };
        ends.iter().map(sample).collect()
    }

    #[test]
    fn samples_of_many_streams_are_a_table_and_come_back() {
        let samples = samples_of_many(&[0, 7, 9]);
        let (json, read) = again(samples.clone());
        assert_eq!(read, Part(samples));
        let streams = &json["streams"];
        assert_eq!(streams["id"].as_array().map(Vec::len), Some(300));
        assert_eq!(streams["counters"]["blocks"], serde_json::json!([0, 7, 2]));
        assert_eq!(streams["counters"]["bytes"][0], 0);
        assert_eq!(streams["counters"]["bytes"][2][5], 10, "a difference");
        assert_eq!(streams["tcp"]["snd_mss"], serde_json::json!([1448]));
        assert_eq!(streams["tcp"]["rtt_micros"].as_array().map(Vec::len), Some(1));
        assert!(streams["tcp"].get("pmtu").is_none(), "always zero");
    }

    #[test]
    fn idle_samples_of_many_streams_are_written_one_by_one() {
        let samples = samples_of_many(&[1; 50]);
        let (json, read) = again(samples.clone());
        assert!(json.is_array(), "few numbers, and much memory to read them");
        assert_eq!(read, Part(samples));
    }

    #[test]
    fn a_table_whose_lists_differ_in_length_is_no_samples() {
        for bytes in ["[[1, 2, 3]]", "[[1, 2], 0, 5]", "[[1]]"] {
            let text = format!(
                r#"{{"at_nanos": [1, 1], "streams": {{"id": [1, 3], "counters": {{"bytes": {bytes}}}}}}}"#
            );
            let error = serde_json::from_str::<Part>(&text).expect_err(bytes);
            assert!(error.to_string().contains("different lengths"), "{error}");
        }
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
