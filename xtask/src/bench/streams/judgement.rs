//! What linerate promises of many streams.

use super::contender::Part;
use super::contest::{Entry, Row};
use super::figures::Metric;
use crate::bench::promise::Judged;
use crate::bench::spread::Spread;

/// Judges each row by the promises for its number of streams.
pub(super) fn of(rows: &[Row]) -> Vec<Judged> {
    rows.iter().flat_map(judge).collect()
}

fn judge(row: &Row) -> Vec<Judged> {
    let Some(ours) = row.entry(Part::Ours) else { return Vec::new() };
    let mut judged = match row.workload.streams {
        1 => Vec::new(),
        // As many as iperf3 takes.
        2..=128 => vec![faster_than_iperf3(row, ours)],
        _ => crowd(row, ours),
    };
    judged.push(agreement(row, ours));
    judged
}

fn faster_than_iperf3(row: &Row, ours: &Entry) -> Judged {
    let ratio = rate_over(row, ours, Part::Installed);
    Judged::new(text(row, "rate >= 1.10 x iperf3"), ratio, |ratio| ratio >= 1.10)
}

fn crowd(row: &Row, ours: &Entry) -> Vec<Judged> {
    let middle = |metric| median(ours, metric);
    let (client, server) = (middle(Metric::ClientMemory), middle(Metric::ServerMemory));
    let larger = client.zip(server).map(|(client, server)| client.max(server));
    let ratio = rate_over(row, ours, Part::Reference);
    let judged =
        |promise, value, kept: fn(f64) -> bool| Judged::new(text(row, promise), value, kept);
    vec![
        judged("rate >= 0.95 x the plain loop", ratio, |ratio| ratio >= 0.95),
        judged("Jain's index >= 0.95", middle(Metric::Jain), |index| index >= 0.95),
        judged("streams without progress = 0", most(ours, Metric::WithoutProgress), |streams| {
            streams < 0.5
        }),
        judged("peak MB of a side <= 80", larger, |megabytes| megabytes <= 80.0),
        judged("start skew <= 50 ms", middle(Metric::StartSkew), |skew| skew <= 50.0),
        judged("stop skew <= 20 ms", middle(Metric::StopSkew), |skew| skew <= 20.0),
    ]
}

/// Bytes are counted, not sampled: no round is excused.
fn agreement(row: &Row, ours: &Entry) -> Judged {
    let off = most(ours, Metric::Excess);
    Judged::new(text(row, "% off the interface's bytes <= 2"), off, |percent| percent <= 2.0)
}

fn text(row: &Row, promise: &str) -> String {
    format!("{} streams over {}: {promise}", row.workload.streams, row.route)
}

fn rate_over(row: &Row, ours: &Entry, part: Part) -> Option<f64> {
    let theirs = row.entry(part)?.of(Metric::Rate);
    Some(Spread::of_ratios(&ours.of(Metric::Rate), &theirs)?.median)
}

fn median(entry: &Entry, metric: Metric) -> Option<f64> {
    Some(Spread::of(entry.of(metric))?.median)
}

/// The largest of all rounds, whichever its sign.
fn most(entry: &Entry, metric: Metric) -> Option<f64> {
    Some(Spread::of(entry.of(metric).into_iter().map(f64::abs))?.most)
}

#[cfg(test)]
mod tests {
    use super::super::figures::Figures;
    use super::super::scene::Route;
    use super::super::workload::Workload;
    use super::*;

    fn entry(part: Part, figures: &[(Metric, f64)]) -> Entry {
        Entry {
            program: String::new(),
            part,
            engines: None,
            outcome: Ok(vec![Figures::just(figures)]),
        }
    }

    fn lines(streams: u32, entries: Vec<Entry>) -> Vec<String> {
        let row = Row { workload: Workload::tcp(streams), route: Route::Lo, entries };
        of(&[row]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn some_streams_are_judged_by_iperf3() {
        let theirs = || entry(Part::Installed, &[(Metric::Rate, 40.0)]);
        let ours =
            |rate, excess| entry(Part::Ours, &[(Metric::Rate, rate), (Metric::Excess, excess)]);
        let kept = [
            "kept: 16 streams over lo: rate >= 1.10 x iperf3: 1.25",
            "kept: 16 streams over lo: % off the interface's bytes <= 2: 1.00",
        ];
        assert_eq!(lines(16, vec![ours(50.0, -1.0), theirs()]), kept);
        let missed = lines(16, vec![ours(43.0, -3.0), theirs()]);
        assert!(missed.iter().all(|line| line.starts_with("MISSED")), "{missed:?}");
    }

    #[test]
    fn thousands_are_judged_by_the_plain_loop() {
        let ours = |scale: f64| {
            let figures = [
                (Metric::Rate, 38.0 / scale),
                (Metric::Excess, 1.0 * scale),
                (Metric::Jain, 0.96 / scale),
                (Metric::WithoutProgress, scale - 1.0),
                (Metric::ClientMemory, 10.0),
                (Metric::ServerMemory, 70.0 * scale),
                (Metric::StartSkew, 40.0 * scale),
                (Metric::StopSkew, 15.0 * scale),
            ];
            vec![entry(Part::Ours, &figures), entry(Part::Reference, &[(Metric::Rate, 39.0)])]
        };
        let kept = lines(10_000, ours(1.0));
        assert_eq!(kept.len(), 7);
        assert!(kept.iter().all(|line| line.starts_with("kept")), "{kept:?}");
        let missed = lines(10_000, ours(3.0));
        assert!(missed.iter().all(|line| line.starts_with("MISSED")), "{missed:?}");
    }

    #[test]
    fn what_did_not_run_kept_nothing() {
        let mut ours = entry(Part::Ours, &[]);
        ours.outcome = Err("no".to_owned());
        let missed = lines(10_000, vec![ours, entry(Part::Reference, &[(Metric::Rate, 39.0)])]);
        assert!(missed.iter().all(|line| line.ends_with("not measured")), "{missed:?}");
    }
}
