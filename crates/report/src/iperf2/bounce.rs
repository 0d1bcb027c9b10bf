//! The row of a test that measured round trips (`--bounceback`).

use measurement::RoundTrips;

/// Number, mean, least, most and standard deviation of the round trips in milliseconds, and requests
/// per second as iperf2 has them: as many as would follow one another.
pub(super) fn columns(trips: &RoundTrips) -> String {
    let millis = |time: std::time::Duration| time.as_secs_f64() * 1e3;
    let (mean, least, most) =
        (millis(trips.times.mean), millis(trips.times.min), millis(trips.times.max));
    let rate = if mean > 0.0 { 1e3 / mean } else { 0.0 };
    let deviation = deviation(trips, mean);
    format!("    {}={mean:.3}/{least:.3}/{most:.3}/{deviation:.3} ms    {rate:.0} rps", trips.count)
}

/// Standard deviation in milliseconds, from the histogram, whose buckets are narrow.
fn deviation(trips: &RoundTrips, mean: f64) -> f64 {
    let squares = trips.histogram.iter().map(|(nanos, count)| {
        let millis = *nanos as f64 / 1e6;
        *count as f64 * (millis - mean).powi(2)
    });
    let (sum, count) = (squares.sum::<f64>(), trips.count as f64);
    if count > 1.0 { (sum / (count - 1.0)).sqrt() } else { 0.0 }
}

/// Follows the head of the other columns.
pub(super) const COLUMNS: &str = "         BB cnt=avg/min/max/stdev         RPS";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use measurement::Spread;

    use super::*;

    #[test]
    fn a_row_has_the_deviation_of_the_sample() {
        let micros = Duration::from_micros;
        let times =
            Spread { min: micros(100), mean: micros(200), max: micros(300), ..Spread::default() };
        let histogram = vec![(100_000, 1), (200_000, 1), (300_000, 1)];
        let trips = RoundTrips { count: 3, times, histogram, ..RoundTrips::default() };
        assert_eq!(columns(&trips), "    3=0.200/0.100/0.300/0.100 ms    5000 rps");
        assert_eq!(columns(&RoundTrips::default()), "    0=0.000/0.000/0.000/0.000 ms    0 rps");
    }
}
