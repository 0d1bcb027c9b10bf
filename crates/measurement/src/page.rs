//! The documentation of a rule of analysis, for `linerate explain` and for docs/rules.

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
    /// The evidence that it reads.
    pub evidence: &'static str,
    /// The change that helps.
    pub remedy: &'static str,
    /// The source: a manual page, a document of the kernel, an RFC; empty: the arithmetic stands
    /// above.
    pub source: &'static str,
}
