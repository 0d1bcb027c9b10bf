//! Streams as records have them: a list of objects, or a table if they are many.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::StreamRecord;
use crate::engine::{ArrivalClock, EngineName};
use crate::list_or::ListOr;
use crate::units::ByteSize;
use crate::values::{Addresses, Column, Values, table};

table! {
    /// Many streams, with their settings in effect.
    Streams of StreamRecord {
        /// Whether this end sends.
        sender: Values<bool>,
        /// File descriptors of the sockets in this process.
        socket: Values<Option<u32>>,
        /// Local addresses and ports.
        local: Addresses,
        /// Addresses and ports of the peer.
        peer: Addresses,
        /// Bytes per write, or payload bytes per datagram.
        #[serde(rename = "block_bytes")]
        block: Values<ByteSize>,
        /// Send buffers in effect (`SO_SNDBUF`).
        #[serde(rename = "send_buffer_bytes")]
        send_buffer: Values<Option<ByteSize>>,
        /// Receive buffers in effect (`SO_RCVBUF`).
        #[serde(rename = "receive_buffer_bytes")]
        receive_buffer: Values<Option<ByteSize>>,
        /// TCP: maximum segment sizes in effect, in bytes (`TCP_MAXSEG`).
        #[serde(rename = "mss_bytes")]
        mss: Values<Option<u32>>,
        /// TCP: congestion control in effect (`TCP_CONGESTION`).
        congestion: Values<Option<String>>,
        /// UDP receiver: clock of the arrival times from which the jitter is computed.
        arrivals: Values<Option<ArrivalClock>>,
        /// Engines that sent or received the payload.
        engine: Values<Option<EngineName>>,
        /// Numbers of the worker threads that ran the streams, from 0.
        worker: Values<Option<u32>>,
        /// CPUs to which the workers were pinned.
        cpu: Values<Option<u32>>,
    }
}

/// Writes the streams of a record.
pub(crate) fn serialize<S: Serializer>(
    streams: &[StreamRecord],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match Streams::new(streams) {
        Some(table) => table.serialize(serializer),
        None => streams.serialize(serializer),
    }
}

/// Reads the streams of a record.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<StreamRecord>, D::Error> {
    match ListOr::<StreamRecord, Streams>::deserialize(deserializer)? {
        ListOr::List(streams) => Ok(streams),
        ListOr::Object(table) => table.read().ok_or_else(|| D::Error::custom(UNEVEN)),
    }
}

const UNEVEN: &str = "lists of streams of different lengths";

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Part(#[serde(with = "super")] Vec<StreamRecord>);

    fn streams(count: u32) -> Vec<StreamRecord> {
        let stream = |id: u32| StreamRecord {
            local: format!("[fe80::1%2]:{}", 1_000 + id).parse().ok(),
            peer: "127.0.0.1:5201".parse().ok(),
            mss: id.is_multiple_of(2).then_some(1448),
            congestion: Some("cubic".to_owned()),
            worker: Some(id % 3),
            ..StreamRecord::unknown(id, true, ByteSize::from_bytes(100))
        };
        (1..=count).map(stream).collect()
    }

    fn again(streams: Vec<StreamRecord>) -> (serde_json::Value, Part) {
        let text = serde_json::to_string(&Part(streams)).expect("JSON");
        (serde_json::from_str(&text).expect("JSON"), serde_json::from_str(&text).expect("streams"))
    }

    #[test]
    fn many_streams_are_a_table_and_come_back() {
        let (json, read) = again(streams(300));
        assert_eq!(read, Part(streams(300)));
        assert_eq!(json["id"].as_array().map(Vec::len), Some(300));
        assert_eq!(json["local"]["address"], "[fe80::1%2]");
        assert_eq!(json["local"]["port"][1], 1002);
        assert_eq!((&json["sender"], &json["congestion"]), (&true.into(), &"cubic".into()));
        assert_eq!((&json["mss_bytes"][0], &json["mss_bytes"][1]), (&().into(), &1448.into()));
        assert!(json.get("socket").is_none(), "not known");
    }

    #[test]
    fn few_streams_are_a_list() {
        let (json, read) = again(streams(256));
        assert!(json.is_array(), "{json}");
        assert_eq!(read, Part(streams(256)));
    }

    #[test]
    fn a_table_whose_lists_differ_in_length_is_no_streams() {
        for text in [
            r#"{"id": [1, 2, 3], "worker": [0, 1]}"#,
            r#"{"id": [1], "local": {"address": "127.0.0.1", "port": [5, 6]}}"#,
        ] {
            let error = serde_json::from_str::<Part>(text).expect_err("uneven");
            assert!(error.to_string().contains(UNEVEN), "{error}");
        }
    }
}
