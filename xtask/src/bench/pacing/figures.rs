//! What the times of datagrams say about a rate.

use std::fmt;

/// One run's figures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Figures {
    /// How far the average is from the rate that was asked.
    pub(super) error_percent: f64,
    /// The same without stalled time.
    pub(super) error_outside_percent: f64,
    /// Stalled time as a share of all: of every gap of more than a millisecond what it has
    /// beyond what the datagrams sent at once before it are worth.
    pub(super) stalled_percent: f64,
    /// CPU time of the sender's process.
    pub(super) cpu_percent: f64,
    /// Datagrams at once: each follows the one before by less than half of the ideal gap.
    pub(super) burst_median: f64,
    /// 99 of 100 bursts are no longer.
    pub(super) burst_p99: f64,
    /// The longest.
    pub(super) burst_most: f64,
    /// Gaps within 10 % of the ideal one, of those that are no stall.
    pub(super) even_percent: f64,
}

impl Figures {
    /// Of datagrams that left at `times` in nanoseconds, `gap` nanoseconds apart if ideal;
    /// none of fewer than a hundred.
    pub(super) fn of(times: &[u64], gap: f64) -> Option<Self> {
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
        let mut bursts = bursts(&gaps, gap);
        bursts.sort_unstable();
        let burst = |percent: usize| bursts[(bursts.len() - 1) * percent / 100] as f64;
        Some(Self {
            error_percent: (ideal / span - 1.0) * 100.0,
            error_outside_percent: (ideal / (span - stalled) - 1.0) * 100.0,
            stalled_percent: stalled / span * 100.0,
            cpu_percent: 0.0,
            burst_median: burst(50),
            burst_p99: burst(99),
            burst_most: burst(100),
            even_percent: even as f64 * 100.0 / calm.len().max(1) as f64,
        })
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "error {:.2} %, outside stalls {:.3} %, stalled {:.2} %, CPU {:.1} %, bursts {} {} {}, \
             even {:.1} %",
            self.error_percent,
            self.error_outside_percent,
            self.stalled_percent,
            self.cpu_percent,
            self.burst_median,
            self.burst_p99,
            self.burst_most,
            self.even_percent
        )
    }
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
    fn figures(begin: &[u64]) -> Figures {
        let last = begin.last().copied().unwrap_or(0);
        let times = begin.iter().copied().chain((1..=1_000).map(|index| last + index));
        let times: Vec<_> = times.map(|time| 7_000_000_000 + time * 10_000).collect();
        Figures::of(&times, 10_000.0).expect("enough")
    }

    #[test]
    fn an_even_stream_has_no_error_and_no_burst() {
        let figures = figures(&[0, 1, 2]);
        assert!(figures.error_percent.abs() < 1e-9 && figures.stalled_percent == 0.0);
        assert_eq!((figures.burst_most, figures.even_percent), (1.0, 100.0));
    }

    #[test]
    fn a_stall_counts_beyond_what_was_sent_before_it() {
        let figures = figures(&[0, 0, 0, 0, 200]);
        assert!(figures.error_outside_percent.abs() < 1e-9, "{figures:?}");
        assert!((figures.stalled_percent - 196.0 / 1_200.0 * 100.0).abs() < 1e-9);
        assert_eq!((figures.burst_most, figures.burst_p99), (4.0, 1.0));
    }

    #[test]
    fn a_few_datagrams_say_nothing() {
        assert_eq!(Figures::of(&[1, 2, 3], 1.0), None);
        assert_eq!(Figures::of(&[], 1.0), None);
    }
}
