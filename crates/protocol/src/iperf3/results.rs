//! What both ends tell each other at the end (section 10).

use std::collections::BTreeMap;

use measurement::outcome::CpuUse;
use measurement::record::{Neighbour, PeerStream};
use measurement::{PacingReport, Runtime, StreamSample};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::json;
use super::wire::Wire;

mod rows;

/// One end's results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// CPU use of the process during the test.
    pub cpu: CpuUse,
    /// 1: it counts retransmits; 0: it cannot; -1: it only receives.
    pub sender_has_retransmits: i64,
    /// Congestion control of its TCP streams.
    pub congestion_used: Option<String>,
    /// Every stream of the test (clause 10.9).
    pub streams: Vec<StreamResult>,
    /// A server's own output, if the client wished it (clause 10.7).
    pub server_output: Option<ServerOutput>,
    /// From a linerate server: who else used it meanwhile (clause 13.4).
    pub shared: Vec<Neighbour>,
    /// From a linerate that sends at a rate: how it kept it (clause 13.16).
    pub pacing: Option<Box<PacingReport>>,
    /// From a linerate: how its processing units served the streams (clause 13.4).
    pub runtime: Option<Box<Runtime>>,
}

/// What a server printed of the test.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerOutput {
    /// Its lines.
    Text(String),
    /// Its JSON object.
    Json(Value),
}

/// One stream, in iperf3's units (clause 10.6).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamResult {
    /// The stream.
    pub id: u32,
    /// Payload bytes without the omitted start.
    pub bytes: u64,
    /// Segments retransmitted without the omitted start; -1: unknown.
    pub retransmits: i64,
    /// Receiver of UDP: jitter in seconds.
    pub jitter: f64,
    /// Receiver of UDP: datagrams missing, the omitted start included.
    pub errors: u64,
    /// Part of them in the omitted start; none from iperf3 before 3.14.
    pub omitted_errors: Option<u64>,
    /// UDP: last sequence number sent or highest received.
    pub packets: u64,
    /// Its value at the end of the omitted start; none from iperf3 before 3.14.
    pub omitted_packets: Option<u64>,
    /// Length of the measurement in seconds.
    pub seconds: f64,
    /// A linerate's own counters, the omitted start taken off (clause 13.4).
    pub counted: Option<StreamSample>,
}

impl Results {
    /// The JSON that goes over the wire: all keys of clauses 10.5 and 10.6, always.
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
            let pacing = self.pacing.as_ref().map(|report| json!(report));
            let runtime = self.runtime.as_ref().map(|runtime| json!(runtime));
            let shared = self.shared.clone();
            object["linerate"] = json!(Truth { streams, shared, pacing, runtime });
        }
        object
    }

    /// Writes them; those of `many` streams as rows of numbers (clause 13.14).
    pub(super) fn write(&self, wire: &mut Wire, many: bool) {
        if many {
            wire.write_json(&rows::Document::of(self));
        } else {
            wire.write_json(&self.to_json());
        }
    }

    /// Reads what a peer sent.
    ///
    /// # Errors
    /// One clause that says which key is missing (clause 10.8).
    pub fn from_json(text: &[u8]) -> Result<Self, String> {
        let mut object = json::parse_object(text)?;
        // Taken, not copied: either can be as large as the rest together.
        let server_output = server_output(&mut object);
        let mut truth = object.remove("linerate");
        let rows = truth.as_mut().and_then(rows::take);
        let truth: Option<Truth> = truth.and_then(|value| serde_json::from_value(value).ok());
        let need = |key: &str| json::float(&object, key).ok_or_else(|| missing(key));
        let Truth { streams: counted, mut shared, pacing, runtime } = truth.unwrap_or_default();
        shared.truncate(MOST_NEIGHBOURS);
        let list =
            object.get("streams").and_then(Value::as_array).ok_or_else(|| missing("streams"))?;
        let told = rows.as_ref().map_or(0, Vec::len);
        if list.len().max(counted.len()).max(told) > MOST_STREAMS {
            return Err(format!("it lists more than {MOST_STREAMS} streams"));
        }
        let counted = counted.iter().filter(|sample| can_be(sample));
        let counted = counted.map(|sample| (sample.id, sample)).collect();
        Ok(Self {
            cpu: CpuUse {
                total: need("cpu_util_total")?,
                user: need("cpu_util_user")?,
                system: need("cpu_util_system")?,
            },
            sender_has_retransmits: json::signed(&object, "sender_has_retransmits")
                .ok_or_else(|| missing("sender_has_retransmits"))?,
            congestion_used: json::text(&object, "congestion_used").map(|name| json::plain(&name)),
            streams: match rows {
                Some(rows) => rows::read(&rows)?,
                None => list
                    .iter()
                    .map(|value| StreamResult::from_json(value, &counted))
                    .collect::<Result<_, _>>()?,
            },
            server_output,
            shared,
            pacing: pacing.and_then(plausible_pacing),
            runtime: runtime.and_then(plausible_runtime),
        })
    }
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

    fn from_json(value: &Value, counted: &BTreeMap<u32, &StreamSample>) -> Result<Self, String> {
        let object = value.as_object().ok_or_else(|| "a stream is no object".to_owned())?;
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
            counted: counted.get(&id).copied().copied(),
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
            counted: result.counted,
        }
    }
}

