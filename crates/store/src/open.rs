//! Opens a file of SQLite as a store: who may read it, how long it is waited for, what it has to be.

use std::fs::{self, DirBuilder};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::StoreError;
use crate::schema::{self, State, VERSION};

/// Opens the store at `path` to read and write; makes it, and its folder, if there is none. Only
/// the owner may read what is made: records tell of hosts and addresses.
pub(crate) fn to_write(path: &Path) -> Result<Connection, StoreError> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| StoreError::open(folder, &error))?;
    }
    // SQLite tells less of why it cannot, and gives its other files the mode of this one.
    let mut file = fs::OpenOptions::new();
    let opened = file.read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
    is_of_sqlite(path, &opened.map_err(|error| StoreError::open(path, &error))?)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags);
    let mut connection = opened.map_err(|error| StoreError::of(path, &error))?;
    refuse(path, &connection)?;
    let log = fs::metadata(log_path(path)).map_or(0, |log| log.len());
    retried(|| prepare(&mut connection, log)).map_err(|error| StoreError::of(path, &error))?;
    Ok(connection)
}

/// Opens the store at `path` to read. None: there is no such file, or nothing in it yet.
pub(crate) fn to_read(path: &Path) -> Result<Option<Connection>, StoreError> {
    match fs::File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::open(path, &error)),
        Ok(file) => is_of_sqlite(path, &file)?,
    }
    let of = |error| StoreError::of(path, &error);
    let connection = match Connection::open_with_flags(path, READ).and_then(|connection| {
        connection.busy_timeout(PATIENCE)?;
        schema::state(&connection).map(|_| connection)
    }) {
        Ok(connection) => connection,
        // Readers, too, have a file beside it (https://sqlite.org/wal.html, section 5), but where
        // none can be made nobody writes.
        Err(error) if needs_its_folder(&error) => {
            Connection::open_with_flags(immutable(path), READ | OpenFlags::SQLITE_OPEN_URI)
                .map_err(of)?
        }
        Err(error) => return Err(of(error)),
    };
    refuse(path, &connection)?;
    let is_empty = schema::state(&connection).map_err(of)? == State::Empty;
    Ok((!is_empty).then_some(connection))
}

/// Refuses a file that does not begin as those of SQLite do (https://sqlite.org/fileformat.html,
/// section 1.3.1). SQLite itself takes one that is shorter than its header for an empty one.
fn is_of_sqlite(path: &Path, file: &fs::File) -> Result<(), StoreError> {
    let mut head = [0; MAGIC.len()];
    let length = file.read_at(&mut head, 0).map_err(|error| StoreError::open(path, &error))?;
    let is_one = length == 0 || head == MAGIC;
    if is_one { Ok(()) } else { Err(StoreError::Foreign { path: path.to_owned() }) }
}

fn needs_its_folder(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

/// The name of a file that nobody changes (https://sqlite.org/uri.html).
fn immutable(path: &Path) -> String {
    let letter = |byte: &u8| match byte {
        b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
            char::from(*byte).to_string()
        }
        byte => format!("%{byte:02x}"),
    };
    let name: String = path.as_os_str().as_bytes().iter().map(letter).collect();
    format!("file:{name}?immutable=1")
}

/// The log of what is not in the file yet (https://sqlite.org/walformat.html).
fn log_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// Says why a file cannot be used by this version.
fn refuse(path: &Path, connection: &Connection) -> Result<(), StoreError> {
    let state = retried(|| {
        connection.busy_timeout(PATIENCE)?;
        schema::state(connection)
    });
    match state.map_err(|error| StoreError::of(path, &error))? {
        State::Foreign => Err(StoreError::Foreign { path: path.to_owned() }),
        State::Version(found) if found > VERSION => {
            Err(StoreError::Newer { path: path.to_owned(), found, known: VERSION })
        }
        _ => Ok(()),
    }
}

/// How the file is used (https://sqlite.org/pragma.html), with a log of so many bytes beside it.
fn prepare(connection: &mut Connection, log: u64) -> rusqlite::Result<()> {
    connection.busy_timeout(PATIENCE)?;
    // Deleted runs give their room back. It has to be said before the first table.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    // Writers do not wait for readers. Where a file system has no shared memory it stays as it is.
    let _mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    // The file is consistent after a loss of power, too, though the last run may be missing then.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // To move the log into the file waits for the disk, and each process that opens the file reads the
    // whole log: it is moved at the end of a run that found a long one.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, log < LONGEST_LOG)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    schema::make(connection)
}

/// To change the way of writing SQLite does not wait for another process.
fn retried<T>(mut attempt: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let is_busy = |error: &rusqlite::Error| {
        let code = error.sqlite_error_code();
        matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
    };
    for _ in 0..ATTEMPTS {
        match attempt() {
            Err(error) if is_busy(&error) => thread::sleep(PAUSE),
            other => return other,
        }
    }
    attempt()
}

/// With which each file of SQLite begins.
const MAGIC: [u8; 16] = *b"SQLite format 3\0";
/// To read, and SQLite's own files beside it may be made.
const READ: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);
/// Bytes of a log that is left at the end: some twenty runs.
const LONGEST_LOG: u64 = 1 << 20;
/// Another process writes a run within milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(10);
const ATTEMPTS: u32 = 200;
