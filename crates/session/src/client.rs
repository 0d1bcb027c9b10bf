//! The client of a test: [`run`] runs it against a server as a [`Request`] describes it, and
//! returns its record.

use std::sync::Arc;

use linux::event::StopSignals;
use measurement::TestRecord;

use crate::clock::SystemClock;
use crate::error::SessionError;
use crate::observer::Observer;

/// The port on which iperf2 servers listen by default.
pub use protocol::iperf2::DEFAULT_PORT as IPERF2_PORT;

pub use crate::iperf2::client::ConnectBack;
pub use crate::request::{Batching, ClientOptions, DatagramDefault, Request, Watching};

/// Runs one test as a client and reports its events to `observer`. A signal of `interrupts` ends it
/// early. A test that started gives a record, however it ended.
///
/// # Errors
/// The reason for which the test could not start, see [`SessionError`].
pub fn run(
    request: &Request,
    observer: &mut dyn Observer,
    interrupts: Option<&StopSignals>,
) -> Result<TestRecord, SessionError> {
    crate::iperf3::client::run(request, observer, interrupts, Arc::new(SystemClock))
}

/// Runs one test as a client of an iperf2 server, as [`run`] does with servers of iperf3 and linerate.
/// Of directions TCP has one at a time, UDP only that to the server. With `back` a server is asked to
/// connect to this host, too, and to send: who listens there is not its concern.
///
/// # Errors
/// The reason for which the test could not start, see [`SessionError`].
pub fn run_iperf2(
    request: &Request,
    back: Option<ConnectBack>,
    observer: &mut dyn Observer,
    interrupts: Option<&StopSignals>,
) -> Result<TestRecord, SessionError> {
    crate::iperf2::client::run(request, back, observer, interrupts, Arc::new(SystemClock))
}