/// What travels under the key `linerate`.
#[derive(Default, Serialize, Deserialize)]
struct Truth {
    #[serde(default)]
    streams: Vec<StreamSample>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    shared: Vec<Neighbour>,
    /// A newer linerate may tell it in other words, which spoils nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pacing: Option<Value>,
    /// Likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    runtime: Option<Value>,
}

/// What a peer says of its runtime, if it can be true.
fn plausible_runtime(value: Value) -> Option<Box<Runtime>> {
    let runtime: Box<Runtime> = serde_json::from_value(value).ok()?;
    runtime.can_be(json::MOST).then_some(runtime)
}

/// What a peer says of its pacing, if it can be true.
fn plausible_pacing(value: Value) -> Option<Box<PacingReport>> {
    let report: Box<PacingReport> = serde_json::from_value(value).ok()?;
    report.can_be(json::MOST).then_some(report)
}

/// Servers tell of fewer.
const MOST_NEIGHBOURS: usize = 1024;

/// Both directions of the largest test (clause 6.3).
const MOST_STREAMS: usize = 2 * measurement::plan::MAX_STREAMS as usize;

fn server_output(object: &mut Map<String, Value>) -> Option<ServerOutput> {
    match object.remove("server_output_json") {
        Some(json) if json.is_object() => Some(ServerOutput::Json(json)),
        _ => json::text(object, "server_output_text")
            .map(|text| ServerOutput::Text(json::printable_lines(&text))),
    }
}

fn required(object: &Map<String, Value>, key: &str) -> Result<u64, String> {
    json::unsigned(object, key).ok_or_else(|| missing(key))
}

/// Whether no number of a sample is beyond what a peer can mean.
fn can_be(sample: &StreamSample) -> bool {
    let c = &sample.counters;
    let tcp = sample.tcp.unwrap_or_default();
    [c.bytes, c.blocks, c.sequence, c.unique, c.reordered, c.duplicate, c.late, c.malformed]
        .into_iter()
        .chain([tcp.acknowledged, tcp.retransmits, tcp.bytes_retransmitted])
        .all(|number| number <= json::MOST)
}

/// A counter that can come out negative; that says no more than zero.
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
mod tests {
    use std::time::Duration;

    use measurement::{BitRate, MpuUse, Pacing, PacingWay, Quantiles};

    use super::*;

    fn results() -> Results {
        let stream = StreamResult {
            id: 3,
            bytes: 1 << 50,
            retransmits: -1,
            errors: 2,
            omitted_errors: Some(1),
            packets: 9,
            omitted_packets: Some(4),
            seconds: 1.5,
            counted: Some(StreamSample { id: 3, ..StreamSample::default() }),
            ..StreamResult::default()
        };
        Results { sender_has_retransmits: -1, streams: vec![stream], ..Results::default() }
    }

