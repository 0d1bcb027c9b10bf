//! Gives each stream of an exchange its engine.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use dataplane::{Counters, Link, RequesterConfig, RoundTripStatistics, Stream};
use measurement::{Exchange, Probe, RoundTrips};
use protocol::iperf2::Bounce;

use super::{Opened, StreamSocket};
use crate::measured::Side;
use crate::setting::{Calls, Setting};

/// What the streams of an exchange have in common.
pub(super) struct Exchanging {
    exchange: Exchange,
    calls: Option<Calls>,
    /// Whether this end asks; else it answers.
    asks: bool,
    /// How long an answer may take.
    patience: Duration,
    statistics: Arc<RoundTripStatistics>,
    message: Option<Arc<[u8]>>,
    bounce: Option<Bounce>,
}

impl Exchanging {
    pub(super) fn new(exchange: Exchange, setting: &Setting) -> Self {
        let asks = setting.side == Side::Client;
        let statistics = Arc::new(RoundTripStatistics::new(match exchange.every {
            Some(_) if asks => MOST_PROBES,
            _ => 0,
        }));
        let patience = LEAST_PATIENCE.max(PATIENCE_IN_ROUND_TRIPS * setting.rtt);
        let (calls, message, bounce) =
            (setting.calls.clone(), setting.iperf2.message.clone(), setting.iperf2.bounce);
        Self { exchange, calls, asks, patience, statistics, message, bounce }
    }

    /// The engine of one stream.
    pub(super) fn engine(
        &self,
        one: &Opened,
        counters: &Arc<Counters>,
    ) -> io::Result<Box<dyn Stream>> {
        let (exchange, counters) = (self.exchange, Arc::clone(counters));
        let config = |counters| RequesterConfig {
            exchange,
            counters,
            statistics: Arc::clone(&self.statistics),
            patience: self.patience,
            message: self.message.clone(),
        };
        let link = match (&one.socket, &self.calls) {
            (StreamSocket::Tcp { socket, .. }, Some(Calls::To(to, options))) => {
                let calls = (*to, options.clone());
                return Ok(dataplane::connect_requester(
                    calls,
                    Arc::clone(socket),
                    config(counters),
                ));
            }
            (StreamSocket::Tcp { socket, .. }, Some(Calls::At(listener))) => {
                return Ok(dataplane::accept_responder(
                    Arc::clone(listener),
                    socket,
                    exchange,
                    counters,
                ));
            }
            (StreamSocket::Tcp { socket, .. }, None) => {
                if let Some(bounce) = &self.bounce {
                    return dataplane::bounce_responder(Arc::clone(socket), bounce, counters);
                }
                Link::Tcp(Arc::clone(socket))
            }
            (StreamSocket::Udp { socket }, _) => Link::Udp(Arc::clone(socket)),
        };
        if one.sender {
            dataplane::requester(link, config(counters))
        } else {
            dataplane::responder(link, exchange, counters)
        }
    }

    /// The omitted start has ended.
    pub(super) fn begin(&self) {
        self.statistics.begin();
    }

    /// No more requests are sent over TCP connections that stay open. Returns whether it had been
    /// called before.
    pub(super) fn close(&self) -> bool {
        self.statistics.close()
    }

    /// How long responses took that this end asked for in `span`.
    pub(super) fn round_trips(&self, span: Duration) -> Option<RoundTrips> {
        self.asks.then(|| self.statistics.read(span))
    }

    /// The requests that were sent at their times.
    pub(super) fn probes(&self) -> Vec<Probe> {
        self.statistics.probes()
    }
}

/// An answer that has not come by then is lost, if round trips are not longer than expected.
const LEAST_PATIENCE: Duration = Duration::from_millis(500);
const PATIENCE_IN_ROUND_TRIPS: u32 = 8;
/// 44 minutes at the usual pause of a probe; 8 MiB.
const MOST_PROBES: usize = 1 << 18;
