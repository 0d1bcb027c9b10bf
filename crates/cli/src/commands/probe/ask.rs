//! What a request asks to have tested, and what it may ask for. No I/O.

use std::collections::HashSet;
use std::time::Duration;

use measurement::plan::PlanDraft;
use measurement::units::parse_duration;
use measurement::{
    BitRate, ByteSize, Direction, End, Exchange, StreamOptions, TestPlan, Transport, Way,
};

use crate::flags::{Allowed, ProbeFlags};

/// What requests may ask for.
#[derive(Debug)]
pub(super) struct Rules {
    allowed: HashSet<Allowed>,
    max_time: Duration,
    max_rate: Option<BitRate>,
}

/// A test that was asked for, and that may run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) target: Allowed,
    pub(super) plan: TestPlan,
}

/// Why a test does not run, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The request is not valid.
    Invalid(String),
    /// The host may not be tested.
    Forbidden(String),
}

impl Rules {
    pub(super) fn of(flags: &ProbeFlags) -> Self {
        Self {
            allowed: flags.allow.iter().cloned().collect(),
            max_time: flags.max_time,
            max_rate: flags.max_rate.filter(|most| most.bits_per_second() > 0),
        }
    }

    /// The longest test.
    pub(super) const fn max_time(&self) -> Duration {
        self.max_time
    }

    /// Reads the query of a request.
    pub(super) fn read(&self, query: &str) -> Result<Asked, Refusal> {
        let given = Parameters::read(query).map_err(Refusal::Invalid)?;
        let target = given.target.ok_or("a target is missing: /probe?target=10.0.0.2");
        let target = target.map_err(|why| Refusal::Invalid(why.to_owned()))?;
        let target = Allowed::read(&target).map_err(Refusal::Invalid)?;
        if !self.allowed.contains(&target) {
            let text = "the target is not one of --allow, which linerate probe was started with";
            return Err(Refusal::Forbidden(text.to_owned()));
        }
        let time = given.time.unwrap_or(USUAL_TIME.min(self.max_time));
        if time > self.max_time || time.is_zero() {
            let most = self.max_time.as_secs_f64();
            return Err(Refusal::Invalid(format!("time is above {most} s (--max-time), or zero")));
        }
        let draft = self.draft(given.row.unwrap_or(AskedRow::TcpLatency), time, given.rate);
        let plan = draft.check().map_err(|error| Refusal::Invalid(error.to_string()))?;
        Ok(Asked { target, plan })
    }

    fn draft(&self, row: AskedRow, time: Duration, rate: Option<BitRate>) -> PlanDraft {
        let (transport, direction, is_exchange) = row.parts();
        let usual = (transport == Transport::Udp).then_some(USUAL_RATE_OF_UDP);
        let rate = rate.filter(|rate| rate.bits_per_second() > 0).or(usual);
        let rate = rate.into_iter().chain(self.max_rate).min();
        PlanDraft {
            end: End::Time(time),
            exchange: is_exchange.then_some(Exchange {
                way: Way::Stream,
                request: ByteSize::from_bytes(REQUEST),
                response: ByteSize::from_bytes(REQUEST),
                depth: 1,
                every: None,
                busy: false,
            }),
            options: StreamOptions {
                rate: rate.filter(|_| !is_exchange),
                no_delay: is_exchange && transport == Transport::Tcp,
                ..StreamOptions::default()
            },
            ..PlanDraft::new(transport, direction)
        }
    }
}

/// Parameters of a query, each at most once.
#[derive(Default)]
struct Parameters {
    target: Option<String>,
    row: Option<AskedRow>,
    time: Option<Duration>,
    rate: Option<BitRate>,
}

impl Parameters {
    fn read(query: &str) -> Result<Self, String> {
        let mut all = Self::default();
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let value = decoded(value).ok_or_else(|| format!("{key} is not percent-encoded UTF-8"));
            all.set(key, value?)?;
        }
        Ok(all)
    }

    fn set(&mut self, key: &str, value: String) -> Result<(), String> {
        let is_new = match key {
            "target" => self.target.replace(value).is_none(),
            "row" => self.row.replace(AskedRow::read(&value)?).is_none(),
            "time" => {
                let time = parse_duration(&value).map_err(|error| format!("time: {error}"))?;
                self.time.replace(time).is_none()
            }
            "rate" => {
                let rate = value.parse().map_err(|error| format!("rate: {error}"))?;
                self.rate.replace(rate).is_none()
            }
            _ => return Err("the parameters are target, row, time and rate".to_owned()),
        };
        if is_new { Ok(()) } else { Err(format!("{key} is there twice")) }
    }
}

