//! First stage: lets the client open its streams when its turn has come.

use std::sync::Arc;

use measurement::{Timestamp, Transport, Way};
use portable_atomic::Ordering::Relaxed;
use protocol::iperf3::HelloToken;

use super::setup::StreamSetup;
use super::{Conversation, Stage};
use crate::iperf3::server::request_cost;
use crate::server::extra_port::{self, ExtraPort};
use crate::setting::Calls;

impl Conversation<'_> {
    /// Lets the client open its streams when its turn has come.
    pub(super) fn await_turn(&mut self) {
        let now = self.server.clock.now();
        let Stage::Waiting(waiting) = &mut self.stage else { return };
        if let Some(place) = self.ticket.place() {
            if waiting.is_news(place, now) {
                self.control.machine.report_place(place);
            }
            return;
        }
        if !self.keeps_within_limits() {
            return;
        }
        let token = self.hello_token();
        if let Some(setup) = self.register(token) {
            self.let_in(setup, token, now);
        }
    }

    /// Has the registry expect the streams; none: others of this address hold the lock.
    fn register(&mut self, token: Option<HelloToken>) -> Option<StreamSetup> {
        let Stage::Waiting(waiting) = &mut self.stage else { return None };
        let (plan, setup) = (&self.parameters.plan, &mut waiting.setup);
        let count = plan.streams_in_all();
        match plan.transport {
            Transport::Tcp => self.ticket.open_tcp(count, setup.gathering.numbering()),
            Transport::Udp if token.is_none() && !self.ticket.takes_handshake_lock() => {
                return None;
            }
            Transport::Udp => {
                if token.is_none() {
                    setup.gathering.count_arrivals(count);
                }
                let numbering = setup.gathering.numbering();
                self.ticket.open_udp(count, &plan.options, token, numbering);
            }
        }
        Some(std::mem::replace(setup, StreamSetup::new(&self.parameters, 1)))
    }

    fn let_in(&mut self, mut setup: StreamSetup, token: Option<HelloToken>, now: Timestamp) {
        self.server.metrics.waiting.fetch_sub(1, Relaxed);
        self.server.metrics.running.fetch_add(1, Relaxed);
        if let Some(status) = &self.status {
            status.opens(self.limits.rate.map(|limit| limit.most));
        }
        setup.gathering.begin(now);
        let ports = self.open_extra_ports();
        setup.gathering.offer(ports, &mut self.control.machine);
        self.stage = Stage::Opening(setup);
        self.tell_until_when_it_may_open();
        self.control.machine.accept(token, now);
    }

    /// Opens the extra ports that the client has a use for (clauses 13.15 and 13.18).
    fn open_extra_ports(&mut self) -> Vec<u16> {
        let (server, test) = (self.server, self.ticket.id());
        let place = (server.address, server.options.device.as_deref());
        let exchange = self.parameters.plan.exchange;
        if exchange.is_some_and(|exchange| exchange.way == Way::Connection) {
            // Without one, the client says what is missing.
            let Some((listener, port)) = extra_port::listen(place) else { return Vec::new() };
            self.setting.calls = Some(Calls::At(Arc::new(listener)));
            return vec![port];
        }
        let count = request_cost::extra_ports(&self.parameters);
        let opened = ExtraPort::open(count, place, (test, self.peer.address.ip()));
        let ports = opened.iter().map(ExtraPort::port).collect();
        server.registry.open_extra_ports(opened);
        ports
    }

    /// What the hellos are to bear; none: an iperf3's can bear nothing.
    fn hello_token(&self) -> Option<HelloToken> {
        let announcement = self.parameters.announcement.as_ref()?;
        let is_known = announcement.shared().knows_hello_token();
        let wanted = is_known && self.parameters.plan.transport == Transport::Udp;
        // Without randomness, the handshake lock must do.
        wanted.then(linux::entropy::random).and_then(Result::ok).map(HelloToken::from_random)
    }
}
