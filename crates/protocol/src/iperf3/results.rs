//! What both ends tell each other at the end (section 10).

use measurement::outcome::CpuUse;
use measurement::record::{Neighbour, PeerStream};
use measurement::{DelayVariation, Engines, Order, PacingReport, Runtime, StreamSample};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::frame::JsonKind;
use super::json::{self, Members};
use super::wire::Wire;

mod counted;
mod engines;
mod peer_evidence;
mod plausible;
mod rows;

pub use peer_evidence::{ClockReading, PeerEvidence};

use counted::is_plausible;

/// Results of one end, which client and server exchange after a test in JSON (section 10 of
/// docs/protocol/iperf3.md).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// CPU use of the process during the test.
    pub cpu: CpuUse,
    /// 1: the end counts retransmissions; 0: it cannot; -1: it only receives.
    pub sender_has_retransmits: i64,
    /// Congestion control of the TCP streams.
    pub congestion_used: Option<String>,
    /// Results of each stream (clause 10.9 of docs/protocol/iperf3.md).
    pub streams: Vec<StreamResult>,
    /// Output of the server, if the client requested it (clause 10.7 of docs/protocol/iperf3.md).
    pub server_output: Option<ServerOutput>,
    /// From a linerate server: the concurrent tests of other clients (clause 13.4).
    pub shared: Vec<Neighbour>,
    /// From a linerate that paced its streams: how well it kept the rate (clause 13.16).
    pub pacing: Option<Box<PacingReport>>,
    /// From a linerate that received datagrams with a time of arrival each: the variation of their
    /// delay (clause 13.4).
    pub ipdv: Option<Box<DelayVariation>>,
    /// From a linerate: the use of its worker threads (clause 13.4 of docs/protocol/iperf3.md).
    pub runtime: Option<Box<Runtime>>,
    /// From a linerate: the engines that it used (clause 13.17 of docs/protocol/iperf3.md).
    pub engines: Option<Box<Engines>>,
    /// From a linerate server: the inventory and counters of its host (clause 13.19).
    pub evidence: Option<Box<PeerEvidence>>,
}

/// Output of a server for one test, as it would print it.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerOutput {
    /// Lines of text, as the server prints them without `--json`.
    Text(String),
    /// The JSON object that the server prints with `--json`.
    Json(Value),
}

/// Results of one stream at one end, in iperf3's units (clause 10.6 of docs/protocol/iperf3.md).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamResult {
    /// Id of the stream on the wire.
    pub id: u32,
    /// Payload bytes, without the omitted start.
    pub bytes: u64,
    /// TCP sender: retransmitted segments, without the omitted start; -1: not known.
    pub retransmits: i64,
    /// UDP receiver: interarrival jitter in seconds (RFC 3550).
    pub jitter: f64,
    /// UDP receiver: missing datagrams, including those of the omitted start.
    pub errors: u64,
    /// UDP receiver: missing datagrams of the omitted start; none: an iperf3 before 3.14 does not
    /// report them.
    pub omitted_errors: Option<u64>,
    /// UDP: last sequence number sent, or highest received.
    pub packets: u64,
    /// UDP: the value of `packets` at the end of the omitted start; none: an iperf3 before 3.14
    /// does not report it.
    pub omitted_packets: Option<u64>,
    /// Duration of the measurement in seconds.
    pub seconds: f64,
    /// Counters of a linerate, without the omitted start (clause 13.4 of docs/protocol/iperf3.md).
    pub counted: Option<StreamSample>,
}

