//! What the client asks for (section 6).

use std::time::Duration;

use measurement::plan::{
    IPERF3_STREAMS, MAX_DATAGRAM, MAX_STREAMS, PlanDraft, PlanError, PlanField,
};
use measurement::{
    BitRate, ByteSize, Direction, End, EngineName, Exchange, Experiment, Pacing, StreamOptions,
    TestPlan, Transport,
};
use serde_json::{Map, Value, json};

use super::datagram::CounterWidth;
use super::error::ErrorCode;
use super::extension::Announcement;
use super::json;

/// Parameters of a test, as a client sends them to the server in JSON (section 6 of
/// docs/protocol/iperf3.md).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Plan of the test. Its block length is always set, since both ends must use the same (clause
    /// 6.5).
    pub plan: TestPlan,
    /// Width of the sequence numbers of datagrams (clause 12.2 of docs/protocol/iperf3.md).
    pub counter_width: CounterWidth,
    /// The version of iperf3 that the client states.
    pub client_version: String,
    /// Announcement of the client; none: it is a plain iperf3 (clause 13.1).
    pub announcement: Option<Announcement>,
    /// Further parameters, which do not belong to the plan.
    pub optional: OptionalParameters,
}

/// Parameters that a client may send beside the plan, e.g. a title or credentials (section 6 of
/// docs/protocol/iperf3.md).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionalParameters {
    /// Title for the client's output (`--title`).
    pub title: Option<String>,
    /// Text for the JSON output of both ends (`--extra-data`).
    pub extra_data: Option<String>,
    /// Whether the server is to send its output with the results (`--get-server-output`, clause
    /// 10.7).
    pub server_output: bool,
    /// CPU on which the server is to run (`--affinity n,m`).
    pub server_cpu: Option<u32>,
    /// Encrypted user name and password (section 15).
    pub token: Option<Token>,
    /// Interval of the pacing timer of old servers in microseconds (`--pacing-timer`); none:
    /// iperf3's default of 1000.
    pub pacing_timer: Option<u64>,
}

/// Encrypted user name and password of a client, the value of `authtoken` (section 15 of
/// docs/protocol/iperf3.md). `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(pub String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Parameters {
    /// The parameters that linerate sends for `plan`, in blocks of `block` bytes: with 64-bit
    /// sequence numbers, and the announcement of this build.
    pub fn new(plan: &TestPlan, block: ByteSize) -> Self {
        let mut draft = PlanDraft::clone(plan);
        draft.options.block = Some(block);
        Self {
            plan: draft.check().unwrap_or_else(|_| plan.clone()),
            counter_width: CounterWidth::Bits64,
            client_version: COMPATIBLE_VERSION.to_owned(),
            announcement: Some(Announcement::own()),
            optional: OptionalParameters::default(),
        }
    }

    /// A copy of the parameters with `optional` in place of its optional ones.
    #[must_use]
    pub fn with_optional(mut self, optional: OptionalParameters) -> Self {
        self.optional = optional;
        self
    }

    /// Length of a block, i.e. of a write or of a datagram's payload; 128 KiB if the plan has none.
    pub fn block(&self) -> ByteSize {
        self.plan.options.block.unwrap_or(DEFAULT_BLOCK)
    }

    /// The JSON object on the wire. A flag that is off is left out, since older servers take any
    /// value for "on" (clause 5.6 of docs/protocol/iperf3.md).
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
            End::Open => (0, 0, 0),
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
        put("pacing_timer", json!(self.optional.pacing_timer.unwrap_or(1000)));
        put("client_version", json!(self.client_version));
        if let Some(announcement) = &self.announcement {
            put("linerate", announced(announcement, plan));
        }
        put_options(&mut object, plan.transport, &plan.options, self.block());
        put_optional(&mut object, &self.optional);
        Value::Object(object)
    }

    /// Parses the parameters that a client sent.
    ///
    /// # Errors
    /// The [`ErrorCode`] with which the server is to refuse the test (clause 6.6 of
    /// docs/protocol/iperf3.md).
    pub fn from_json(text: &[u8]) -> Result<Self, ErrorCode> {
        let object = json::parse_object(text).map_err(|_| ErrorCode::PARAMETERS)?;
        let transport = transport(&object)?;
        let announcement = object.get("linerate").map(|value| {
            // A newer linerate may say more or other things here: it is one all the same.
            serde_json::from_value::<Announcement>(value.clone()).unwrap_or_default().plain()
        });
        let draft = PlanDraft {
            transport,
            direction: direction(&object),
            streams: streams(&object, announcement.as_ref())?,
            end: end(&object),
            omit: Duration::from_secs(json::unsigned(&object, "omit").unwrap_or(0)),
            interval: Duration::from_secs(1),
            options: StreamOptions {
                pacing: pacing(&object),
                engines: engines(&object),
                hop_limit: hop_limit(&object),
                ..options(&object, transport)
            },
            exchange: exchange(&object)?,
            experiment: experiment(&object),
        };
        let wide = object.contains_key("udp_counters_64bit");
        Ok(Self {
            plan: draft.check().map_err(|error| refusal(&error))?,
            counter_width: if wide { CounterWidth::Bits64 } else { CounterWidth::Bits32 },
            client_version: json::version(
                &json::text(&object, "client_version").unwrap_or_default(),
            ),
            announcement,
            optional: optional(&object),
        })
    }
}

