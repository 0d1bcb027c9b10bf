//! Second phase: the streams are open and their workers wait; the server has yet to say that
//! the test runs.

use protocol::iperf3::ClientEvent;

use super::link::{About, Link};
use super::running::Running;
use crate::error::SessionError;
use crate::trial::Trial;

/// A client whose streams are open.
pub(super) struct Opened {
    about: About,
    trial: Trial,
}

impl Opened {
    pub(super) const fn new(about: About, trial: Trial) -> Self {
        Self { about, trial }
    }

    /// Waits until the server says that the test runs, and starts the streams.
    ///
    /// # Errors
    /// Why the server ended the test before, or [`SessionError::Interrupted`].
    pub(super) fn await_start(mut self, link: &mut Link<'_>) -> Result<Running, SessionError> {
        loop {
            link.control.pump();
            while let Some(event) = link.control.machine.poll_event() {
                match event {
                    ClientEvent::Run => {
                        self.trial.start(&*link.clock);
                        link.observer.started(&self.about.peer, &link.request.plan);
                        return Ok(Running::new(self.about, self.trial));
                    }
                    ClientEvent::Failed(error) => return Err(link.failure(error)),
                    // The streams are ready; nothing is to be done before they run.
                    _ => {}
                }
            }
            link.wait_for_server()?;
        }
    }
}
