//! What could be reached if some work cost nothing (Amdahl, "Validity of the single processor
//! approach", 1967): the rest of the time moves as much as all of it did.

use measurement::BitRate;
use measurement::verdict::{WhatIf, Work};

use super::Parts;

/// For a CPU that limits and spends these shares of its time.
pub(super) fn ceilings(parts: &Parts, from: BitRate) -> Vec<WhatIf> {
    let share = |is_gone: &dyn Fn(Work) -> bool| -> f64 {
        parts.iter().filter(|(work, _)| is_gone(**work)).map(|(_, share)| share).sum()
    };
    let of_processes = |work| matches!(work, Work::CopyUser | Work::CopyIterator);
    let mut cases = vec![
        ("copies to and from processes".to_owned(), share(&of_processes)),
        ("all copies".to_owned(), share(&Work::is_copy)),
    ];
    if let Some((largest, share)) = largest(parts) {
        cases.push((format!("{largest}, the largest part,"), share));
    }
    let what_if = |(without, share)| Some(WhatIf { without, from, at_most: at_most(from, share)? });
    cases.into_iter().filter_map(what_if).collect()
}

/// None: nothing would be gained, or nothing would be left that takes time.
fn at_most(from: BitRate, share: f64) -> Option<BitRate> {
    let rest = 1.0 - share;
    if share <= 0.0 || rest < LEAST_REST {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate is not negative, and `as` stops at the largest"
    )]
    let bits = (from.bits_per_second() as f64 / rest) as u64;
    Some(BitRate::from_bits_per_second(bits))
}

fn largest(parts: &Parts) -> Option<(Work, f64)> {
    let known = parts.iter().filter(|(work, _)| **work != Work::Other);
    let largest = known.max_by(|(_, a), (_, b)| a.total_cmp(b));
    largest.map(|(work, share)| (*work, *share))
}

/// Below, a factor of a hundred would be promised.
const LEAST_REST: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_less_work_is_a_third_more_rate() {
        let parts = Parts::from([
            (Work::CopyUser, 0.25),
            (Work::CopyMemory, 0.25),
            (Work::Receive, 0.4),
            (Work::Other, 0.1),
        ]);
        let found = ceilings(&parts, BitRate::from_bits_per_second(600));
        let shown: Vec<_> =
            found.iter().map(|one| (one.without.as_str(), one.at_most.bits_per_second())).collect();
        assert_eq!(
            shown,
            [
                ("copies to and from processes", 800),
                ("all copies", 1_200),
                ("receive path, the largest part,", 1_000)
            ]
        );
    }

    #[test]
    fn nothing_is_promised_where_nothing_would_be_left() {
        let parts = Parts::from([(Work::User, 1.0)]);
        assert!(ceilings(&parts, BitRate::from_bits_per_second(600)).is_empty());
    }
}
