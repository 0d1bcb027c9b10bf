//! Where results go.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, anyhow};
use measurement::RecordSet;
use report::export::{Audience, Export, Json};

/// Prints the records on standard output.
pub(crate) fn print(records: &RecordSet, format: &dyn Export) -> anyhow::Result<()> {
    let printed = match format.audience() {
        Audience::People => {
            let mut out = anstream::stdout().lock();
            format.write(records, &mut out).and_then(|()| out.flush())
        }
        // The record of many streams is long, and has no colours.
        Audience::Programs => {
            let mut out = io::BufWriter::new(io::stdout().lock());
            format.write(records, &mut out).and_then(|()| out.flush())
        }
    };
    whole(printed).context("cannot print the result")
}

/// Has `write` print on standard output, with colours where they are wanted.
pub(crate) fn print_table(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    whole(write(&mut out).and_then(|()| out.flush())).context("cannot print")
}

/// Prints a generated text on standard output.
pub(crate) fn print_text(text: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    whole(out.write_all(text).and_then(|()| out.flush())).context("cannot print")
}

/// A reader that closed the pipe has read enough.
fn whole(printed: io::Result<()>) -> io::Result<()> {
    match printed {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes the records to a file, which is replaced atomically.
pub(crate) fn write_file(records: &RecordSet, path: &Path) -> anyhow::Result<()> {
    write_whole(path, |out| Json.write(records, out))
}

/// Writes a file by `write`, and replaces it atomically; what is not a regular file, such as a
/// device or pipe, is written to directly.
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    // A link stays one, and what it leads to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_file = fs::metadata(&target).map_or(true, |there| there.is_file());
    let written = if is_file { replace(&target, write) } else { write_into(&target, write) };
    written.map_err(|error| {
        let (path, reason) = (path.display(), session::reason(&error));
        anyhow!("cannot write {path}: {reason}; choose another file")
    })
}

fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let written = fs::File::create(&part).and_then(|mut file| {
        fill(&mut file, write)?;
        file.sync_all()?;
        fs::rename(&part, path)
    });
    if written.is_err() {
        // It may not even exist; the first error is the one to report.
        _ = fs::remove_file(&part);
    }
    written
}

fn write_into(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    fill(&mut fs::OpenOptions::new().write(true).open(path)?, write)
}

fn fill(
    file: &mut fs::File,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffered = io::BufWriter::new(file);
    write(&mut buffered)?;
    buffered.flush()
}
