//! `runs-differ`: how far apart several runs of the same thing are.

use measurement::{BitRate, Order, Reason, RuleId, Stamp};

use crate::words::percent;

/// Whether the rates of several runs belong together.
///
/// **What:** they vary by more than 5 % about their mean, or fall into two groups. **Why:**
/// one run of such a thing tells nothing, and a mean of two groups is a rate that never was:
/// receive hashing or the scheduler placed flows in one way or the other. **Evidence:** the
/// rates; two groups are such that the gap between them is wider than both of them.
/// **Remedy:** fixed ports and CPUs. **Source:** J. A. Hartigan:
/// Clustering Algorithms, 1975, for the cut with the least sum of squares.
pub fn spread(rates: &[BitRate]) -> Option<Reason> {
    let mut bits: Vec<_> = rates.iter().map(|rate| rate.bits_per_second()).collect();
    bits.order();
    let text = modes(&bits).or_else(|| variation(&bits))?;
    Some(Reason { rule: RuleId::RunsDiffer, stamp: Stamp::Suspect, host: None, text })
}

fn modes(sorted: &[u64]) -> Option<String> {
    if sorted.len() < 2 * LEAST_OF_A_MODE {
        return None;
    }
    let cuts = LEAST_OF_A_MODE..=sorted.len() - LEAST_OF_A_MODE;
    let cut = cuts.min_by(|one, other| {
        let cost = |cut: usize| squares(&sorted[..cut]) + squares(&sorted[cut..]);
        cost(*one).total_cmp(&cost(*other))
    })?;
    let (slow, fast) = sorted.split_at(cut);
    let gap = fast[0] - slow[slow.len() - 1];
    let width = |part: &[u64]| part[part.len() - 1] - part[0];
    let wide = width(slow).max(width(fast)).max(whole(mean(sorted) * LEAST_VARIATION));
    (gap > wide).then(|| {
        let rate = |part: &[u64]| BitRate::from_bits_per_second(part[part.len() / 2]);
        format!(
            "the {} runs fall into two groups, {} about {} and {} about {}, by CPU placement; pin \
             them (--cpus)",
            sorted.len(),
            slow.len(),
            rate(slow),
            fast.len(),
            rate(fast)
        )
    })
}

fn variation(sorted: &[u64]) -> Option<String> {
    let mean = mean(sorted);
    if sorted.len() < LEAST_RUNS || mean <= 0.0 {
        return None;
    }
    let variance = squares(sorted) / (sorted.len() - 1) as f64;
    let variation = variance.sqrt() / mean;
    (variation > LEAST_VARIATION).then(|| {
        format!(
            "the {} runs vary by {} (standard deviation) about {}; use more or longer runs on \
             idle hosts",
            sorted.len(),
            percent(variation),
            BitRate::from_bits_per_second(whole(mean))
        )
    })
}

fn mean(rates: &[u64]) -> f64 {
    rates.iter().map(|rate| *rate as f64).sum::<f64>() / rates.len().max(1) as f64
}

fn squares(rates: &[u64]) -> f64 {
    let mean = mean(rates);
    rates.iter().map(|rate| (*rate as f64 - mean).powi(2)).sum()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean of such")]
const fn whole(rate: f64) -> u64 {
    rate as u64
}

/// Two runs always differ.
const LEAST_RUNS: usize = 3;
/// One run beside the others is no group.
const LEAST_OF_A_MODE: usize = 2;
/// Coefficient of variation.
const LEAST_VARIATION: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    fn text(megabits: &[u64]) -> Option<String> {
        let rates = megabits.iter().map(|rate| BitRate::from_bits_per_second(rate * 1_000_000));
        spread(&rates.collect::<Vec<_>>()).map(|reason| reason.text)
    }

    #[test]
    fn runs_that_agree_are_silent() {
        assert_eq!(text(&[940, 941, 939, 942, 940]), None);
        assert_eq!(text(&[100, 900]), None, "two runs do not tell");
        assert_eq!(text(&[]), None);
        assert_eq!(text(&[0, 0, 0, 0]), None);
    }

    #[test]
    fn two_groups_are_both_named() {
        let text = text(&[141, 181, 140, 182, 142, 180]).expect("two groups");
        assert!(text.contains("3 about 141.0 Mbit/s and 3 about 181.0 Mbit/s"), "{text}");
    }

    #[test]
    fn runs_that_vary_are_said_to() {
        let text = text(&[900, 1_000, 1_100]).expect("ten percent");
        assert!(
            text.starts_with("the 3 runs vary by 10 % (standard deviation) about 1.000 Gbit/s"),
            "{text}"
        );
    }
}
