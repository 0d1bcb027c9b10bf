//! Writes the record of an A/B test: both settings with their rates, and what the pairs show.

use std::io::{self, Write};

use measurement::comparison::{EffectSize, RatioInterval};
use measurement::units::counted;
use measurement::{AbFinding, AbRecord, BitRate, Stamp};

use crate::columns::{Cell, Columns, Emphasis};
use crate::heading;
use crate::rates::{Prefix, UnitFormat, show};
use crate::screen::{labelled, sentence};
use crate::width::Width;

/// Writes `record` as text of at most `width` columns where words allow it.
///
/// # Errors
/// An error of writing to `out`.
pub fn write(record: &AbRecord, width: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", head(record))?;
    writeln!(out)?;
    sides(record).write(out, INDENT, Width::of(width))?;
    writeln!(out)?;
    let emphasis = match record.finding {
        AbFinding::Faster | AbFinding::Slower | AbFinding::Equivalent => Emphasis::Good,
        AbFinding::NotShown | AbFinding::TooFew => Emphasis::Warning,
    };
    let mut lines = labelled("RESULT", emphasis, &format!("{}.", result(record)), width);
    for note in notes(record) {
        lines.extend(labelled("NOTE", Emphasis::Warning, &format!("{}.", sentence(&note)), width));
    }
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// `linerate  10.0.0.1 -> 10.0.0.2   A/B test, TCP send, 12 of at most 20 pairs`.
fn head(record: &AbRecord) -> String {
    let heading = heading::shown(&record.heading);
    let (a, b, most) = (record.a.plan.row(), record.b.plan.row(), record.rule.most_pairs);
    let rows = if a == b { a } else { format!("{a} and {b}") };
    format!("{heading}A/B test, {rows}, {} of at most {most} pairs", record.pairs)
}

fn sides(record: &AbRecord) -> Columns {
    let mut columns = Columns::default();
    let titles = ["", "setting", "mean rate"];
    columns.push(titles.map(|title| Cell::new(title, Emphasis::Faint)).to_vec());
    let unit = unit(record);
    for (name, side) in [("A", &record.a), ("B", &record.b)] {
        let shown = side.shown();
        let shown = if shown.is_empty() { "-" } else { &shown };
        let rate = side.rate.map_or("-".to_owned(), |rate| show(unit, rate));
        columns.push(vec![name.into(), shown.into(), Cell::new(rate, Emphasis::Strong)]);
    }
    columns
}

/// That of the slower side, so that both rates have one.
fn unit(record: &AbRecord) -> UnitFormat {
    let slower = [&record.a, &record.b].into_iter().filter_map(|side| side.rate).min();
    UnitFormat::Bits(match slower.map_or(0, BitRate::bits_per_second) {
        0..1_000_000 => Prefix::Kilo,
        1_000_000..1_000_000_000 => Prefix::Mega,
        _ => Prefix::Giga,
    })
}

/// `B is 5.2 % faster than A (interval +3.1 % to +7.4 %, confidence 95 %)`.
fn result(record: &AbRecord) -> String {
    let confidence = record.rule.confidence * 100.0;
    let Some(EffectSize { ratio, interval: Some(interval) }) = record.effect else {
        return "Too few pairs for an interval: at least three have to count".to_owned();
    };
    let between = format!("interval {}, confidence {confidence:.0} %", range(interval));
    let size = percent(ratio);
    let size = size.trim_start_matches(['+', '-']);
    match record.finding {
        AbFinding::Faster => format!("B is {size} faster than A ({between})"),
        AbFinding::Slower => format!("B is {size} slower than A ({between})"),
        AbFinding::Equivalent => {
            let margin = record.rule.margin_ratio * 100.0;
            format!("B and A differ by less than {margin} % ({between})")
        }
        AbFinding::NotShown | AbFinding::TooFew => format!(
            "No difference shown: B may be {} to {} (confidence {confidence:.0} %)",
            faster(interval.low),
            faster(interval.high)
        ),
    }
}

/// `39.0 % slower`.
fn faster(ratio: f64) -> String {
    let size = percent(ratio);
    let word = if ratio < 1.0 { "slower" } else { "faster" };
    format!("{} {word}", size.trim_start_matches(['+', '-']))
}

fn notes(record: &AbRecord) -> Vec<String> {
    let mut notes = record.notes.clone();
    if record.finding == AbFinding::NotShown && record.error.is_none() {
        notes.push("more pairs (--pairs) or longer tests (-t) narrow the interval".to_owned());
    }
    let has = |stamp| {
        let stamps = record.records.iter().filter_map(|one| one.judgement.as_ref());
        stamps.filter(|judged| judged.stamp == stamp).count()
    };
    if has(Stamp::Suspect) > 0 {
        let (suspect, runs) = (has(Stamp::Suspect), counted(record.records.len() as u64, "run"));
        notes.push(format!("{suspect} of {runs} are SUSPECT: linerate explain last"));
    }
    if record.repeated > 0 {
        let pairs = counted(record.repeated.into(), "pair");
        notes.push(format!("{pairs} did not count: a run failed, was cut short or is INVALID"));
    }
    notes
}

/// `+3.1 % to +7.4 %`.
fn range(interval: RatioInterval) -> String {
    format!("{} to {}", percent(interval.low), percent(interval.high))
}

/// `+5.2 %` for 1.052.
fn percent(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0)
}

const INDENT: usize = 2;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use measurement::plan::PlanDraft;
    use measurement::{AbRule, AbSide, Direction, Heading, Transport};

    use super::*;
    use crate::columns::plain;

    fn record(finding: AbFinding, ratio: f64, low: f64, high: f64) -> AbRecord {
        let plan = PlanDraft::new(Transport::Tcp, Direction::Send).check().expect("a plan");
        let side = |options: &str, mbps: u64| AbSide {
            options: options.to_owned(),
            changes: Vec::new(),
            server: None,
            program: None,
            plan: plan.clone(),
            rate: Some(BitRate::from_bits_per_second(mbps * 1_000_000)),
        };
        AbRecord {
            heading: Heading::new(BTreeMap::new(), None),
            a: side("", 904),
            b: side("-w 4M", 950),
            rule: AbRule { most_pairs: 20, margin_ratio: 0.02, confidence: 0.95 },
            seed: 1,
            pairs: 10,
            repeated: 1,
            finding,
            effect: Some(EffectSize { ratio, interval: Some(RatioInterval { low, high }) }),
            notes: Vec::new(),
            records: Vec::new(),
            error: None,
        }
    }

    #[test]
    fn what_pairs_show_is_one_sentence() {
        let texts = [
            (AbFinding::Faster, 1.051, 1.03, 1.073),
            (AbFinding::Slower, 0.95, 0.93, 0.97),
            (AbFinding::Equivalent, 1.001, 0.99, 1.012),
            (AbFinding::NotShown, 1.01, 0.97, 1.05),
        ]
        .map(|(finding, ratio, low, high)| result(&record(finding, ratio, low, high)));
        insta::assert_snapshot!(texts.join("\n"));
    }

    #[test]
    fn an_ab_test_fits_a_terminal() {
        let mut out = Vec::new();
        let mut record = record(AbFinding::Faster, 1.051, 1.03, 1.073);
        record.a.program = Some("iperf3".to_owned());
        record.b.server = Some("10.0.0.3:5201".to_owned());
        record.b.changes = vec!["ethtool -K eth0 tso off".parse().expect("a command")];
        write(&record, 80, &mut out).expect("a vector");
        let text = plain(&String::from_utf8(out).expect("text"));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }
}
