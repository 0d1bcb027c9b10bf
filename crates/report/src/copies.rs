//! Writes the record of copies: for each kind of core a table of routines, a picture, the kernel's own
//! copies, the cliffs and the choice; and what copies explain of a network run.

use std::io::{self, Write};

use measurement::ByteSize;
use measurement::copies::{
    ChosenBy, Cliff, CopyRecord, CopyShare, CoreCopies, KernelPath, RoutineChoice,
};
use measurement::host::Pipeline;

use crate::Glyphs;
use crate::columns::{Cell, Columns, Emphasis};
use crate::grid::{exact, percent};
use crate::page;
use crate::plot::{Axis, Curve, Plot, Scale, Side, Unit};
use crate::screen::{labelled, sentence};
use crate::width::Width;

/// Writes `record` as text of at most `width` columns where words allow it.
///
/// # Errors
/// An error of writing to `out`.
pub fn write(
    record: &CopyRecord,
    width: usize,
    glyphs: Glyphs,
    out: &mut dyn Write,
) -> io::Result<()> {
    let CopyRecord { host, kernel, architecture, .. } = record;
    writeln!(out, "linerate  {host}   copies, Linux {kernel}, {architecture}")?;
    for core in &record.cores {
        write_core(core, width, glyphs, out)?;
    }
    for line in record.explained.iter().flat_map(|share| explanation(share, record, width)) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn write_core(
    core: &CoreCopies,
    width: usize,
    glyphs: Glyphs,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out)?;
    page::write_wrapped(0, &heading(core), Width::of(width), out)?;
    routines(core).write(out, INDENT, Width::of(width))?;
    writeln!(out)?;
    plot(core).write(width, glyphs, out)?;
    writeln!(out)?;
    kernel(core).write(out, INDENT, Width::of(width))?;
    writeln!(out)?;
    let choice = core
        .choice
        .iter()
        .flat_map(|choice| labelled("CHOICE", Emphasis::Strong, &chosen(choice), width));
    let is_first = |(place, cliff): &(usize, &Cliff)| {
        core.cliffs[..*place].iter().all(|steeper| steeper.cause != cliff.cause)
    };
    let firsts = core.cliffs.iter().enumerate().filter(is_first);
    let cliffs = firsts.map(|(_, cliff)| cliff).take(MOST_CLIFFS);
    let cliffs = cliffs.flat_map(|cliff| labelled("CLIFF", Emphasis::Warning, &fall(cliff), width));
    choice.chain(cliffs).try_for_each(|line| writeln!(out, "{line}"))
}

/// `CPU 0, sifive,u74-mc, in order, caches 32 KiB, 2 MiB`.
fn heading(core: &CoreCopies) -> String {
    let model = core.model.as_ref().map(|model| format!(", {model}")).unwrap_or_default();
    let pipeline = match core.pipeline {
        Some(Pipeline::InOrder) => ", in order",
        Some(Pipeline::OutOfOrder) => ", out of order",
        None => "",
    };
    let caches: Vec<_> =
        core.cache_bytes.iter().map(|size| exact(ByteSize::from_bytes(*size))).collect();
    let caches =
        if caches.is_empty() { String::new() } else { format!(", caches {}", caches.join(", ")) };
    format!("CPU {}{model}{pipeline}{caches}", core.cpu)
}

/// A row for each routine, a column for each length; last the slowest with sides that differ in
/// alignment.
fn routines(core: &CoreCopies) -> Columns {
    let mut table = Columns::default();
    let (lengths, names) = (lengths(core), names(core));
    let faint = |text: String| Cell::new(text, Emphasis::Faint);
    let off = core.routines.iter().find(|one| one.source_offset != one.destination_offset);
    let titles = ["GB/s".to_owned()].into_iter().chain(lengths.iter().copied().map(short));
    let titles = titles.chain(off.map(|off| format!("{} off", short(off.length))));
    table.push(titles.map(faint).collect());
    for name in names {
        let speeds = lengths.iter().map(|length| core.aligned(name, *length));
        let off = off.map(|_| core.misaligned(name).map(|one| one.speed));
        let speeds = speeds.chain(off).map(|speed| {
            let text = speed.map_or("-".to_owned(), |speed| speed.to_string());
            Cell::from(text.trim_end_matches(" GB/s").to_owned())
        });
        let is_chosen = core.choice.as_ref().is_some_and(|choice| choice.routine == name);
        let emphasis = if is_chosen { Emphasis::Strong } else { Emphasis::None };
        table.push([Cell::new(name, emphasis)].into_iter().chain(speeds).collect());
    }
    table
}

