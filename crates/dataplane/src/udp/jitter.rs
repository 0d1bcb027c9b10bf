//! Interarrival jitter of datagrams (RFC 3550).

use std::time::Duration;

use measurement::Timestamp;

/// Interarrival jitter, RFC 3550 sections 6.4.1 and A.8.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Jitter {
    /// Arrival time less sending time of the last datagram, in nanoseconds. The clocks need not
    /// agree: only differences of it are used.
    transit: Option<i128>,
    /// The jitter in sixteenths of a nanosecond.
    scaled: u64,
}

impl Jitter {
    /// Adds a datagram that was sent at `sent`, on the sender's clock, and received at `arrival`,
    /// on the receiver's. Returns the difference of its delay to that of the one before, in
    /// nanoseconds; none: it is the first.
    pub(super) fn update(&mut self, arrival: Duration, sent: Timestamp) -> Option<u64> {
        let transit = arrival.as_nanos().cast_signed() - i128::from(sent.nanos());
        let previous = self.transit.replace(transit)?;
        let change = u64::try_from(transit.abs_diff(previous)).unwrap_or(u64::MAX);
        // J += (|D| - J) / 16, rounded as in A.8; the limit keeps the sum in range
        // whatever a peer writes into its headers.
        self.scaled = self.scaled - ((self.scaled + 8) >> 4) + change.min(u64::MAX >> 5);
        Some(change)
    }

    /// The jitter in nanoseconds.
    pub(super) const fn nanos(self) -> u64 {
        self.scaled >> 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jitter(arrivals_and_sendings: &[(u64, u64)]) -> u64 {
        let mut jitter = Jitter::default();
        for (arrival, sent) in arrivals_and_sendings {
            jitter.update(Duration::from_nanos(*arrival), Timestamp::from_nanos(*sent));
        }
        jitter.nanos()
    }

    #[test]
    fn even_spacing_has_no_jitter_however_the_clocks_differ() {
        assert_eq!(jitter(&[(1_000, 900_000), (2_000, 901_000), (3_000, 902_000)]), 0);
    }

    #[test]
    fn one_delay_counts_a_sixteenth() {
        assert_eq!(jitter(&[(0, 0), (17_600, 1_600)]), 1_000);
    }

    #[test]
    fn steady_change_converges_to_its_size() {
        let wobble: Vec<_> = (0..1_000).map(|i| (i * 1_000 + (i % 2) * 160, i * 1_000)).collect();
        assert!((150..=160).contains(&jitter(&wobble)), "{}", jitter(&wobble));
    }

    #[test]
    fn wild_time_stamps_do_no_harm() {
        assert!(jitter(&[(0, u64::MAX), (u64::MAX, 0), (0, u64::MAX), (5, 5)]) > 0);
    }
}
