//! Interface by which a tuning runs its tests ([`TestRunner`]). A [`Runner`] runs them against a
//! server; the tests of the tuning simulate a host.

use measurement::host::Role;
use session::SessionError;

use super::candidate::Tuners;
use crate::runner::{Results, Runner};
use crate::search::{PlannedRow, Search};
use crate::tuner::Tuner;

/// Runs tests on hosts, whose settings it makes.
pub(super) trait TestRunner: Tuners {
    /// Runs the tests that a search chooses, each with the settings of its row.
    fn search(&mut self, search: &mut dyn Search) -> Results;

    /// Makes the settings of a row in place of those that the last call made.
    ///
    /// # Errors
    /// [`SessionError::Setting`] if one cannot be made.
    fn set(&mut self, row: &PlannedRow) -> Result<(), SessionError>;
}

impl TestRunner for Runner<'_> {
    fn search(&mut self, search: &mut dyn Search) -> Results {
        Runner::search(self, search)
    }

    fn set(&mut self, row: &PlannedRow) -> Result<(), SessionError> {
        Runner::set(self, row)
    }
}

impl Tuners for Runner<'_> {
    fn of(&mut self, host: &Role) -> Option<&mut dyn Tuner> {
        if *host != Role::Here {
            let joined = self.joined.iter_mut().find(|one| one.host == *host)?;
            return Some(&mut *joined.tuner);
        }
        match &mut self.tuner {
            Some(tuner) => Some(&mut **tuner),
            None => None,
        }
    }
}
