//! Writes the record of a device under test: a row a size and direction, who limits, latency by
//! load, and on request the frame loss curve.

use std::io::{self, Write};

use measurement::dut::{DutLimit, DutRecord, DutRow, Limiter};
use measurement::units::counted;
use measurement::{BitRate, GoalEnd, Stamp};

use crate::columns::{Cell, Columns, Emphasis};
use crate::packets::{micros, per_second};
use crate::screen::{labelled, sentence};
use crate::search::{percent, seconds, trials};
use crate::width::Width;

/// Writes `record` as text of at most `width` columns where words allow it; with every trial, which
/// are the frame loss curve, if `with_trials`.
///
/// # Errors
/// An error of writing to `out`.
pub fn write(
    record: &DutRecord,
    with_trials: bool,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{}", head(record))?;
    writeln!(out)?;
    throughput(record).write(out, INDENT, Width::of(width))?;
    if record.rows.iter().any(|row| !row.latency.is_empty()) {
        writeln!(out)?;
        latency(record).write(out, INDENT, Width::of(width))?;
    }
    if with_trials {
        for row in &record.rows {
            writeln!(out, "\n{}, {}", frames(row), row.direction)?;
            trials(&row.trials).write(out, INDENT, Width::of(width))?;
        }
    }
    writeln!(out)?;
    for line in closing(record, with_trials, width) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// `linerate  a0 - device - b0   2 rows in 12.34 s`.
fn head(record: &DutRecord) -> String {
    let took = record.rows.iter().map(|row| row.took).sum();
    let rows = counted(record.rows.len() as u64, "row");
    let DutRecord { port_a, port_b, .. } = record;
    format!("linerate  {port_a} - device - {port_b}   {rows} in {}", seconds(took))
}

/// `64 B`, `imix`.
fn frames(row: &DutRow) -> String {
    match row.sizes.as_slice() {
        [size] => format!("{size} B"),
        _ => "imix".to_owned(),
    }
}

/// A row by its frames, and by what it differs in from others: direction and run.
fn label(record: &DutRecord, row: &DutRow) -> String {
    let direction = direction(record, row);
    let way = if direction.is_empty() { direction } else { format!(", {direction}") };
    let is_repeated = record.rows.iter().any(|row| row.run > 0);
    let run = if is_repeated { format!(", run {}", row.run + 1) } else { String::new() };
    format!("{}{way}{run}", frames(row))
}

/// The direction of a row, if that is not the same for all.
fn direction(record: &DutRecord, row: &DutRow) -> String {
    let is_other = |other: &DutRow| other.direction != row.direction;
    if record.rows.iter().any(is_other) { row.direction.to_string() } else { String::new() }
}

fn throughput(record: &DutRecord) -> Columns {
    let mut table = Columns::default();
    let goals = record.rows.first().map(|row| row.goals.as_slice()).unwrap_or_default();
    let losses = goals.iter().map(|goal| format!("loss {}", percent(goal.goal.loss_ratio)));
    let mut titles = vec!["frames".to_owned(), String::new()];
    titles.extend(losses);
    titles.insert(titles.len().min(3), "rate".to_owned());
    titles.extend(["burst", "trust"].map(str::to_owned));
    table.push(titles.into_iter().map(|title| Cell::new(title, Emphasis::Faint)).collect());
    for row in &record.rows {
        table.push(cells(record, row));
    }
    table
}

fn cells(record: &DutRecord, row: &DutRow) -> Vec<Cell> {
    let first = row.goals.first().and_then(|goal| goal.lower);
    let bounds = row.goals.iter().map(|goal| {
        let text =
            goal.lower.map_or("-".to_owned(), |load| per_second(row.frames_per_second(load)));
        let is_sure = matches!(goal.end, GoalEnd::Width | GoalEnd::MaxLoad);
        Cell::new(text, if is_sure { Emphasis::Strong } else { Emphasis::Warning })
    });
    let mut cells = vec![Cell::from(frames(row)), Cell::from(direction(record, row))];
    cells.extend(bounds);
    let rate = first.map_or("-".to_owned(), |load: BitRate| load.to_string());
    cells.insert(cells.len().min(3), Cell::from(rate));
    cells.push(Cell::from(row.back_to_back.map_or(String::new(), |burst| {
        format!("{}{}", if burst.is_limit { "" } else { ">" }, burst.frames)
    })));
    cells.push(match &row.limit {
        None => Cell::from("-"),
        Some(limit) => {
            let emphasis = match limit.stamp {
                Stamp::Valid => Emphasis::Good,
                Stamp::Suspect => Emphasis::Warning,
                Stamp::Invalid => Emphasis::Bad,
            };
            Cell::new(limit.stamp.to_string(), emphasis)
        }
    });
    cells
}

/// Latency at the shares of the throughput.
fn latency(record: &DutRecord) -> Columns {
    let mut table = Columns::default();
    let shares = record.rows.iter().map(|row| row.latency.as_slice()).max_by_key(|all| all.len());
    let mut titles = vec!["latency, us: p50 / p99".to_owned()];
    let shares = shares.unwrap_or_default();
    titles.extend(shares.iter().map(|one| format!("at {}", percent(one.share))));
    table.push(titles.into_iter().map(|title| Cell::new(title, Emphasis::Faint)).collect());
    for row in record.rows.iter().filter(|row| !row.latency.is_empty()) {
        let times = row.latency.iter().map(|one| {
            let text = one.latency.as_ref().map_or("-".to_owned(), |times| {
                format!("{} / {}", micros(times.p50_nanos), micros(times.p99_nanos))
            });
            Cell::from(text)
        });
        table.push([Cell::from(label(record, row))].into_iter().chain(times).collect());
    }
    table
}

fn closing(record: &DutRecord, with_trials: bool, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let limits: Vec<_> =
        record.rows.iter().filter_map(|row| Some((row, row.limit.as_ref()?))).collect();
    for who in ["the tester, not the device", "not known", "the link", "the device", "nothing"] {
        let rows: Vec<_> = limits.iter().filter(|(_, limit)| name(limit) == who).collect();
        let Some((first, limit)) = rows.first() else { continue };
        let names: Vec<_> = rows.iter().map(|(row, _)| label(record, row)).collect();
        // The figures are those of one row.
        let whose =
            if rows.len() > 1 { format!("{}, ", label(record, first)) } else { String::new() };
        let text = format!("{who} ({}): {whose}{}", names.join("; "), limit.why);
        let is_bad = limit.stamp == Stamp::Invalid;
        let emphasis = if is_bad { Emphasis::Bad } else { Emphasis::Strong };
        lines.extend(labelled("LIMIT", emphasis, &sentence(&text), width));
    }
    for note in notes(record, with_trials) {
        lines.extend(labelled("NOTE", Emphasis::Warning, &sentence(&note), width));
    }
    if record.interrupted {
        lines.push("interrupted: a row may be missing, or its search not at its end".to_owned());
    }
    lines
}

/// Notes beside the limits, a sentence each.
fn notes(record: &DutRecord, with_trials: bool) -> Vec<String> {
    let mut notes = Vec::new();
    for row in &record.rows {
        let name = label(record, row);
        let unsure = row.goals.iter().filter(|goal| goal.end == GoalEnd::Budget);
        // A row that was interrupted has no limit either.
        notes.extend(unsure.filter(|_| row.limit.is_some()).map(|goal| {
            let loss = percent(goal.goal.loss_ratio);
            format!("{name}, loss {loss}: the time was over; give more with --budget")
        }));
        let counted = [(row.duplicates, "twice"), (row.reordered, "after a later one")];
        let counted = counted.into_iter().filter(|(count, _)| *count > 0);
        notes.extend(counted.map(|(count, how)| format!("{name}: {count} frames arrived {how}")));
        let device = row.device.iter();
        notes.extend(device.clone().flat_map(|seen| seen.notes.iter().cloned()));
        notes.extend(device.flat_map(measurement::dut::DeviceSeen::sentences));
        notes.extend(row.remarks.iter().map(|remark| format!("{name}: {remark}")));
    }
    if with_trials {
        notes.extend(record.deviations.iter().map(|text| format!("not as RFC 2544: {text}")));
        if let Some(row) = record.rows.first() {
            let (send, receive) = (&row.send_engine, &row.receive_engine);
            let (sender, receiver) = (send.engine.name(), receive.engine.name());
            let text = format!(
                "sent by {sender} ({}); received by {receiver} ({})",
                send.why, receive.why
            );
            notes.push(text);
        }
    }
    notes
}

fn name(limit: &DutLimit) -> &'static str {
    match limit.who {
        Limiter::Device => "the device",
        Limiter::Wire => "the link",
        Limiter::Tester => "the tester, not the device",
        Limiter::None if limit.stamp == Stamp::Invalid => "not known",
        Limiter::None => "nothing",
    }
}

