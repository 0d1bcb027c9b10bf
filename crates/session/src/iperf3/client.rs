//! A client's end of one test, as phases that own their data. The streams' sockets are opened
//! in [`super::opening`], the payload moves in [`crate::trial`].
//!
//! ```text
//! Greeted --CreateStreams, streams open--> Opened --Run--> Running --Done, or an error--> Ended
//!    |                                        |                                             |
//!    +--------------- error ------------------+--> SessionError                             v
//!                                                                                       TestRecord
//! ```

use std::sync::Arc;

use linux::event::StopSignals;
use measurement::TestRecord;

use crate::clock::Clock;
use crate::error::SessionError;
use crate::observer::Observer;
use crate::preflight::{HostResources, TcpWays};
use crate::request::Request;

pub(crate) mod connect;
mod ended;
mod greeted;
mod link;
mod opened;
mod running;
mod streams;
#[cfg(test)]
mod tests;

use greeted::Greeted;

/// Runs one test. A test that began gives a record, whatever ended it.
///
/// # Errors
/// Why it could not begin.
pub(crate) fn run(
    request: &Request,
    observer: &mut dyn Observer,
    interrupts: Option<&StopSignals>,
    clock: Arc<dyn Clock>,
) -> Result<TestRecord, SessionError> {
    let host = HostResources::this(request.plan.transport);
    let ways = TcpWays {
        addresses: 1 + request.further_binds.len(),
        extra_ports: super::MOST_EXTRA_PORTS.into(),
    };
    if let Some(shortage) = host.lacks_as_client(&request.plan, ways) {
        return Err(SessionError::Shortage(shortage));
    }
    let (mut link, greeted) = Greeted::connect(request, &host, (observer, interrupts, clock))?;
    let opened = greeted.open(&mut link);
    match opened.and_then(|opened| opened.await_start(&mut link)) {
        Ok(running) => running.finish(&mut link).into_record(link),
        Err(error) => {
            link.break_off();
            Err(error)
        }
    }
}