/// Clauses 13.16 to 13.18 and 13.20: what is iperf3's habit, or nearest to it, is not said.
fn announced(announcement: &Announcement, plan: &TestPlan) -> Value {
    let options = &plan.options;
    let mut object = json!(announcement);
    if options.pacing != Pacing::default() {
        object["pacing"] = json!(options.pacing.name());
    }
    if !options.engines.is_empty() {
        object["engines"] = json!(options.engines);
    }
    if let Some(hops) = options.hop_limit {
        object["hop_limit"] = json!(hops);
    }
    if let Some(exchange) = plan.exchange {
        object["exchange"] = json!(exchange);
    }
    if let Some(experiment) = &plan.experiment {
        object["experiment"] = json!(experiment.to_string());
    }
    object
}

/// The schedule of an experiment; another form is none.
fn experiment(object: &Map<String, Value>) -> Option<Box<Experiment>> {
    Experiment::parse(object.get("linerate")?.get("experiment")?.as_str()?).map(Box::new)
}

/// What is to be answered; what makes no sense is not taken for bulk.
fn exchange(object: &Map<String, Value>) -> Result<Option<Exchange>, ErrorCode> {
    let sent = object.get("linerate").and_then(|value| value.get("exchange"));
    let read = |value: &Value| serde_json::from_value(value.clone());
    sent.map(read).transpose().map_err(|_| ErrorCode::PARAMETERS)
}

/// The names of engines that a client wishes for; too many or too long ones are none.
fn engines(object: &Map<String, Value>) -> Vec<EngineName> {
    let names = object.get("linerate").and_then(|value| value.get("engines")?.as_array());
    let names = names.filter(|names| names.len() <= MOST_ENGINES).into_iter().flatten();
    names.filter_map(|name| Some(json::printable(name.as_str()?, 32).into())).collect()
}

/// What no packet can have is left at the default.
fn hop_limit(object: &Map<String, Value>) -> Option<u8> {
    let hops = object.get("linerate").and_then(|value| value.get("hop_limit")?.as_u64());
    hops.and_then(|hops| u8::try_from(hops).ok()).filter(|hops| *hops > 0)
}

/// More than there are roles.
const MOST_ENGINES: usize = 8;

/// A plain iperf3 keeps the mean. What this crate does not know of, or what has no rate to keep, is
/// left at the default.
fn pacing(object: &Map<String, Value>) -> Pacing {
    let paced = json::unsigned(object, "bandwidth").is_some_and(|rate| rate > 0);
    if !paced {
        return Pacing::default();
    }
    let Some(extension) = object.get("linerate") else { return Pacing::Average };
    let name = extension.get("pacing").and_then(Value::as_str);
    name.and_then(Pacing::named).unwrap_or_default()
}

fn put_options(
    object: &mut Map<String, Value>,
    transport: Transport,
    options: &StreamOptions,
    block: ByteSize,
) {
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            object.insert(key.to_owned(), value);
        }
    };
    let one = |on: bool| on.then(|| json!(1));
    put("bandwidth", options.rate.map(|rate| json!(rate.bits_per_second())));
    put("window", options.window.map(|window| json!(window.bytes())));
    put("MSS", options.mss.map(|mss| json!(mss)));
    put("congestion", options.congestion.as_ref().map(|name| json!(name)));
    put("nodelay", options.no_delay.then_some(json!(true)));
    put("burst", options.burst.map(|burst| json!(burst)));
    put("fqrate", options.socket_rate.map(|rate| json!(rate.bits_per_second())));
    let tos = options.type_of_service;
    put("TOS", (tos > 0).then(|| json!(tos)));
    put("flowlabel", options.flow_label.map(|label| json!(label)));
    put("dont_fragment", one(options.dont_fragment));
    put("zerocopy", one(options.zero_copy));
    put("skip_rx_copy", one(options.skip_receive_copy));
    put("repeating_payload", one(options.repeating_payload));
    put("mptcp", options.multipath.then_some(json!(true)));
    if transport == Transport::Udp && options.segmentation_offload {
        // Clause 6.4: the server takes its buffers' sizes from here.
        let whole = OFFLOAD_BYTES / block.bytes() * block.bytes();
        put("gso", Some(json!(1)));
        put("gso_dg_size", Some(json!(block.bytes())));
        put("gso_bf_size", Some(json!(whole)));
        put("gro", Some(json!(1)));
        put("gro_bf_size", Some(json!(OFFLOAD_BYTES)));
    }
}

