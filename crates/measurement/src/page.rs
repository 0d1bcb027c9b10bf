//! What a rule of analysis is about, in words: for `explain`, for docs/rules, and for who reads
//! its code.

use serde::Serialize;

use crate::rule::RuleId;

/// A rule in words. Each part is one or more sentences; backticks mark names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Page {
    /// The name of the rule.
    pub id: RuleId,
    /// One line without a full stop.
    pub title: &'static str,
    /// When it fires.
    pub what: &'static str,
    /// Why that limits, or misleads.
    pub why: &'static str,
    /// What it looks at.
    pub evidence: &'static str,
    /// What to change.
    pub remedy: &'static str,
    /// Who says so: a manual page, a document of the kernel, an RFC; empty: the arithmetic
    /// stands above.
    pub source: &'static str,
}
