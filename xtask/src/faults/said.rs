//! What a verdict says, and whether that is right.

use std::fmt::{self, Display, Formatter};

use measurement::host::Role;
use measurement::verdict::Finding;
use measurement::{Certainty, Conclusion, RuleId, TestRecord};
use serde_json::{Value, json};

use super::expected::Expected;

/// The headline of a record.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) conclusion: Option<Conclusion>,
    pub(super) headline: Option<Finding>,
    /// What else is more than to be known.
    others: Vec<Finding>,
    would_decide: String,
    /// Findings that are more than to be known.
    alarms: Vec<RuleId>,
    sentence: String,
    /// How much of the CPU time that was sampled a table knows, by host.
    attributions: usize,
}

impl Said {
    pub(super) fn from_record(record: &TestRecord) -> Self {
        let judgement = record.judgement.as_ref();
        let verdict = judgement.and_then(|judgement| judgement.verdict.as_ref());
        let findings = verdict.map_or(&[][..], |verdict| &verdict.findings);
        let is_alarm = |finding: &&Finding| finding.certainty > Certainty::Note;
        let alarms = findings.iter().filter(is_alarm);
        Self {
            conclusion: verdict.map(|verdict| verdict.conclusion),
            headline: findings.first().cloned(),
            others: findings.iter().skip(1).filter(is_alarm).cloned().collect(),
            would_decide: verdict
                .and_then(|verdict| verdict.would_decide.clone())
                .unwrap_or_default(),
            alarms: alarms.map(|finding| finding.rule).collect(),
            sentence: verdict.map(|verdict| verdict.sentence.clone()).unwrap_or_default(),
            attributions: judgement.map_or(0, |judgement| judgement.attributions.len()),
        }
    }

    /// Whether it names the cause, or says that there is none.
    pub(super) fn is_right(&self, expected: &Expected) -> bool {
        match expected {
            Expected::Delivered => {
                self.conclusion == Some(Conclusion::Delivered) && self.alarms.is_empty()
            }
            Expected::Cause { open, .. } => match self.conclusion {
                Some(Conclusion::Limited) => self.leads_with(expected),
                Some(Conclusion::Undecided) => {
                    open.as_ref().is_some_and(|word| self.would_decide.contains(word))
                }
                _ => false,
            },
            // No verdict says it.
            _ => false,
        }
    }

    /// Whether the first finding names the cause.
    pub(super) fn leads_with(&self, expected: &Expected) -> bool {
        self.headline.as_ref().is_some_and(|finding| expected.is_named_by(finding))
    }

    /// Whether a later finding names the cause.
    pub(super) fn mentions(&self, expected: &Expected) -> bool {
        self.others.iter().any(|finding| expected.is_named_by(finding))
    }

    /// What would decide, if that is left open.
    pub(super) fn would_decide(&self) -> &str {
        &self.would_decide
    }

    pub(super) fn sentence(&self) -> &str {
        &self.sentence
    }

    /// What it blames, and where: equal for two runs that are judged alike.
    pub(super) fn blame(&self) -> String {
        let host = self.headline.as_ref().and_then(|finding| finding.host.as_ref());
        format!("{} {}", self.word(), at(host))
    }

    /// What an alarm on a clean run says.
    pub(super) fn alarms(&self) -> &[RuleId] {
        &self.alarms
    }

    /// As one word, for tables.
    pub(super) fn word(&self) -> String {
        match (self.conclusion, &self.headline) {
            (None, _) => "nothing".to_owned(),
            (Some(Conclusion::Limited), Some(finding)) => finding.rule.to_string(),
            (Some(Conclusion::Limited), None) => "no finding".to_owned(),
            (Some(Conclusion::Undecided), _) => "undecided".to_owned(),
            (Some(Conclusion::Delivered), _) => "delivered".to_owned(),
        }
    }

