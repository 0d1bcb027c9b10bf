//! Ours against the best of the others, pair by pair, and the texts about both that benches share.

use std::fmt::Write;

use anyhow::Result;
use testbed::candidate::Part;
use testbed::comparison::{Comparison, Job};
use testbed::environment;
use testbed::figures::Metric;
use testbed::rounds::{Entry, JobRow};
use testbed::spread::Spread;
use testbed::table::range;
use testbed::topology::Path;

/// Ours and a peer that both ran.
#[derive(Clone, Debug)]
pub(super) struct Pair<'a> {
    /// The faster of ours.
    pub(super) ours: &'a Entry,
    /// The fastest of the others.
    pub(super) theirs: &'a Entry,
    /// The ratios of the rates.
    pub(super) rate: Spread,
}

impl Pair<'_> {
    /// The ratios of ours to the peer, if both were measured.
    pub(super) fn ratio(&self, metric: Metric) -> Option<Spread> {
        self.ours.over(self.theirs, metric)
    }
}

/// Both as they are, asked for nothing special.
pub(super) fn usual(row: &JobRow<Job>) -> Option<Pair<'_>> {
    pair(row, &[Part::Ours], &[Part::Installed, Part::Peer])
}

/// Both in their best way.
pub(super) fn best(row: &JobRow<Job>) -> Option<Pair<'_>> {
    let theirs = [Part::Installed, Part::Peer, Part::PeerVariant];
    pair(row, &[Part::Ours, Part::Variant], &theirs)
}

fn pair<'a>(row: &'a JobRow<Job>, ours: &[Part], theirs: &[Part]) -> Option<Pair<'a>> {
    let (ours, theirs) = (row.fastest(ours)?, row.fastest(theirs)?);
    Some(Pair { ours, theirs, rate: ours.over(theirs, Metric::Rate)? })
}

/// In how many rows ours is at least as fast, of how many with a pair.
pub(super) fn ahead<'a>(pairs: impl Iterator<Item = Pair<'a>>) -> String {
    let pairs: Vec<Pair> = pairs.collect();
    let ahead = pairs.iter().filter(|pair| pair.rate.median >= 1.0).count();
    format!("{ahead} of {} rows", pairs.len())
}

/// Programs, machine and rules: a list below a title.
pub(super) fn head(
    title: &str,
    comparison: &Comparison,
    over: &[Path],
    rules: impl IntoIterator<Item = String>,
) -> Result<String> {
    let mut lines = vec![format!("Programs: {}", names(comparison).join(", "))];
    lines.extend(environment::lines(over)?);
    lines.extend(rules);
    Ok(format!("# {title}\n\n- {}.\n", lines.join(".\n- ")))
}

/// Each program once, without what it is asked for.
fn names(comparison: &Comparison) -> Vec<&str> {
    let mut names = Vec::new();
    for candidate in comparison.candidates.iter().filter(|one| one.flags.is_empty()) {
        if !names.contains(&candidate.name.as_str()) {
            names.push(candidate.name.as_str());
        }
    }
    names
}

/// A row for the terminal: each program with its figures, in columns of this width, and ratios by
/// their names.
pub(super) fn lines(
    row: &JobRow<Job>,
    width: usize,
    figures: impl Fn(&Entry) -> String,
    ratios: impl IntoIterator<Item = (String, Spread)>,
) -> String {
    let mut text = format!("{}\n", row.job);
    for entry in &row.entries {
        let figures = match &entry.outcome {
            Ok(_) => figures(entry),
            Err(reason) => format!("not run: {reason}"),
        };
        // Writing to a String does not fail.
        _ = writeln!(text, "  {:<width$} {figures}", entry.program);
    }
    for (name, ratio) in ratios {
        _ = writeln!(text, "  {name}: {}", range(&ratio));
    }
    text
}

#[cfg(test)]
pub(super) mod tests {
    use testbed::figures::Figures;
    use testbed::workload::Workload;

    use super::*;

    /// A row of Gbit/s, two rounds each; CPU s/GB is their inverse.
    pub(in crate::bench) fn row(
        workload: Workload,
        rates: &[(Part, &str, [f64; 2])],
    ) -> JobRow<Job> {
        let figures = |rate: f64| {
            Figures::from_iter([(Metric::Rate, rate * 1e9), (Metric::Cpu, 1e-9 / rate)])
        };
        let entry = |(part, program, rates): &(Part, &str, [f64; 2])| Entry {
            outcome: Ok(rates.map(figures).to_vec()),
            ..Entry::new(*program, *part)
        };
        let job = Job { workload, path: Path::Loopback };
        JobRow { job, entries: rates.iter().map(entry).collect() }
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
        let cpu = best.ratio(Metric::Cpu).expect("both were measured");
        assert!((cpu.median - 0.375).abs() < 1e-9);
    }

    #[test]
    fn nobody_is_compared_with_nobody() {
        let row = row(Workload::tcp(1), &[(Part::Ours, "ours", [10.0, 12.0])]);
        assert!(usual(&row).is_none() && best(&row).is_none());
    }
}
