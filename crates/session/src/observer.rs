//! The interface through which the progress of a test is reported.

use std::time::Duration;

use measurement::outcome::Ending;
use measurement::record::StreamRecord;
use measurement::{Course, Peer, TestPlan, Timestamp};
use protocol::iperf3::{Parameters, QueuePlace, ServerOutput};

use crate::error::SessionError;

/// Parties and parameters of a test, when both ends have agreed on it and no stream is open.
#[derive(Clone, Copy, Debug)]
pub struct Introduction<'a> {
    /// Address and software of the peer.
    pub peer: &'a Peer,
    /// The cookie of the test, as the client sent it.
    pub cookie: &'a str,
    /// Parameters that the client requests.
    pub parameters: &'a Parameters,
    /// Segment size of the control connection in bytes (`TCP_MAXSEG`); none: not known.
    pub segment: Option<u32>,
}

/// What has moved so far in a test that runs, in payload bytes of all streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glimpse {
    /// When it was read.
    pub at: Timestamp,
    /// Since the streams started to send.
    pub since_start: Duration,
    /// Bytes that this end sent.
    pub sent: u64,
    /// Bytes that peers' kernels acknowledged (`tcpi_bytes_acked`); none: UDP, or nothing is sent.
    pub acknowledged: Option<u64>,
    /// Bytes that this end received.
    pub received: u64,
}

/// Receiver of the events of one test, at the client or at the server. Each method does nothing by
/// default.
pub trait Observer {
    /// Both ends have agreed on the test.
    fn introduced(&mut self, _introduction: &Introduction<'_>) {}
    /// At a server: the client that asked for `plan` is refused, or its test is not begun.
    fn refused(&mut self, _plan: &TestPlan) {}

    /// At a client: the test waits in the queue of the server.
    fn waiting(&mut self, _server: &Peer, _place: QueuePlace) {}
    /// At a client: the number of open streams, and that of all streams. Called from time to time.
    fn opening(&mut self, _open: u32, _of: u32) {}
    /// All streams are open.
    fn opened(&mut self, _streams: &[StreamRecord]) {}
    /// The streams start to send.
    fn started(&mut self, _peer: &Peer, _plan: &TestPlan) {}
    /// How often [`Self::glimpsed`] is to be called at a client; none: never.
    fn glimpses_every(&self) -> Option<Duration> {
        None
    }
    /// At a client: what has moved so far.
    fn glimpsed(&mut self, _glimpse: &Glimpse) {}
    /// A sample was taken.
    fn sampled(&mut self, _course: &Course<'_>) {}
    /// At a client: the server sent the output that it printed of the test.
    fn answered(&mut self, _output: &ServerOutput) {}
    /// At a server, before it sends its results: returns its output for the client, if the client
    /// requested it.
    fn concluded(&mut self, _course: &Course<'_>) -> Option<ServerOutput> {
        None
    }
    /// At a server: an error ended the test, of which this is what there is.
    fn broke_off(&mut self, _course: &Course<'_>) {}
    /// The test failed, or could not start.
    fn failed(&mut self, _error: &SessionError) {}
    /// At a server: the test ended; no event follows.
    fn ended(&mut self, _ending: &Ending) {}
}

/// Ignores all events.
impl Observer for () {}
