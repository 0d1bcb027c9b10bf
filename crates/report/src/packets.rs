//! Writes the record of frames sent below the sockets: rates, where frames were lost, latency, CPU
//! time and the engines.

use std::io::{self, Write};

use measurement::BitRate;
use measurement::packets::{CpuPerFrame, FrameLatency, FrameRate, PacketsRecord};
use measurement::units::counted;

use crate::columns::{Cell, Columns, Emphasis};
use crate::screen::labelled;
use crate::width::Width;

/// Writes `record` as text of at most `width` columns where words allow it.
///
/// # Errors
/// An error of writing to `out`.
pub fn write(record: &PacketsRecord, width: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", head(record))?;
    writeln!(out)?;
    rates(record).write(out, INDENT, Width::of(width))?;
    writeln!(out)?;
    let lines = lost(record)
        .map(|text| ("LOST", text))
        .into_iter()
        .chain(order(record).map(|text| ("ORDER", text)))
        .chain(record.latency.as_ref().map(|times| ("LATENCY", latency(times))))
        .chain([("CPU", cpu(&record.cpu)), ("ENGINE", engines(record))]);
    for (label, text) in lines {
        for line in labelled(label, Emphasis::Strong, &text, width) {
            writeln!(out, "{line}")?;
        }
    }
    if record.interrupted {
        writeln!(out, "interrupted after {:.1} s", record.duration.as_secs_f64())?;
    }
    Ok(())
}

/// `linerate  a0 -> b0   64-byte frames, 4 flows   2.0 s`.
fn head(record: &PacketsRecord) -> String {
    let to = record.to.clone().unwrap_or_else(|| record.destination.to_string());
    let flows = record.flows.len().max(1) as u64;
    let flows = if flows > 1 { format!(", {}", counted(flows, "flow")) } else { String::new() };
    let time = record.duration.as_secs_f64();
    format!("linerate  {} -> {to}   {}{flows}   {time:.1} s", record.from, sizes(&record.sizes))
}

/// `64-byte frames`, `frames of 64 to 1518 bytes`.
fn sizes(sizes: &[usize]) -> String {
    let (least, most) = (sizes.iter().min(), sizes.iter().max());
    match (least, most) {
        (Some(least), Some(most)) if least != most => format!("frames of {least} to {most} bytes"),
        (Some(size), _) => format!("{size}-byte frames"),
        _ => String::new(),
    }
}

fn rates(record: &PacketsRecord) -> Columns {
    let mut table = Columns::default();
    let titles = ["", "frames", "frames/s", "rate", "on the wire"];
    table.push(titles.map(|title| Cell::new(title, Emphasis::Faint)).into());
    table.push(rate("sent", &record.sent, Emphasis::None));
    if let Some(received) = &record.received {
        table.push(rate("arrived", received, Emphasis::Strong));
    }
    table
}

fn rate(name: &str, rate: &FrameRate, emphasis: Emphasis) -> Vec<Cell> {
    let bits = |bits: f64| Cell::from(bit_rate(bits).to_string());
    vec![
        Cell::from(name.to_owned()),
        Cell::from(rate.frames.to_string()),
        Cell::new(per_second(rate.frames_per_second), emphasis),
        bits(rate.bits_per_second),
        bits(rate.wire_bits_per_second),
    ]
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
const fn bit_rate(bits: f64) -> BitRate {
    BitRate::from_bits_per_second(bits as u64)
}

/// `1.234 M/s`, `56.7 k/s`, `89 /s`.
pub fn per_second(rate: f64) -> String {
    match rate {
        rate if rate >= 1e6 => format!("{:.3} M/s", rate / 1e6),
        rate if rate >= 1e3 => format!("{:.1} k/s", rate / 1e3),
        rate => format!("{rate:.0} /s"),
    }
}

fn lost(record: &PacketsRecord) -> Option<String> {
    let lost = record.losses.lost?;
    if lost == 0 && record.drops.is_empty() {
        return Some("0: every frame arrived".to_owned());
    }
    let share = lost as f64 / record.sent.frames.max(1) as f64 * 100.0;
    let mut places: Vec<_> =
        record.drops.iter().map(|one| format!("{} {}", one.frames, one.place)).collect();
    match record.unaccounted {
        Some(rest) if rest > 0 => places.push(format!("{rest} that no counter of this host tells")),
        Some(rest) if rest < 0 => {
            places.push(format!("counters tell of {} more, of other traffic too", -rest));
        }
        _ => {}
    }
    Some(format!("{lost} ({share:.3} %): {}", places.join(", ")))
}

fn order(record: &PacketsRecord) -> Option<String> {
    let (duplicates, reordered) = (record.losses.duplicates?, record.losses.reordered?);
    let is_clean = duplicates == 0 && reordered == 0;
    (!is_clean).then(|| format!("{duplicates} arrived twice, {reordered} after a later one"))
}

fn latency(times: &FrameLatency) -> String {
    let FrameLatency { p50_nanos, p90_nanos, p99_nanos, p999_nanos, max_nanos, .. } = *times;
    let [p50, p90, p99, p999, max] =
        [p50_nanos, p90_nanos, p99_nanos, p999_nanos, max_nanos].map(micros);
    format!("{p50} us in the median, p90 {p90}, p99 {p99}, p99.9 {p999}, max {max}")
}

/// Microseconds, with three digits.
pub(crate) fn micros(nanos: u64) -> String {
    let micros = nanos as f64 / 1e3;
    match micros {
        micros if micros < 10.0 => format!("{micros:.2}"),
        micros if micros < 100.0 => format!("{micros:.1}"),
        _ => format!("{micros:.0}"),
    }
}

fn cpu(cpu: &CpuPerFrame) -> String {
    let CpuPerFrame { sender_nanos, receiver_nanos, user_nanos, system_nanos, softirq_nanos } = cpu;
    format!(
        "{sender_nanos:.0} ns a frame in the sender, {receiver_nanos:.0} in the receiver, which \
         spins; user {user_nanos:.0}, system {system_nanos:.0}, softirq {softirq_nanos:.0} \
         of the host"
    )
}

fn engines(record: &PacketsRecord) -> String {
    let one =
        |used: &measurement::packets::EngineUse| format!("{} ({})", used.engine.name(), used.why);
    let receive = record.receive_engine.as_ref();
    let receive = receive.map_or(String::new(), |used| format!("; received by {}", one(used)));
    format!("sent by {}{receive}", one(&record.send_engine))
}

const INDENT: usize = 2;
