//! Parts of a search for the highest rate of UDP without loss: its trials, and what ended it. How
//! the search goes is a strategy of `campaign`.

use serde::{Deserialize, Serialize};

use crate::units::BitRate;

/// Why a search found no higher rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RateSearchEnd {
    /// Datagrams were lost or late at a higher rate.
    Loss,
    /// The sender sent no more.
    Sender,
    /// The time for trials was used up, and no trial failed.
    Time,
}

/// A short test at one rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateTrial {
    /// The rate of the trial.
    pub asked: BitRate,
    /// The rate that was sent.
    pub sent: BitRate,
    /// The rate that arrived.
    pub arrived: BitRate,
    /// Lost datagrams as a share of those sent, 0 to 1. In a test of both directions that of the
    /// one that lost more.
    pub loss: f64,
}
