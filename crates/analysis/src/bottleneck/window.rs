//! The rate of a TCP connection that has no more than so many bytes in flight.

use std::time::Duration;

use measurement::{BitRate, Bound};

use super::transfer;
use crate::words::count;

/// What a window of so many bytes allows at the round trips of a local, a national and an
/// intercontinental path.
pub(super) fn bound(bytes: u64) -> Bound {
    let rates = ROUND_TRIPS.map(|trip| (trip, rate(bytes, trip)));
    let shown = rates.map(|(trip, rate)| {
        let rate = BitRate::from_bits_per_second(rate);
        format!("{rate} at {}", transfer::shown(trip))
    });
    let [(_, most), .., (_, least)] = rates;
    let arithmetic = format!("{} bytes per round trip: {}", count(bytes), shown.join(", "));
    Bound::between(least as f64, most as f64, arithmetic)
}

/// Bits per second of a window that is sent once in each round trip.
fn rate(bytes: u64, trip: Duration) -> u64 {
    BitRate::average(bytes, trip).bits_per_second()
}

const ROUND_TRIPS: [Duration; 3] =
    [Duration::from_millis(1), Duration::from_millis(20), Duration::from_millis(100)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_allows_less_the_longer_the_round_trip() {
        let bound = bound(65_536);
        assert_eq!(
            bound.arithmetic,
            "65,536 bytes per round trip: 524.3 Mbit/s at 1 ms, 26.21 Mbit/s at 20 ms, 5.243 Mbit/s \
             at 100 ms"
        );
        assert_eq!(bound.from.bits_per_second(), 5_242_880);
    }
}
