//! Writes verdicts on what limits: in a few lines under the table of results, or with all evidence.

use std::io::{self, Write};

use measurement::experiment::end_of;
use measurement::remedy::Change;
use measurement::units::group_thousands;
use measurement::verdict::{Finding, WhatIf};
use measurement::{
    Attribution, BitRate, Certainty, Conclusion, Direction, Elasticity, Hand, Order, ProfileSource,
    Remedy, Role, TestPlan, TestRecord, Verdict, Work,
};

use crate::columns::{Cell, Columns, Emphasis};
use crate::page;
use crate::runs::Run;
use crate::width::Width;

/// Writes the verdict of each row with its evidence; equal verdicts are written once.
pub(crate) fn write_short(rows: &[Run], width: Width, out: &mut dyn Write) -> io::Result<()> {
    let mut verdicts: Vec<(Vec<String>, &Verdict)> = Vec::new();
    for (record, run) in rows {
        let Some(verdict) = verdict(record) else { continue };
        let title = record.plan.title() + run;
        match verdicts.iter_mut().find(|(_, other)| is_alike(other, verdict)) {
            Some((titles, _)) => titles.push(title),
            None => verdicts.push((vec![title], verdict)),
        }
    }
    if !verdicts.is_empty() {
        writeln!(out)?;
    }
    for (titles, verdict) in verdicts {
        let whose = if rows.len() > 1 && titles.len() == rows.len() {
            "every row".to_owned()
        } else {
            titles.join(", ")
        };
        write_lines(&whose, verdict, width, out)?;
    }
    Ok(())
}

/// Writes the verdict on `record` with all details: findings with evidence and remedy, the
/// measurement that would decide, and the CPU time by kind of work. Nothing if it was not judged.
///
/// # Errors
/// An error of writing to `out`.
pub fn write(record: &TestRecord, width: Width, out: &mut dyn Write) -> io::Result<()> {
    let Some(judgement) = &record.judgement else { return Ok(()) };
    if let Some(question) = &record.origin.question {
        page::write_wrapped(0, &further(question, &record.plan), width, out)?;
    }
    if let Some(verdict) = &judgement.verdict {
        let sentence = format!("{}: {}", record.plan.title(), verdict.sentence);
        page::write_wrapped(0, &sentence, width, out)?;
        write_findings(&verdict.findings, width, out)?;
        if let Some(measurement) = &verdict.would_decide {
            writeln!(out)?;
            write_wrapped(2, &format!("would decide: {measurement}"), width, out)?;
        }
    }
    write_elasticities(record, width, out)?;
    judgement.attributions.iter().try_for_each(|one| write_work(one, TELLING, width, out))
}

/// Writes a table of the changes of an experiment, and how far the rate followed each. Nothing if there
/// was no experiment.
fn write_elasticities(record: &TestRecord, width: Width, out: &mut dyn Write) -> io::Result<()> {
    let elasticities = &record.trials.elasticities;
    if elasticities.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let heading = "how far the test followed what an experiment changed for moments: 0 not at all, 1 \
                   wholly (90 % confidence)";
    page::write_wrapped(2, heading, width, out)?;
    let mut columns = Columns::default();
    let head = |text: &str| Cell::new(text.to_owned(), Emphasis::Faint);
    columns.push(vec![head(""), head("followed"), head("slots")]);
    for one in elasticities {
        let (followed, slots) = (one.to_string(), one.slots.to_string());
        columns.push(vec![changed(one, record).into(), followed.into(), slots.into()]);
    }
    columns.write(out, 4, width)
}

/// The change that a hand makes, after what may follow it: `the rate, with 15 % less CPU time for the
/// server`.
fn changed(one: &Elasticity, record: &TestRecord) -> String {
    let sender = if record.plan.direction == Direction::Receive { Role::Peer } else { Role::Here };
    let end = match end_of(one.hand, &sender) {
        Role::Here => "this host",
        Role::Peer | Role::Observed(_) => "the server",
    };
    let rest = one.hand.rest();
    match one.hand {
        Hand::SenderCpu | Hand::ReceiverCpu => {
            format!("the rate, with {:.0} % less CPU time for {end}", 100.0 * (1.0 - rest))
        }
        Hand::Pacing => format!("the queue or loss, with {end} pacing to {:.0} %", 100.0 * rest),
    }
}

