//! Typed events of running tests, and the trait of those that show them.

use std::time::Duration;

use measurement::record::StreamRecord;
use measurement::{Course, Peer, TestPlan, TestRecord};
use session::{Glimpse, Introduction, Observer, QueuePlace, SessionError};

use crate::search::Task;

/// An event of a test at the client, e.g. that its streams are open. A [`Monitor`] receives it.
#[derive(Debug)]
pub enum Event<'a> {
    /// A test begins; the client connects to the server next.
    Begins(&'a Task),
    /// Client and server have exchanged the parameters; no stream is open yet. The server's
    /// addresses and software.
    Introduced(&'a Peer),
    /// The test waits in the queue of the server.
    Waiting {
        /// Address and software of the server.
        server: &'a Peer,
        /// Position of the test in the queue.
        place: QueuePlace,
    },
    /// Streams are being opened; this event is sent from time to time.
    Opening {
        /// Number of open streams.
        open: u32,
        /// Number of streams of the test.
        of: u32,
    },
    /// All streams are open, with these settings in effect.
    Opened(&'a [StreamRecord]),
    /// The streams start to send.
    Started {
        /// Plan of the test.
        plan: &'a TestPlan,
        /// The server.
        peer: &'a Peer,
    },
    /// What has moved so far; sent as often as the monitor asks for it.
    Glimpsed(&'a Glimpse),
    /// A sample of the counters was taken.
    Sampled(&'a Course<'a>),
    /// The test ended with a record, which is judged if the task asks for a result.
    Ended(&'a TestRecord),
    /// The test failed without a record.
    Failed(&'a SessionError),
}

/// Receiver of the events of all tests of a [`Runner`](crate::Runner), e.g. a progress display.
pub trait Monitor {
    /// Receives the next event.
    fn receive(&mut self, event: &Event<'_>);
    /// How often [`Event::Glimpsed`] is to come while a test runs; none: never.
    fn glimpses_every(&self) -> Option<Duration> {
        None
    }
}

/// Shows nothing.
impl Monitor for () {
    fn receive(&mut self, _event: &Event<'_>) {}
}

/// Converts the events of a session.
pub(crate) struct Forward<'a>(pub(crate) &'a mut dyn Monitor);

impl Observer for Forward<'_> {
    fn introduced(&mut self, introduction: &Introduction<'_>) {
        self.0.receive(&Event::Introduced(introduction.peer));
    }

    fn waiting(&mut self, server: &Peer, place: QueuePlace) {
        self.0.receive(&Event::Waiting { server, place });
    }

    fn opening(&mut self, open: u32, of: u32) {
        self.0.receive(&Event::Opening { open, of });
    }

    fn opened(&mut self, streams: &[StreamRecord]) {
        self.0.receive(&Event::Opened(streams));
    }

    fn started(&mut self, peer: &Peer, plan: &TestPlan) {
        self.0.receive(&Event::Started { plan, peer });
    }

    fn glimpses_every(&self) -> Option<Duration> {
        self.0.glimpses_every()
    }

    fn glimpsed(&mut self, glimpse: &Glimpse) {
        self.0.receive(&Event::Glimpsed(glimpse));
    }

    fn sampled(&mut self, course: &Course<'_>) {
        self.0.receive(&Event::Sampled(course));
    }
}