impl Results {
    /// The results as the JSON object that iperf3 exchanges after a test (clauses 10.5 and 10.6 of
    /// docs/protocol/iperf3.md). Optional keys, e.g. `congestion_used`, are left out if not known.
    pub fn to_json(&self) -> Value {
        let mut object = json!({
            "cpu_util_total": self.cpu.total,
            "cpu_util_user": self.cpu.user,
            "cpu_util_system": self.cpu.system,
            "sender_has_retransmits": self.sender_has_retransmits,
            "streams": self.streams.iter().map(StreamResult::to_json).collect::<Vec<_>>(),
        });
        if let Some(name) = &self.congestion_used {
            object["congestion_used"] = json!(name);
        }
        match &self.server_output {
            Some(ServerOutput::Text(text)) => object["server_output_text"] = json!(text),
            Some(ServerOutput::Json(json)) => object["server_output_json"] = json.clone(),
            None => {}
        }
        let streams: Vec<_> = self.streams.iter().filter_map(|stream| stream.counted).collect();
        if !streams.is_empty() {
            let beside = Beside::new(self);
            object["linerate"] = measurement::json::value(&Truth { streams, beside });
        }
        object
    }

    /// Writes the results; those of `many` streams as rows of numbers (clause 13.14). Details are
    /// left out as far as needed to fit into `most` bytes.
    pub(super) fn write(&self, wire: &mut Wire, many: bool, most: u32) {
        wire.write_text(&self.fitting(many, most));
    }

    fn fitting(&self, many: bool, most: u32) -> Vec<u8> {
        let fits = |text: &Vec<u8>| u32::try_from(text.len()).is_ok_and(|length| length <= most);
        let details = [Detail::All, Detail::Less].into_iter();
        let text = details.map(|detail| self.text(many, detail)).find(fits);
        text.unwrap_or_else(|| self.text(many, Detail::Least))
    }

    fn text(&self, many: bool, detail: Detail) -> Vec<u8> {
        if many {
            return to_text(&rows::Document::new(self, detail));
        }
        let mut object = self.to_json();
        let members = object.as_object_mut().expect("made as an object");
        if detail != Detail::All {
            members.retain(|key, _| !key.starts_with("server_output"));
            if let Some(Value::Object(truth)) = members.get_mut("linerate") {
                truth.remove("evidence");
            }
        }
        if detail == Detail::Least {
            members.remove("linerate");
        }
        to_text(&object)
    }

    /// The most memory, in bytes, that a server needs to receive and parse the results of a client
    /// with this number of `streams`.
    pub const fn most_memory(streams: u32) -> u64 {
        MEMORY_FREE + MEMORY_PER_BYTE * JsonKind::Results.limit(streams) as u64
    }

    /// Parses the results of a peer, including the output that a server adds for
    /// `--get-server-output`.
    ///
    /// # Errors
    /// Text that says which key is missing or wrong (clause 10.8 of docs/protocol/iperf3.md).
    pub fn from_json(text: &[u8]) -> Result<Self, String> {
        let members = Members::select(text, &TOP)?;
        let output = server_output(&members);
        Ok(Self { server_output: output, ..Self::read(&members)? })
    }

    /// Parses the results of a peer without the output of a server.
    pub(super) fn without_output(text: &[u8]) -> Result<Self, String> {
        Self::read(&Members::select(text, &TOP)?)
    }

    fn read(members: &Members<'_>) -> Result<Self, String> {
        let numbers = members.scalars(&SCALARS);
        let need = |key: &str| json::float(&numbers, key).ok_or_else(|| missing(key));
        let list = members.list("streams").ok_or_else(|| missing("streams"))?;
        let truth = members.object("linerate");
        let truth = truth.and_then(|text| Members::select(text.as_bytes(), &TRUTH).ok());
        let truth = truth.as_ref();
        let rows = truth.and_then(|truth| truth.list("rows"));
        let counted = truth.and_then(|truth| truth.list("streams"));
        if [Some(list), rows, counted].into_iter().flatten().any(has_too_many) {
            return Err(format!("it lists more than {MOST_STREAMS} streams"));
        }
        let shared = truth.and_then(|truth| truth.list("shared"));
        let shared = shared.and_then(|text| json::list(text, MOST_NEIGHBOURS, read_one));
        Ok(Self {
            cpu: CpuUse {
                total: need("cpu_util_total")?,
                user: need("cpu_util_user")?,
                system: need("cpu_util_system")?,
            },
            sender_has_retransmits: json::signed(&numbers, "sender_has_retransmits")
                .ok_or_else(|| missing("sender_has_retransmits"))?,
            congestion_used: json::text(&numbers, "congestion_used").map(|name| json::plain(&name)),
            streams: match rows {
                Some(rows) => rows::read(rows)?,
                None => listed(list, counted)?,
            },
            server_output: None,
            shared: shared.unwrap_or_default(),
            pacing: truth.and_then(plausible::pacing),
            ipdv: truth.and_then(plausible::ipdv),
            runtime: truth.and_then(plausible::runtime),
            engines: truth.and_then(engines::plausible),
            evidence: None,
        })
    }
}

