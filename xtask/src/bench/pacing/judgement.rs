//! What SPECIFICATION.md promises about rates.

use measurement::{BitRate, Pacing};

use super::Row;
use super::figures::Figures;
use crate::bench::promise::Judged;

/// Judges the medians at every rate that was measured.
pub(super) fn judge(rows: &[Row]) -> Vec<Judged> {
    let mut rates: Vec<BitRate> = rows.iter().map(|row| row.rate).collect();
    rates.dedup();
    rates.into_iter().flat_map(|rate| at(rows, rate)).collect()
}

fn at(rows: &[Row], rate: BitRate) -> Vec<Judged> {
    let median = |name: &str, of: fn(&Figures) -> f64| {
        let row = rows.iter().find(|row| row.rate == rate && row.name == name);
        row.and_then(|row| row.median(of))
    };
    let mut judged = Vec::new();
    let mut promise = |text: &str, value: Option<f64>, kept: &dyn Fn(f64) -> bool| {
        judged.push(Judged::new(format!("{rate}: {text}"), value, kept));
    };
    // Who repays sends more than the rate outside of stalls.
    for manner in [Pacing::Smooth, Pacing::Even] {
        let text = format!("{manner}: within 0.5 % outside stalls, in %");
        let name = format!("linerate --pacing {manner}");
        let error = median(&name, |figures| figures.error_outside_percent.abs());
        promise(&text, error, &|error| error <= 0.5);
    }
    let (smooth, even) = ("linerate --pacing smooth", "linerate --pacing even");
    promise("smooth: bursts p99 <= 4", median(smooth, |f| f.burst_p99), &|most| most <= 4.0);
    let iperf3 = rows.iter().find(|row| row.rate == rate && row.name.starts_with("iperf"));
    let ratio = median(smooth, |f| f.cpu_percent)
        .zip(iperf3.and_then(|row| row.median(|f| f.cpu_percent)))
        .map(|(ours, theirs)| ours / theirs);
    promise("smooth: CPU <= 1.00 x iperf3", ratio, &|ratio| ratio <= 1.0);
    // Where a gap is shorter than a wake-up, one in fifty more is allowed to miss.
    let least = if rate.bits_per_second() > 500_000_000 { 95.0 } else { 97.0 };
    let text = format!("even: gaps within 10 % >= {least} %");
    promise(&text, median(even, |f| f.even_percent), &|share| share >= least);
    judged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, figures: Figures) -> Row {
        let rate = BitRate::from_bits_per_second(100_000_000);
        Row { rate, name: name.to_owned(), figures: vec![figures] }
    }

    #[test]
    fn promises_are_kept_or_missed() {
        let good = Figures { cpu_percent: 5.0, even_percent: 99.0, ..Figures::default() };
        let iperf3 = row("iperf 3.12", Figures { cpu_percent: 6.0, ..Figures::default() });
        let ours = |figures| {
            Pacing::ALL.map(|manner| row(&format!("linerate --pacing {manner}"), figures))
        };
        let rows: Vec<_> = ours(good).into_iter().chain([iperf3]).collect();
        assert!(judge(&rows).iter().all(Judged::kept), "{:?}", judge(&rows));
        let bad = Figures {
            error_outside_percent: -0.6,
            cpu_percent: 7.0,
            burst_p99: 5.0,
            even_percent: 90.0,
            ..good
        };
        let iperf3 = row("iperf 3.12", Figures { cpu_percent: 6.0, ..Figures::default() });
        let rows: Vec<_> = ours(bad).into_iter().chain([iperf3]).collect();
        assert!(judge(&rows).iter().all(|judged| !judged.kept()), "{:?}", judge(&rows));
    }

    #[test]
    fn what_was_not_measured_is_missed() {
        let only = [row("linerate --pacing smooth", Figures::default())];
        let lines: Vec<_> = judge(&only).iter().map(ToString::to_string).collect();
        let missed = |line: &&String| line.starts_with("MISSED") && line.ends_with("not measured");
        assert_eq!(lines.iter().filter(missed).count(), 3, "{lines:?}");
    }
}
