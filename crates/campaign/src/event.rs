//! Typed events of running tests, and the trait of those that show them.

use measurement::record::StreamRecord;
use measurement::{Course, Peer, TestPlan, TestRecord};
use session::{Introduction, Observer, Place, SessionError};

use crate::search::Task;

/// One step of a test at the client.
#[derive(Debug)]
pub enum Event<'a> {
    /// A test begins: the server is about to be asked.
    Begins(&'a Task),
    /// Client and server know each other; no stream is open yet.
    Introduced,
    /// The server runs other tests first.
    Waiting {
        /// The server.
        server: &'a Peer,
        /// This test's place in the queue.
        place: Place,
    },
    /// Streams are being opened; sent now and then.
    Opening {
        /// Streams that are open.
        open: u32,
        /// Streams of the test.
        of: u32,
    },
    /// All streams are open.
    Opened(&'a [StreamRecord]),
    /// Traffic starts.
    Started(&'a TestPlan),
    /// A sample was taken.
    Sampled(&'a Course<'a>),
    /// The test gave a record, which is judged if the task asks for a result.
    Ended(&'a TestRecord),
    /// The test gave no record.
    Failed(&'a SessionError),
}

/// Receives the events of tests, in order.
pub trait Monitor {
    /// Receives one event.
    fn receive(&mut self, event: &Event<'_>);
}

/// Shows nothing.
impl Monitor for () {
    fn receive(&mut self, _event: &Event<'_>) {}
}

/// Turns what a session reports into events.
pub(crate) struct Forward<'a>(pub(crate) &'a mut dyn Monitor);

impl Observer for Forward<'_> {
    fn introduced(&mut self, _introduction: &Introduction<'_>) {
        self.0.receive(&Event::Introduced);
    }

    fn waiting(&mut self, server: &Peer, place: Place) {
        self.0.receive(&Event::Waiting { server, place });
    }

    fn opening(&mut self, open: u32, of: u32) {
        self.0.receive(&Event::Opening { open, of });
    }

    fn opened(&mut self, streams: &[StreamRecord]) {
        self.0.receive(&Event::Opened(streams));
    }

    fn started(&mut self, _peer: &Peer, plan: &TestPlan) {
        self.0.receive(&Event::Started(plan));
    }

    fn sampled(&mut self, course: &Course<'_>) {
        self.0.receive(&Event::Sampled(course));
    }
}
