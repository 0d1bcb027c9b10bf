//! What the peer reported of the streams as records have it: a list of objects, or a table if they
//! are many.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{OneWayDelay, PeerStream};
use crate::list_or::ListOr;
use crate::sample::Reported;
use crate::values::{Column, Values, table};

table! {
    /// Counters of many streams that the peer reported at the end of a test.
    PeerStreams of PeerStream {
        /// Payload bytes that the peer sent or received, without the omitted start.
        bytes: Values<u64>,
        /// Durations of the peer's measurement in seconds; zero: not reported.
        seconds: Values<f64>,
        /// TCP sender: retransmitted segments.
        retransmits: Values<Option<u64>>,
        /// UDP: last sequence numbers sent, or highest received, including the omitted start.
        datagrams: Values<u64>,
        /// UDP: the values of `datagrams` at the end of the omitted start.
        omitted_datagrams: Values<Option<u64>>,
        /// UDP receiver: missing datagrams, including the omitted start.
        lost: Values<u64>,
        /// UDP receiver: missing datagrams of the omitted start.
        omitted_lost: Values<Option<u64>>,
        /// UDP receiver: interarrival jitter in seconds (RFC 3550).
        jitter_seconds: Values<f64>,
        /// UDP receiver of iperf2: times on the way.
        one_way: Values<Option<OneWayDelay>>,
        /// Counters that only a linerate reports, without the omitted start.
        counted: Reported,
    }
}

/// Writes the peer's report on the streams of a record.
pub(crate) fn serialize<S: Serializer>(
    streams: &[PeerStream],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match PeerStreams::new(streams) {
        Some(table) => table.serialize(serializer),
        None => streams.serialize(serializer),
    }
}

/// Reads the peer's report on the streams of a record.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<PeerStream>, D::Error> {
    match ListOr::<PeerStream, PeerStreams>::deserialize(deserializer)? {
        ListOr::List(streams) => Ok(streams),
        ListOr::Object(table) => table.read().ok_or_else(|| D::Error::custom(UNEVEN)),
    }
}

const UNEVEN: &str = "lists of the peer's streams of different lengths";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{StreamCounters, StreamSample, TcpSample};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Part(#[serde(with = "super")] Vec<PeerStream>);

    fn stream(id: u32) -> PeerStream {
        let counters = StreamCounters { bytes: id.into(), blocks: 9, ..Default::default() };
        let tcp = Some(TcpSample { rtt_micros: 7 * id, segment: 1448, ..Default::default() });
        PeerStream {
            id,
            bytes: id.into(),
            seconds: 2.5,
            retransmits: Some(0),
            counted: Some(StreamSample { id, counters, tcp, udp: None }),
            ..PeerStream::default()
        }
    }

    fn again(streams: Vec<PeerStream>) -> (serde_json::Value, Part) {
        let text = serde_json::to_string(&Part(streams)).expect("JSON");
        (serde_json::from_str(&text).expect("JSON"), serde_json::from_str(&text).expect("streams"))
    }

    #[test]
    fn many_streams_are_a_table_and_come_back() {
        let streams: Vec<_> = (1..=300).map(stream).collect();
        let (json, read) = again(streams.clone());
        assert_eq!(read, Part(streams));
        assert_eq!((&json["bytes"][4], &json["seconds"]), (&5.into(), &2.5.into()));
        let counted = &json["counted"];
        assert_eq!(counted["counters"]["blocks"], 9);
        assert_eq!(counted["tcp"]["rtt_micros"][2], 21);
        assert!(json.get("lost").is_none() && counted["tcp"].get("pmtu").is_none(), "always zero");
        let of_iperf3 = |stream: PeerStream| PeerStream { counted: None, ..stream };
        let streams: Vec<_> = (1..=300).map(stream).map(of_iperf3).collect();
        let (json, read) = again(streams.clone());
        assert_eq!((read, json.get("counted")), (Part(streams), None));
    }

    #[test]
    fn few_streams_and_those_of_different_kinds_are_a_list() {
        let few: Vec<_> = (1..=256).map(stream).collect();
        let mut mixed: Vec<_> = (1..=300).map(stream).collect();
        mixed[7].counted = None;
        for streams in [few, mixed] {
            let (json, read) = again(streams.clone());
            assert!(json.is_array(), "{json}");
            assert_eq!(read, Part(streams));
        }
    }

    #[test]
    fn a_table_whose_lists_differ_in_length_is_no_report() {
        for text in [
            r#"{"id": [1, 2], "bytes": [7]}"#,
            r#"{"id": [1, 2], "counted": {"id": [1, 2], "counters": {"bytes": [7, 8, 9]}}}"#,
            r#"{"id": [1, 2], "counted": {"id": [1], "counters": {}}}"#,
        ] {
            let error = serde_json::from_str::<Part>(text).expect_err("uneven");
            assert!(error.to_string().contains(UNEVEN), "{error}");
        }
    }
}
