//! Both machines behind one face.

use linerate_protocol::iperf3::{
    Client, ClientEvent, ClientPhase, Server, ServerEvent, ServerPhase,
};
use measurement::Timestamp;

/// What both machines have in common here.
pub(crate) trait Machine {
    type Event;
    fn bytes(&mut self, bytes: &[u8], now: Timestamp);
    fn close(&mut self, reset: bool);
    fn timeout(&mut self, now: Timestamp);
    fn events(&mut self) -> Vec<Self::Event>;
    fn output(&mut self) -> Vec<u8>;
    fn due(&self) -> Option<Timestamp>;
    /// Whether it is over.
    fn is_over(&self) -> bool;
    /// Whether it may wait for ever: for its host, or for the end of the test.
    fn is_patient(&self) -> bool;
    fn is_terminal(event: &Self::Event) -> bool;
}

impl Machine for Client {
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

    fn events(&mut self) -> Vec<ClientEvent> {
        std::iter::from_fn(|| self.poll_event()).collect()
    }

    fn output(&mut self) -> Vec<u8> {
        self.take_output()
    }

    fn due(&self) -> Option<Timestamp> {
        self.deadline()
    }

    fn is_over(&self) -> bool {
        matches!(self.phase(), ClientPhase::Done | ClientPhase::Failed)
    }

    fn is_patient(&self) -> bool {
        matches!(self.phase(), ClientPhase::Running | ClientPhase::Draining)
    }

    fn is_terminal(event: &ClientEvent) -> bool {
        matches!(event, ClientEvent::Done | ClientEvent::Failed(_))
    }
}

impl Machine for Server {
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

    fn events(&mut self) -> Vec<ServerEvent> {
        std::iter::from_fn(|| self.poll_event()).collect()
    }

    fn output(&mut self) -> Vec<u8> {
        self.take_output()
    }

    fn due(&self) -> Option<Timestamp> {
        self.deadline()
    }

    fn is_over(&self) -> bool {
        matches!(self.phase(), ServerPhase::Done | ServerPhase::Failed)
    }

    fn is_patient(&self) -> bool {
        matches!(
            self.phase(),
            ServerPhase::Admission
                | ServerPhase::Running
                | ServerPhase::Draining
                | ServerPhase::Answering
        )
    }

    fn is_terminal(event: &ServerEvent) -> bool {
        matches!(event, ServerEvent::Done | ServerEvent::Failed(_))
    }
}