    #[test]
    fn results_survive_the_wire() {
        let text = results().to_json().to_string();
        assert_eq!(Results::from_json(text.as_bytes()), Ok(results()));
    }

    #[test]
    fn each_missing_key_is_named() {
        for key in ["cpu_util_user", "sender_has_retransmits", "streams"] {
            let mut json = results().to_json();
            json.as_object_mut().expect("an object").remove(key);
            let error = Results::from_json(json.to_string().as_bytes()).expect_err(key);
            assert!(error.contains(key), "{error}");
        }
        for key in ["id", "bytes", "retransmits", "jitter", "errors", "packets"] {
            let mut json = results().to_json();
            json["streams"][0].as_object_mut().expect("an object").remove(key);
            let error = Results::from_json(json.to_string().as_bytes()).expect_err(key);
            assert!(error.contains(key), "{error}");
        }
    }

    fn report() -> PacingReport {
        let rate = BitRate::from_bits_per_second(1_000_000);
        PacingReport {
            pacing: Pacing::Even,
            way: PacingWay::TimerAndSpin,
            asked: rate,
            achieved: rate,
            achieved_outside_stalls: rate,
            sending: Duration::from_secs(2),
            stalled: Duration::from_millis(3),
            stalls: 1,
            forgone: Duration::ZERO,
            batches: Quantiles { p50: 1, p99: 1, max: 1 },
            gap_error_nanos: Quantiles::default(),
            lateness: vec![0, 3, 9],
            spin_share: 0.5,
        }
    }

    #[test]
    fn a_pacing_report_survives_the_wire_and_an_impossible_one_spoils_nothing() {
        let told = Results { pacing: Some(Box::new(report())), ..results() };
        let json = told.to_json();
        let read = |json: &Value| {
            Results::from_json(json.to_string().as_bytes()).expect("the rest is readable")
        };
        assert_eq!(read(&json), told);
        let lies = [
            ("spin_share", json!(2)),
            ("lateness", json!(vec![1; 65])),
            ("lateness", json!([u64::MAX])),
            ("stalled_seconds", json!(-1)),
            ("sending_seconds", json!(1e300)),
            ("way", json!("warp")),
            ("asked", json!(u64::MAX)),
        ];
        for (key, lie) in lies {
            let mut json = json.clone();
            json["linerate"]["pacing"][key] = lie;
            assert_eq!(read(&json), results(), "{key}");
        }
    }

    #[test]
    fn a_runtime_survives_the_wire_and_an_impossible_one_spoils_nothing() {
        let mpu = MpuUse { streams: 3, run_seconds: 1.0, turns: 9, ..MpuUse::default() };
        let told = Results { runtime: Some(Box::new(Runtime::of([mpu]))), ..results() };
        let json = told.to_json();
        let read = |json: &Value| {
            Results::from_json(json.to_string().as_bytes()).expect("the rest is readable")
        };
        assert_eq!(read(&json), told);
        let lies = [
            ("mpus", json!(vec![json["linerate"]["runtime"]["mpus"][0].clone(); 1025])),
            ("saturated", json!([7])),
            ("start_skew_seconds", json!(-1)),
            ("late_reports", json!(u64::MAX)),
            ("mpus", json!(3)),
        ];
        for (key, lie) in lies {
            let mut json = json.clone();
            json["linerate"]["runtime"][key] = lie;
            assert_eq!(read(&json), results(), "{key}");
        }
    }

    #[test]
    fn an_old_peer_says_nothing_of_omitted_datagrams() {
        let mut json = results().to_json();
        let stream = json["streams"][0].as_object_mut().expect("an object");
        stream.remove("omitted_errors");
        stream.remove("omitted_packets");
        stream.insert("errors".to_owned(), json!(-3));
        let read = Results::from_json(json.to_string().as_bytes()).expect("readable");
        assert_eq!(read.streams[0].omitted_packets, None);
        assert_eq!(read.streams[0].errors, 0);
    }
}