/// How much the results tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    All,
    /// In rows only the first columns (clause 13.14); otherwise everything but the server's output
    /// and the evidence.
    Less,
    /// Only the keys of iperf3; rows without the counters of the omitted start.
    Least,
}

fn to_text(document: &impl Serialize) -> Vec<u8> {
    measurement::json::text(document)
}

fn has_too_many(list: &str) -> bool {
    json::count(list) > MOST_STREAMS
}

/// Parses an element of a list; none if it has the wrong type.
fn read_one<T: DeserializeOwned>(text: &str) -> Option<T> {
    measurement::json::read(text).ok()
}

/// Parses streams in iperf3's form, with the counters of a linerate in `counted`.
fn listed(list: &str, counted: Option<&str>) -> Result<Vec<StreamResult>, String> {
    let mut why = String::new();
    let streams = json::list(list, MOST_STREAMS, |text| {
        StreamResult::from_json(text).map_err(|error| why = error).ok()
    });
    let mut streams = streams.ok_or(why)?;
    let counted = counted.and_then(|text| json::list(text, MOST_STREAMS, read_one));
    let mut counted: Vec<StreamSample> = counted.unwrap_or_default();
    counted.retain(is_plausible);
    counted.order_by_key(|sample| sample.id);
    for stream in &mut streams {
        let place = counted.binary_search_by_key(&stream.id, |sample| sample.id);
        stream.counted = place.ok().map(|place| counted[place]);
    }
    Ok(streams)
}

impl StreamResult {
    fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "bytes": self.bytes,
            "retransmits": self.retransmits,
            "jitter": self.jitter,
            "errors": self.errors,
            // Clause 10.8: both or none; a linerate always knows both.
            "omitted_errors": self.omitted_errors.unwrap_or(0),
            "packets": self.packets,
            "omitted_packets": self.omitted_packets.unwrap_or(0),
            "start_time": 0,
            "end_time": self.seconds,
        })
    }

    fn from_json(text: &str) -> Result<Self, String> {
        let members = Members::select(text.as_bytes(), &STREAM);
        let object = &members.map_err(|_| "a stream is no object".to_owned())?.scalars(&STREAM);
        let need = |key: &str| required(object, key);
        let id = need("id").and_then(|id| u32::try_from(id).map_err(|_| missing("id")))?;
        let time = |key| json::float(object, key).unwrap_or(0.0);
        let span = time("end_time") - time("start_time");
        Ok(Self {
            id,
            bytes: need("bytes")?,
            retransmits: json::signed(object, "retransmits")
                .ok_or_else(|| missing("retransmits"))?,
            jitter: jitter(object)?,
            // Older versions count below zero when datagrams come twice (clause 14.2).
            errors: count(object, "errors")?,
            omitted_errors: json::unsigned(object, "omitted_errors"),
            // The 32-bit counters of older versions overflow (clause 10.10).
            packets: count(object, "packets")?,
            omitted_packets: json::unsigned(object, "omitted_packets"),
            seconds: if span.is_finite() { span.max(0.0) } else { 0.0 },
            counted: None,
        })
    }
}

impl From<StreamResult> for PeerStream {
    fn from(result: StreamResult) -> Self {
        Self {
            id: result.id,
            bytes: result.bytes,
            seconds: result.seconds,
            retransmits: u64::try_from(result.retransmits).ok(),
            datagrams: result.packets,
            omitted_datagrams: result.omitted_packets,
            lost: result.errors,
            omitted_lost: result.omitted_errors,
            jitter_seconds: result.jitter,
            one_way: None,
            counted: result.counted,
        }
    }
}

