//! What the times of datagrams say about a rate.

use testbed::figures::{Figures, Metric};
use testbed::spread::percentile;

/// Figures of datagrams that left at `times` in nanoseconds, `gap` nanoseconds apart if ideal;
/// none of fewer than a hundred gaps.
pub(super) fn figures(times: &[u64], gap: f64) -> Option<Figures> {
    let (first, last) = (times.first()?, times.last()?);
    let gaps: Vec<f64> =
        times.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64).collect();
    if gaps.len() < 100 {
        return None;
    }
    let (span, ideal) = ((last - first) as f64, gaps.len() as f64 * gap);
    let stalled = stalled(&gaps, gap);
    let calm: Vec<f64> = gaps.iter().copied().filter(|length| *length <= STALL).collect();
    let even = calm.iter().filter(|length| (*length - gap).abs() <= gap / 10.0).count();
    let bursts = bursts(&gaps, gap);
    let burst = |percent| percentile(bursts.iter().map(|length| *length as f64), percent);
    let mut figures = Figures::from_iter([
        (Metric::RateError, (ideal / span - 1.0) * 100.0),
        (Metric::RateErrorOutside, (ideal / (span - stalled) - 1.0) * 100.0),
        (Metric::Stalled, stalled / span * 100.0),
        (Metric::EvenGaps, even as f64 * 100.0 / calm.len().max(1) as f64),
    ]);
    figures.push(Metric::BurstMedian, burst(50));
    figures.push(Metric::BurstP99, burst(99));
    figures.push(Metric::BurstMost, burst(100));
    Some(figures)
}

fn stalled(gaps: &[f64], gap: f64) -> f64 {
    let (mut stalled, mut burst) = (0.0, 1.0);
    for length in gaps {
        if *length > STALL {
            stalled += (length - burst * gap).max(0.0);
        }
        burst = if *length < gap / 2.0 { burst + 1.0 } else { 1.0 };
    }
    stalled
}

fn bursts(gaps: &[f64], gap: f64) -> Vec<usize> {
    let mut bursts = vec![1];
    for length in gaps {
        match bursts.last_mut() {
            Some(burst) if *length < gap / 2.0 => *burst += 1,
            _ => bursts.push(1),
        }
    }
    bursts
}

/// In nanoseconds.
const STALL: f64 = 1e6;

#[cfg(test)]
mod tests {
    use super::*;

    /// Datagrams at these multiples of ten microseconds, and then on time.
    fn metrics(begin: &[u64]) -> impl Fn(Metric) -> f64 {
        let last = begin.last().copied().unwrap_or(0);
        let times = begin.iter().copied().chain((1..=1_000).map(|index| last + index));
        let times: Vec<_> = times.map(|time| 7_000_000_000 + time * 10_000).collect();
        let figures = figures(&times, 10_000.0).expect("enough");
        move |metric| figures.get(metric).expect("it has all")
    }

    #[test]
    fn an_even_stream_has_no_error_and_no_burst() {
        let of = metrics(&[0, 1, 2]);
        assert!(of(Metric::RateError).abs() < 1e-9 && of(Metric::Stalled) == 0.0);
        assert_eq!((of(Metric::BurstMost), of(Metric::EvenGaps)), (1.0, 100.0));
    }

    #[test]
    fn a_stall_counts_beyond_what_was_sent_before_it() {
        let of = metrics(&[0, 0, 0, 0, 200]);
        assert!(of(Metric::RateErrorOutside).abs() < 1e-9);
        assert!((of(Metric::Stalled) - 196.0 / 1_200.0 * 100.0).abs() < 1e-9);
        assert_eq!((of(Metric::BurstMost), of(Metric::BurstP99)), (4.0, 1.0));
    }

    #[test]
    fn a_few_datagrams_say_nothing() {
        assert_eq!(figures(&[1, 2, 3], 1.0), None);
        assert_eq!(figures(&[], 1.0), None);
    }
}
