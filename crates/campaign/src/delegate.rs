//! Runs a test by another program ([`Delegate`]), e.g. another version of linerate. Which
//! programs there are, and how they are run, is not known here.

use std::path::Path;

use linux::event::StopSignals;
use measurement::TestRecord;
use session::SessionError;
use session::client::Request;

/// Runs tests by other programs. A [`Runner`](crate::Runner) asks it for the tests of a row that
/// names a program.
pub trait Delegate {
    /// Runs one test by `program`, to its end or until a signal of `interrupts` ends it.
    ///
    /// # Errors
    /// Why there is no record.
    fn run(
        &mut self,
        program: &Path,
        request: &Request,
        interrupts: Option<&StopSignals>,
    ) -> Result<TestRecord, SessionError>;
}
