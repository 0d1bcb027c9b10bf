//! Ours against the best of the others, pair by pair.

use testbed::comparison::Job;
use testbed::figures::Metric;
use testbed::rounds::{Entry, Part, Row};
use testbed::spread::Spread;

/// Ratios of ours to a peer.
#[derive(Clone, Debug)]
pub(super) struct Comparison<'a> {
    /// The faster of ours.
    pub(super) ours: &'a Entry,
    /// The fastest of the others.
    pub(super) theirs: &'a Entry,
    /// Of the rates.
    pub(super) rate: Spread,
    /// Of the CPU time of both sides for each GB, if both were measured.
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
pub(super) fn usual(row: &Row<Job>) -> Option<Comparison<'_>> {
    compare(row, &[Part::Ours], &[Part::Installed, Part::Peer])
}

/// Both in their best way.
pub(super) fn best(row: &Row<Job>) -> Option<Comparison<'_>> {
    let theirs = [Part::Installed, Part::Peer, Part::PeerVariant];
    compare(row, &[Part::Ours, Part::Variant], &theirs)
}

fn compare<'a>(row: &'a Row<Job>, ours: &[Part], theirs: &[Part]) -> Option<Comparison<'a>> {
    let (ours, theirs) = (row.fastest(ours)?, row.fastest(theirs)?);
    let ratio = |metric| ours.over(theirs, metric);
    Some(Comparison { ours, theirs, rate: ratio(Metric::Rate)?, cpu: ratio(Metric::Cpu) })
}

#[cfg(test)]
pub(super) mod tests {
    use testbed::figures::Figures;
    use testbed::topology::Path;
    use testbed::workload::Workload;

    use super::*;

    /// A row of Gbit/s, two rounds each; CPU s/GB is their inverse.
    pub(in crate::bench::table) fn row(
        workload: Workload,
        rates: &[(Part, &str, [f64; 2])],
    ) -> Row<Job> {
        let figures = |rate: f64| {
            Figures::from_iter([(Metric::Rate, rate * 1e9), (Metric::Cpu, 1e-9 / rate)])
        };
        let entry = |(part, program, rates): &(Part, &str, [f64; 2])| Entry {
            outcome: Ok(rates.map(figures).to_vec()),
            ..Entry::new(*program, *part)
        };
        let job = Job { workload, path: Path::Loopback };
        Row { job, entries: rates.iter().map(entry).collect() }
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
