//! Ours against the best of the others, pair by pair.

use crate::bench::spread::Spread;
use crate::bench::streams::{Entry, Metric, Part, Row};

/// Ratios of ours to a peer.
#[derive(Clone, Debug)]
pub(super) struct Comparison<'a> {
    /// The faster of ours.
    pub(super) ours: &'a Entry,
    /// The fastest of the others.
    pub(super) theirs: &'a Entry,
    /// Of the rates.
    pub(super) rate: Spread,
    /// Of the CPU time of both sides for each GB, if that could be told.
    pub(super) cpu: Option<Spread>,
}

/// In which way ours, and which of theirs.
pub(super) fn names(comparison: &Comparison) -> String {
    let Comparison { ours, theirs, .. } = comparison;
    let way = match ours.part {
        Part::Ours => "usual",
        // Behind name and version.
        _ => ours.program.splitn(3, ' ').nth(2).unwrap_or(&ours.program),
    };
    format!("{way} / {}", theirs.program)
}

/// Both as they are, asked for nothing special.
pub(super) fn usual(row: &Row) -> Option<Comparison<'_>> {
    compare(row, &[Part::Ours], &[Part::Installed, Part::Peer])
}

/// Both in their best way.
pub(super) fn best(row: &Row) -> Option<Comparison<'_>> {
    let theirs = [Part::Installed, Part::Peer, Part::PeerVariant];
    compare(row, &[Part::Ours, Part::Variant], &theirs)
}

/// The median rate; none if it did not run.
pub(super) fn median(entry: &Entry, metric: Metric) -> Option<f64> {
    Spread::of(entry.of(metric)).map(|spread| spread.median)
}

fn compare<'a>(row: &'a Row, ours: &[Part], theirs: &[Part]) -> Option<Comparison<'a>> {
    let (ours, theirs) = (fastest(row, ours)?, fastest(row, theirs)?);
    let ratio = |metric| Spread::of_ratios(&ours.of(metric), &theirs.of(metric));
    Some(Comparison { ours, theirs, rate: ratio(Metric::Rate)?, cpu: ratio(Metric::Cpu) })
}

fn fastest<'a>(row: &'a Row, parts: &[Part]) -> Option<&'a Entry> {
    let entries = row.entries.iter().filter(|entry| parts.contains(&entry.part));
    let rated = entries.filter_map(|entry| Some((entry, median(entry, Metric::Rate)?)));
    rated.max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(entry, _)| entry)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::bench::streams::{Figures, Route, Workload};

    /// A row of rates, two rounds each; CPU s/GB is their inverse.
    pub(in crate::bench::standing) fn row(
        workload: Workload,
        rates: &[(Part, &str, [f64; 2])],
    ) -> Row {
        let figures = |rate: f64| Figures::just(&[(Metric::Rate, rate), (Metric::Cpu, 1.0 / rate)]);
        let entry = |(part, program, rates): &(Part, &str, [f64; 2])| Entry {
            program: (*program).to_owned(),
            part: *part,
            engines: None,
            outcome: Ok(rates.map(figures).to_vec()),
        };
        Row { workload, route: Route::Lo, entries: rates.iter().map(entry).collect() }
    }

    #[test]
    fn like_is_compared_with_like() {
        let row = row(
            Workload::tcp(1),
            &[
                (Part::Ours, "ours", [10.0, 12.0]),
                (Part::Variant, "ours fast", [40.0, 40.0]),
                (Part::Installed, "iperf3", [5.0, 5.0]),
                (Part::PeerVariant, "iperf3 -Z", [20.0, 10.0]),
                (Part::Peer, "iperf", [10.0, 8.0]),
            ],
        );
        let usual = usual(&row).expect("both ran");
        assert_eq!((usual.ours.program.as_str(), usual.theirs.program.as_str()), ("ours", "iperf"));
        assert_eq!(usual.rate, Spread { median: 1.25, least: 1.0, most: 1.5 });
        let best = best(&row).expect("both ran");
        assert_eq!(best.theirs.program, "iperf3 -Z");
        assert_eq!(best.rate, Spread { median: 3.0, least: 2.0, most: 4.0 });
        assert!(best.cpu.is_some_and(|cpu| (cpu.median - 0.375).abs() < 1e-9));
    }

    #[test]
    fn nobody_is_compared_with_nobody() {
        let row = row(Workload::tcp(1), &[(Part::Ours, "ours", [10.0, 12.0])]);
        assert!(usual(&row).is_none() && best(&row).is_none());
    }
}
