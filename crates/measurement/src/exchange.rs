//! Parameters of tests with requests and responses in place of bulk payload ([`Exchange`]): they
//! measure round-trip times and not a rate.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits::{MAX_DATAGRAM, MAX_TCP_BLOCK, PlanError, PlanField};
use crate::transport::Transport;
use crate::units::ByteSize;

/// How the requests of a request/response test reach the responder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// On the stream, whose connection or socket stays open.
    #[default]
    Stream,
    /// On a TCP connection for each request, which the responder closes after the response.
    Connection,
}

/// Requests and responses on each stream of a test, in place of bulk payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Exchange {
    /// How requests reach the responder.
    pub way: Way,
    /// Length of a request in bytes; UDP: payload bytes of its datagram.
    #[serde(rename = "request_bytes")]
    pub request: ByteSize,
    /// Length of a response in bytes; UDP: payload bytes of its datagram.
    #[serde(rename = "response_bytes")]
    pub response: ByteSize,
    /// Requests of one stream that may wait for their responses at the same time.
    pub depth: u16,
    /// Time from one request to the next, in seconds. None: the next request is sent when a
    /// response has arrived.
    #[serde(with = "crate::seconds::optional", skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    #[serde(rename = "every_seconds")]
    pub every: Option<Duration>,
    /// Whether both ends poll their sockets without sleeping, so that times do not include
    /// wake-ups.
    pub busy: bool,
}

impl Default for Exchange {
    /// Requests of 64 bytes one after another, with responses of the same length.
    fn default() -> Self {
        let size = ByteSize::from_bytes(64);
        let way = Way::default();
        Self { way, request: size, response: size, depth: 1, every: None, busy: false }
    }
}

impl Exchange {
    /// Parameters of a probe, which measures the round-trip time beside other traffic: a request of
    /// 64 bytes each `every`, with a response of 64 bytes.
    pub fn probe(every: Duration) -> Self {
        Self { depth: MOST_DEPTH, every: Some(every), ..Self::default() }
    }

    /// Whether the exchange is a probe, which does not disturb other tests: requests and responses
    /// of at most 1,024 bytes, and at least 1 ms from one request to the next.
    pub fn is_probe(&self) -> bool {
        self.every.is_some_and(|every| every >= LEAST_PAUSE_OF_A_PROBE)
            && self.request.max(self.response) <= LONGEST_OF_A_PROBE
    }

    /// Checks all fields.
    pub(crate) fn check(&self, transport: Transport) -> Result<(), PlanError> {
        let range = match transport {
            Transport::Tcp => 1..=MAX_TCP_BLOCK,
            Transport::Udp => MIN_MESSAGE..=MAX_DATAGRAM,
        };
        PlanField::Request.check(self.request.bytes(), range.clone())?;
        PlanField::Response.check(self.response.bytes(), range)?;
        PlanField::Depth.check(self.depth.into(), 1..=MOST_DEPTH.into())?;
        if let Some(every) = self.every {
            let micros = |span: Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
            PlanField::Every.check(micros(every), micros(LEAST_PAUSE)..=micros(LONGEST_PAUSE))?;
        }
        if self.way == Way::Connection && (transport == Transport::Udp || self.depth > 1) {
            return Err(PlanError::NoSuchExchange);
        }
        Ok(())
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Stream => "request/response",
            Self::Connection => "connect/request/response",
        })
    }
}

/// Least length of a request or response over UDP in bytes, for its number and a time.
pub const MIN_MESSAGE: u64 = 16;
/// Maximum number of requests of one stream that may wait for their responses at the same time.
pub const MOST_DEPTH: u16 = 1024;
const LEAST_PAUSE: Duration = Duration::from_micros(100);
/// Servers give up a test in which nothing moves for ten seconds.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
const LEAST_PAUSE_OF_A_PROBE: Duration = Duration::from_millis(1);
const LONGEST_OF_A_PROBE: ByteSize = ByteSize::from_bytes(1_024);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused() {
        let exchange = Exchange::default();
        assert_eq!(exchange.check(Transport::Udp), Ok(()));
        let short = Exchange { response: ByteSize::from_bytes(15), ..exchange };
        assert!(short.check(Transport::Udp).is_err());
        assert_eq!(short.check(Transport::Tcp), Ok(()));
        let own = Exchange { way: Way::Connection, ..exchange };
        assert_eq!(own.check(Transport::Tcp), Ok(()));
        assert_eq!(own.check(Transport::Udp), Err(PlanError::NoSuchExchange));
        let none = Exchange { depth: 0, ..exchange };
        assert!(none.check(Transport::Tcp).is_err());
    }

    #[test]
    fn a_probe_is_seldom() {
        assert!(Exchange::probe(Duration::from_millis(10)).is_probe());
        assert!(!Exchange::probe(Duration::from_micros(100)).is_probe());
        assert!(!Exchange::default().is_probe());
        let large = ByteSize::from_bytes(2_000);
        assert!(
            !Exchange { response: large, ..Exchange::probe(Duration::from_secs(1)) }.is_probe()
        );
    }
}
