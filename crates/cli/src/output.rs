//! Where results go.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use anyhow::anyhow;
use flate2::Compression;
use flate2::write::GzEncoder;
use measurement::RecordSet;
use report::Width;
use report::export::{Audience, Export, Json, JsonCompact};
use report::summary::Summary;

use crate::exit::UsageError;
use crate::terminal;
use crate::whole_file::{self, Readers};

/// Prints the records on standard output.
///
/// # Errors
/// A format that is no text is not printed on a terminal.
pub(crate) fn print(records: &RecordSet, format: &dyn Export) -> anyhow::Result<()> {
    if !format.is_text() && io::stdout().is_terminal() {
        let name = format.name();
        return Err(anyhow!("--format {name} is no text: write it to a file, with > FILE"));
    }
    let printed = match format.audience() {
        Audience::People => {
            let mut out = anstream::stdout().lock();
            format.write(records, terminal::room(), &mut out).and_then(|()| out.flush())
        }
        // The record of many streams is long, and has no colours.
        Audience::Programs => {
            let mut out = io::BufWriter::new(io::stdout().lock());
            format.write(records, Width::UNKNOWN, &mut out).and_then(|()| out.flush())
        }
    };
    whole(printed).map_err(|error| unprinted("the result", &error))
}

/// Prints the error of a run without records as one line of JSON on standard output.
pub(crate) fn print_error(records: &RecordSet) {
    let mut out = io::stdout().lock();
    // Standard error has it too, and the exit code.
    _ = JsonCompact.write(records, Width::UNKNOWN, &mut out).and_then(|()| out.flush());
}

/// Prints a result that is no set of tests on standard output.
pub(crate) fn print_summary(summary: &Summary<'_>, format: &dyn Export) -> anyhow::Result<()> {
    let write = format.summary_writer().unwrap_or(|summary, out| summary.write_text(out));
    print_table(|out| write(summary, out))
}

/// Has `write` print on standard output, with colours where they are wanted.
pub(crate) fn print_table(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    whole(write(&mut out).and_then(|()| out.flush()))
        .map_err(|error| unprinted("the result", &error))
}

/// Prints a generated text on standard output.
pub(crate) fn print_text(text: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    whole(out.write_all(text).and_then(|()| out.flush()))
        .map_err(|error| unprinted("the result", &error))
}

/// Why something was not printed, in words.
pub(crate) fn unprinted(what: &str, error: &io::Error) -> anyhow::Error {
    anyhow!("cannot print {what}: {}", session::reason(error))
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
    write_whole(path, |out| Json.write(records, Width::UNKNOWN, out))
}

/// Makes sure before a test that its records can be written to `path` after it. What is there stays
/// as it is.
pub(crate) fn check_writable(path: &Path) -> Result<(), UsageError> {
    let tried = match fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        // To open a pipe waits for its reader.
        Ok(there) if there.file_type().is_fifo() => Ok(()),
        Ok(there) if !there.is_file() => fs::OpenOptions::new().write(true).open(path).map(drop),
        _ => whole_file::check(path),
    };
    tried.map_err(|error| UsageError(cannot_write(path, &error)))
}

fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {}; choose another file", path.display(), session::reason(error))
}

/// Writes a file by `write`, and replaces it atomically; what is not a regular file, such as a
/// device or pipe, is written to directly. A file whose name ends in `.gz` is packed (RFC 1952).
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    if !path.extension().is_some_and(|end| end.eq_ignore_ascii_case("gz")) {
        return write_as_it_is(path, write);
    }
    write_as_it_is(path, |out| {
        let mut packed = io::BufWriter::new(GzEncoder::new(out, Compression::default()));
        write(&mut packed)?;
        packed.into_inner()?.finish().map(drop)
    })
}

/// Writes a file as [`write_whole`] does, whatever its name ends in: of a format that packs by itself.
pub(crate) fn write_as_it_is(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    let is_file = fs::metadata(path).map_or(true, |there| there.is_file());
    let written = if is_file {
        whole_file::replace(path, Readers::Usual, write).map(drop)
    } else {
        write_into(path, write)
    };
    written.map_err(|error| anyhow!(cannot_write(path, &error)))
}

fn write_into(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut buffered = io::BufWriter::new(fs::OpenOptions::new().write(true).open(path)?);
    write(&mut buffered)?;
    buffered.flush()
}
