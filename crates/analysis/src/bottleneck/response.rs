//! Response functions: the rate that a congestion control reaches with a share of loss.

use std::time::Duration;

/// A congestion control, as far as loss decides its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// Halves its window at a loss (RFC 5681), as do those that are not known.
    Reno,
    /// Takes three tenths off its window (RFC 9438).
    Cubic,
    /// Models the path, and bears loss up to a threshold.
    Bbr,
}

impl Control {
    /// The one of that name (`net.ipv4.tcp_available_congestion_control`).
    pub(super) fn named(name: &str) -> Self {
        match name {
            "cubic" => Self::Cubic,
            name if name.starts_with("bbr") => Self::Bbr,
            _ => Self::Reno,
        }
    }

    /// What it is called in a sentence.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Reno => "Reno",
            Self::Cubic => "CUBIC",
            Self::Bbr => "BBR",
        }
    }

    /// Bytes a second of one stream with segments of `segment` bytes, a round trip and a share of
    /// segments lost, 0 to 1; none: that loss does not decide the rate.
    pub(super) fn rate(self, segment: u32, round_trip: Duration, loss: f64) -> Option<f64> {
        let seconds = round_trip.as_secs_f64();
        let window = self.window(seconds, loss)?;
        (seconds > 0.0 && loss > 0.0).then(|| window * f64::from(segment) / seconds)
    }

    /// The rate where losses bring about time-outs, as they do where a window is small or whole
    /// packets of GSO are lost: the least that such loss leaves. Units and none as for
    /// [`Self::rate`].
    ///
    /// J. Padhye et al., Modeling TCP Throughput: A Simple Model and its Empirical Validation,
    /// 1998, equation 30, with an acknowledgement for each segment.
    pub(super) fn rate_with_time_outs(
        self,
        segment: u32,
        round_trip: Duration,
        loss: f64,
    ) -> Option<f64> {
        let fastest = self.rate(segment, round_trip, loss)?;
        let in_flight = round_trip.as_secs_f64() * (2.0 * loss / 3.0).sqrt();
        let chance = (3.0 * (3.0 * loss / 8.0).sqrt()).min(1.0);
        let waiting = LEAST_TIME_OUT.as_secs_f64() * chance * loss * (1.0 + 32.0 * loss.powi(2));
        Some(fastest.min(f64::from(segment) / (in_flight + waiting)))
    }

    /// The mean window in segments.
    fn window(self, seconds: f64, loss: f64) -> Option<f64> {
        // M. Mathis et al., The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm,
        // 1997: sqrt(3/2) / sqrt(p).
        let reno = (1.5 / loss).sqrt();
        match self {
            Self::Reno => Some(reno),
            // RFC 9438, 5.1: (C (3 + beta) / (4 (1 - beta)))^(1/4) (RTT / p)^(3/4) with C = 0.4
            // and beta = 0.7, and at least Reno's.
            Self::Cubic => Some(reno.max(1.054 * (seconds / loss).powf(0.75))),
            Self::Bbr => None,
        }
    }
}

/// The least share of segments lost, 0 to 1, of which so many losses may have come by chance: they are
/// counts, whose standard deviation is their root (Poisson), and two of these are 95 %.
pub(super) fn at_least(loss: f64, times: f64) -> f64 {
    loss / (1.0 + 2.0 / times.max(1.0).sqrt())
}

/// `TCP_RTO_MIN` (`net/tcp.h`).
const LEAST_TIME_OUT: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reno_follows_mathis() {
        let rate = Control::Reno.rate(1_448, Duration::from_millis(20), 0.01).expect("a rate");
        assert!((rate - 1_448.0 * 12.247 / 0.02).abs() < 1_000.0, "{rate}");
    }

    #[test]
    fn time_outs_cost_most_where_the_round_trip_is_short() {
        let both = |micros, loss| {
            let trip = Duration::from_micros(micros);
            let slow = Control::Reno.rate_with_time_outs(1_448, trip, loss).expect("a rate");
            (slow, Control::Reno.rate(1_448, trip, loss).expect("a rate"))
        };
        let (slow, fast) = both(50, 0.02);
        assert!(slow < fast / 20.0, "{slow} {fast}");
        let (slow, fast) = both(100_000, 0.000_1);
        assert!(slow > 0.95 * fast, "{slow} {fast}");
    }

    #[test]
    fn cubic_is_faster_than_reno_on_long_paths_alone() {
        let rate = |control: Control, millis| {
            control.rate(1_448, Duration::from_millis(millis), 1e-5).expect("a rate")
        };
        assert!(rate(Control::Cubic, 200) > 2.0 * rate(Control::Reno, 200));
        assert!((rate(Control::Cubic, 1) / rate(Control::Reno, 1) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn bbr_is_not_decided_by_loss() {
        assert_eq!(Control::named("bbr2"), Control::Bbr);
        assert_eq!(Control::Bbr.rate(1_448, Duration::from_millis(20), 0.01), None);
        assert_eq!(Control::Reno.rate(1_448, Duration::from_millis(20), 0.0), None);
    }

    #[test]
    fn few_losses_may_be_many_by_chance() {
        assert!((at_least(0.001, 4.0) - 0.000_5).abs() < 1e-9);
        assert!(at_least(0.001, 10_000.0) > 0.000_98);
    }
}
