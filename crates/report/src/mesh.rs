//! Writes the record of tests between many hosts: a heat map of the rates, and what is slow.

mod page;

use std::collections::HashMap;
use std::io::{self, Write};

use measurement::mesh::{MeshFailure, MeshLinks, MeshLoss};
use measurement::units::counted;
use measurement::{MeshCulprit, MeshRecord};

use crate::columns::{Cell, Columns, Emphasis, paint};
use crate::grid::{Column, Grid, Value, percent};
use crate::screen::{labelled, sentence};
use crate::summary::Rows;
use crate::width::Width;

pub use page::write_page;

/// Writes `record` as text of at most `width` columns where words allow it.
///
/// # Errors
/// An error of writing to `out`.
pub fn write(record: &MeshRecord, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let name = paint("linerate", Emphasis::Strong);
    let hosts = record.hosts.len() as u64;
    let (tests, rounds) = (counted(record.tests, "test"), counted(record.rounds.into(), "round"));
    let hosts = counted(hosts, "host");
    match record.stored {
        0 => writeln!(out, "{name}  mesh of {hosts}, {tests} in {rounds}")?,
        stored => {
            writeln!(
                out,
                "{name}  mesh of {hosts}, {tests}, {stored} of an earlier run, {rounds}"
            )?;
        }
    }
    writeln!(out)?;
    let rates = Rates::of(record);
    if rates.has_any() {
        rates.heat_map(width, out)?;
        writeln!(out)?;
    }
    for line in closing(record, width) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

impl Rows for MeshRecord {
    const NAME: &'static str = "mesh";

    fn grid(&self) -> Grid {
        let mut grid = Grid::new(COLUMNS.to_vec()).identified_by(2);
        for rate in &self.rates {
            grid.push(vec![
                Value::Text(rate.from.clone()),
                Value::Text(rate.to.clone()),
                Value::Rate(rate.rate),
                Value::Share(share(self, rate.rate.bits_per_second())),
            ]);
        }
        grid
    }
}

fn share(record: &MeshRecord, rate: u64) -> f64 {
    rate as f64 / (record.typical.bits_per_second().max(1)) as f64
}

/// Rates by the places of their hosts, as shares of the typical rate.
struct Rates<'a> {
    record: &'a MeshRecord,
    shares: HashMap<(&'a str, &'a str), f64>,
}

impl<'a> Rates<'a> {
    fn of(record: &'a MeshRecord) -> Self {
        let shares = record.rates.iter().map(|rate| {
            let ends = (rate.from.as_str(), rate.to.as_str());
            (ends, share(record, rate.rate.bits_per_second()))
        });
        Self { record, shares: shares.collect() }
    }

    fn has_any(&self) -> bool {
        !self.shares.is_empty()
    }

    fn get(&self, from: &str, to: &str) -> Option<f64> {
        self.shares.get(&(from, to)).copied()
    }

    /// Few hosts have numbers, more a letter for each pair.
    fn heat_map(&self, width: usize, out: &mut dyn Write) -> io::Result<()> {
        let longest = self.record.hosts.iter().map(|name| name.chars().count()).max();
        let cell = longest.unwrap_or_default().max(4) + 2;
        if (self.record.hosts.len() + 1) * cell + 10 <= width {
            self.numbers(out)
        } else {
            self.letters(longest.unwrap_or_default(), out)
        }
    }

    fn numbers(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "  percent of {}; rows send, columns receive", self.record.typical)?;
        let mut columns = Columns::default();
        let names = self.record.hosts.iter().map(|name| Cell::new(name, Emphasis::Faint));
        columns.push(std::iter::once(Cell::from("")).chain(names).collect());
        for from in &self.record.hosts {
            let cells = self.record.hosts.iter().map(|to| match self.get(from, to) {
                Some(share) => Cell::new(format!("{:.0}", share * 100.0), emphasis(share)),
                None => Cell::from(if from == to { "-" } else { "?" }),
            });
            columns.push(std::iter::once(Cell::from(from.as_str())).chain(cells).collect());
        }
        columns.write(out, 2, Width::UNKNOWN)
    }

    fn letters(&self, longest: usize, out: &mut dyn Write) -> io::Result<()> {
        let typical = self.record.typical;
        writeln!(
            out,
            "  rows send, columns receive; .: about {typical}, 6: 60 % of it, ?: unknown"
        )?;
        for from in &self.record.hosts {
            let letters = self.record.hosts.iter().map(|to| match self.get(from, to) {
                Some(share) => paint(&letter(share), emphasis(share)),
                None => (if from == to { "-" } else { "?" }).to_owned(),
            });
            writeln!(out, "  {from:<longest$}  {}", letters.collect::<String>())?;
        }
        Ok(())
    }
}

