//! What the client asks for (section 6).

use std::time::Duration;

use measurement::plan::{MAX_STREAMS, PlanDraft, PlanError, PlanField};
use measurement::{BitRate, ByteSize, Direction, End, StreamOptions, TestPlan, Transport};
use serde_json::{Map, Value, json};

use super::datagram::CounterWidth;
use super::error::ErrorCode;
use super::extension::Announcement;
use super::json;

/// The parameters as they travel, with linerate's announcement if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// What to do. Its block length is always set: both ends must agree on it (clause 6.5).
    pub plan: TestPlan,
    /// Width of the datagrams' sequence numbers (clause 12.2).
    pub counter_width: CounterWidth,
    /// The client's version of iperf3, or what it says in its place.
    pub client_version: String,
    /// The client is a linerate (clause 13.1).
    pub announcement: Option<Announcement>,
}

impl Parameters {
    /// What linerate asks to carry out `plan` in blocks of `block` bytes.
    pub fn new(plan: &TestPlan, block: ByteSize) -> Self {
        let mut draft = PlanDraft::clone(plan);
        draft.options.block = Some(block);
        Self {
            plan: draft.check().unwrap_or_else(|_| plan.clone()),
            counter_width: CounterWidth::Bits64,
            client_version: COMPATIBLE_VERSION.to_owned(),
            announcement: Some(Announcement::own()),
        }
    }

    /// The block length in effect.
    pub fn block(&self) -> ByteSize {
        self.plan.options.block.unwrap_or(DEFAULT_BLOCK)
    }

    /// The JSON that goes over the wire. A flag that is off is left out, since
    /// older servers take any value for "on" (clause 5.6).
    pub fn to_json(&self) -> Value {
        let plan = &self.plan;
        let mut object = Map::new();
        let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
        put(if plan.transport == Transport::Udp { "udp" } else { "tcp" }, json!(true));
        put("omit", json!(whole_seconds(plan.omit)));
        let (time, bytes, blocks) = match plan.end {
            End::Time(time) => (whole_seconds(time), 0, 0),
            End::Bytes(size) => (0, size.bytes(), 0),
            End::Blocks(count) => (0, 0, count),
        };
        put("time", json!(time));
        put("num", json!(bytes));
        put("blockcount", json!(blocks));
        put("parallel", json!(plan.streams));
        match plan.direction {
            Direction::Send => {}
            Direction::Receive => _ = put("reverse", json!(true)),
            Direction::Both => _ = put("bidirectional", json!(true)),
        }
        put("len", json!(self.block().bytes()));
        if self.counter_width == CounterWidth::Bits64 {
            put("udp_counters_64bit", json!(1));
        }
        put("pacing_timer", json!(1000));
        put("client_version", json!(self.client_version));
        if let Some(announcement) = &self.announcement {
            put("linerate", json!(announcement));
        }
        put_options(&mut object, &plan.options);
        Value::Object(object)
    }

    /// Reads what a client sent.
    ///
    /// # Errors
    /// The [`ErrorCode`] with which to refuse it (clause 6.6).
    pub fn from_json(text: &[u8]) -> Result<Self, ErrorCode> {
        let object = json::parse_object(text).map_err(|_| ErrorCode::PARAMETERS)?;
        let draft = PlanDraft {
            transport: transport(&object)?,
            direction: direction(&object),
            streams: streams(&object)?,
            end: end(&object),
            omit: Duration::from_secs(json::unsigned(&object, "omit").unwrap_or(0)),
            interval: Duration::from_secs(1),
            options: options(&object),
        };
        let announcement = object.get("linerate").map(|value| {
            // A newer linerate may say more or other things here: it is one all the same.
            serde_json::from_value::<Announcement>(value.clone()).unwrap_or_default().plain()
        });
        let wide = object.contains_key("udp_counters_64bit");
        Ok(Self {
            plan: draft.check().map_err(|error| refusal(&error))?,
            counter_width: if wide { CounterWidth::Bits64 } else { CounterWidth::Bits32 },
            client_version: json::plain(&json::text(&object, "client_version").unwrap_or_default()),
            announcement,
        })
    }
}

fn put_options(object: &mut Map<String, Value>, options: &StreamOptions) {
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            object.insert(key.to_owned(), value);
        }
    };
    put("bandwidth", options.rate.map(|rate| json!(rate.bits_per_second())));
    put("window", options.window.map(|window| json!(window.bytes())));
    put("MSS", options.mss.map(|mss| json!(mss)));
    put("congestion", options.congestion.as_ref().map(|name| json!(name)));
    put("nodelay", if options.no_delay { Some(json!(true)) } else { None });
}

fn options(object: &Map<String, Value>) -> StreamOptions {
    let some = |key| json::unsigned(object, key).filter(|number| *number > 0);
    let block = some("len").map(ByteSize::from_bytes);
    StreamOptions {
        block: Some(block.unwrap_or(DEFAULT_BLOCK)),
        rate: some("bandwidth").map(BitRate::from_bits_per_second),
        window: some("window").map(ByteSize::from_bytes),
        mss: some("MSS").map(|mss| u32::try_from(mss).unwrap_or(u32::MAX)),
        congestion: json::text(object, "congestion"),
        no_delay: json::flag(object, "nodelay"),
    }
}

/// Clause 6.3: of several, SCTP wins over UDP wins over TCP.
fn transport(object: &Map<String, Value>) -> Result<Transport, ErrorCode> {
    if json::flag(object, "sctp") {
        Err(ErrorCode::TRANSPORT)
    } else if json::flag(object, "udp") {
        Ok(Transport::Udp)
    } else {
        Ok(Transport::Tcp)
    }
}

