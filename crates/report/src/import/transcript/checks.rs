//! Numbers of one row, and of several rows, that cannot be of one run.

use super::figure::Figure;
use super::row::{FigureRow, Tail};
use super::view::{Flow, Problems, Side, View};

/// What the row on `line` says in itself.
pub(super) fn row(row: &FigureRow, line: usize, problems: &mut Problems) {
    if row.to.most() < row.from.least() {
        problems.add(|| format!("line {line}: the interval ends before it begins"));
    } else if !rate_fits(row) {
        problems.add(|| {
            format!("line {line}: the rate is not that of the amount in the time of the interval")
        });
    }
    // A difference of transit times (RFC 3550, section 6.4.1) is within the time of the run.
    if row.tail.jitter.is_some_and(|jitter| jitter.least() / 1e3 > row.to.most()) {
        problems.add(|| format!("line {line}: the jitter is longer than the run"));
    }
    losses(&row.tail, line, problems);
}

/// A rate is the amount over the time, within what rounding leaves open.
fn rate_fits(row: &FigureRow) -> bool {
    let (span, bytes, rate) = (row.span(), row.bytes, row.rate);
    let least = 8.0 * bytes.least().max(0.0) / span.most().max(f64::MIN_POSITIVE);
    let most = if span.least() > 0.0 { 8.0 * bytes.most() / span.least() } else { f64::INFINITY };
    rate.most() >= least * (1.0 - SLACK) && rate.least() <= most * (1.0 + SLACK)
}

fn losses(tail: &Tail, line: usize, problems: &mut Problems) {
    let Some((lost, total)) = tail.lost.zip(tail.total) else { return };
    if lost < 0 {
        problems.add(|| {
            format!(
                "line {line}: {lost} datagrams lost: the receiver counted duplicates as arrivals"
            )
        });
    } else if lost > total && total >= 0 {
        problems.add(|| format!("line {line}: {lost} of {total} datagrams lost"));
    } else if total > 0 {
        let share = Figure { value: 100.0 * lost as f64 / total as f64, half: 0.0 };
        let is_wrong = |printed: Figure| !printed.agrees(share, SLACK);
        if tail.percent.is_some_and(is_wrong) {
            problems.add(|| {
                format!("line {line}: {lost} of {total} datagrams are {:.2} %", share.value)
            });
        }
    }
}

/// What the rows of a view say of one another.
pub(super) fn view(view: &View) -> Vec<String> {
    let mut problems = view.problems.clone();
    for (flow, own) in
        [(&view.sent, &view.sent.by_sender), (&view.received, &view.received.by_receiver)]
    {
        for totals in [&flow.by_sender, &flow.by_receiver] {
            sums(totals.sum.as_ref(), &totals.streams, &mut problems);
        }
        if let (Some(total), None) = (own.side(), &view.failure) {
            intervals(flow, &total, &mut problems);
        }
        ends(flow, &mut problems);
    }
    problems.0
}

/// The row of all streams is the sum of their rows.
fn sums(sum: Option<&Side>, streams: &[Side], problems: &mut Problems) {
    let Some((sum, (first, others))) = sum.zip(streams.split_first()) else { return };
    let added = others.iter().fold(first.bytes, |added, one| added + one.bytes);
    if !sum.bytes.agrees(added, SLACK) {
        problems.add(|| "the sum is not that of the streams".to_owned());
    }
}

/// The whole run is the sum of its intervals, if all are there.
fn intervals(flow: &Flow, total: &Side, problems: &mut Problems) {
    let Some(bytes) = flow.intervals.bytes().filter(|_| total.bytes.value > 0.0) else { return };
    let is_whole = (flow.intervals.until - total.seconds.value).abs() <= SECONDS;
    if is_whole && !total.bytes.agrees(Figure::exact(bytes as f64), MORE_SLACK) {
        problems.add(|| "the summary is not the sum of the intervals".to_owned());
    }
}

/// Nothing arrives that was not sent.
fn ends(flow: &Flow, problems: &mut Problems) {
    let (Some(sent), Some(arrived)) = (flow.by_sender.side(), flow.by_receiver.side()) else {
        return;
    };
    if sent.is_zero() || arrived.is_zero() {
        return;
    }
    if arrived.bytes.least() > sent.bytes.most() * (1.0 + MORE_SLACK) {
        problems.add(|| "more arrived than was sent".to_owned());
    }
    let beyond = sent.total.zip(arrived.total).filter(|(sent, arrived)| arrived > sent);
    if let Some((sent, arrived)) = beyond {
        problems.add(|| format!("the receiver counts {arrived} datagrams, the sender {sent}"));
    }
}

/// Two accounts of what one receiver got: what it printed, and what its peer printed of it.
pub(super) fn accounts(own: &Side, reported: &Side) -> Option<String> {
    // A zero is an amount that an end does not know.
    let is_same = own.bytes.value == 0.0
        || reported.bytes.value == 0.0
        || own.bytes.agrees(reported.bytes, MORE_SLACK)
        || own.seconds.value < SHORT;
    (!is_same).then(|| "the two ends print different amounts for the receiver".to_owned())
}

/// What arrived of the datagrams of a row that has the amount of the sender and the losses of the
/// receiver.
pub(super) fn arrived(side: Side) -> Side {
    let (lost, total) = (side.lost.unwrap_or(0), side.total.unwrap_or(0));
    let kept = if total > 0 { (total - lost).max(0) as f64 / total as f64 } else { 0.0 };
    Side { bytes: side.bytes.times(kept), rate: side.rate.times(kept), ..side }
}

/// A share that truncation and clocks explain.
const SLACK: f64 = 0.02;
/// The same of many rounded rows, and of two ends that stop at different times.
const MORE_SLACK: f64 = 0.03;
/// By which the last interval may miss the end of the run.
const SECONDS: f64 = 0.1;
/// Seconds below which what lies in buffers is a part of the amount.
const SHORT: f64 = 1.0;
