//! What would limit hosts that run no test.

use measurement::verdict::Finding;
use measurement::{Gap, HostEvidence, Inventory};

/// What would limit a host that has that, the most telling first; `gaps` could not be read.
pub fn diagnose(inventory: Inventory, gaps: Vec<Gap>) -> Vec<Finding> {
    analysis::diagnose(&[HostEvidence { inventory, gaps, ..HostEvidence::default() }])
}

/// Every rule in words.
pub fn rules() -> Vec<&'static measurement::Page> {
    analysis::pages()
}
