//! Times that a flow's datagrams were on their way (clause 5.4), by the clocks of both ends.

/// Times from the client's clock to the server's, in microseconds; negative where the server's clock is
/// behind (clause 5.4 of docs/protocol/iperf2.md).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transit {
    /// Datagrams.
    pub count: u32,
    /// Shortest time.
    pub least: i64,
    /// Longest time.
    pub most: i64,
    /// Mean of the times.
    pub mean: i64,
    /// Sum of the squares of what they differ from their mean by.
    pub squares: u64,
}

impl Transit {
    /// Standard deviation of the times, in microseconds.
    pub fn deviation(&self) -> f64 {
        let others = f64::from(self.count.saturating_sub(1));
        if others > 0.0 { (self.squares as f64 / others).sqrt() } else { 0.0 }
    }

    /// The words from 10 to 22 of a report.
    pub(super) fn words(&self) -> [u32; WORDS] {
        let mut words = [0; WORDS];
        let sum = self.mean.saturating_mul(self.count.into());
        for (place, time) in words.chunks_exact_mut(2).zip([self.least, self.most, sum, self.mean])
        {
            place.copy_from_slice(&[time / MILLION, time % MILLION].map(low));
        }
        words[8] = u32::try_from(self.squares).unwrap_or(u32::MAX);
        words[12] = self.count;
        words
    }

    /// Reads them; none: no datagram was timed.
    pub(super) fn read(words: &[u32; WORDS]) -> Option<Self> {
        let time = |at: usize| {
            let [seconds, micros] =
                [words[at], words[at + 1]].map(|word| i64::from(word.cast_signed()));
            MILLION * seconds + micros
        };
        let read = Self {
            count: words[12],
            least: time(0),
            most: time(2),
            mean: time(6),
            squares: words[8].into(),
        };
        (read.count > 0).then_some(read)
    }
}

/// Sums of the times that grow by each datagram (B. P. Welford, Technometrics 4(3), 1962).
#[derive(Clone, Copy, Debug, Default)]
pub struct Transits {
    count: u32,
    least: i64,
    most: i64,
    mean: f64,
    squares: f64,
}

impl Transits {
    /// Adds a time in microseconds, negative where the server's clock is behind.
    pub fn add(&mut self, micros: i64) {
        self.least = if self.count == 0 { micros } else { self.least.min(micros) };
        self.most = if self.count == 0 { micros } else { self.most.max(micros) };
        self.count = self.count.saturating_add(1);
        let from_mean = micros as f64 - self.mean;
        self.mean += from_mean / f64::from(self.count);
        self.squares += from_mean * (micros as f64 - self.mean);
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "squares are positive, and both saturate"
    )]
    /// Statistics of the times added so far.
    pub fn read(&self) -> Transit {
        let Self { count, least, most, mean, squares } = *self;
        Transit { count, least, most, mean: mean.round() as i64, squares: squares.round() as u64 }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a signed word")]
const fn low(value: i64) -> u32 {
    value as u32
}

const MILLION: i64 = 1_000_000;
/// Words of a report.
pub(super) const WORDS: usize = 13;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_and_read_back() {
        let mut transits = Transits::default();
        for micros in [-1_500_000, 250, 2_000_500, 0] {
            transits.add(micros);
        }
        let transit = transits.read();
        assert_eq!((transit.count, transit.least, transit.most), (4, -1_500_000, 2_000_500));
        assert!((125_187..=125_188).contains(&transit.mean), "{transit:?}");
        assert!((transit.deviation() - 1_436_000.0).abs() < 1_000.0, "{}", transit.deviation());
        let near = Transit { squares: 5_394, ..transit };
        assert_eq!(Transit::read(&near.words()), Some(near));
        assert_eq!(Transit::read(&[0; WORDS]), None);
    }

    #[test]
    fn words_of_a_capture_are_read() {
        let words = [0, 1, 0, 74, 0, 346, 0, 3, 5_394, 731_182, 0, 0, 93];
        let transit = Transit::read(&words).expect("times");
        assert_eq!((transit.count, transit.least, transit.most, transit.mean), (93, 1, 74, 3));
        assert!((transit.deviation() - 7.66).abs() < 0.01, "2.1.8 printed 0.008 ms");
    }
}
