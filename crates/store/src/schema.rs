//! The tables, and how a file gets them.
//!
//! `user_version` is the version of the tables, `application_id` says that a file is of linerate
//! (pragma statements of SQLite).

use rusqlite::{Connection, TransactionBehavior};

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It has no tables yet.
    Empty,
    /// It has the tables of this version.
    Version(i64),
    /// It is of another program.
    Foreign,
}

/// What the file of a connection is.
pub(crate) fn state(connection: &Connection) -> rusqlite::Result<State> {
    // One look: between two of them another process may make the tables.
    let _one =
        connection.is_autocommit().then(|| connection.unchecked_transaction()).transpose()?;
    let number = |text: &str| connection.query_row(text, [], |row| row.get::<_, i64>(0));
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    Ok(match (application, number("SELECT count(*) FROM sqlite_schema")?) {
        (APPLICATION, _) => State::Version(version),
        (0, 0) if version == 0 => State::Empty,
        _ => State::Foreign,
    })
}

/// Makes the tables in a file that has none.
pub(crate) fn make(connection: &mut Connection) -> rusqlite::Result<()> {
    // Another process may make them first: what the file has is looked up under the lock.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let is_new = state(&transaction)? == State::Empty;
    if is_new {
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()?;
    // A file that is found without its log is to be known as a store.
    if is_new { move_log(connection) } else { Ok(()) }
}

/// Moves what the log has into the file, as far as no other process uses it.
pub(crate) fn move_log(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

/// `"lrte"` in ASCII.
const APPLICATION: i64 = 0x6c72_7465;

/// Version of the tables.
pub(crate) const VERSION: i64 = 1;

const TABLES: &str = "
CREATE TABLE host (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    kernel TEXT NOT NULL,
    architecture TEXT NOT NULL,
    driver TEXT NOT NULL,
    firmware TEXT NOT NULL,
    linerate TEXT NOT NULL,
    UNIQUE (name, kernel, architecture, driver, firmware, linerate)
) STRICT;
CREATE TABLE peer (
    id INTEGER PRIMARY KEY,
    address TEXT NOT NULL,
    software TEXT NOT NULL,
    kernel TEXT NOT NULL,
    UNIQUE (address, software, kernel)
) STRICT;
CREATE TABLE run (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    started_millis INTEGER NOT NULL,
    command TEXT NOT NULL,
    host INTEGER NOT NULL REFERENCES host,
    peer INTEGER NOT NULL REFERENCES peer
) STRICT;
CREATE INDEX run_by_time ON run (started_millis);
CREATE INDEX run_by_host ON run (host, started_millis);
CREATE INDEX run_by_peer ON run (peer, started_millis);
CREATE TABLE row (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    position INTEGER NOT NULL,
    title TEXT NOT NULL,
    quantity TEXT NOT NULL,
    value REAL NOT NULL,
    stamp TEXT NOT NULL,
    bottleneck TEXT NOT NULL,
    settings TEXT NOT NULL,
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE tag (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX tag_by_name ON tag (name, value, run);
CREATE TABLE record (
    run INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,
    json BLOB NOT NULL
) STRICT;
";

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> Connection {
        Connection::open_in_memory().expect("memory")
    }

    #[test]
    fn an_empty_file_gets_the_tables_once() {
        let mut connection = memory();
        assert_eq!(state(&connection), Ok(State::Empty));
        for _ in 0..2 {
            make(&mut connection).expect("tables");
            assert_eq!(state(&connection), Ok(State::Version(VERSION)));
        }
    }

    #[test]
    fn a_file_of_another_program_is_told() {
        let connection = memory();
        connection.execute_batch("CREATE TABLE notes (text)").expect("a table");
        assert_eq!(state(&connection), Ok(State::Foreign));
    }
}
