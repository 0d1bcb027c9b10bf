//! The plan of a test: transport, direction, end condition and the options of its streams. A
//! [`TestPlan`] is checked when it is made; a plan out of limits is a [`PlanError`].

use std::ops::Deref;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::engine::{self, EngineName};
use crate::exchange::Exchange;
use crate::limits::{
    MAX_AMOUNT, MAX_BURST, MAX_CONGESTION_NAME, MAX_FLOW_LABEL, MAX_MSS, MAX_OMIT, MAX_WINDOW,
};
use crate::pacing::Pacing;
use crate::payload_pages::PayloadPages;
use crate::units::{BitRate, ByteSize};

use crate::experiment::Experiment;
pub use crate::limits::{
    IPERF3_STREAMS, MAX_DATAGRAM, MAX_STREAMS, MAX_TCP_BLOCK, MAX_TIME, MIN_DATAGRAM, PlanError,
    PlanField,
};
pub use crate::transport::{Direction, Transport};

/// Condition that ends a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// After this time in seconds, not counting the omitted start.
    #[serde(rename = "time_seconds")]
    Time(
        #[serde(with = "crate::seconds")]
        #[cfg_attr(feature = "schema", schemars(with = "f64"))]
        Duration,
    ),
    /// After this many payload bytes, over all streams of a direction.
    Bytes(ByteSize),
    /// After this many blocks or datagrams, over all streams of a direction.
    Blocks(u64),
    /// When the test is interrupted.
    Open,
}

impl End {
    /// Whether the test ends after an amount of payload, however long that takes.
    pub const fn is_amount(self) -> bool {
        matches!(self, Self::Bytes(_) | Self::Blocks(_))
    }
}

