//! What this end runs of a flow at one time: it receives, sends, or does both.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use dataplane::udp::DatagramHeader;
use measurement::{ByteSize, Direction, StreamCounters, StreamOptions};
use protocol::iperf2::{BackWay, DatagramSettings};

use super::FlowRun;
use crate::clock::Clock;
use crate::error::SessionError;
use crate::iperf2::server::asked;
use crate::measured::Side;
use crate::server::limits::Watch;
use crate::setting::{Amounts, FallbackPolicy, Iperf2Parts, Setting};
use crate::socket_options::prepare_udp;
use crate::sockets::{Opened, StreamSocket};
use crate::spec::RunSpec;
use crate::trial::Trial;

/// Streams that run at one time.
pub(super) struct Part {
    pub(super) spec: RunSpec,
    pub(super) opened: Vec<Opened>,
    pub(super) trial: Trial,
    pub(super) watch: Watch,
}

impl Part {
    /// Those of the first stream: that which receives, if one does.
    pub(super) fn counters(&self) -> StreamCounters {
        self.trial.counters().first().map(|counters| counters.read()).unwrap_or_default()
    }

    /// Ends what is sent; what is received goes on.
    pub(super) fn end_sending(&mut self, clock: &dyn Clock) {
        if self.trial.sends() {
            self.trial.end_sending(clock);
        }
    }
}

impl FlowRun<'_> {
    /// Puts what runs in `direction` under workers.
    ///
    /// # Errors
    /// Those of [`Trial::prepare`], and what the kernel says of a socket of its own.
    pub(super) fn open(&self, direction: Direction) -> Result<Part, SessionError> {
        let mut opened = Vec::new();
        if direction.sends() {
            let socket = StreamSocket::Udp { socket: Arc::clone(&self.socket) };
            opened.push(Opened { id: 1, sender: false, socket });
        }
        if direction.receives() {
            let socket = self.way_back().map_err(SessionError::system("a socket"))?;
            opened.push(Opened { id: 2, sender: true, socket });
        }
        let limits = &self.server.options.limits;
        let mut spec = match self.back.filter(|_| direction.receives()) {
            Some(back) => {
                let rates = (self.shared.start().asks().1, limits.rate);
                asked::sending(&self.plan, direction, &back, rates)
            }
            None => asked::receiving(&self.plan),
        };
        let settings = DatagramSettings::NONE;
        spec.header = DatagramHeader::Iperf2 { epoch: linux::clock::epoch(), settings };
        spec.block = ByteSize::from_bytes(self.length as u64);
        let mut is_wanted = || !self.place.is_taken();
        let streams = opened.clone();
        let trial = Trial::prepare(spec.clone(), streams, self.setting(), &mut is_wanted)?;
        Ok(Part { spec, opened, trial, watch: Watch::new(limits) })
    }

    /// The socket from which the client is sent something: that of its flow, or one that is connected to
    /// the port that it listens on.
    fn way_back(&self) -> io::Result<StreamSocket> {
        let Some(BackWay::Connect { port, .. }) = self.back.map(|back| back.way) else {
            // Of its own for the kernel's readiness, which tells one of two directions.
            return Ok(StreamSocket::udp(self.socket.try_clone()?));
        };
        let (mut local, mut to) = (self.socket.local_addr()?, self.socket.peer_addr()?);
        local.set_port(0);
        to.set_port(port);
        let is_mapped = local.is_ipv6() && local.ip().to_canonical().is_ipv4();
        let device = self.server.options.device.as_deref();
        let socket = linux::udp::bind_on(device, local, false, is_mapped)?;
        prepare_udp(&socket, &StreamOptions::default(), to.ip())?;
        socket.connect(to)?;
        Ok(StreamSocket::udp(socket))
    }

    fn setting(&self) -> Setting {
        Setting {
            side: Side::Server,
            pinned: self.server.options.cpus.clone(),
            rtt: Duration::ZERO,
            amounts: Amounts::Any,
            fallback: FallbackPolicy::Substitute,
            watched: false,
            file: None,
            calls: None,
            iperf2: Iperf2Parts { flows: vec![Arc::clone(&self.shared)], ..Iperf2Parts::default() },
            sampled: None,
            perf: None,
        }
    }
}
