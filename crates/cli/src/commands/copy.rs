//! `linerate copy`.

mod kept;

use std::process::ExitCode;
use std::time::Duration;

use ::copy::{Copier, Routine};
use anyhow::Context;
use host::Tree;
use host::copies::{CoreKind, Extent};
use measurement::TestRecord;
use measurement::copies::{ChosenBy, CopyRecord, CopySchema, CoreCopies, RoutineChoice};

use crate::conclusion::Conclusion;
use crate::flags::CopyFlags;
use crate::{charset, output, recorded, terminal};

use kept::Kept;

pub(crate) fn run(flags: &CopyFlags) -> anyhow::Result<ExitCode> {
    let format = flags.format.of_rows()?;
    if let Some(file) = &flags.output {
        output::check_writable(file)?;
    }
    let tests = match &flags.record {
        Some(word) => recorded::records(word, flags.file.path())?.records,
        None => Vec::new(),
    };
    let record = measure(flags, &tests)?;
    Conclusion::new(format, flags.output.as_deref()).print(&record, |out| {
        report::copies::write(&record, terminal::width(), charset::glyphs(), out)
    })
}

fn measure(flags: &CopyFlags, tests: &[TestRecord]) -> anyhow::Result<CopyRecord> {
    let tree = Tree::live();
    let (inventory, _) = host::inventory::read(&tree);
    let kinds = host::copies::kinds(&tree, &inventory);
    let mut kept = if flags.fresh { Kept::default() } else { Kept::read() };
    let cores =
        kinds.iter().map(|kind| core(flags, kind, &mut kept)).collect::<Result<Vec<_>, _>>()?;
    kept.write();
    let explained = cores.iter().flat_map(|core| campaign::explained_by_copies(core, tests));
    let explained = explained.collect();
    Ok(CopyRecord {
        schema: CopySchema::default(),
        linerate: env!("CARGO_PKG_VERSION").to_owned(),
        host: inventory.host,
        kernel: inventory.kernel,
        architecture: inventory.architecture,
        cores,
        explained,
    })
}

fn core(flags: &CopyFlags, kind: &CoreKind, kept: &mut Kept) -> anyhow::Result<CoreCopies> {
    let extent = if flags.quick { Extent::quick() } else { Extent::full() };
    let chosen = flags.routine.iter().filter_map(|routine| routine.copier());
    let copiers: Vec<Copier> =
        if flags.routine.is_empty() { Routine::available().collect() } else { chosen.collect() };
    let measured = host::copies::measure(kind, &copiers, &extent);
    let mut core =
        measured.with_context(|| format!("cannot measure copies on CPU {}", kind.cpu))?;
    core.choice = Some(choice(flags, kind, kept));
    core.cliffs = campaign::copy_cliffs(&core);
    Ok(core)
}

/// The user's, that of before, or that of a probe.
fn choice(flags: &CopyFlags, kind: &CoreKind, kept: &mut Kept) -> RoutineChoice {
    if let Some(routine) = flags.routine.first() {
        return RoutineChoice {
            routine: routine.to_string(),
            of_libc_ratio: 1.0,
            by: ChosenBy::User,
        };
    }
    if let Some(known) = kept.choice(&kind.identity) {
        return known;
    }
    let choice = host::copies::choose(kind.facts, PROBE);
    let routine = choice.copier.routine().to_string();
    let choice = RoutineChoice { routine, of_libc_ratio: choice.gain, by: ChosenBy::Probe };
    kept.keep(&kind.identity, &choice);
    choice
}

/// Time of a probe.
const PROBE: Duration = Duration::from_millis(5);
