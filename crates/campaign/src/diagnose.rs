//! Diagnoses a host that runs no test.

use measurement::verdict::Finding;
use measurement::{Gap, HostEvidence, Inventory};

/// Findings on what would limit a host with this inventory, the most significant first; `gaps` are
/// what could not be read.
pub fn diagnose(inventory: Inventory, gaps: Vec<Gap>) -> Vec<Finding> {
    analysis::diagnose(&[HostEvidence { inventory, gaps, ..HostEvidence::default() }])
}

/// The manual pages of all rules of the analysis.
pub fn rules() -> Vec<&'static measurement::Page> {
    analysis::pages()
}