/// Options of the streams of a test: block length, rate, socket options and engines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own, as in the kernel")]
pub struct StreamOptions {
    /// Bytes per write, or payload bytes per datagram; none: the default of the transport (128 KiB,
    /// or what fits the path MTU).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[serde(rename = "block_bytes")]
    pub block: Option<ByteSize>,
    /// Rate of each stream in bit/s of payload; none: unlimited.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[serde(rename = "rate_bits_per_second")]
    pub rate: Option<BitRate>,
    /// How the rate is kept.
    #[serde(skip_serializing_if = "is_default", default)]
    pub pacing: Pacing,
    /// Requested size of the socket buffers (`SO_SNDBUF` and `SO_RCVBUF`, socket(7)).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[serde(rename = "window_bytes")]
    pub window: Option<ByteSize>,
    /// Requested maximum segment size in bytes (`TCP_MAXSEG`, tcp(7)).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[serde(rename = "mss_bytes")]
    pub mss: Option<u32>,
    /// Requested congestion control (`TCP_CONGESTION`, tcp(7)), e.g. `cubic`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub congestion: Option<String>,
    /// Whether Nagle's algorithm is off (`TCP_NODELAY`, tcp(7)).
    pub no_delay: bool,
    /// Blocks or datagrams that are sent at once when the rate allows them; none: one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub burst: Option<u32>,
    /// Rate to which the kernel paces each stream (`SO_MAX_PACING_RATE`, socket(7)), in bit/s.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[serde(rename = "socket_rate_bits_per_second")]
    pub socket_rate: Option<BitRate>,
    /// Type of service (`IP_TOS`, ip(7)) or traffic class (`IPV6_TCLASS`, ipv6(7)); 0: not set.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub type_of_service: u8,
    /// Time to live (`IP_TTL`, ip(7)) or hop limit (`IPV6_UNICAST_HOPS`, ipv6(7)), 1 to 255; none:
    /// the default of the host.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hop_limit: Option<u8>,
    /// Flow label of IPv6 (RFC 6437); none: the kernel chooses it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub flow_label: Option<u32>,
    /// UDP over IPv4: whether packets have the "don't fragment" flag (`IP_MTU_DISCOVER`, ip(7)).
    #[serde(skip_serializing_if = "is_false", default)]
    pub dont_fragment: bool,
    /// TCP: whether the sender avoids copies by sendfile(2).
    #[serde(skip_serializing_if = "is_false", default)]
    pub zero_copy: bool,
    /// TCP: whether the receiver avoids copies by `MSG_TRUNC` (tcp(7)).
    #[serde(skip_serializing_if = "is_false", default)]
    pub skip_receive_copy: bool,
    /// UDP: whether several datagrams are handed to and taken from the kernel as one (`UDP_SEGMENT`
    /// and `UDP_GRO`, udp(7)).
    #[serde(skip_serializing_if = "is_false", default)]
    pub segmentation_offload: bool,
    /// Names of the requested engines, each for one end and one transport; the others are the
    /// defaults.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub engines: Vec<EngineName>,
    /// Whether the payload is a repeating pattern, which a link may compress, in place of random
    /// bytes.
    #[serde(skip_serializing_if = "is_false", default)]
    pub repeating_payload: bool,
    /// TCP: pages of the memory that this host sends from; none: huge ones for large blocks, where
    /// the kernel grants them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pages: Option<PayloadPages>,
    /// Whether Multipath TCP (RFC 8684) is used in place of TCP.
    #[serde(skip_serializing_if = "is_false", default)]
    pub multipath: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")]
fn is_default(pacing: &Pacing) -> bool {
    *pacing == Pacing::default()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")]
const fn is_zero(number: &u8) -> bool {
    *number == 0
}

/// Draft of a plan, whose fields have not been checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanDraft {
    /// The transport protocol of the payload.
    pub transport: Transport,
    /// Direction of the payload.
    pub direction: Direction,
    /// Number of streams in each direction.
    pub streams: u32,
    /// Condition that ends the test.
    pub end: End,
    /// Duration of the omitted start, which is not part of the result, in seconds.
    #[serde(with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[serde(rename = "omit_seconds")]
    pub omit: Duration,
    /// Time between two samples, in seconds; zero: only the first and the last sample are taken.
    #[serde(with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    #[serde(rename = "interval_seconds")]
    pub interval: Duration,
    /// Options of all streams.
    pub options: StreamOptions,
    /// Requests and responses in place of bulk payload, sent by the client; none: bulk payload.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exchange: Option<Exchange>,
    /// Schedule of the changes that the test makes for moments. `None`: the test is a measurement.
    #[serde(skip)]
    pub experiment: Option<Box<Experiment>>,
}

impl PlanDraft {
    /// A draft with default values: one stream in each direction of `direction`, for ten seconds,
    /// with a sample each second.
    pub fn new(transport: Transport, direction: Direction) -> Self {
        Self {
            transport,
            direction,
            streams: 1,
            end: End::Time(Duration::from_secs(10)),
            omit: Duration::ZERO,
            interval: Duration::from_secs(1),
            options: StreamOptions::default(),
            exchange: None,
            experiment: None,
        }
    }

    /// Checks all fields of the draft, and makes a plan of it.
    ///
    /// # Errors
    /// [`PlanError`] names the first field that is invalid, and its range.
    pub fn check(self) -> Result<TestPlan, PlanError> {
        use PlanField::{Blocks, Bytes, Interval, Omit, Streams, Time};
        let ways = if self.direction == Direction::Both { 2 } else { 1 };
        Streams.check(u64::from(self.streams), 1..=u64::from(MAX_STREAMS / ways))?;
        Omit.check(millis(self.omit), 0..=millis(MAX_OMIT))?;
        if self.omit.subsec_nanos() > 0 {
            return Err(PlanError::OmittedFraction(self.omit));
        }
        if !self.interval.is_zero() {
            Interval.check(millis(self.interval), 10..=3_600_000)?;
        }
        match self.end {
            End::Time(time) => Time.check(millis(time), 10..=millis(MAX_TIME))?,
            End::Bytes(size) => Bytes.check(size.bytes(), 1..=MAX_AMOUNT)?,
            End::Blocks(count) => Blocks.check(count, 1..=MAX_AMOUNT)?,
            End::Open => {}
        }
        self.check_options()?;
        self.check_exchange()?;
        Ok(TestPlan(self))
    }