fn letter(share: f64) -> String {
    if share >= ABOUT { ".".to_owned() } else { format!("{:.0}", (share * 10.0).floor()) }
}

const fn emphasis(share: f64) -> Emphasis {
    if share >= ABOUT {
        Emphasis::None
    } else if share >= BAD {
        Emphasis::Warning
    } else {
        Emphasis::Bad
    }
}

fn closing(record: &MeshRecord, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |label, emphasis, text: &str| {
        lines.extend(labelled(label, emphasis, &sentence(text), width));
    };
    for culprit in &record.culprits {
        say("SLOW", Emphasis::Bad, &shown(culprit));
        for text in &culprit.evidence {
            say("", Emphasis::None, &format!("Evidence: {text}"));
        }
    }
    for loss in &record.losses {
        say("LOSS", Emphasis::Warning, &lost(loss));
    }
    for failure in record.missing.failures.iter().take(MOST_FAILURES) {
        let MeshFailure { a, b, error } = failure;
        say("FAILED", Emphasis::Bad, &format!("no result of {a} and {b}: {error}"));
    }
    let is_whole = record.missing.untested == 0 && record.error.is_none() && record.tests > 0;
    if record.culprits.is_empty() && is_whole {
        say("OK", Emphasis::Good, "no host, pair or switch is slower than the others");
    }
    if record.tests > 0 {
        say("RATE", Emphasis::Strong, &rate(record));
    }
    if let Some(links) = &record.links {
        say("LINKS", Emphasis::Strong, &over_all(links));
    }
    if !record.lost.is_empty() {
        let text =
            format!("{} lost: {}", counted(record.lost.len() as u64, "host"), listed(&record.lost));
        say("LOST", Emphasis::Bad, &text);
    }
    if record.missing.untested > 0 {
        let text = format!("{} not tested", counted(record.missing.untested.into(), "pair"));
        say("NOTE", Emphasis::Warning, &text);
    }
    if record.skew_seconds > NOTICED_SKEW {
        let text = format!("tests of a round began up to {:.2} s apart", record.skew_seconds);
        say("NOTE", Emphasis::Warning, &text);
    }
    if !record.without_clock.is_empty() {
        let hosts = listed(&record.without_clock);
        let text = format!("no time from {hosts}: when tests there began is unknown");
        say("NOTE", Emphasis::Warning, &text);
    }
    lines
}

/// `n3, 61 % of the rate of others, in 14 of 14 tests, 99.9 % sure: slow to send ...`.
fn shown(culprit: &MeshCulprit) -> String {
    format!(
        "{} {}, {:.0} % of the rate of others in {} of {}, {} sure: {}",
        culprit.part,
        culprit.name,
        culprit.rate_ratio * 100.0,
        culprit.slow,
        counted(culprit.tests.into(), "test"),
        sure(culprit.confidence),
        culprit.text
    )
}

/// `segments to n5 are lost in 7 of 7 tests, though its rate holds: its cable, ...`.
fn lost(of: &MeshLoss) -> String {
    let (way, cause) = if of.sends {
        ("from", "its transmitter, its cable, or the switch's receiver")
    } else {
        ("to", "the port of its switch, its cable, or its queues")
    };
    let (host, lossy, tests) = (&of.host, of.lossy, counted(of.tests.into(), "test"));
    format!("segments {way} {host} are lost in {lossy} of {tests}, though its rate holds: {cause}")
}

fn sure(confidence: f64) -> String {
    if confidence > 0.999 { "> 99.9 %".to_owned() } else { percent(confidence) }
}

fn rate(record: &MeshRecord) -> String {
    let text = format!(
        "{} is the median of a direction; {} at once carry {} to the other half",
        record.typical,
        counted(record.bisection_pairs.into(), "pair"),
        record.bisection
    );
    match record.loaded {
        Some(loaded) => format!("{text}; {loaded} while all hosts send across switches"),
        None => text,
    }
}

