//! The tables, and how a file of an earlier version gets them.
//!
//! `user_version` counts the steps that a file has had, `application_id` says that it is of
//! linerate (pragma statements of SQLite). A step that was released does not change.

use rusqlite::{Connection, TransactionBehavior};

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It has no tables yet.
    Empty,
    /// It has had so many of the [`STEPS`].
    Steps(i64),
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
    let steps = number("PRAGMA user_version")?;
    Ok(match (application, number("SELECT count(*) FROM sqlite_schema")?) {
        (APPLICATION, _) => State::Steps(steps),
        (0, 0) if steps == 0 => State::Empty,
        _ => State::Foreign,
    })
}

/// Takes the `steps` that the file has not had, all or none of them.
pub(crate) fn migrate(connection: &mut Connection, steps: &[&str]) -> rusqlite::Result<()> {
    // Another process may take them first: what the file has is looked up under the lock.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let taken = match state(&transaction)? {
        State::Steps(taken) => usize::try_from(taken).unwrap_or(usize::MAX),
        State::Empty => 0,
        State::Foreign => usize::MAX,
    };
    for step in steps.iter().skip(taken) {
        transaction.execute_batch(step)?;
    }
    let is_new = taken < steps.len();
    if is_new {
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(
            None,
            "user_version",
            i64::try_from(steps.len()).unwrap_or(i64::MAX),
        )?;
    }
    transaction.commit()?;
    // Who finds the file without its log is to know it for what it is.
    if is_new { move_log(connection) } else { Ok(()) }
}

/// Moves what the log has into the file, as far as no other process uses it.
pub(crate) fn move_log(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

/// `"lrte"` in ASCII.
const APPLICATION: i64 = 0x6c72_7465;

/// Each makes the next version of the tables.
pub(crate) const STEPS: [&str; 2] = [MADE, SETTINGS];

const MADE: &str = "
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
/// What the plan of a row asked for; null in a row of before.
const SETTINGS: &str = "ALTER TABLE row ADD COLUMN settings TEXT";

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> Connection {
        Connection::open_in_memory().expect("memory")
    }

    #[test]
    fn an_empty_file_gets_all_steps_and_a_later_one_what_it_lacks() {
        let mut connection = memory();
        assert_eq!(state(&connection), Ok(State::Empty));
        let steps = ["CREATE TABLE a (x)", "ALTER TABLE a ADD COLUMN y", "CREATE TABLE b (z)"];
        migrate(&mut connection, &steps[..1]).expect("one step");
        connection.execute("INSERT INTO a VALUES (7)", []).expect("a row");
        assert_eq!(state(&connection), Ok(State::Steps(1)));
        for _ in 0..2 {
            migrate(&mut connection, &steps).expect("two more, once");
            assert_eq!(state(&connection), Ok(State::Steps(3)));
        }
        let sum = "SELECT x + coalesce(y, 1) + (SELECT count(*) FROM b) FROM a";
        assert_eq!(connection.query_row(sum, [], |row| row.get(0)), Ok(8));
    }

    #[test]
    fn a_step_that_fails_leaves_what_was_there() {
        let mut connection = memory();
        let steps = ["CREATE TABLE a (x)", "CREATE TABLE b (x); nonsense"];
        migrate(&mut connection, &steps[..1]).expect("one step");
        migrate(&mut connection, &steps).expect_err("nonsense");
        assert_eq!(state(&connection), Ok(State::Steps(1)));
        migrate(&mut connection, &["", "CREATE TABLE b (x)"]).expect("there is no b");
    }

    #[test]
    fn a_file_of_another_program_is_told() {
        let connection = memory();
        connection.execute_batch("CREATE TABLE notes (text)").expect("a table");
        assert_eq!(state(&connection), Ok(State::Foreign));
    }
}
