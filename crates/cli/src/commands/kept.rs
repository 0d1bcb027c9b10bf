//! `linerate show`, `linerate tag` and `linerate export`: runs of the history, as they were kept.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::ensure;
use measurement::RecordSet;
use report::Width;
use report::export::mqtt::{self, Topics};
use report::export::{Details, Export, Table};
use store::{Filter, RunId, Store};

use crate::flags::{ExportFlags, ShowFlags, TagFlags};
use crate::mqtt::Broker;
use crate::{exit, history, output, recorded};

pub(crate) fn show(flags: &ShowFlags) -> anyhow::Result<ExitCode> {
    let records = if Path::new(&flags.run).is_file() {
        recorded::records(&flags.run, flags.file.path())?
    } else {
        history::records(flags.file.path(), &flags.run)?
    };
    let usual: &dyn Export = if flags.verbose { &Details } else { &Table };
    output::print(&records, flags.format.or(usual))?;
    Ok(exit::of_stamps(&records.records))
}

pub(crate) fn tag(flags: &TagFlags) -> anyhow::Result<ExitCode> {
    let runs = history::find(&history::read(flags.file.path())?, &flags.run)?;
    let mut store = history::open(flags.file.path())?;
    for run in runs {
        store.tag(run, &flags.tag)?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn export(flags: &ExportFlags) -> anyhow::Result<ExitCode> {
    let file = flags.output.as_deref();
    file.map_or(Ok(()), output::check_writable)?;
    if flags.all {
        let store = history::read(flags.file.path())?;
        let runs = store.runs(&Filter::default())?;
        let ids = runs.iter().rev().map(|run| RunId::from_number(run.id));
        write_lines(&store, ids, file)?;
        return Ok(ExitCode::SUCCESS);
    }
    let records = |word: &String| recorded::records(word, flags.file.path());
    let all = history::join(flags.runs.iter().map(records))?;
    if let Some(broker) = &flags.mqtt.mqtt {
        publish(broker, &all, flags.mqtt.discovery())?;
        return Ok(ExitCode::SUCCESS);
    }
    let format = flags.format();
    let write = |out: &mut dyn Write| format.write(&all, Width::UNKNOWN, out);
    match file {
        Some(file) if format.is_text() => output::write_whole(file, write)?,
        Some(file) => output::write_as_it_is(file, write)?,
        None => output::print(&all, format)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn publish(broker: &Broker, all: &RecordSet, discovery: Option<&str>) -> anyhow::Result<()> {
    let topics = Topics { results: &broker.topic, discovery };
    let messages = mqtt::messages(all, topics);
    ensure!(!messages.is_empty(), "there is no result to publish");
    broker.publish(messages)
}

/// One run at a time, since all may be more than memory holds.
fn write_lines(
    store: &Store,
    mut ids: impl Iterator<Item = RunId>,
    file: Option<&Path>,
) -> anyhow::Result<()> {
    let mut lines = |out: &mut dyn Write| -> io::Result<()> {
        for id in &mut ids {
            out.write_all(&store.records(id).map_err(io::Error::other)?)?;
            out.write_all(b"\n")?;
        }
        out.flush()
    };
    match file {
        Some(file) => output::write_whole(file, |out| lines(out)),
        None => match lines(&mut BufWriter::new(io::stdout().lock())) {
            // A reader that closed the pipe has read enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            done => done.map_err(|error| output::unprinted("the runs", &error)),
        },
    }
}
