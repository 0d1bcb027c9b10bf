//! How the screen of an A/B test, a ladder, a search or a tuning begins. What follows is theirs.

use measurement::Heading;

use crate::columns::{Emphasis, paint};

/// `linerate  10.0.0.1 -> 10.0.0.2   `; without the addresses where no test has ended.
pub(crate) fn shown<S>(heading: &Heading<S>) -> String {
    let ends = heading
        .peer
        .as_ref()
        .map(|peer| format!("{} -> {}   ", peer.local_address.ip(), peer.address.ip()));
    format!("{}  {}", paint("linerate", Emphasis::Strong), ends.unwrap_or_default())
}
