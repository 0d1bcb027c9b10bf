//! The numbers of a run, each under the name of what it measures.

/// The name of a measured number. Units are base units (bits, bytes, seconds) or percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Bits a second at the receiver, or exchanges a second.
    Rate,
    /// CPU seconds of both ends for each byte received, or for each exchange.
    Cpu,
    /// CPU seconds of the client for each byte received, or for each exchange.
    ClientCpu,
    /// CPU seconds of the server for each byte received, or for each exchange.
    ServerCpu,
    /// Peak memory of the client in bytes.
    ClientMemory,
    /// Peak memory of the server in bytes.
    ServerMemory,
    /// Peak memory of both ends in bytes.
    BothMemory,
    /// How far the program's bytes are above the interface's, in percent.
    Excess,
    /// CPU time that went to other programs, in percent of all.
    Others,
    /// Seconds from the start of the client to its end.
    Wall,
    /// Jain's index over the streams.
    Jain,
    /// Bits a second of the stream that got least.
    Least,
    /// Streams that got nothing.
    WithoutProgress,
    /// Seconds between the starts of the first and of the last stream.
    StartSkew,
    /// Seconds between their ends.
    StopSkew,
    /// Mean of the seconds from request to response.
    Mean,
    /// Seconds that half of the exchanges took at most.
    P50,
    /// Seconds that 99 of 100 exchanges took at most.
    P99,
    /// How far the average rate is from the one that was asked, in percent.
    RateError,
    /// [`RateError`](Self::RateError) without stalled time.
    RateErrorOutside,
    /// Stalled time as a share of all, in percent: of every gap of more than a millisecond what it
    /// has beyond what the datagrams sent at once before it are worth.
    Stalled,
    /// CPU time of the sender's process, in percent of one CPU.
    SenderCpu,
    /// Datagrams at once, each less than half of the ideal gap behind the one before: the median.
    BurstMedian,
    /// Datagrams at once that 99 of 100 bursts do not exceed.
    BurstP99,
    /// Datagrams at once: the longest burst.
    BurstMost,
    /// Gaps within 10 % of the ideal one, of those that are no stall, in percent.
    EvenGaps,
}

/// The measured numbers of one run, each with its [`Metric`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures(Vec<(Metric, f64)>);

impl Figures {
    /// The number of a metric. `None`: the run does not have it.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.0.iter().find(|(known, _)| *known == metric).map(|(_, value)| *value)
    }

    /// Adds the number of a metric; `None` adds nothing.
    pub fn push(&mut self, metric: Metric, value: impl Into<Option<f64>>) {
        self.0.extend(value.into().map(|value| (metric, value)));
    }

    /// Adds all numbers of another part of the same run.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// How evenly streams share the bandwidth: Jain's index, the least rate, and the number of
    /// streams without data. `bytes` are the bytes of each stream, `rate` is the total rate in
    /// bit/s.
    pub fn of_streams(bytes: &[u64], rate: f64) -> Self {
        let sum: f64 = bytes.iter().map(|bytes| *bytes as f64).sum();
        let without = bytes.iter().filter(|bytes| **bytes == 0).count();
        bytes.iter().min().map_or_else(Self::default, |least| {
            Self::from_iter([
                (Metric::Jain, jain(bytes)),
                (Metric::Least, if sum > 0.0 { *least as f64 * rate / sum } else { 0.0 }),
                (Metric::WithoutProgress, without as f64),
            ])
        })
    }
}

impl FromIterator<(Metric, f64)> for Figures {
    fn from_iter<I: IntoIterator<Item = (Metric, f64)>>(figures: I) -> Self {
        Self(figures.into_iter().collect())
    }
}

/// R. Jain, D. Chiu, W. Hawe: A Quantitative Measure of Fairness, DEC-TR-301 (1984).
fn jain(bytes: &[u64]) -> f64 {
    let sum: f64 = bytes.iter().map(|bytes| *bytes as f64).sum();
    let squares: f64 = bytes.iter().map(|bytes| (*bytes as f64).powi(2)).sum();
    if squares > 0.0 { sum * sum / (bytes.len() as f64 * squares) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_is_between_one_and_one_nth() {
        let jain = |bytes: &[u64]| Figures::of_streams(bytes, 8.0).get(Metric::Jain);
        assert_eq!(jain(&[5, 5, 5, 5]), Some(1.0));
        assert_eq!(jain(&[8, 0, 0, 0]), Some(0.25));
        assert_eq!(jain(&[0, 0]), Some(0.0));
        assert_eq!(jain(&[]), None);
    }

    #[test]
    fn streams_that_got_nothing_are_counted() {
        let figures = Figures::of_streams(&[0, 3, 0], 24.0);
        assert_eq!(figures.get(Metric::WithoutProgress), Some(2.0));
        assert_eq!(figures.get(Metric::Least), Some(0.0));
        let even = Figures::of_streams(&[1_500, 500], 16_000.0);
        assert_eq!(even.get(Metric::Least), Some(4_000.0));
    }

    #[test]
    fn what_was_not_reported_is_no_figure() {
        let mut figures = Figures::default();
        figures.push(Metric::StartSkew, None);
        figures.push(Metric::StopSkew, Some(0.004));
        assert_eq!(figures.get(Metric::StartSkew), None);
        assert_eq!(figures.get(Metric::StopSkew), Some(0.004));
    }
}