    pub(super) fn as_json(&self) -> Value {
        json!({
            "conclusion": self.conclusion,
            "rule": self.headline.as_ref().map(|finding| finding.rule),
            "host": self.headline.as_ref().and_then(|finding| finding.host.as_ref()),
            "sentence": self.sentence,
            "would_decide": self.would_decide,
            "above_note": self.alarms,
            "attributions": self.attributions,
        })
    }
}

impl Display for Said {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.word())?;
        let finding = self.headline.as_ref();
        if self.conclusion == Some(Conclusion::Limited) {
            write!(f, " {}", at(finding.and_then(|finding| finding.host.as_ref())))?;
        }
        write!(f, ": {}", self.sentence)?;
        if self.conclusion == Some(Conclusion::Undecided) {
            write!(f, "; would decide: {}", self.would_decide)?;
            let candidates: Vec<_> = self.alarms.iter().map(|rule| rule.slug()).collect();
            let candidates = candidates.join(", ");
            let candidates = if candidates.is_empty() { "none" } else { &candidates };
            write!(f, "; candidates: {candidates}")?;
        }
        Ok(())
    }
}

fn at(host: Option<&Role>) -> String {
    match host {
        None => "on the path".to_owned(),
        Some(Role::Here) => "on the client".to_owned(),
        Some(Role::Peer) => "on the server".to_owned(),
        Some(Role::Observed(name)) => format!("on {name}"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::faults) fn finding(rule: RuleId, host: Option<Role>) -> Finding {
        Finding {
            rule,
            certainty: Certainty::Limit,
            share: 1.0,
            effect: measurement::Effect::Unknown,
            host,
            direction: None,
            text: String::new(),
            evidence: Vec::new(),
            remedy: measurement::Remedy::default(),
        }
    }

    pub(in crate::faults) fn said(
        conclusion: Conclusion,
        headline: Option<Finding>,
        would_decide: &str,
    ) -> Said {
        Said {
            conclusion: Some(conclusion),
            alarms: headline.iter().map(|finding| finding.rule).collect(),
            headline,
            others: Vec::new(),
            would_decide: would_decide.to_owned(),
            sentence: String::new(),
            attributions: 0,
        }
    }

    pub(in crate::faults) fn followed_by(said: Said, other: Finding) -> Said {
        Said { others: vec![other], ..said }
    }

    pub(in crate::faults) fn expected(text: &str) -> Expected {
        #[derive(serde::Deserialize)]
        struct File {
            expect: Expected,
        }
        toml::from_str::<File>(text).expect("valid").expect
    }

    #[test]
    fn a_rule_is_right_on_its_host_only() {
        let expect =
            expected("expect = { cause = { rules = ['udp-receive-buffer'], on = ['server'] } }");
        let limited = |rule, host| said(Conclusion::Limited, Some(finding(rule, host)), "");
        assert!(limited(RuleId::UdpReceiveBuffer, Some(Role::Peer)).is_right(&expect));
        assert!(!limited(RuleId::UdpReceiveBuffer, Some(Role::Here)).is_right(&expect));
        assert!(!limited(RuleId::CgroupCpuQuota, Some(Role::Peer)).is_right(&expect));
        assert!(!said(Conclusion::Delivered, None, "").is_right(&expect));
    }

    #[test]
    fn leaving_it_open_is_right_where_the_word_is_said() {
        let open = expected("expect = { cause = { rules = ['tcp-path-loss'], open = 'observe' } }");
        let never = expected("expect = { cause = { rules = ['tcp-path-loss'] } }");
        let undecided = said(Conclusion::Undecided, None, "observe the router");
        assert!(undecided.is_right(&open) && !undecided.is_right(&never));
        assert!(!said(Conclusion::Undecided, None, "a longer run").is_right(&open));
    }

    #[test]
    fn a_control_with_an_alarm_is_wrong() {
        let expect = expected("expect = 'delivered'");
        assert!(said(Conclusion::Delivered, None, "").is_right(&expect));
        let alarmed = said(Conclusion::Delivered, Some(finding(RuleId::LinkSaturated, None)), "");
        assert!(!alarmed.is_right(&expect));
        assert!(!said(Conclusion::Undecided, None, "").is_right(&expect));
    }
}