/// `further measurement: does a slower run lose as well? (UDP send, 40.00 Mbit/s)`.
fn further(question: &str, plan: &TestPlan) -> String {
    let options = &plan.options;
    let rate = plan.asked().map(|rate| rate.to_string());
    let length = options.block.map(|size| format!("-l {}", size.bytes()));
    let window = options.window.map(|size| format!("socket buffer {size}"));
    let parts = [Some(plan.row()), rate, length, window, options.congestion.clone()];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    format!("further measurement: {question} ({})", parts.join(", "))
}

/// Writes `findings`, each with its evidence, the rate that it allows, and its remedy.
///
/// # Errors
/// An error of writing to `out`.
pub fn write_findings(findings: &[Finding], width: Width, out: &mut dyn Write) -> io::Result<()> {
    for finding in findings {
        let Finding { rule, text, .. } = finding;
        writeln!(out)?;
        write_wrapped(2, &format!("{}: {text} [{rule}]", word(finding.certainty)), width, out)?;
        for seen in &finding.evidence {
            write_wrapped(6, &format!("seen: {seen}"), width, out)?;
        }
        if let Some(bound) = finding.effect.bound() {
            write_wrapped(6, &format!("allows: {bound}"), width, out)?;
        }
        write_remedy(&finding.remedy, width, out)?;
    }
    Ok(())
}

/// The advice, and a line for each command that follows it.
fn write_remedy(remedy: &Remedy, width: Width, out: &mut dyn Write) -> io::Result<()> {
    write_wrapped(6, &format!("change: {}", remedy.sentence), width, out)?;
    for change in &remedy.changes {
        let place = place(change);
        let now = change.from.as_ref().map(|now| format!(" (now {now})")).unwrap_or_default();
        // A command is one line: broken, it could not be copied.
        writeln!(out, "      {place}: {}{now}", change.command())?;
    }
    Ok(())
}

/// Where a change is made: `run on the server`.
pub(crate) fn place(change: &Change) -> String {
    match &change.host {
        _ if change.setting.is_option() => "option".to_owned(),
        Role::Here => "run here".to_owned(),
        Role::Peer => "run on the server".to_owned(),
        Role::Observed(name) => format!("run on {name}"),
    }
}

/// Writes a table of the CPU time of a host by kind of work, and the estimated rates without some
/// work.
///
/// # Errors
/// An error of writing to `out`.
pub fn write_attribution(
    attribution: &Attribution,
    width: Width,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_work(attribution, 0.0, width, out)
}

/// The same, of kinds that took at least that share of the busy time.
fn write_work(
    attribution: &Attribution,
    least: f64,
    width: Width,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out)?;
    page::write_wrapped(2, &heading(attribution), width, out)?;
    work(attribution, least).write(out, 4, width)?;
    if !attribution.what_if.is_empty() {
        writeln!(out)?;
    }
    let estimates = attribution.what_if.iter();
    estimates.map(what_if).try_for_each(|text| page::write_wrapped(4, &text, width, out))
}

fn verdict(record: &TestRecord) -> Option<&Verdict> {
    record.judgement.as_ref()?.verdict.as_ref()
}

/// Whether two verdicts can be written as one.
fn is_alike(one: &Verdict, other: &Verdict) -> bool {
    let evidence = |verdict: &Verdict| verdict.findings.first().map(|one| one.evidence.clone());
    one.sentence == other.sentence
        && one.would_decide == other.would_decide
        && (one.conclusion == Conclusion::Delivered || evidence(one) == evidence(other))
}

fn write_lines(
    whose: &str,
    verdict: &Verdict,
    width: Width,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut line = |indent, text: String| page::write_wrapped(indent, &text, width, out);
    let mut findings = verdict.findings.iter();
    let headline = (verdict.conclusion == Conclusion::Limited).then(|| findings.next()).flatten();
    let id = headline.map(|one| format!(" [{}]", one.rule)).unwrap_or_default();
    line(2, format!("verdict: {whose}: {}{id}", verdict.sentence))?;
    if let Some(headline) = headline {
        line(4, format!("seen: {}", headline.evidence.join("; ")))?;
    }
    if let Some(measurement) = &verdict.would_decide {
        line(4, format!("would decide: {measurement}"))?;
    }
    let further = findings.map(|one| {
        let perhaps =
            verdict.conclusion != Conclusion::Undecided && one.certainty == Certainty::Candidate;
        format!("{}{} [{}]", if perhaps { "perhaps " } else { "" }, one.text, one.rule)
    });
    let further: Vec<_> = further.collect();
    match (verdict.conclusion, further.is_empty()) {
        (_, true) => Ok(()),
        (Conclusion::Undecided, false) => line(4, format!("may be: {}", further.join("; "))),
        (_, false) => line(4, format!("besides: {}", further.join("; "))),
    }
}

