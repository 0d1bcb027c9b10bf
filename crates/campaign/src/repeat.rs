//! Several runs of one row: what lies in the middle, and whether they agree.

use measurement::outcome::Ending;
use measurement::record::RepeatSummary;
use measurement::{BitRate, TestPlan, TestRecord};

/// The spread of the rates of all runs of `plan` among `records`; none: no run gave a number.
pub fn summary(plan: &TestPlan, row: String, records: &[TestRecord]) -> Option<RepeatSummary> {
    let of_row = records
        .iter()
        .filter(|record| record.plan == *plan && record.outcome.ending == Ending::Completed);
    let mut rates: Vec<BitRate> = of_row.filter_map(|record| record.outcome.rate()).collect();
    let spread = analysis::spread(&rates);
    rates.sort_unstable();
    Some(RepeatSummary {
        row,
        runs: u32::try_from(rates.len()).unwrap_or(u32::MAX),
        median: median(&rates)?,
        slowest: *rates.first()?,
        fastest: *rates.last()?,
        spread,
    })
}

fn median(sorted: &[BitRate]) -> Option<BitRate> {
    let middle = sorted.len() / 2;
    let upper = sorted.get(middle)?.bits_per_second();
    if sorted.len() % 2 == 1 {
        return Some(BitRate::from_bits_per_second(upper));
    }
    Some(BitRate::from_bits_per_second(sorted[middle - 1].bits_per_second().midpoint(upper)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(values: &[u64]) -> Vec<BitRate> {
        values.iter().copied().map(BitRate::from_bits_per_second).collect()
    }

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_two_middles() {
        assert_eq!(median(&rates(&[1, 2, 9])), Some(BitRate::from_bits_per_second(2)));
        assert_eq!(median(&rates(&[1, 2, 4, 9])), Some(BitRate::from_bits_per_second(3)));
        assert_eq!(median(&[]), None);
    }
}
