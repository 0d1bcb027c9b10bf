//! The run of UDP that is slower than a row. What it loses is not lost for want of rate.

use measurement::BitRate;

use super::DirectionRow;

/// The fastest run of UDP in the direction of `row` for which no more was requested than arrived in
/// `row`; none: there is none, or its sender did not reach the rate.
pub(crate) fn than<'r, 'a>(
    row: &DirectionRow<'_>,
    rows: &'r [DirectionRow<'a>],
) -> Option<&'r DirectionRow<'a>> {
    let slower = rows.iter().filter(|other| row.has_datagrams_in(other));
    let is_slower = |rate: BitRate| rate.bits_per_second() as f64 <= row.delivered;
    let slower = slower.filter(|other| other.paced().is_some_and(is_slower));
    slower.filter(|one| is_sent(one)).max_by_key(|one| one.paced())
}

fn is_sent(row: &DirectionRow<'_>) -> bool {
    let rate = row.paced().map(|rate| rate.bits_per_second() as f64);
    row.offered().zip(rate).is_some_and(|(offered, rate)| offered >= REACHED * rate)
}

/// Whether a run of so many datagrams shows a loss of that share: fewer may be lost or not.
pub(crate) fn is_significant(datagrams: f64, loss: f64) -> bool {
    datagrams * loss >= ENOUGH
}

/// A share of lost datagrams from which on a row loses.
pub(crate) const NOTICED: f64 = 0.001;
/// A share of lost datagrams that shows that more than the path passes was sent.
pub(crate) const MUCH: f64 = 0.02;
/// Lost datagrams that are expected: none of them arrives by chance once in 20,000 runs (Poisson).
const ENOUGH: f64 = 10.0;
/// Of the requested rate.
const REACHED: f64 = 0.9;