/// A row for each path of the kernel, a column for each length of calls.
fn kernel(core: &CoreCopies) -> Columns {
    let mut table = Columns::default();
    let mut lengths: Vec<_> = core.kernel.iter().map(|one| one.length).collect();
    lengths.dedup();
    let faint = |text: String| Cell::new(text, Emphasis::Faint);
    let titles = ["kernel, GB/s".to_owned()].into_iter().chain(lengths.iter().copied().map(short));
    table.push(titles.map(faint).collect());
    for path in KernelPath::ALL {
        let speeds = lengths.iter().map(|length| {
            let mut of_path = core.kernel.iter().filter(|one| one.path == path);
            let speed = of_path.find(|one| one.length == *length).map(|one| one.speed.to_string());
            Cell::from(speed.unwrap_or_default().trim_end_matches(" GB/s").to_owned())
        });
        table.push([Cell::from(path.to_string())].into_iter().chain(speeds).collect());
    }
    table
}

fn lengths(core: &CoreCopies) -> Vec<u64> {
    let aligned = core.routines.iter().filter(|one| one.source_offset == one.destination_offset);
    let first = core.routines.first().map(|one| one.routine.as_str());
    let of_one = aligned.filter(|one| Some(one.routine.as_str()) == first);
    of_one.map(|one| one.length).collect()
}

fn names(core: &CoreCopies) -> Vec<&str> {
    let mut names: Vec<_> = core.routines.iter().map(|one| one.routine.as_str()).collect();
    names.dedup();
    names
}

/// `1448`, `16K`, `4M`.
fn short(length: u64) -> String {
    match length {
        length if length >= 1 << 20 && length.is_multiple_of(1 << 20) => {
            format!("{}M", length >> 20)
        }
        length if length >= 1 << 10 && length.is_multiple_of(1 << 10) => {
            format!("{}K", length >> 10)
        }
        length => length.to_string(),
    }
}

/// The speeds of a few routines over the length of copies.
fn plot(core: &CoreCopies) -> Plot {
    let axis = |title: &str, unit, scale| Axis { title: title.to_owned(), unit, scale };
    let chosen = core.choice.as_ref().map(|choice| choice.routine.as_str());
    let is_drawn = |name: &&str| DRAWN.contains(name) || Some(*name) == chosen;
    let lengths = lengths(core);
    let curves = names(core).into_iter().filter(is_drawn).map(|name| {
        let point =
            |length: &u64| Some((*length as f64, core.aligned(name, *length)?.bytes_per_second()));
        let points = lengths.iter().filter_map(point).collect();
        Curve { name: name.to_owned(), points, side: Side::Left }
    });
    Plot {
        x: axis("length of a copy", Unit::Bytes, Scale::Logarithmic),
        left: axis("speed", Unit::BytesPerSecond, Scale::FromZero),
        right: None,
        curves: curves.collect(),
    }
}

fn chosen(choice: &RoutineChoice) -> String {
    let RoutineChoice { routine, of_libc_ratio, by } = choice;
    match by {
        ChosenBy::User => format!("{routine}, as you asked"),
        _ if routine == "libc" => "libc: no other routine is faster everywhere".to_owned(),
        ChosenBy::Probe => {
            format!("{routine}: {of_libc_ratio:.2} x memcpy of the C library up to 9000 bytes")
        }
        ChosenBy::Cache => format!(
            "{routine}: {of_libc_ratio:.2} x memcpy of the C library, by an earlier probe (--fresh)"
        ),
    }
}

/// `unaligned: 5.60 -> 0.01 GB/s at 1448 bytes: misaligned accesses trap`.
fn fall(cliff: &Cliff) -> String {
    let Cliff { cause, routine, from, to, length } = cliff;
    let from = from.to_string();
    let from = from.trim_end_matches(" GB/s");
    format!("{routine}: {from} -> {to} at {}: {cause}", exact(ByteSize::from_bytes(*length)))
}