fn direction(object: &Map<String, Value>) -> Direction {
    if json::flag(object, "bidirectional") {
        Direction::Both
    } else if json::flag(object, "reverse") {
        Direction::Receive
    } else {
        Direction::Send
    }
}

fn streams(object: &Map<String, Value>) -> Result<u16, ErrorCode> {
    let count = json::unsigned(object, "parallel").unwrap_or(1);
    match u16::try_from(count) {
        Ok(count) if count <= MAX_STREAMS => Ok(count),
        _ => Err(ErrorCode::STREAMS),
    }
}

/// Clause 9.5. A `time` of 0 without another end means: until the client ends it.
fn end(object: &Map<String, Value>) -> End {
    let some = |key| json::unsigned(object, key).filter(|number| *number > 0);
    if let Some(bytes) = some("num") {
        End::Bytes(ByteSize::from_bytes(bytes))
    } else if let Some(blocks) = some("blockcount") {
        End::Blocks(blocks)
    } else {
        let seconds = json::unsigned(object, "time").unwrap_or(DEFAULT_TIME);
        End::Time(Duration::from_secs(if seconds == 0 { LONGEST_TIME } else { seconds }))
    }
}

/// The number with which iperf3 refuses the same field.
const fn refusal(error: &PlanError) -> ErrorCode {
    let field = match error {
        PlanError::OutOfRange { field, .. } => *field,
        PlanError::OmittedFraction(_) => PlanField::Omit,
        PlanError::CongestionName(_) => return ErrorCode::CONGESTION,
    };
    match field {
        PlanField::Streams => ErrorCode::STREAMS,
        PlanField::Omit => ErrorCode::OMIT,
        PlanField::Time => ErrorCode::DURATION,
        PlanField::Length => ErrorCode::BLOCK,
        PlanField::Window => ErrorCode::WINDOW,
        PlanField::Mss => ErrorCode::MSS,
        PlanField::Interval | PlanField::Bytes | PlanField::Blocks => ErrorCode::PARAMETERS,
    }
}

/// The wire has whole seconds; a fraction must not make the server stop first (clause 2.8).
fn whole_seconds(span: Duration) -> u64 {
    span.as_secs() + u64::from(span.subsec_nanos() > 0)
}

/// The version of iperf3 whose wire protocol this client speaks.
const COMPATIBLE_VERSION: &str = "3.21";
/// What iperf3 assumes without a `len` (clause 6.3).
const DEFAULT_BLOCK: ByteSize = ByteSize::from_bytes(128 * 1024);
const DEFAULT_TIME: u64 = 10;
const LONGEST_TIME: u64 = 86_400;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &Value) -> Result<Parameters, ErrorCode> {
        Parameters::from_json(value.to_string().as_bytes())
    }

    #[test]
    fn parameters_survive_the_wire() {
        let mut draft = PlanDraft::new(Transport::Udp, Direction::Both);
        draft.streams = 3;
        draft.end = End::Bytes(ByteSize::from_bytes(1 << 40));
        draft.options.rate = Some(BitRate::from_bits_per_second(5));
        draft.options.congestion = Some("cubic".to_owned());
        draft.options.window = Some(ByteSize::from_bytes(4096));
        draft.options.no_delay = true;
        let plan = draft.check().expect("valid");
        let parameters = Parameters::new(&plan, ByteSize::from_bytes(1460));
        assert_eq!(read(&parameters.to_json()), Ok(parameters));
    }

    #[test]
    fn what_is_absent_has_iperf3s_defaults() {
        let parameters = read(&json!({})).expect("nothing is required");
        assert_eq!(parameters.plan.transport, Transport::Tcp);
        assert_eq!(parameters.plan.end, End::Time(Duration::from_secs(10)));
        assert_eq!(parameters.block(), DEFAULT_BLOCK);
        assert_eq!(parameters.counter_width, CounterWidth::Bits32);
        assert_eq!(parameters.announcement, None);
    }

    #[test]
    fn keys_that_nobody_knows_are_ignored() {
        let parameters = read(&json!({"tcp": true, "gso": 0, "tomorrow": {"a": [1]}, "MSS": null}));
        assert_eq!(parameters.expect("readable").plan.options.mss, None);
    }

    #[test]
    fn a_newer_linerate_is_still_one() {
        let parameters = read(&json!({"linerate": 7})).expect("readable");
        assert_eq!(parameters.announcement, Some(Announcement::default()));
    }

    #[test]
    fn what_cannot_be_done_is_refused_with_iperf3s_number() {
        let cases = [
            (json!({"parallel": 129}), ErrorCode::STREAMS),
            (json!({"parallel": 0}), ErrorCode::STREAMS),
            (json!({"parallel": 1e6}), ErrorCode::STREAMS),
            (json!({"omit": 601}), ErrorCode::OMIT),
            (json!({"time": 86401}), ErrorCode::DURATION),
            (json!({"udp": true, "len": 4}), ErrorCode::BLOCK),
            (json!({"len": 1 << 30}), ErrorCode::BLOCK),
            (json!({"sctp": true}), ErrorCode::TRANSPORT),
            (json!({"window": 1u64 << 40}), ErrorCode::WINDOW),
            (json!([]), ErrorCode::PARAMETERS),
        ];
        for (value, code) in cases {
            assert_eq!(read(&value), Err(code), "{value}");
        }
        assert_eq!(Parameters::from_json(b"{"), Err(ErrorCode::PARAMETERS));
    }
}
