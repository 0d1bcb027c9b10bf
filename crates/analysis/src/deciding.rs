//! Chooses the further measurement, of at most two seconds, whose result decides between the
//! explanations that the records of a run leave open.
//!
//! A kind of question is one file in `deciding/`, and a line in [`QUESTIONS`]: the plan whose
//! result separates two explanations of a row. A pattern in `rows/` reads the answer.

use std::collections::BTreeMap;
use std::time::Duration;

use measurement::plan::PlanDraft;
use measurement::{BitRate, End, IntoMap, RuleId, StreamOptions, TestPlan, TestRecord, Transport};

use crate::bottleneck::{self, deciding::ANOTHER_HOST};
use crate::rows::small_packets_pass::nothing_arrived;
use crate::rows::{DirectionRow, rows};

mod command;
mod congestion_control;
mod datagrams;
mod slower_run;
mod small_packets;
mod socket_buffer;
mod streams;

/// A further measurement, and the question that its result answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deciding {
    /// Plan of the measurement, which takes at most two seconds.
    pub plan: TestPlan,
    /// The question, e.g. `does a slower run lose as well?`
    pub question: &'static str,
}

/// The measurement that a row of a run calls for; none: it would not decide, or the run has it.
type Question = fn(&DirectionRow<'_>, &[DirectionRow<'_>]) -> Option<Deciding>;

/// The kinds of questions, the most telling first.
const QUESTIONS: &[Question] = &[
    small_packets::asked,
    slower_run::asked,
    socket_buffer::asked,
    datagrams::asked,
    streams::asked,
    congestion_control::asked,
];

/// The measurement that decides the first row that is open.
pub(crate) fn plan(records: &[TestRecord]) -> Option<Deciding> {
    let rows = rows(records);
    rows.iter().find_map(|row| of_row(row, &rows))
}

/// Names the further measurement that decides, where a row is still undecided. One that is itself a
/// further measurement was run for another row: nothing has to decide what limited it.
pub(crate) fn name(records: &mut [TestRecord]) {
    let mut sentences = in_words(records);
    for (index, record) in records.iter_mut().enumerate() {
        let is_further = record.origin.question.is_some();
        let verdict = record.judgement.as_mut().and_then(|one| one.verdict.as_mut());
        let Some(verdict) = verdict else { continue };
        match sentences.remove(&index) {
            Some(sentence) => verdict.would_decide = Some(sentence),
            None if is_further => verdict.would_decide = None,
            None => {}
        }
    }
}

/// What decides each record that is open, in words, with the command that runs it. Where an end does
/// not tell what would decide, that comes first.
fn in_words(records: &[TestRecord]) -> BTreeMap<usize, String> {
    let rows = rows(records);
    let told =
        rows.iter().filter(|row| !row.is_undecided() || !bottleneck::lacks_evidence(row.test));
    told.filter_map(|row| Some((row.record, sentence(row, &of_row(row, &rows)?)))).into_map()
}

fn sentence(row: &DirectionRow<'_>, decides: &Deciding) -> String {
    let command = command::of_plan(row.test, &decides.plan);
    let sentence = format!("{} {command}", decides.question);
    match row.would_decide() {
        Some(other) if other != ANOTHER_HOST => format!("{sentence}; or {other}"),
        _ => sentence,
    }
}

fn of_row(row: &DirectionRow<'_>, rows: &[DirectionRow<'_>]) -> Option<Deciding> {
    let is_new = |one: &Deciding| rows.iter().all(|row| *row.plan != one.plan);
    let mut asked = QUESTIONS.iter().filter_map(|question| question(row, rows));
    asked.find(is_new).filter(|_| is_open(row))
}

/// Whether a row has two explanations. A further measurement raises no questions of its own.
fn is_open(row: &DirectionRow<'_>) -> bool {
    let is_ambiguous = row.headline().is_some_and(|one| AMBIGUOUS.contains(&one.rule));
    let is_bulk = row.test.origin.question.is_none() && row.plan.exchange.is_none();
    is_bulk && (is_ambiguous || row.is_undecided() || nothing_arrived(row))
}

/// The plan of a row with a change, for a short time in its direction alone.
fn again(row: &DirectionRow<'_>, change: impl FnOnce(&mut PlanDraft)) -> Option<TestPlan> {
    let mut draft = PlanDraft::from(row.plan.clone());
    (draft.direction, draft.omit) = (row.direction(), Duration::ZERO);
    draft.end = End::Time(duration(row));
    change(&mut draft);
    draft.check().ok()
}

/// One stream of UDP in the direction of a row, at a rate in bits per second.
fn paced(row: &DirectionRow<'_>, bits_per_second: f64) -> Option<TestPlan> {
    let rate = Some(rounded(bits_per_second));
    let StreamOptions { type_of_service, hop_limit, .. } = row.plan.options;
    again(row, |draft| {
        (draft.transport, draft.streams) = (Transport::Udp, 1);
        draft.options =
            StreamOptions { rate, type_of_service, hop_limit, ..StreamOptions::default() };
    })
}

fn duration(row: &DirectionRow<'_>) -> Duration {
    match row.plan.end {
        End::Time(time) => time.min(LONGEST),
        End::Bytes(_) | End::Blocks(_) | End::Open => LONGEST,
    }
}

/// To two significant digits: nobody types more.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn rounded(bits_per_second: f64) -> BitRate {
    let bits = bits_per_second.max(LEAST_RATE);
    let step = 10_f64.powf(bits.log10().floor() - 1.0);
    BitRate::from_bits_per_second(((bits / step).round() * step).round() as u64)
}

/// Headlines that have more than one explanation as long as no other row tells.
const AMBIGUOUS: [RuleId; 5] = [
    RuleId::UdpPathLoss,
    RuleId::TcpPathLoss,
    RuleId::PathRateLimit,
    RuleId::StandingQueue,
    RuleId::AckPathLimited,
];
const LONGEST: Duration = Duration::from_secs(2);
/// In bits per second: several datagrams in each of the seconds.
const LEAST_RATE: f64 = 100_000.0;

#[cfg(test)]
mod tests;
