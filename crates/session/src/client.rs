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

pub use crate::iperf2::client::{ConnectBack, Iperf2Options};
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
/// UDP has only the direction to the server. If a server is asked to connect to this host, who listens
/// there is not its concern.
///
/// # Errors
/// The reason for which the test could not start, see [`SessionError`].
pub fn run_iperf2(
    request: &Request,
    options: Iperf2Options,
    observer: &mut dyn Observer,
    interrupts: Option<&StopSignals>,
) -> Result<TestRecord, SessionError> {
    crate::iperf2::client::run(request, options, observer, interrupts, Arc::new(SystemClock))
}
