//! What is expected of a scenario: each kind is judged by one function of what a run left.

mod bend;
mod headline;
mod held;
mod place;
mod rate;
mod stamp;

use std::collections::BTreeSet;

use measurement::host::Role;
use measurement::verdict::Finding;
use measurement::{RuleId, TestRecord, Transport};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::seen::Seen;
use bend::Bend;
use held::Held;
use place::Places;
pub(super) use place::Witness;
use rate::{Near, Rates};
pub(crate) use stamp::Stamps;
use testbed::noise::Noise;

/// What is to be said.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Expected {
    /// What was asked was delivered, and nothing else is said.
    Delivered,
    /// The headline names what limits, in each row.
    Cause {
        /// Each of these names the cause; empty: any does.
        rules: BTreeSet<RuleId>,
        /// On which of these hosts it is; empty: wherever.
        #[serde(default)]
        on: Vec<On>,
        /// A verdict that leaves it open is right too if it says what would decide, and this
        /// word is in it.
        #[serde(skip_serializing_if = "Option::is_none")]
        open: Option<String>,
        /// The rate of frames that it allows.
        #[serde(skip_serializing_if = "Option::is_none")]
        rate: Option<Near>,
    },
    /// Rules of trust say how far the result can be trusted.
    Stamp(Stamps),
    /// Lost datagrams are placed where the kernel counted them.
    Place(Places),
    /// The bounds of a search.
    Rate(Rates),
    /// The rate that UDP without `-b` finds.
    Held(Held),
    /// The knee of a sweep.
    Bend(Bend),
}

/// Where a cause is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum On {
    Client,
    Server,
    Router,
    /// Between the hosts.
    Path,
}

/// Whether a run left what was expected.
pub(crate) struct Judged {
    pub(crate) is_right: bool,
    /// What was said, as one word, for tables.
    pub(super) word: String,
    /// All of it.
    pub(crate) text: String,
    /// Findings that are more than to be known.
    pub(super) alarms: Vec<RuleId>,
    pub(super) json: Value,
    excuse: Excuse,
}

/// When a wrong result may be the work of other processes.
enum Excuse {
    Never,
    /// When they use the machine.
    AnyLoad,
    /// When their load explains each of these rules.
    Rules(Vec<RuleId>),
}

impl Expected {
    /// As one word, for tables.
    pub(super) fn shown(&self) -> String {
        let joined = |words: Vec<String>| words.join("|");
        match self {
            Self::Delivered => "delivered".to_owned(),
            Self::Cause { rules, .. } if rules.is_empty() => "any rule".to_owned(),
            Self::Cause { rules, .. } => joined(rules.iter().map(RuleId::to_string).collect()),
            Self::Stamp(stamps) => stamps.shown(),
            Self::Place(places) => places.shown(),
            Self::Rate(rates) => rates.shown(),
            Self::Held(held) => held.shown(),
            Self::Bend(bend) => bend.shown(),
        }
    }

    pub(super) fn judge(&self, seen: &Seen) -> Judged {
        match self {
            Self::Delivered => headline::judge(self, None, seen),
            Self::Cause { rate, .. } => headline::judge(self, rate.as_ref(), seen),
            Self::Stamp(stamps) => stamps.judge(seen),
            Self::Place(places) => places.judge(seen),
            Self::Rate(rates) => rates.judge(seen),
            Self::Held(held) => held.judge(seen),
            Self::Bend(bend) => bend.judge(seen),
        }
    }

    /// The counters of the kernel that it is held against.
    pub(super) fn witnesses(&self) -> Vec<Witness> {
        match self {
            Self::Place(places) => places.witnesses(),
            _ => Vec::new(),
        }
    }

    /// Whether this finding names the cause.
    pub(super) fn is_named_by(&self, finding: &Finding) -> bool {
        let Self::Cause { rules, on, .. } = self else { return false };
        let host = finding.host.as_ref();
        let is_one = rules.is_empty() || rules.contains(&finding.rule);
        is_one && (on.is_empty() || on.iter().any(|one| one.is(host)))
    }
}

impl On {
    /// Whether a finding's host is this one.
    fn is(self, host: Option<&Role>) -> bool {
        match self {
            Self::Client => host == Some(&Role::Here),
            Self::Server => host == Some(&Role::Peer),
            Self::Router => matches!(host, Some(Role::Observed(_))),
            Self::Path => host.is_none(),
        }
    }
}

impl Judged {
    fn new(is_right: bool, word: impl Into<String>, text: String) -> Self {
        let (alarms, json) = (Vec::new(), Value::Null);
        Self { is_right, word: word.into(), text, alarms, json, excuse: Excuse::Never }
    }

    /// Whether it can be believed, whatever others did meanwhile.
    pub(super) fn is_settled(&self, noise: Noise) -> bool {
        self.is_right
            || match &self.excuse {
                Excuse::Never => true,
                Excuse::AnyLoad => noise.is_quiet(),
                Excuse::Rules(rules) => {
                    rules.is_empty() || !rules.iter().all(|rule| noise.confirms(*rule))
                }
            }
    }
}

/// Bytes of a frame as tc(8) counts it, for each byte of payload: with headers as far as Ethernet's.
fn frame_per_payload(record: &TestRecord) -> Option<f64> {
    let stream = record.streams.first()?;
    let (payload, headers) = match record.plan.transport {
        // With time stamps (RFC 7323).
        Transport::Tcp => (f64::from(stream.mss?), 66.0),
        Transport::Udp => (stream.block.bytes() as f64, 42.0),
    };
    Some((payload + headers) / payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_result_stands_unless_others_can_be_why() {
        let (loud, quiet) =
            (Noise { others: 0.5, stolen: 0.0 }, Noise { others: 0.0, stolen: 0.0 });
        let judged = |excuse| Judged { excuse, ..Judged::new(false, "", String::new()) };
        let is_settled = |excuse, noise| judged(excuse).is_settled(noise);
        assert!(is_settled(Excuse::Never, loud));
        assert!(is_settled(Excuse::AnyLoad, quiet) && !is_settled(Excuse::AnyLoad, loud));
        assert!(!is_settled(Excuse::Rules(vec![RuleId::RunDelay]), loud));
        assert!(is_settled(Excuse::Rules(vec![RuleId::RunDelay, RuleId::LinkFlap]), loud));
        assert!(is_settled(Excuse::Rules(Vec::new()), loud));
    }
}
