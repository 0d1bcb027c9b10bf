//! Diagnoses a host that runs no test.

use measurement::verdict::Finding;
use measurement::{Gap, HostEvidence, Inventory};

/// Findings on what would limit the network rate of a host with this inventory, without a test; the
/// most significant first, empty if nothing was found. `gaps` are what could not be read.
pub fn diagnose(inventory: Inventory, gaps: Vec<Gap>) -> Vec<Finding> {
    analysis::diagnose(&[HostEvidence { inventory, gaps, ..HostEvidence::default() }])
}

/// The manual pages of all rules by which results are judged: what each checks, and what to do.
pub fn rules() -> Vec<&'static measurement::Page> {
    analysis::pages()
}