/// A text with `indent` spaces before it, the lines after its first a little further in; not longer
/// than a person likes to read.
fn write_wrapped(indent: usize, text: &str, width: Width, out: &mut dyn Write) -> io::Result<()> {
    let width = Width::of(width.most().min(indent + LONGEST));
    page::write_wrapped(indent, text, width, out)
}

pub(crate) const fn word(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Limit => "limits",
        Certainty::Candidate => "may limit",
        Certainty::Note => "note",
    }
}

/// Of whom an attribution is, and from how many samples.
pub(crate) fn heading(attribution: &Attribution) -> String {
    let host = match &attribution.host {
        Role::Here => "this host",
        Role::Peer => "the server",
        Role::Observed(name) => name,
    };
    let samples = group_thousands(attribution.samples);
    let source = match &attribution.source {
        ProfileSource::Sampled => format!("{samples} samples"),
        ProfileSource::Imported(program) => format!("from the text of {program}"),
        ProfileSource::Stated(where_) => format!("as {where_} states it, not measured"),
    };
    let labelled = 100.0 * attribution.labelled;
    if attribution.source != ProfileSource::Sampled {
        return format!("where CPUs spent their busy time ({source}, {labelled:.0} % known)");
    }
    format!("where CPUs of {host} spent their busy time ({source}, {labelled:.0} % known)")
}

