//! What was found in a text.

use measurement::BitRate;

use super::view::View;

/// Everything that was found in a text.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) views: Vec<View>,
    /// Numbers of the lines that say nothing known, in their order.
    pub(super) unread: Vec<usize>,
    /// Those of them that begin like a row or a connection.
    pub(super) broken: Vec<usize>,
    /// Rates that are of no run.
    pub(super) rates: Vec<Rates>,
    /// Whether there were more views than [`MOST_VIEWS`].
    pub(super) is_full: bool,
}

/// Rates that stand together in a text, without the runs that they are of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Index of the text.
    pub text: usize,
    /// Number of the first line with a rate, from 1.
    pub line: usize,
    /// The last other line above; empty: there is none.
    pub heading: String,
    /// Rates of each column, from left to right.
    pub columns: Vec<Vec<BitRate>>,
    /// Rates in parentheses, by which an author marks what is not to be believed, and their columns,
    /// counted from 0.
    pub doubted: Vec<(usize, BitRate)>,
    /// Number of the line below that says of a run that its receiver never confirmed it, as iperf
    /// does; none: no line says so, or no rate is in parentheses.
    pub unconfirmed: Option<usize>,
}

/// What ends printed, of one text; a log has less.
pub(super) const MOST_VIEWS: usize = 10_000;