fn put_optional(object: &mut Map<String, Value>, optional: &OptionalParameters) {
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            object.insert(key.to_owned(), value);
        }
    };
    put("title", optional.title.as_ref().map(|title| json!(title)));
    put("extra_data", optional.extra_data.as_ref().map(|data| json!(data)));
    put("get_server_output", optional.server_output.then(|| json!(1)));
    put("server_affinity", optional.server_cpu.map(|cpu| json!(cpu)));
    put("authtoken", optional.token.as_ref().map(|token| json!(token.0)));
}

fn optional(object: &Map<String, Value>) -> OptionalParameters {
    let number = |key| json::unsigned(object, key);
    OptionalParameters {
        title: json::text(object, "title"),
        extra_data: json::text(object, "extra_data"),
        // Clause 6.2: iperf3 takes any number, even 0, for "on".
        server_output: number("get_server_output").is_some(),
        server_cpu: number("server_affinity").and_then(|cpu| u32::try_from(cpu).ok()),
        token: json::text(object, "authtoken").map(Token),
        pacing_timer: number("pacing_timer").filter(|timer| *timer != 1000),
    }
}

fn options(object: &Map<String, Value>, transport: Transport) -> StreamOptions {
    let is_udp = transport == Transport::Udp;
    let some = |key| json::unsigned(object, key).filter(|number| *number > 0);
    let block = some("len").map(ByteSize::from_bytes);
    StreamOptions {
        block: Some(block.unwrap_or(if is_udp { LONGEST_DATAGRAM } else { DEFAULT_BLOCK })),
        rate: some("bandwidth").map(BitRate::from_bits_per_second),
        pacing: Pacing::default(),
        window: some("window").map(ByteSize::from_bytes),
        mss: some("MSS").map(narrow),
        congestion: json::text(object, "congestion"),
        no_delay: json::flag(object, "nodelay"),
        burst: some("burst").map(narrow),
        socket_rate: some("fqrate").map(BitRate::from_bits_per_second),
        type_of_service: u8::try_from(json::unsigned(object, "TOS").unwrap_or(0)).unwrap_or(0),
        flow_label: some("flowlabel").map(narrow),
        dont_fragment: json::flag(object, "dont_fragment"),
        zero_copy: json::flag(object, "zerocopy"),
        skip_receive_copy: json::flag(object, "skip_rx_copy"),
        segmentation_offload: is_udp && (json::flag(object, "gso") || json::flag(object, "gro")),
        engines: Vec::new(),
        hop_limit: None,
        repeating_payload: json::flag(object, "repeating_payload"),
        pages: None,
        multipath: json::flag(object, "mptcp"),
    }
}

/// A number beyond 32 bits is out of every range, and stays so.
fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
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

/// Clause 13.12: only a client that knows of it may ask for more than an iperf3.
fn streams(
    object: &Map<String, Value>,
    announcement: Option<&Announcement>,
) -> Result<u32, ErrorCode> {
    let count = json::unsigned(object, "parallel").unwrap_or(1);
    let knows_many = announcement.is_some_and(Announcement::knows_many_streams);
    let most = if knows_many { MAX_STREAMS } else { IPERF3_STREAMS };
    match u32::try_from(count) {
        Ok(count) if count <= most => Ok(count),
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
        if seconds == 0 { End::Open } else { End::Time(Duration::from_secs(seconds)) }
    }
}

