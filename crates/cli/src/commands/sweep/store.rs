//! The file of a sweep: a line of JSON for each record, which is on the disk before the next test
//! begins. Its lines are those of the output format `json-stream`, so that every reader of records
//! reads it.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use linux::file_lock::Lock;
use measurement::{RunEvent, TestRecord};
use report::export::write_event;
use report::import::record;

use crate::exit::UsageError;

/// An open file of a sweep, and the records that were in it.
#[derive(Debug)]
pub(super) struct Store {
    path: PathBuf,
    file: File,
    _lock: Option<Lock>,
    /// Bytes of whole lines.
    length: u64,
    /// Lines, so far.
    rows: u32,
    pub(super) records: Vec<TestRecord>,
}

impl Store {
    /// Makes a new file, or opens that of a sweep to go on with. What a kill left of a last line is
    /// cut off.
    pub(super) fn open(path: &Path, resume: bool) -> anyhow::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let opened = if resume {
            options.create(true).truncate(false).open(path)
        } else {
            options.create_new(true).open(path)
        };
        let file = opened.map_err(|error| refused(path, &error))?;
        let lock = lock(&file, path)?;
        let bytes = read(&file, path)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let (lines, rest) = bytes.split_at(whole);
        let records = records(path, lines)?;
        let (path, length, rows) = (path.to_owned(), whole as u64, 0);
        let mut store = Self { path, file, _lock: lock, length, rows, records };
        store.end_last_line(rest)?;
        sync(&store.file, &store.path).map_err(|error| store.full(&error))?;
        store.rows = u32::try_from(store.records.len()).unwrap_or(u32::MAX);
        Ok(store)
    }

    /// Keeps a last line that lacks only its end, and cuts off a part of one.
    fn end_last_line(&mut self, rest: &[u8]) -> anyhow::Result<()> {
        let is_part = rest.starts_with(BEGIN) || BEGIN.starts_with(rest);
        if !is_part {
            return Err(no_record(&self.path, self.records.len() + 1).into());
        }
        let last =
            record::read(rest).ok().filter(|set| !rest.is_empty() && !set.records.is_empty());
        if let Some(last) = last {
            let end = self.length + rest.len() as u64;
            let written = self.file.write_all_at(b"\n", end);
            written.map_err(|error| self.full(&error))?;
            self.length = end + 1;
            self.records.extend(last.records);
        }
        self.file.set_len(self.length).map_err(|error| self.full(&error))
    }

    /// Appends a record, and waits until it is on the disk. If that fails, all lines before are
    /// whole.
    pub(super) fn append(&mut self, record: &TestRecord) -> anyhow::Result<()> {
        let mut line = Vec::new();
        let event = RunEvent::Row { row: self.rows, record: Cow::Borrowed(record) };
        write_event(&event, &mut line)?;
        let written = self.file.write_all_at(&line, self.length);
        if let Err(error) = written.and_then(|()| self.file.sync_data()) {
            // What is left of it would be cut off by the next run, too.
            _ = self.file.set_len(self.length);
            return Err(self.full(&error));
        }
        self.length += line.len() as u64;
        self.rows += 1;
        Ok(())
    }

    fn full(&self, error: &io::Error) -> anyhow::Error {
        let (path, why) = (self.path.display(), session::reason(error));
        anyhow!("cannot write {path}: {why}; the points before are in it, go on with --resume")
    }
}

/// Why a file cannot be that of a sweep.
fn refused(path: &Path, error: &io::Error) -> UsageError {
    let file = path.display();
    UsageError(if error.kind() == io::ErrorKind::AlreadyExists {
        format!("{file} exists: add --resume to go on with it, or choose another file")
    } else {
        format!("cannot write {file}: {}; choose another file", session::reason(error))
    })
}

/// Keeps other sweeps off the file until it is closed. A file system without locks is none the worse.
fn lock(file: &File, path: &Path) -> Result<Option<Lock>, UsageError> {
    match Lock::take(file) {
        Ok(Some(lock)) => Ok(Some(lock)),
        Ok(None) => Err(UsageError(format!(
            "another sweep writes {}: wait for its end, or choose another file",
            path.display()
        ))),
        Err(_) => Ok(None),
    }
}

/// All of a file that may be that of a sweep.
fn read(file: &File, path: &Path) -> anyhow::Result<Vec<u8>> {
    let name = path.display();
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        return Err(UsageError(format!("{name} is no file: choose another")).into());
    }
    let mut bytes = Vec::new();
    let most = report::import::MOST_BYTES;
    let read = file.take(most + 1).read_to_end(&mut bytes);
    read.with_context(|| format!("cannot read {name}"))?;
    if bytes.len() as u64 > most {
        return Err(UsageError(format!("{name} is too long: choose another file")).into());
    }
    Ok(bytes)
}

/// The records in whole lines.
fn records(path: &Path, lines: &[u8]) -> Result<Vec<TestRecord>, UsageError> {
    let mut records = Vec::new();
    for (number, line) in lines.split(|byte| *byte == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let of_line = record::read(line).map_err(|_| no_record(path, number + 1))?;
        records.extend(of_line.records);
    }
    Ok(records)
}

fn no_record(path: &Path, line: usize) -> UsageError {
    let file = path.display();
    UsageError(format!("line {line} of {file} is no record: choose another file"))
}

/// The file and its name in the folder are on the disk (fsync(2)).
fn sync(file: &File, path: &Path) -> io::Result<()> {
    file.sync_all()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or_else(|| Path::new(".")))?.sync_all()
}

/// With which each line begins.
const BEGIN: &[u8] = b"{\"event\":";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_of_one_sweep_at_a_time() {
        let path = std::env::temp_dir().join(format!("linerate-sweep-{}", std::process::id()));
        let first = Store::open(&path, true).expect("a new file");
        let second = Store::open(&path, true).expect_err("the file is locked").to_string();
        assert!(second.starts_with("another sweep writes "), "{second}");
        drop(first);
        let third = Store::open(&path, true);
        std::fs::remove_file(&path).expect("removed");
        assert!(third.is_ok(), "{third:?}");
    }
}
