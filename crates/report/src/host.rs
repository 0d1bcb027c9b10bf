//! Writes the inventory of a host (hardware, settings, limits): as a table for people, or as JSON.

use std::io::{self, Write};

use measurement::host::{ControlGroup, Cpu, Irq, Pipeline, Route};
use measurement::units::group_thousands;
use measurement::{BitRate, Gap, Inventory, Order, json};
use serde::Serialize;

use crate::columns::{Cell, Columns, Emphasis};
use crate::page::write_wrapped;
use crate::width::Width;

mod interfaces;
mod memory;
mod settings;

/// Writes the inventory of a host, and which sources could not be read (`gaps`), as one JSON
/// object.
///
/// # Errors
/// An error of writing to `out`.
pub fn write_json(inventory: &Inventory, gaps: &[Gap], out: &mut dyn Write) -> io::Result<()> {
    /// Its keys.
    #[derive(Serialize)]
    struct Object<'a> {
        schema: &'a str,
        inventory: &'a Inventory,
        gaps: &'a [Gap],
    }

    json::write_indented(&Object { schema: SCHEMA, inventory, gaps }, out)
}

/// Writes the inventory of a host for people: the parts that matter for network performance, and
/// which sources could not be read (`gaps`).
///
/// # Errors
/// An error of writing to `out`.
pub fn write(
    inventory: &Inventory,
    gaps: &[Gap],
    width: Width,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_wrapped(0, &heading(inventory), width, out)?;
    write_columns(&cpus(&inventory.cpus), width, out)?;
    write_columns(&memory::table(&inventory.memory), width, out)?;
    write_columns(&interfaces::table(&inventory.interfaces), width, out)?;
    interfaces::write_notes(&inventory.interfaces, width, out)?;
    write_columns(&irqs(&inventory.irqs), width, out)?;
    write_columns(&routes(&inventory.routes), width, out)?;
    write_columns(&settings::table(inventory), width, out)?;
    if !inventory.services.is_empty() {
        writeln!(out)?;
        write_wrapped(2, &format!("runs: {}", inventory.services.join(", ")), width, out)?;
    }
    if let Some(limits) = limits(&inventory.limits) {
        writeln!(out)?;
        write_wrapped(2, &format!("limits of this process: {limits}"), width, out)?;
    }
    write_gaps(gaps, width, out)
}

fn write_columns(columns: &Columns, width: Width, out: &mut dyn Write) -> io::Result<()> {
    if !columns.has_rows() {
        return Ok(());
    }
    writeln!(out)?;
    columns.write(out, 2, width)
}

pub(crate) fn heading(inventory: &Inventory) -> String {
    let Inventory { host, kernel, architecture, model, .. } = inventory;
    let kernel = Some(kernel).filter(|text| !text.is_empty()).map(|text| format!("Linux {text}"));
    let architecture = Some(architecture).filter(|text| !text.is_empty()).cloned();
    let host = if host.is_empty() { "a host" } else { host };
    let parts: Vec<_> = model.clone().into_iter().chain(kernel).chain(architecture).collect();
    format!("{host}: {}", parts.join(", "))
}

fn head(words: &[&str]) -> Vec<Cell> {
    words.iter().map(|word| Cell::new(*word, Emphasis::Faint)).collect()
}