const INDENT: usize = 2;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use measurement::dut::{BackToBack, DeviceSeen, DutSchema, FrameDirection, LatencyAtLoad};
    use measurement::packets::{EngineUse, FrameLatency, PacketEngine, PacketsOrigin};
    use measurement::{GoalResult, SearchGoal, SearchTrial, TrialPurpose};

    use super::*;
    use crate::columns::plain;

    fn rate(kbps: u64) -> BitRate {
        BitRate::from_bits_per_second(kbps * 1_000)
    }

    fn goal(loss_ratio: f64, kbps: u64, end: GoalEnd) -> GoalResult {
        GoalResult {
            goal: SearchGoal::of_loss(loss_ratio),
            lower: Some(rate(kbps)),
            upper: Some(rate(kbps + kbps / 100)),
            throughput: Some(rate(kbps)),
            trials: 4,
            took: Duration::from_secs(4),
            end,
        }
    }

    fn row(direction: FrameDirection, sizes: &[usize], who: Limiter, stamp: Stamp) -> DutRow {
        let engine = EngineUse { engine: PacketEngine::AfXdp, why: "as asked".to_owned() };
        let latency = |share| LatencyAtLoad {
            share,
            load: rate(1_000),
            lost_ratio: 0.0,
            latency: Some(FrameLatency {
                p50_nanos: 45_300,
                p99_nanos: 912_000,
                ..FrameLatency::default()
            }),
        };
        DutRow {
            direction,
            sizes: sizes.to_vec(),
            run: 0,
            send_engine: engine.clone(),
            receive_engine: engine,
            goals: vec![goal(0.0, 51_200, GoalEnd::Width), goal(0.005, 52_000, GoalEnd::Budget)],
            duplicates: 12,
            reordered: 0,
            remarks: vec!["an overload collapses".to_owned()],
            latency: vec![latency(0.1), latency(1.0)],
            back_to_back: Some(BackToBack { frames: 1_344, load: rate(400_000), is_limit: true }),
            device: Some(DeviceSeen {
                name: "10.0.0.254".to_owned(),
                filter_share: Some(0.42),
                filter_nanos_per_frame: Some(1_234.0),
                ..DeviceSeen::default()
            }),
            limit: Some(DutLimit {
                who,
                why: "at 52 Mbit/s 9 frames do not come out".to_owned(),
                stamp,
            }),
            trials: vec![SearchTrial {
                purpose: TrialPurpose::Bound,
                intended: rate(51_712),
                offered: rate(51_712),
                delivered: rate(51_200),
                sustained: None,
                duration: Duration::from_secs(1),
                took: Duration::from_secs(1),
                datagrams: Some(100_000),
                lost_ratio: 0.01,
                delay: Duration::from_micros(340),
                stamp: Stamp::Valid,
                disturbed: false,
            }],
            took: Duration::from_secs(17),
        }
    }

    fn text(with_trials: bool) -> String {
        let record = DutRecord {
            schema: DutSchema::V1,
            origin: PacketsOrigin {
                linerate: "0.1.0".to_owned(),
                host: "tester".to_owned(),
                kernel: "6.12".to_owned(),
            },
            port_a: "eth1".to_owned(),
            port_b: "eth2".to_owned(),
            rows: vec![
                row(FrameDirection::AToB, &[64], Limiter::Device, Stamp::Valid),
                row(FrameDirection::Both, &[64, 1518], Limiter::Tester, Stamp::Invalid),
            ],
            deviations: vec!["trials are short".to_owned()],
            interrupted: false,
        };
        let mut out = Vec::new();
        write(&record, with_trials, 80, &mut out).expect("a vector takes all");
        plain(&String::from_utf8(out).expect("text"))
    }

    #[test]
    fn rows_and_limits_fit_a_terminal() {
        let text = text(false);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn every_trial_is_told_on_request() {
        insta::assert_snapshot!(text(true));
    }
}
