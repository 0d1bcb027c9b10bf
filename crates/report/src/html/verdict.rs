//! A verdict as data of the page: the sentence, its evidence, and commands that follow it.

use measurement::remedy::Change;
use measurement::verdict::Finding;
use measurement::{Conclusion, Role, RuleId, Stamp, TestRecord, Verdict};
use serde::Serialize;

use crate::verdict::{place, word};

/// A verdict.
#[derive(Debug, Serialize)]
pub(super) struct Told {
    conclusion: Conclusion,
    sentence: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    would_decide: Option<String>,
    findings: Vec<VerdictFinding>,
}

#[derive(Debug, Serialize)]
struct VerdictFinding {
    rule: RuleId,
    certainty: &'static str,
    text: String,
    evidence: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allows: Option<String>,
    remedy: String,
    commands: Vec<Command>,
}

#[derive(Debug, Serialize)]
struct Command {
    place: String,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    now: Option<String>,
}

/// A reason for a stamp that is not VALID.
#[derive(Debug, Serialize)]
pub(super) struct Reason {
    stamp: Stamp,
    rule: RuleId,
    host: String,
    text: String,
}

impl Told {
    pub(super) fn new(verdict: &Verdict) -> Self {
        Self {
            conclusion: verdict.conclusion,
            sentence: verdict.sentence.clone(),
            would_decide: verdict.would_decide.clone(),
            findings: verdict.findings.iter().map(found).collect(),
        }
    }
}

/// The reasons for a stamp that is not VALID, the worst first.
pub(super) fn reasons(record: &TestRecord) -> Vec<Reason> {
    let reasons = record.judgement.iter().flat_map(|judgement| &judgement.reasons);
    let doubts = reasons.filter(|reason| reason.stamp != Stamp::Valid);
    let told = doubts.map(|reason| Reason {
        stamp: reason.stamp,
        rule: reason.rule,
        host: reason.host.as_ref().map(host).unwrap_or_default(),
        text: reason.text.clone(),
    });
    told.collect()
}

/// What a host of a test is called.
pub(super) fn host(role: &Role) -> String {
    match role {
        Role::Here => "this host".to_owned(),
        Role::Peer => "the server".to_owned(),
        Role::Observed(name) => name.clone(),
    }
}

fn found(finding: &Finding) -> VerdictFinding {
    VerdictFinding {
        rule: finding.rule,
        certainty: word(finding.certainty),
        text: finding.text.clone(),
        evidence: finding.evidence.clone(),
        allows: finding.effect.bound().map(ToString::to_string),
        remedy: finding.remedy.sentence.clone(),
        commands: finding.remedy.changes.iter().map(command).collect(),
    }
}

fn command(change: &Change) -> Command {
    Command { place: place(change), text: change.command(), now: change.from.clone() }
}