/// The number with which iperf3 refuses the same field.
const fn refusal(error: &PlanError) -> ErrorCode {
    let field = match error {
        PlanError::OutOfRange { field, .. } => *field,
        PlanError::OmittedFraction(_) => PlanField::Omit,
        PlanError::CongestionName(_) => return ErrorCode::CONGESTION,
        PlanError::PacingWithoutRate(_) | PlanError::PagesOfOthers | PlanError::NoSuchExchange => {
            return ErrorCode::PARAMETERS;
        }
    };
    match field {
        PlanField::Streams => ErrorCode::STREAMS,
        PlanField::Omit => ErrorCode::OMIT,
        PlanField::Time => ErrorCode::DURATION,
        PlanField::Length => ErrorCode::BLOCK,
        PlanField::Window => ErrorCode::WINDOW,
        PlanField::Mss => ErrorCode::MSS,
        PlanField::Burst => ErrorCode::BURST,
        PlanField::FlowLabel => ErrorCode::FLOW_LABEL,
        PlanField::Interval
        | PlanField::Bytes
        | PlanField::Blocks
        | PlanField::HopLimit
        | PlanField::Request
        | PlanField::Response
        | PlanField::Depth
        | PlanField::Every => ErrorCode::PARAMETERS,
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
/// Room for every datagram of a client that does not say how long they are.
const LONGEST_DATAGRAM: ByteSize = ByteSize::from_bytes(MAX_DATAGRAM);
/// What iperf3 hands to the kernel, or takes from it, at once with `--gsro`.
const OFFLOAD_BYTES: u64 = 65_507;
const DEFAULT_TIME: u64 = 10;

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
        draft.options.pacing = Pacing::Even;
        draft.experiment = Experiment::parse("40:...s.r.p.").map(Box::new);
        let plan = draft.check().expect("valid");
        let parameters = Parameters::new(&plan, ByteSize::from_bytes(1460));
        assert_eq!(read(&parameters.to_json()), Ok(parameters));
    }

    #[test]
    fn pacing_that_is_unknown_or_has_no_rate_is_the_default() {
        let pacing = |value| read(&value).expect("readable").plan.options.pacing;
        let with = |name: &str| json!({ "bandwidth": 5, "linerate": { "pacing": name } });
        assert_eq!(pacing(with("repay")), Pacing::Repay);
        assert_eq!(pacing(with("average")), Pacing::Average);
        assert_eq!(pacing(json!({ "bandwidth": 5 })), Pacing::Average);
        assert_eq!(pacing(json!({})), Pacing::Smooth);
        assert_eq!(pacing(with("as-a-newer-one-does")), Pacing::Smooth);
        assert_eq!(pacing(json!({ "linerate": { "pacing": "even" } })), Pacing::Smooth);
        assert_eq!(pacing(json!({ "bandwidth": 5, "linerate": { "pacing": 1 } })), Pacing::Smooth);
        assert_eq!(pacing(json!({ "bandwidth": 5, "linerate": 1 })), Pacing::Smooth);
    }

    #[test]
    fn a_time_to_live_survives_the_wire_and_nonsense_is_none() {
        let mut draft = PlanDraft::new(Transport::Tcp, Direction::Both);
        draft.options.hop_limit = Some(255);
        let plan = draft.check().expect("valid");
        let parameters = Parameters::new(&plan, ByteSize::from_bytes(1000));
        assert_eq!(read(&parameters.to_json()), Ok(parameters));
        for nonsense in [json!(0), json!(256), json!(-1), json!("7"), json!(1.5)] {
            let sent = json!({ "linerate": { "hop_limit": nonsense } });
            assert_eq!(read(&sent).expect("readable").plan.options.hop_limit, None, "{nonsense}");
        }
    }

    #[test]
    fn what_a_client_wishes_survives_the_wire_and_its_token_no_log() {
        let mut draft = PlanDraft::new(Transport::Udp, Direction::Send);
        draft.options.segmentation_offload = true;
        let optional = OptionalParameters {
            title: Some("a title".to_owned()),
            extra_data: Some("{}".to_owned()),
            server_output: true,
            server_cpu: Some(1),
            token: Some(Token("c2VjcmV0".to_owned())),
            pacing_timer: Some(500),
        };
        let parameters =
            Parameters::new(&draft.check().expect("valid"), ByteSize::from_bytes(1460))
                .with_optional(optional);
        assert_eq!(read(&parameters.to_json()), Ok(parameters.clone()));
        assert!(!format!("{parameters:?}").contains("c2VjcmV0"));
        // As 3.21 computes them: whole datagrams in what UDP can carry at once.
        assert_eq!(parameters.to_json()["gso_bf_size"], json!(64_240));
    }

    #[test]
    fn only_who_knows_of_many_streams_may_ask_for_them() {
        let mut draft = PlanDraft::new(Transport::Tcp, Direction::Both);
        draft.streams = MAX_STREAMS / 2;
        let plan = draft.check().expect("a plan");
        let mut parameters = Parameters::new(&plan, ByteSize::from_bytes(1000));
        assert_eq!(read(&parameters.to_json()), Ok(parameters.clone()));
        let mut older = Announcement::own();
        older.extensions.retain(|name| name != "many-streams");
        parameters.announcement = Some(older);
        assert_eq!(read(&parameters.to_json()), Err(ErrorCode::STREAMS));
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
