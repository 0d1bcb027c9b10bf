//! What a record shows of one thing each: time that a hypervisor took, frames that a device
//! missed, a queue that dropped.
//!
//! A fact is a pure function of the evidence, with its thresholds and their source beside it.
//! Rules of trust, the ledger and the rules of what limits read the same facts, so that a
//! stamp, a ledger and a verdict cannot name different causes.

use measurement::Certainty;

pub(crate) mod backlog_drops;
pub(crate) mod clock_speed;
pub(crate) mod foreign_traffic;
pub(crate) mod ingress;
pub(crate) mod ip_layer;
pub(crate) mod missed_frames;
pub(crate) mod others_cpu;
pub(crate) mod pauses;
pub(crate) mod queue_drops;
pub(crate) mod quota;
pub(crate) mod run_delay;
pub(crate) mod send_blocked;
pub(crate) mod software_path;
pub(crate) mod steal;
pub(crate) mod stopped;
pub(crate) mod workers;

/// What a fact means for a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// The condition may have disturbed the result, and may be what limits.
    Noticeable,
    /// The condition takes so much that it is what limits.
    Limiting,
}

/// From where on a share is what. The two differ since a doubt costs a repetition, and a
/// headline that is wrong costs a search in the wrong place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thresholds {
    /// A share above this is noticeable.
    pub(crate) noticeable: f64,
    /// A share from this on is limiting.
    pub(crate) limiting: f64,
}

impl Thresholds {
    /// What a share is; none: too little to mention.
    pub(crate) fn grade(&self, share: f64) -> Option<Severity> {
        match share {
            _ if share >= self.limiting => Some(Severity::Limiting),
            _ if share > self.noticeable => Some(Severity::Noticeable),
            _ => None,
        }
    }
}

impl From<Severity> for Certainty {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Noticeable => Self::Candidate,
            Severity::Limiting => Self::Limit,
        }
    }
}
