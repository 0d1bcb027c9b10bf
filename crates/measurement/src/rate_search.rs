//! The search for the highest rate of UDP without loss: its trials, and what ended it. How the
//! search goes is a strategy of `campaign`.

use serde::{Deserialize, Serialize};

use crate::record::TestRecord;
use crate::units::BitRate;

/// Search for the highest rate without loss, before a test of UDP for which no rate was requested.
/// All rates are those of the payload of all streams of one direction together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateSearch {
    /// The rate that was found, and that the test held.
    pub held: BitRate,
    /// Why the search found no higher rate.
    pub end: RateSearchEnd,
    /// Loss at any rate, as a share of the datagrams, 0 to 1: a rate counted as free of loss if it
    /// lost no more. None: slow trials lost nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub floor: Option<f64>,
    /// The trials in the order in which they ran.
    pub trials: Vec<RateTrial>,
    /// Record of the trial that shows the limit: that with the lowest rate above the one held. None:
    /// no higher rate was tried.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub above: Option<Box<TestRecord>>,
}

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

impl RateSearch {
    /// The trial that shows the limit: that with the lowest rate above the one held.
    pub fn next_above(&self) -> Option<&RateTrial> {
        let rate = self.above.as_ref()?.plan.asked()?;
        self.trials.iter().rev().find(|trial| trial.asked == rate)
    }
}