fn work(attribution: &Attribution, least: f64) -> Columns {
    let mut columns = Columns::default();
    let head = |text: String| Cell::new(text, Emphasis::Faint);
    let cpus = attribution.cpus.iter();
    let heads = cpus.map(|one| format!("CPU {} ({:.0} % busy)", one.cpu, 100.0 * one.busy));
    let first = ["", "share", "ns per KiB"].map(str::to_owned);
    columns.push(first.into_iter().chain(heads).map(head).collect());
    let mut work: Vec<_> = attribution.work.iter().collect();
    work.order_by(|(_, one), (_, other)| other.share.total_cmp(&one.share));
    work.retain(|(kind, _)| **kind != Work::Idle);
    let (told, rest): (Vec<_>, Vec<_>) = work.into_iter().partition(|(_, one)| one.share >= least);
    for (kind, cost) in told {
        let nanos = cost.nanos_per_kib.map_or_else(String::new, |nanos| format!("{nanos:.1}"));
        let mut row = vec![kind.to_string(), percent(cost.share), nanos];
        let cpus = attribution.cpus.iter();
        row.extend(
            cpus.map(|cpu| cpu.work.get(kind).map_or_else(String::new, |one| percent(*one))),
        );
        columns.push(row.into_iter().map(Cell::from).collect());
    }
    if !rest.is_empty() {
        let share = rest.iter().map(|(_, one)| one.share).sum();
        let row = vec![format!("{} others", rest.len()), percent(share)];
        columns.push(row.into_iter().map(Cell::from).collect());
    }
    columns
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

pub(crate) fn what_if(one: &WhatIf) -> String {
    let WhatIf { without, from, at_most } = one;
    let rate = |rate: &BitRate| rate.to_string();
    format!("if {without} cost nothing: {} -> at most {}", rate(from), rate(at_most))
}

/// Share of the busy time of a host from which on a kind of work is told beside a verdict.
const TELLING: f64 = 0.05;
/// Letters of a line after its indent.
const LONGEST: usize = 92;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use measurement::plan::PlanDraft;
    use measurement::verdict::{Cost, CpuWork};
    use measurement::{RuleId, Transport};

    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut text = Vec::new();
        write(&mut text).expect("a vector takes all");
        String::from_utf8(text).expect("it is text")
    }

    fn finding(certainty: Certainty) -> Finding {
        Finding {
            rule: RuleId::UdpReceiveBuffer,
            certainty,
            share: 1.0,
            effect: measurement::Effect::Unknown,
            host: None,
            direction: None,
            text: "something limits".to_owned(),
            evidence: vec!["a grew by 7".to_owned(), "b is 3".to_owned()],
            remedy: "change it".into(),
        }
    }

    fn verdict(conclusion: Conclusion, findings: Vec<Finding>) -> Verdict {
        let would_decide =
            (conclusion == Conclusion::Undecided).then(|| "a longer test".to_owned());
        Verdict { conclusion, sentence: "so it is".to_owned(), findings, would_decide }
    }

    #[test]
    fn the_headline_has_its_evidence_and_others_a_line() {
        let findings = vec![finding(Certainty::Limit), finding(Certainty::Note)];
        let verdict = verdict(Conclusion::Limited, findings);
        let text = text(|out| write_lines("TCP send", &verdict, Width::UNKNOWN, out));
        let lines = "  verdict: TCP send: so it is [udp-receive-buffer]\n    seen: a grew by 7; b is 3\n    \
                     besides: something limits [udp-receive-buffer]\n";
        assert_eq!(text, lines);
    }

    #[test]
    fn a_further_measurement_says_its_question_and_how_it_was_run() {
        let mut draft = PlanDraft::new(Transport::Udp, Direction::Send);
        draft.options.rate = Some(BitRate::from_bits_per_second(40_000_000));
        let line = further("does a slower run lose as well?", &draft.check().expect("a plan"));
        let due = "further measurement: does a slower run lose as well? (UDP send, 40.00 Mbit/s)";
        assert_eq!(line, due);
    }

    #[test]
    fn a_row_of_an_experiment_says_what_was_changed_and_what_followed() {
        let draft = PlanDraft::new(Transport::Tcp, Direction::Receive);
        let mut record = TestRecord::imported(draft.check().expect("a plan"), "a script");
        let of = |hand| Elasticity { hand, value: 0.98, margin: 0.04, slots: 6 };
        record.trials.elasticities = vec![of(Hand::SenderCpu), of(Hand::Pacing)];
        let text = text(|out| write_elasticities(&record, Width::UNKNOWN, out));
        let rows: Vec<_> = text.lines().skip(3).map(str::trim).collect();
        let due = [
            "the rate, with 15 % less CPU time for the server    0.98 ± 0.04       6",
            "the queue or loss, with the server pacing to 80 %   0.98 ± 0.04       6",
        ];
        assert_eq!(rows, due, "{text}");
    }

    #[test]
    fn what_is_undecided_says_what_would_decide() {
        let verdict = verdict(Conclusion::Undecided, vec![finding(Certainty::Candidate)]);
        let text = text(|out| write_lines("TCP send", &verdict, Width::UNKNOWN, out));
        let lines = "  verdict: TCP send: so it is\n    would decide: a longer test\n    may be: \
                     something limits [udp-receive-buffer]\n";
        assert_eq!(text, lines);
    }

    #[test]
    fn findings_have_their_remedies() {
        let text =
            text(|out| write_findings(&[finding(Certainty::Candidate)], Width::UNKNOWN, out));
        let lines = "\n  may limit: something limits [udp-receive-buffer]\n      seen: a grew by 7\n      \
                     seen: b is 3\n      change: change it\n";
        assert_eq!(text, lines);
    }

    #[test]
    fn the_rate_that_a_cause_allows_has_its_arithmetic() {
        let bound = measurement::Bound::exact(26_214_400.0, "65,536 bytes in 20 ms");
        let effect = measurement::Effect::Rate(bound);
        let finding = Finding { effect, ..finding(Certainty::Candidate) };
        let text = text(|out| write_findings(&[finding], Width::UNKNOWN, out));
        assert!(text.contains("      allows: at most 26.21 Mbit/s (65,536 bytes in 20 ms)\n"));
    }

    #[test]
    fn the_largest_work_comes_first_and_idle_time_is_none() {
        let cost = |share| Cost { share, nanos_per_kib: Some(12.34) };
        let work =
            [(Work::CopyUser, cost(0.6)), (Work::Driver, cost(0.7)), (Work::Idle, cost(0.9))];
        let cpu = CpuWork { cpu: 1, busy: 0.98, work: BTreeMap::from([(Work::CopyUser, 0.5)]) };
        let attribution = Attribution {
            host: Role::Here,
            source: ProfileSource::Imported("perf report".to_owned()),
            samples: 0,
            labelled: 0.97,
            work: work.into(),
            cpus: vec![cpu],
            what_if: vec![WhatIf {
                without: "copies".to_owned(),
                from: BitRate::from_bits_per_second(686_000_000),
                at_most: BitRate::from_bits_per_second(904_000_000),
            }],
        };
        let text = text(|out| write_attribution(&attribution, Width::UNKNOWN, out));
        let place = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word} in {text}"));
        assert!(place("driver") < place("copy to or from processes"), "{text}");
        assert!(text.contains("CPU 1 (98 % busy)") && !text.contains("idle"), "{text}");
        assert!(
            text.contains("if copies cost nothing: 686.0 Mbit/s -> at most 904.0 Mbit/s"),
            "{text}"
        );
    }
}