/// The tables of [`write`], each with its name.
#[cfg(feature = "full")]
pub(crate) fn tables(inventory: &Inventory) -> [(&'static str, Columns); 6] {
    [
        ("CPUs", cpus(&inventory.cpus)),
        ("Memory", memory::table(&inventory.memory)),
        ("Interfaces", interfaces::table(&inventory.interfaces)),
        ("Interrupts", irqs(&inventory.irqs)),
        ("Routes", routes(&inventory.routes)),
        ("Settings", settings::table(inventory)),
    ]
}

/// A row for each kind of CPU.
fn cpus(cpus: &[Cpu]) -> Columns {
    let mut columns = Columns::default();
    columns.push(head(&[
        "CPUs", "model", "capacity", "fastest", "governor", "in order", "node", "cache", "",
    ]));
    let mut kinds: Vec<(Vec<Cell>, Vec<u32>)> = Vec::new();
    for cpu in cpus {
        let cells = cells_of(cpu);
        match kinds.iter_mut().find(|(kind, _)| *kind == cells) {
            Some((_, numbers)) => numbers.push(cpu.number),
            None => kinds.push((cells, vec![cpu.number])),
        }
    }
    for (cells, numbers) in kinds {
        columns.push([vec![ranges(&numbers).into()], cells].concat());
    }
    columns
}

fn cells_of(cpu: &Cpu) -> Vec<Cell> {
    let text = |number: Option<u32>| number.map(|number| number.to_string()).unwrap_or_default();
    let pipeline = match cpu.pipeline {
        Some(Pipeline::InOrder) => "yes",
        Some(Pipeline::OutOfOrder) => "no",
        None => "",
    };
    let caches = cpu.caches.iter().filter(|cache| cache.kind != "instruction");
    let caches = caches.map(|cache| size(cache.bytes)).collect::<Vec<_>>().join(" + ");
    let misaligned = match cpu.misaligned.as_deref() {
        Some(word @ ("slow" | "emulated" | "unsupported")) => format!("misaligned access {word}"),
        _ => String::new(),
    };
    let doubt = if cpu.offline { "offline".to_owned() } else { misaligned };
    vec![
        cpu.model.clone().unwrap_or_default().into(),
        text(cpu.capacity).into(),
        cpu.max_khz.map(|khz| format!("{} MHz", khz / 1000)).unwrap_or_default().into(),
        cpu.governor.clone().unwrap_or_default().into(),
        pipeline.into(),
        text(cpu.node).into(),
        caches.into(),
        Cell::new(doubt, Emphasis::Warning),
    ]
}

fn irqs(irqs: &[Irq]) -> Columns {
    let mut columns = Columns::default();
    columns.push(head(&["interrupt", "of", "name", "may go to", "goes to", "went to"]));
    for irq in irqs {
        let cpus = |cpus: &[u32]| {
            if cpus.is_empty() { String::new() } else { format!("CPU {}", ranges(cpus)) }
        };
        columns.push(vec![
            irq.number.to_string().into(),
            irq.interface.clone().unwrap_or_default().into(),
            irq.name.clone().into(),
            cpus(&irq.allowed).into(),
            cpus(&irq.effective).into(),
            went_to(irq).into(),
        ]);
    }
    columns
}

/// The CPUs that took most interrupts of an IRQ.
fn went_to(irq: &Irq) -> String {
    let mut counts: Vec<_> = irq.counts.iter().filter(|(_, count)| **count > 0).collect();
    counts.order_by_key(|(cpu, count)| (std::cmp::Reverse(**count), **cpu));
    let more = counts.len().saturating_sub(MOST_CPUS);
    let shown = counts.iter().take(MOST_CPUS);
    let shown = shown.map(|(cpu, count)| format!("CPU {cpu}: {}", group_thousands(**count)));
    let more = (more > 0).then(|| format!("{more} more"));
    shown.chain(more).collect::<Vec<_>>().join(", ")
}

fn routes(routes: &[Route]) -> Columns {
    let mut columns = Columns::default();
    columns.push(head(&["route", "via", "interface", "mtu"]));
    for route in routes.iter().filter(|route| route.to == "default" || route.mtu.is_some()) {
        columns.push(vec![
            route.to.clone().into(),
            route.via.clone().unwrap_or_default().into(),
            route.interface.clone().into(),
            route.mtu.map(|mtu| mtu.to_string()).unwrap_or_default().into(),
        ]);
    }
    columns
}

/// Limits of the control groups; none: there are none.
fn limits(limits: &ControlGroup) -> Option<String> {
    let time = limits.cpu_thousandths.map(|thousandths| {
        format!("CPU time of {}.{:03} CPUs", thousandths / 1000, thousandths % 1000)
    });
    let cpus = (!limits.cpus.is_empty()).then(|| format!("CPUs {}", ranges(&limits.cpus)));
    let memory = limits.memory_bytes.map(|bytes| format!("{} of memory", size(bytes)));
    let parts: Vec<_> = [time, cpus, memory].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

pub(crate) fn write_gaps(gaps: &[Gap], width: Width, out: &mut dyn Write) -> io::Result<()> {
    if gaps.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n  could not be read:")?;
    let lines = gaps.iter().map(|gap| format!("{}: {}", gap.what, gap.why));
    lines.into_iter().try_for_each(|line| write_wrapped(4, &line, width, out))
}

/// CPUs as the kernel lists them: `0-3,5`.
fn ranges(cpus: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*cpu) => *last = *cpu,
            _ => parts.push((*cpu, *cpu)),
        }
    }
    let part = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

/// Bytes in the largest unit that divides them.
fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let fitting = units.iter().find(|(bits, _)| bytes > 0 && bytes.is_multiple_of(1 << bits));
    fitting.map_or_else(|| format!("{bytes} B"), |(bits, unit)| format!("{} {unit}", bytes >> bits))
}

/// A speed as people write it: `2.5 Gbit/s`.
fn speed(mbps: u64) -> String {
    BitRate::from_bits_per_second(mbps.saturating_mul(1_000_000)).to_string()
}

const SCHEMA: &str = "linerate/host/1";
/// CPUs of one interrupt that are named.
const MOST_CPUS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_written_together() {
        assert_eq!(ranges(&[0, 1, 2, 3, 5]), "0-3,5");
        assert_eq!(ranges(&[]), "");
    }

    #[test]
    fn sizes_have_the_unit_that_divides_them() {
        assert_eq!(size(48 << 10), "48 KiB");
        assert_eq!(size(1 << 20), "1 MiB");
        assert_eq!((size(1000).as_str(), size(0).as_str()), ("1000 B", "0 B"));
    }
}