    fn check_exchange(&self) -> Result<(), PlanError> {
        let Some(exchange) = self.exchange else { return Ok(()) };
        if self.direction != Direction::Send || self.end.is_amount() || self.options.rate.is_some()
        {
            return Err(PlanError::NoSuchExchange);
        }
        // Both ends make room for blocks of that length.
        let longest = exchange.request.max(exchange.response);
        if let Some(block) = self.options.block {
            PlanField::Length.check(block.bytes(), longest.bytes()..=MAX_TCP_BLOCK)?;
        }
        exchange.check(self.transport)
    }

    fn check_options(&self) -> Result<(), PlanError> {
        let options = &self.options;
        if let Some(block) = options.block {
            PlanField::Length.check(
                block.bytes(),
                match self.transport {
                    Transport::Tcp => 1..=MAX_TCP_BLOCK,
                    Transport::Udp => MIN_DATAGRAM..=MAX_DATAGRAM,
                },
            )?;
        }
        if options.pacing != Pacing::default() && options.rate.is_none() {
            return Err(PlanError::PacingWithoutRate(options.pacing));
        }
        if let Some(window) = options.window {
            PlanField::Window.check(window.bytes(), 1..=MAX_WINDOW)?;
        }
        if let Some(mss) = options.mss {
            PlanField::Mss.check(u64::from(mss), 88..=MAX_MSS)?;
        }
        if let Some(burst) = options.burst {
            PlanField::Burst.check(u64::from(burst), 1..=MAX_BURST)?;
        }
        if let Some(hops) = options.hop_limit {
            PlanField::HopLimit.check(u64::from(hops), 1..=u64::from(u8::MAX))?;
        }
        if let Some(label) = options.flow_label {
            PlanField::FlowLabel.check(u64::from(label), 1..=MAX_FLOW_LABEL)?;
        }
        if options.pages.is_some() && !self.sends_from_memory() {
            return Err(PlanError::PagesOfOthers);
        }
        match options.congestion.as_deref() {
            Some(name) if name.is_empty() || name.len() > MAX_CONGESTION_NAME => {
                Err(PlanError::CongestionName(name.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Whether this host sends over TCP, from memory rather than from a file in memory.
    fn sends_from_memory(&self) -> bool {
        self.transport == Transport::Tcp
            && self.direction.sends()
            && !self.options.zero_copy
            && !self.options.engines.iter().any(|name| name.is(&engine::SENDFILE))
    }
}

/// A valid plan of a test, made by [`PlanDraft::check`]; its fields are those of [`PlanDraft`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "PlanDraft", into = "PlanDraft")]
pub struct TestPlan(PlanDraft);

impl TestPlan {
    /// Number of streams from client to server.
    pub fn sending_streams(&self) -> u32 {
        if self.direction.sends() { self.streams } else { 0 }
    }

    /// Number of streams from server to client.
    pub fn receiving_streams(&self) -> u32 {
        if self.direction.receives() { self.streams } else { 0 }
    }

    /// Number of streams of both directions together.
    pub fn streams_in_all(&self) -> u32 {
        self.sending_streams() + self.receiving_streams()
    }

    /// Whether the plan has more streams than iperf3 supports; only two linerates can run it
    /// (docs/protocol/iperf3.md, clause 13.12).
    pub fn has_many_streams(&self) -> bool {
        self.streams > IPERF3_STREAMS
    }

    /// Requested rate of all streams of one direction together; none: unlimited.
    pub fn asked(&self) -> Option<BitRate> {
        self.options.rate.map(|rate| rate.times(u64::from(self.streams)))
    }
}

impl Deref for TestPlan {
    type Target = PlanDraft;

    fn deref(&self) -> &PlanDraft {
        &self.0
    }
}

impl TryFrom<PlanDraft> for TestPlan {
    type Error = PlanError;

    fn try_from(draft: PlanDraft) -> Result<Self, PlanError> {
        draft.check()
    }
}

impl From<TestPlan> for PlanDraft {
    fn from(plan: TestPlan) -> Self {
        plan.0
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft() -> PlanDraft {
        PlanDraft::new(Transport::Udp, Direction::Send)
    }

    #[test]
    fn a_default_draft_is_a_plan() {
        assert!(draft().check().is_ok());
    }

    #[test]
    fn a_block_has_room_for_request_and_response() {
        let mut draft = PlanDraft::new(Transport::Tcp, Direction::Send);
        let response = ByteSize::from_bytes(1_000);
        draft.exchange = Some(Exchange { response, ..Exchange::default() });
        assert!(draft.clone().check().is_ok(), "it is chosen to suit");
        draft.options.block = Some(ByteSize::from_bytes(999));
        assert!(draft.clone().check().is_err());
        draft.options.block = Some(response);
        assert!(draft.check().is_ok());
    }

    #[test]
    fn fields_out_of_range_are_named_with_the_range() {
        type Spoil = fn(&mut PlanDraft);
        let cases: [(&str, Spoil); 5] = [
            ("number of streams", |d| d.streams = 0),
            ("omitted time", |d| d.omit = Duration::from_secs(601)),
            ("length", |d| d.options.block = Some(ByteSize::from_bytes(15))),
            ("amount", |d| d.end = End::Bytes(ByteSize::from_bytes(0))),
            ("time", |d| d.end = End::Time(Duration::ZERO)),
        ];
        for (field, spoil) in cases {
            let mut draft = draft();
            spoil(&mut draft);
            let text = draft.check().expect_err(field).to_string();
            assert!(text.contains(field) && text.contains("choose "), "{text}");
        }
    }

    #[test]
    fn more_streams_than_an_iperf3_can_have_are_a_plan() {
        let mut draft = draft();
        draft.streams = IPERF3_STREAMS;
        assert!(!draft.clone().check().expect("a plan").has_many_streams());
        draft.streams = MAX_STREAMS;
        assert!(draft.clone().check().expect("a plan").has_many_streams());
        draft.direction = Direction::Both;
        let half = PlanError::OutOfRange {
            field: PlanField::Streams,
            value: MAX_STREAMS.into(),
            least: 1,
            most: 65_535,
        };
        assert_eq!(draft.check(), Err(half), "both directions together");
    }

    #[test]
    fn a_range_is_told_in_the_fields_own_unit() {
        let mut draft = draft();
        draft.end = End::Time(Duration::ZERO);
        let text = draft.clone().check().expect_err("no time").to_string();
        assert_eq!(text, "the time cannot be 0s: choose between 10ms and 86400s");
        draft.end = End::Bytes(ByteSize::from_bytes(0));
        let text = draft.clone().check().expect_err("no bytes").to_string();
        assert_eq!(text, "the amount cannot be 0 bytes: choose 1 byte or more");
        draft.end = End::Blocks(1);
        draft.omit = Duration::from_millis(1_500);
        let text = draft.check().expect_err("a fraction").to_string();
        assert!(text.starts_with("the omitted time cannot be 1.5s"), "{text}");
    }

    #[test]
    fn pacing_needs_a_rate() {
        let mut draft = draft();
        draft.options.pacing = Pacing::Even;
        let text = draft.clone().check().expect_err("no rate").to_string();
        assert_eq!(text, "even pacing needs a rate: add -b RATE");
        draft.options.rate = Some(BitRate::from_bits_per_second(1));
        assert!(draft.check().is_ok());
    }

    #[test]
    fn a_plan_survives_json_and_nonsense_does_not() {
        let plan = draft().check().expect("valid");
        let json = serde_json::to_string(&plan).expect("serialises");
        assert_eq!(serde_json::from_str::<TestPlan>(&json).expect("parses"), plan);
        let spoiled = json.replace("\"streams\":1", "\"streams\":0");
        assert!(serde_json::from_str::<TestPlan>(&spoiled).is_err());
    }

    #[test]
    fn the_rate_asked_is_that_of_all_streams() {
        let mut draft = draft();
        draft.streams = 4;
        draft.options.rate = Some(BitRate::from_bits_per_second(10));
        let plan = draft.check().expect("valid");
        assert_eq!(plan.asked(), Some(BitRate::from_bits_per_second(40)));
    }
}
