//! How far a result can be trusted.

use std::collections::{BTreeMap, BTreeSet};

use measurement::outcome::Ending;
use measurement::{Judgement, RuleId, Stamp};
use serde::{Deserialize, Serialize};

use super::super::seen::Seen;
use super::{Excuse, Judged};

/// What rules of trust say.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(crate) struct Stamps {
    /// The stamp that each of these rules gives.
    rules: BTreeMap<RuleId, Stamp>,
    #[serde(default)]
    others: Others,
}

/// Whether other rules may say something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Others {
    #[default]
    Any,
    None,
}

impl Stamps {
    pub(super) fn shown(&self) -> String {
        let rules = self.rules.iter().map(|(rule, stamp)| format!("{rule} {stamp}"));
        rules.collect::<Vec<_>>().join(" and ")
    }

    #[cfg(test)]
    pub(crate) fn rules(&self) -> impl Iterator<Item = RuleId> {
        self.rules.keys().copied()
    }

    /// Whether each rule says it, and the client ends as the stamp has it.
    pub(super) fn judge(&self, seen: &Seen) -> Judged {
        let row = seen.records.first();
        let Some((record, judgement)) = row.and_then(|row| Some((row, row.judgement.as_ref()?)))
        else {
            return Judged::new(false, "nothing", "nobody judged the record".to_owned());
        };
        let is_told = |(rule, stamp): (&RuleId, &Stamp)| {
            judgement.reasons.iter().any(|one| one.rule == *rule && one.stamp == *stamp)
        };
        let told: BTreeSet<_> = judgement.reasons.iter().map(|one| one.rule).collect();
        let besides: Vec<_> =
            told.into_iter().filter(|rule| !self.rules.contains_key(rule)).collect();
        let (is_alone, excuse) = match self.others {
            Others::Any => (true, Excuse::AnyLoad),
            Others::None => {
                let worst = self.rules.values().max().copied();
                let is_alone = besides.is_empty() && worst == Some(judgement.stamp);
                (is_alone, Excuse::Rules(besides))
            }
        };
        let is_right = self.rules.iter().all(is_told)
            && is_alone
            && seen.code == code(&record.outcome.ending, judgement.stamp);
        let text = told_by(judgement, seen.code);
        Judged { excuse, ..Judged::new(is_right, judgement.stamp.to_string(), text) }
    }
}

/// Scripts read what a client ends with: it says what the stamp says.
const fn code(ending: &Ending, stamp: Stamp) -> i32 {
    match (ending, stamp) {
        (Ending::Failed { .. }, _) => FAILED,
        (_, Stamp::Invalid) => INVALID,
        _ => 0,
    }
}

/// The stamp and its reasons, without the remedies.
fn told_by(judgement: &Judgement, code: i32) -> String {
    let fact = |text: &str| text.split(';').next().unwrap_or_default().to_owned();
    let reasons = judgement.reasons.iter();
    let reasons =
        reasons.map(|one| format!("\n      {} {}: {}", one.rule, one.stamp, fact(&one.text)));
    format!("{} (exit code {code}){}", judgement.stamp, reasons.collect::<String>())
}

/// What `linerate test` ends with if it failed, and if the result is INVALID.
const FAILED: i32 = 1;
const INVALID: i32 = 3;