fn explanation(share: &CopyShare, record: &CopyRecord, width: usize) -> Vec<String> {
    let CopyShare { test, cpu, direction, measured, at_most, of_cpu_ratio, .. } = share;
    let profiled = share.profiled_ratio.map_or(String::new(), |profiled| {
        format!(" (by the samples of the test {})", percent(profiled))
    });
    let core = record.cores.iter().find(|core| core.cpu == *cpu);
    let routine = core.and_then(|core| core.choice.as_ref());
    let routine = routine.map_or("the routine", |choice| &choice.routine);
    let faster = share.with_routine.map_or(String::new(), |faster| {
        format!("; if the kernel copied by {routine} and one CPU limits: {faster}")
    });
    let place = if record.cores.len() > 1 { format!(", on CPU {cpu}") } else { String::new() };
    let text = format!(
        "test {test}, {direction}{place}: copies allow at most {at_most} here; you measured {measured}: \
         they explain {} of a CPU's time{profiled}{faster}",
        percent(*of_cpu_ratio)
    );
    labelled("COPIES", Emphasis::Strong, &sentence(&text), width)
}

const INDENT: usize = 2;
/// Cliffs, the steepest of each cause.
const MOST_CLIFFS: usize = 3;
/// Routines in the picture, beside the one that is chosen.
const DRAWN: [&str; 4] = ["libc", "byte", "word-x8", "shift-x8"];

#[cfg(test)]
mod tests {
    use measurement::BitRate;
    use measurement::Direction;
    use measurement::copies::{CliffCause, CopySpeed, KernelSpeed, RoutineSpeed};

    use super::*;

    fn speed(routine: &str, length: u64, source_offset: u64, giga: f64) -> RoutineSpeed {
        let speed = CopySpeed::from_bytes_per_second(giga * 1e9);
        let routine = routine.to_owned();
        RoutineSpeed { routine, length, source_offset, destination_offset: 0, speed }
    }

    fn record() -> CopyRecord {
        let giga = |giga: f64| CopySpeed::from_bytes_per_second(giga * 1e9);
        let kernel = |(path, speed)| KernelSpeed { path, length: 65_536, speed: giga(speed) };
        let core = CoreCopies {
            model: Some("sifive,u74-mc".to_owned()),
            pipeline: Some(Pipeline::InOrder),
            cache_bytes: vec![32 << 10, 2 << 20],
            routines: vec![
                speed("byte", 1_448, 0, 0.37),
                speed("byte", 4 << 20, 0, 0.21),
                speed("byte", 1_448, 1, 0.37),
                speed("shift-x8", 1_448, 0, 5.6),
                speed("shift-x8", 4 << 20, 0, 0.22),
                speed("shift-x8", 1_448, 1, 3.0),
            ],
            kernel: KernelPath::ALL.map(|path| kernel((path, 0.4))).to_vec(),
            choice: Some(RoutineChoice {
                routine: "shift-x8".to_owned(),
                of_libc_ratio: 1.62,
                by: ChosenBy::Probe,
            }),
            cliffs: vec![Cliff {
                cause: CliffCause::Level2,
                routine: "shift-x8".to_owned(),
                from: giga(5.6),
                to: giga(0.22),
                length: 4 << 20,
            }],
            ..CoreCopies::default()
        };
        let mega = |mega: u64| BitRate::from_bits_per_second(mega * 1_000_000);
        CopyRecord {
            host: "starlight".to_owned(),
            kernel: "6.12".to_owned(),
            architecture: "riscv64".to_owned(),
            cores: vec![core],
            explained: vec![CopyShare {
                test: 1,
                cpu: 0,
                direction: Direction::Receive,
                measured: mega(686),
                at_most: mega(1_900),
                of_cpu_ratio: 0.361,
                profiled_ratio: Some(0.331),
                with_routine: Some(mega(900)),
            }],
            ..CopyRecord::default()
        }
    }

    #[test]
    fn a_screen_says_what_copies_cost() {
        let mut text = Vec::new();
        write(&record(), 80, Glyphs::Ascii, &mut text).expect("a vector takes all");
        let text = crate::columns::plain(&String::from_utf8(text).expect("text"));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }
}