/// `2 links of a pair carry 18.8 Gbit/s at once, 1.99 x the 9.42 Gbit/s of the first alone`.
fn over_all(of: &MeshLinks) -> String {
    let times = of.all.bits_per_second() as f64 / of.first.bits_per_second().max(1) as f64;
    format!(
        "{} of a pair carry {} at once, {times:.2} x the {} of the first alone",
        counted(of.links.into(), "link"),
        of.all,
        of.first
    )
}

fn listed(names: &[String]) -> String {
    let first = names.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(MOST_NAMED);
    if more == 0 { first } else { format!("{first} and {more} more") }
}

/// From this share of the typical rate on a pair is as others.
const ABOUT: f64 = 0.9;
const BAD: f64 = 0.7;
/// Seconds that tests of a round may begin apart without a word.
const NOTICED_SKEW: f64 = 0.2;
const MOST_NAMED: usize = 8;
const MOST_FAILURES: usize = 4;
const COLUMNS: [Column; 4] = [
    Column { title: "from", key: "from" },
    Column { title: "to", key: "to" },
    Column { title: "rate", key: "rate_bits_per_second" },
    Column { title: "of the median", key: "of_median_ratio" },
];

#[cfg(test)]
mod tests {
    use measurement::mesh::MeshMissing;
    use measurement::{BitRate, MeshPart, MeshRate};

    use super::*;
    use crate::columns::plain;

    pub(super) fn record(count: usize) -> MeshRecord {
        let hosts: Vec<_> = (1..=count).map(|number| format!("n{number}")).collect();
        let mut rates = Vec::new();
        for from in &hosts {
            for to in hosts.iter().filter(|to| *to != from) {
                let is_slow = from == "n3" || to == "n3";
                let rate =
                    BitRate::from_bits_per_second(if is_slow { 600 } else { 1000 } * 1_000_000);
                rates.push(MeshRate { from: from.clone(), to: to.clone(), rate });
            }
        }
        rates.pop();
        MeshRecord {
            tests: rates.len() as u64,
            rounds: 9,
            hosts,
            rates,
            typical: BitRate::from_bits_per_second(1_000_000_000),
            bisection: BitRate::from_bits_per_second(4_000_000_000),
            bisection_pairs: 4,
            skew_seconds: 0.31,
            culprits: vec![MeshCulprit {
                part: MeshPart::Host,
                name: "n3".to_owned(),
                text: "slow to send and to receive".to_owned(),
                rate_ratio: 0.6,
                confidence: 0.9995,
                slow: 14,
                tests: 14,
                lossy: 0,
                evidence: vec!["n3: a CPU is full (cpu-saturated, 6 tests)".to_owned()],
            }],
            lost: vec!["n9".to_owned()],
            missing: missing(),
            losses: vec![MeshLoss {
                host: "n5".to_owned(),
                sends: false,
                lossy: 7,
                tests: 7,
                confidence: 0.9995,
            }],
            links: Some(links()),
            without_clock: vec!["n2".to_owned()],
            ..MeshRecord::default()
        }
    }

    fn missing() -> MeshMissing {
        let error = "cannot connect to 10.0.0.5:40001: no route to host".to_owned();
        let failure = MeshFailure { a: "n4".to_owned(), b: "n5".to_owned(), error };
        MeshMissing { untested: 1, failures: vec![failure] }
    }

    fn links() -> MeshLinks {
        MeshLinks {
            links: 2,
            first: BitRate::from_bits_per_second(505_000_000),
            all: BitRate::from_bits_per_second(1_000_000_000),
        }
    }

    fn text(count: usize, width: usize) -> String {
        let mut out = Vec::new();
        write(&record(count), width, &mut out).expect("a vector takes all");
        plain(&String::from_utf8(out).expect("text"))
    }

    #[test]
    fn few_hosts_have_numbers_and_many_a_letter_for_each_pair() {
        insta::assert_snapshot!(text(5, 80));
        let many = text(30, 80);
        assert!(many.lines().all(|line| line.chars().count() <= 80), "{many}");
        assert!(many.contains("n1   -.6..."), "{many}");
    }

    #[test]
    fn a_line_of_csv_is_a_direction() {
        let mut out = Vec::new();
        record(3).grid().write_csv(&mut out).expect("a vector takes all");
        let text = String::from_utf8(out).expect("text");
        assert!(text.starts_with("from,to,rate_bits_per_second,of_median_ratio"), "{text}");
        assert!(text.contains("n1,n3,600000000,0.6"), "{text}");
    }
}
