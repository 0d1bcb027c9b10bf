//! The interface through which the progress of a test is reported.

use measurement::outcome::Ending;
use measurement::record::StreamRecord;
use measurement::{Course, Peer, TestPlan};
use protocol::iperf3::{Parameters, Place, ServerOutput};

use crate::error::SessionError;

/// Both ends know each other and what is to be done; no stream is open yet.
#[derive(Clone, Copy, Debug)]
pub struct Introduction<'a> {
    /// The other end.
    pub peer: &'a Peer,
    /// The name of the test, as it travels.
    pub cookie: &'a str,
    /// What the client asks for.
    pub parameters: &'a Parameters,
    /// Segment size of the control connection in bytes, if the kernel reports it.
    pub segment: Option<u32>,
}

/// Receives the progress of a test, at either end.
pub trait Observer {
    /// The ends know each other.
    fn introduced(&mut self, _introduction: &Introduction<'_>) {}
    /// At a client: the server runs other tests first.
    fn waiting(&mut self, _server: &Peer, _place: Place) {}
    /// At a client: so many streams are open, of so many. Called now and then.
    fn opening(&mut self, _open: u32, _of: u32) {}
    /// All streams are open.
    fn opened(&mut self, _streams: &[StreamRecord]) {}
    /// The test runs.
    fn started(&mut self, _peer: &Peer, _plan: &TestPlan) {}
    /// A sample was taken.
    fn sampled(&mut self, _course: &Course<'_>) {}
    /// At a client: the server sent what it printed of the test.
    fn answered(&mut self, _output: &ServerOutput) {}
    /// At a server, before it answers with its results: what it has to show of the test.
    fn concluded(&mut self, _course: &Course<'_>) -> Option<ServerOutput> {
        None
    }
    /// The test that was begun, or asked for, cannot go on.
    fn failed(&mut self, _error: &SessionError) {}
    /// At a server, at the very end: how it ended.
    fn ended(&mut self, _ending: &Ending) {}
}

/// Drops all reports.
impl Observer for () {}