/// What is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AskedRow {
    TcpSend,
    TcpReceive,
    UdpSend,
    UdpReceive,
    TcpLatency,
    UdpLatency,
}

impl AskedRow {
    fn read(text: &str) -> Result<Self, String> {
        let found = ROWS.iter().find(|(name, _)| *name == text).map(|(_, row)| *row);
        found.ok_or_else(|| {
            let names: Vec<_> = ROWS.iter().map(|(name, _)| *name).collect();
            format!("the rows are {}", names.join(", "))
        })
    }

    /// Transport, direction, and whether requests are exchanged.
    const fn parts(self) -> (Transport, Direction, bool) {
        match self {
            Self::TcpSend => (Transport::Tcp, Direction::Send, false),
            Self::TcpReceive => (Transport::Tcp, Direction::Receive, false),
            Self::UdpSend => (Transport::Udp, Direction::Send, false),
            Self::UdpReceive => (Transport::Udp, Direction::Receive, false),
            Self::TcpLatency => (Transport::Tcp, Direction::Send, true),
            Self::UdpLatency => (Transport::Udp, Direction::Send, true),
        }
    }
}

/// Decodes a value of `application/x-www-form-urlencoded` (URL Standard, section 5.1). None: it is
/// not UTF-8, or a percent sign is not followed by two digits.
fn decoded(value: &str) -> Option<String> {
    let mut bytes = value.bytes();
    let mut decoded = Vec::with_capacity(value.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(decoded).ok()
}

const ROWS: [(&str, AskedRow); 6] = [
    ("tcp-send", AskedRow::TcpSend),
    ("tcp-receive", AskedRow::TcpReceive),
    ("udp-send", AskedRow::UdpSend),
    ("udp-receive", AskedRow::UdpReceive),
    ("tcp-latency", AskedRow::TcpLatency),
    ("udp-latency", AskedRow::UdpLatency),
];
const USUAL_TIME: Duration = Duration::from_secs(1);
/// iperf3's.
const USUAL_RATE_OF_UDP: BitRate = BitRate::from_bits_per_second(1_000_000);
/// Bytes of a request, and of its response.
const REQUEST: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        let allowed = ["10.0.0.2", "Router:5300", "fe80::1%eth0"];
        Rules {
            allowed: allowed.into_iter().map(|one| Allowed::read(one).expect("a host")).collect(),
            max_time: Duration::from_secs(5),
            max_rate: Some(BitRate::from_bits_per_second(100_000_000)),
        }
    }

    #[test]
    fn only_hosts_of_the_list_are_tested_and_only_at_their_port() {
        let rules = rules();
        for allowed in [
            "target=10.0.0.2",
            "target=10.0.0.2%3A5201",
            "target=ROUTER:5300&row=udp-send",
            "target=fe80%3A%3A1%25eth0",
        ] {
            assert!(rules.read(allowed).is_ok(), "{allowed} {:?}", rules.read(allowed));
        }
        for forbidden in ["10.0.0.2:22", "router", "router:5301", "10.0.0.20", "localhost", "::1"] {
            let read = rules.read(&format!("target={forbidden}"));
            assert!(matches!(read, Err(Refusal::Forbidden(_))), "{forbidden}");
        }
    }

    #[test]
    fn what_is_asked_is_bounded() {
        let rules = rules();
        let rate = |query: &str| {
            let asked = rules.read(&format!("target=10.0.0.2&{query}")).expect("a test");
            asked.plan.options.rate.map(|rate| rate.bits_per_second() / 1_000_000)
        };
        assert_eq!(rate("row=tcp-send"), Some(100));
        assert_eq!(rate("row=udp-send"), Some(1));
        assert_eq!(rate("row=udp-send&rate=50M"), Some(50));
        assert_eq!(rate("row=udp-receive&rate=1G"), Some(100));
        assert_eq!(rate("row=tcp-latency"), None);
        for invalid in [
            "",
            "target=10.0.0.2&time=6s",
            "target=10.0.0.2&time=0s",
            "target=10.0.0.2&row=all",
            "target=10.0.0.2&target=10.0.0.2",
            "target=10.0.0.2&streams=99",
            "target=%ff",
            "target=%f",
            "target=a b",
            "target=",
        ] {
            assert!(matches!(rules.read(invalid), Err(Refusal::Invalid(_))), "{invalid}");
        }
    }
}
