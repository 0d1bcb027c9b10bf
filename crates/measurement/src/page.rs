//! The type of the manual pages of analysis rules ([`Page`]), which `linerate explain` prints and
//! docs/rules contains.

use serde::Serialize;

use crate::rule::RuleId;

/// Manual page of a rule of the analysis. Each part is one or more sentences; backticks mark names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Page {
    /// Name of the rule.
    pub id: RuleId,
    /// Title: one line without a full stop.
    pub title: &'static str,
    /// Condition under which the rule gives a finding.
    pub what: &'static str,
    /// Reason for which the condition limits or misleads.
    pub why: &'static str,
    /// Evidence that the rule evaluates.
    pub evidence: &'static str,
    /// Remedy: the change that removes the condition.
    pub remedy: &'static str,
    /// Source: a manual page, kernel documentation or an RFC; empty: the text above is enough.
    pub source: &'static str,
}
