//! A server's machine against a hostile client.

use std::fmt::Display;

use measurement::Timestamp;
use protocol::iperf3::{
    ErrorCode, FinalStream, HelloToken, QueuePlace, Server, ServerEvent, ServerPhase,
};

use crate::machine::{self, Hosted};

/// Plays what a client sends after its cookie; see `script` for the form.
pub(crate) fn play(input: &[u8]) {
    machine::play(input, Server::new);
}

impl Hosted for Server {
    type Event = ServerEvent;

    fn bytes(&mut self, bytes: &[u8], now: Timestamp) {
        self.handle_bytes(bytes, now);
    }

    fn close(&mut self, _: bool) {
        self.handle_close();
    }

    fn timeout(&mut self, now: Timestamp) {
        self.handle_timeout(now);
    }

    fn terminate(&mut self) {
        Self::terminate(self);
    }

    fn event(&mut self) -> Option<ServerEvent> {
        self.poll_event()
    }

    fn output(&mut self) -> Vec<u8> {
        self.take_output()
    }

    fn deadline(&self) -> Option<Timestamp> {
        Self::deadline(self)
    }

    fn rank(&self) -> usize {
        let is_it = |phase: &ServerPhase| *phase == self.phase();
        ServerPhase::ALL.iter().position(is_it).expect("every phase has its place")
    }

    fn is_over(&self) -> bool {
        matches!(self.phase(), ServerPhase::Done | ServerPhase::Failed)
    }

    fn answer(&mut self, event: &ServerEvent, no: bool, now: Timestamp) {
        match event {
            ServerEvent::Asked(_) if no => self.refuse_because(ErrorCode::STREAMS, "no"),
            ServerEvent::Asked(_) => {
                self.report_place(QueuePlace { ahead: 1, running: 1 });
                self.accept(Some(HelloToken::from_random([7; HelloToken::LENGTH])), now);
                self.streams_open(now);
            }
            ServerEvent::Ended => self.request_results(vec![SENT], now),
            // The client gets back what it sent: all of it must be fit to be written.
            ServerEvent::Results(results) => self.send_results(results, now),
            _ => {}
        }
    }

    fn is_last(event: &ServerEvent) -> bool {
        matches!(event, ServerEvent::Done | ServerEvent::Failed(_))
    }

    fn error(event: &ServerEvent) -> Option<&dyn Display> {
        match event {
            ServerEvent::Failed(error) => Some(error),
            _ => None,
        }
    }
}

const SENT: FinalStream = FinalStream { id: 1, bytes: 1 << 40, datagrams: 1 << 30 };