/// What travels under the key `linerate`.
#[derive(Serialize)]
struct Truth<'a> {
    streams: Vec<StreamSample>,
    #[serde(flatten)]
    beside: Beside<'a>,
}

/// What travels there beside the numbers of the streams.
#[derive(Default, Serialize)]
struct Beside<'a> {
    #[serde(skip_serializing_if = "<[Neighbour]>::is_empty")]
    shared: &'a [Neighbour],
    #[serde(skip_serializing_if = "Option::is_none")]
    pacing: Option<&'a PacingReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ipdv: Option<&'a DelayVariation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime: Option<&'a Runtime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    engines: Option<&'a Engines>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<&'a PeerEvidence>,
}

impl<'a> Beside<'a> {
    fn new(results: &'a Results) -> Self {
        Self {
            shared: &results.shared,
            pacing: results.pacing.as_deref(),
            ipdv: results.ipdv.as_deref(),
            runtime: results.runtime.as_deref(),
            engines: results.engines.as_deref(),
            evidence: results.evidence.as_deref(),
        }
    }
}

/// Keys that are read; the names of clauses 10.5, 10.6 and 13.4.
const TOP: [&str; 9] = [
    "cpu_util_total",
    "cpu_util_user",
    "cpu_util_system",
    "sender_has_retransmits",
    "congestion_used",
    "streams",
    "server_output_text",
    "server_output_json",
    "linerate",
];
const SCALARS: [&str; 5] = [
    "cpu_util_total",
    "cpu_util_user",
    "cpu_util_system",
    "sender_has_retransmits",
    "congestion_used",
];
const STREAM: [&str; 10] = [
    "id",
    "bytes",
    "retransmits",
    "jitter",
    "errors",
    "omitted_errors",
    "packets",
    "omitted_packets",
    "start_time",
    "end_time",
];
const TRUTH: [&str; 7] = ["rows", "streams", "shared", "pacing", "ipdv", "runtime", "engines"];

/// What the reading of results takes at most (`tests/memory_of_results.rs`): the text, and
/// for each of its bytes so much; a row of zeros becomes the most.
const MEMORY_PER_BYTE: u64 = 10;
const MEMORY_FREE: u64 = 64 * 1024;
/// Servers list fewer concurrent tests.
const MOST_NEIGHBOURS: usize = 1024;

/// Both directions of the largest test (clause 6.3).
const MOST_STREAMS: usize = measurement::plan::MAX_STREAMS as usize;

/// Parses the output of a server, unless it would take more memory than any output of iperf3.
fn server_output(members: &Members<'_>) -> Option<ServerOutput> {
    let json = members.object("server_output_json");
    let json = json.filter(|text| json::most_values(text) <= FEW_VALUES + text.len() / BYTES_EACH);
    if let Some(json) = json.and_then(|text| measurement::json::read(text).ok()) {
        return Some(ServerOutput::Json(json));
    }
    let text = members.read("server_output_text")?;
    Some(ServerOutput::Text(json::printable_lines(text)))
}

/// An output with fewer values is parsed without a check.
const FEW_VALUES: usize = 64;
/// iperf3 writes some 17 bytes for each value.
const BYTES_EACH: usize = 10;

fn required(object: &Map<String, Value>, key: &str) -> Result<u64, String> {
    json::unsigned(object, key).ok_or_else(|| missing(key))
}

/// A counter. Negative values, which some versions send, count as zero.
fn count(object: &Map<String, Value>, key: &str) -> Result<u64, String> {
    let number = json::signed(object, key).ok_or_else(|| missing(key))?;
    Ok(number.max(0).cast_unsigned().min(json::MOST))
}

/// Clause 5.5: a number that is not finite comes as `null`.
fn jitter(object: &Map<String, Value>) -> Result<f64, String> {
    match object.get("jitter") {
        Some(Value::Null) => Ok(0.0),
        _ => json::float(object, "jitter").ok_or_else(|| missing("jitter")),
    }
}

fn missing(key: &str) -> String {
    format!("'{key}' is missing or no number that makes sense")
}

#[cfg(test)]
mod tests;
