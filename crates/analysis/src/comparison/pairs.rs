//! Which runs of two sides belong together: those that alternated.

use measurement::{Order, TestRecord, Timestamp};

use super::CountedRun;

/// Pairs of logarithms, before and after. None: the runs of both sides did not alternate, or it is
/// not known when they began.
///
/// In the order of time, each two that follow each other are one of each side, whichever is first.
pub(super) fn of(before: &[CountedRun], after: &[CountedRun]) -> Option<Vec<(f64, f64)>> {
    if before.len() != after.len() || before.len() < 2 {
        return None;
    }
    let side = |runs: &[CountedRun], is_after: bool| {
        let one = |run: &CountedRun| Some((run.started?, is_after, run.logarithm));
        runs.iter().map(one).collect::<Option<Vec<_>>>()
    };
    let mut runs = side(before, false)?;
    runs.extend(side(after, true)?);
    runs.order_by_key(|(started, ..)| *started);
    let pair = |two: &[(i128, bool, f64)]| match two {
        [(_, false, before), (_, true, after)] | [(_, true, after), (_, false, before)] => {
            Some((*before, *after))
        }
        _ => None,
    };
    // A to the first and B to the last two is the order of time, too, but no alternation.
    runs.chunks(2).map(pair).collect()
}

/// Start of a test as a number that grows with time: of the second in which it began, and on one
/// host and boot of the instant of its first sample. None: not known.
pub(super) fn started(record: &TestRecord) -> Option<i128> {
    let text = &record.environment.as_ref()?.started_at;
    let seconds = seconds(text)?;
    let nanos = record.start.map_or(0, Timestamp::nanos);
    Some((i128::from(seconds) << 64) + i128::from(nanos))
}

/// A number that grows with a time of RFC 3339 in UTC, as records have it.
fn seconds(text: &str) -> Option<i64> {
    let digits: String = text.chars().filter(char::is_ascii_digit).take(DIGITS).collect();
    if digits.len() == DIGITS { digits.parse().ok() } else { None }
}

/// Number of digits of a date and time: year, month, day, hour, minute and second.
const DIGITS: usize = 14;

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(times: &[i128]) -> Vec<CountedRun> {
        times
            .iter()
            .map(|time| CountedRun { logarithm: *time as f64, started: Some(*time) })
            .collect()
    }

    #[test]
    fn runs_that_alternate_are_pairs_whichever_was_first() {
        let pairs = of(&runs(&[1, 4, 5]), &runs(&[2, 3, 6]));
        assert_eq!(pairs, Some(vec![(1.0, 2.0), (4.0, 3.0), (5.0, 6.0)]));
    }

    #[test]
    fn runs_one_side_after_the_other_are_none() {
        assert_eq!(of(&runs(&[1, 2, 3]), &runs(&[4, 5, 6])), None);
        assert_eq!(of(&runs(&[1, 3]), &runs(&[2, 4, 6])), None);
        let mut unknown = runs(&[1, 3]);
        unknown[0].started = None;
        assert_eq!(of(&unknown, &runs(&[2, 4])), None);
        assert_eq!(of(&runs(&[1]), &runs(&[2])), None);
    }

    #[test]
    fn a_time_grows() {
        assert!(seconds("2026-11-25T02:11:39Z") < seconds("2026-11-25T02:12:00Z"));
        assert_eq!(seconds("yesterday"), None);
    }
}
