//! Runs one test against a server and returns its record.

use std::sync::Arc;

use linux::event::StopSignals;
use measurement::TestRecord;

use crate::clock::SystemClock;
use crate::error::SessionError;
use crate::observer::Observer;

pub use crate::request::{Batching, ClientOptions, DatagramDefault, Request, Watching};

/// Runs one test. A test that began gives a record, whatever ended it.
///
/// # Errors
/// Why it could not begin: see [`SessionError`].
pub fn run(
    request: &Request,
    observer: &mut dyn Observer,
    interrupts: Option<&StopSignals>,
) -> Result<TestRecord, SessionError> {
    crate::iperf3::client::run(request, observer, interrupts, Arc::new(SystemClock))
}
