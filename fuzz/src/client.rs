//! A client's machine against a hostile server.

use std::fmt::Display;

use measurement::plan::PlanDraft;
use measurement::{ByteSize, Direction, Timestamp, Transport};
use protocol::iperf3::{
    Client, ClientEvent, ClientPhase, Cookie, OptionalParameters, Parameters, Results,
    StreamResult, stream_id,
};

use crate::machine::{self, Hosted};

/// Plays what a server sends; see `script` for the form.
pub(crate) fn play(input: &[u8]) {
    let cookie = Cookie::from_random([7; Cookie::LENGTH - 1]);
    machine::play(input, |now| Client::new(parameters(), &cookie, now));
}

/// A client that announces itself, so that the server may use every extension.
fn parameters() -> Parameters {
    let draft = PlanDraft::new(Transport::Udp, Direction::Both);
    // With its results the server may send the most if its output is wished.
    let optional = OptionalParameters { server_output: true, ..OptionalParameters::default() };
    Parameters::new(&draft.check().expect("a valid plan"), ByteSize::from_bytes(1460))
        .with_optional(optional)
}

fn results() -> Results {
    let stream = |index| StreamResult { id: stream_id(index), ..StreamResult::default() };
    Results { streams: (0..2).map(stream).collect(), ..Results::default() }
}

impl Hosted for Client {
    type Event = ClientEvent;

    fn bytes(&mut self, bytes: &[u8], now: Timestamp) {
        self.handle_bytes(bytes, now);
    }

    fn close(&mut self, reset: bool) {
        self.handle_close(reset);
    }

    fn timeout(&mut self, now: Timestamp) {
        self.handle_timeout(now);
    }

    fn terminate(&mut self) {
        Self::terminate(self);
    }

    fn event(&mut self) -> Option<ClientEvent> {
        self.poll_event()
    }

    fn output(&mut self) -> Vec<u8> {
        self.take_output()
    }

    fn deadline(&self) -> Option<Timestamp> {
        Self::deadline(self)
    }

    fn rank(&self) -> usize {
        let is_it = |phase: &ClientPhase| *phase == self.phase();
        ClientPhase::ALL.iter().position(is_it).expect("every phase has its place")
    }

    fn is_over(&self) -> bool {
        matches!(self.phase(), ClientPhase::Done | ClientPhase::Failed)
    }

    fn answer(&mut self, event: &ClientEvent, no: bool, now: Timestamp) {
        match event {
            ClientEvent::CreateStreams if no => self.terminate(),
            ClientEvent::Run => self.end_test(now),
            ClientEvent::ResultsWanted => self.send_results(&results(), now),
            _ => {}
        }
    }

    fn is_last(event: &ClientEvent) -> bool {
        matches!(event, ClientEvent::Done | ClientEvent::Failed(_))
    }

    fn error(event: &ClientEvent) -> Option<&dyn Display> {
        match event {
            ClientEvent::Failed(error) => Some(error),
            _ => None,
        }
    }
}
