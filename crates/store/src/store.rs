//! The store: keeps runs, finds them, and deletes old ones.

use std::path::{Path, PathBuf};

use measurement::{Quantity, RecordSet, Run, RunRow, Stamp};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use crate::blob;
use crate::error::StoreError;
use crate::filter::{Filter, Tag, like};
use crate::keeping::Keep;
use crate::kept::{Kept, KeptHost, KeptPeer};
use crate::open;
use crate::run::{About, RunId};
use crate::schema;

/// A file with runs, opened.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
}

impl Store {
    /// Opens the store at `path` to read and write; makes it if there is none, readable by its
    /// owner only.
    ///
    /// # Errors
    /// [`StoreError`] says what is wrong with the file; a file that is none of this version is left
    /// as it is.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { path: path.to_owned(), connection: open::to_write(path)? })
    }

    /// Opens the store at `path` to read. None: nothing was kept there yet.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_to_read(path: &Path) -> Result<Option<Self>, StoreError> {
        let connection = open::to_read(path)?;
        Ok(connection.map(|connection| Self { path: path.to_owned(), connection }))
    }

    /// Keeps the records of a run, all or none of them, which this or another program measured.
    ///
    /// # Errors
    /// [`StoreError`]; the store is then as it was.
    pub fn keep(&mut self, records: &RecordSet, about: About<'_>) -> Result<RunId, StoreError> {
        let kept = Kept::from_records(records, about);
        let packed = blob::pack(records).map_err(|error| self.damaged(&error))?;
        self.write(|transaction| insert(transaction, &kept, about.command, &packed))
    }

    /// The runs that `filter` is about, the one kept last first, with the rows that it is about. A
    /// clock that was set does not change their order.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn runs(&self, filter: &Filter) -> Result<Vec<Run>, StoreError> {
        self.read(|connection| {
            let mut runs = find(connection, filter)?;
            let pattern = like(filter.row.as_deref().unwrap_or_default());
            let mut tags = connection.prepare(TAGS)?;
            let mut rows = connection.prepare(ROWS)?;
            for run in &mut runs {
                run.tags = tags.query_map([run.id], tag)?.collect::<Result<_, _>>()?;
                let of_run = params![run.id, pattern];
                run.rows = rows.query_map(of_run, row)?.collect::<Result<_, _>>()?;
            }
            Ok(runs)
        })
    }

    /// The JSON of the records of a run, as [`measurement::json::write_records`] writes it. It may
    /// be of anybody: `report::import::record` reads it.
    ///
    /// # Errors
    /// [`StoreError::NoRun`], or what is wrong with the store.
    pub fn records(&self, id: RunId) -> Result<Vec<u8>, StoreError> {
        let sql = "SELECT json FROM record WHERE run = ?";
        let packed = self.read(|connection| {
            connection.query_row(sql, [id.0], |row| row.get::<_, Vec<u8>>(0)).optional()
        })?;
        let packed = packed.ok_or(StoreError::NoRun { number: id.0 })?;
        blob::unpack(&packed).map_err(|error| self.damaged(&error))
    }

    /// The run that is `back` runs before the last one kept: 0 is the last. None: there are not so
    /// many.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn last(&self, back: u32) -> Result<Option<RunId>, StoreError> {
        let sql = "SELECT id FROM run ORDER BY id DESC LIMIT 1 OFFSET ?";
        self.read(|connection| {
            connection.query_row(sql, [back], |row| row.get(0).map(RunId)).optional()
        })
    }

    /// Gives a run a label; one of the same name is replaced.
    ///
    /// # Errors
    /// [`StoreError::NoRun`], or what is wrong with the store.
    pub fn tag(&mut self, id: RunId, tag: &Tag) -> Result<(), StoreError> {
        let is_there = self.write(|transaction| {
            let sql = "SELECT count(*) FROM run WHERE id = ?";
            let count: i64 = transaction.query_row(sql, [id.0], |row| row.get(0))?;
            if count > 0 {
                put_tag(transaction, id, &tag.name, &tag.value)?;
            }
            Ok(count > 0)
        })?;
        if is_there { Ok(()) } else { Err(StoreError::NoRun { number: id.0 }) }
    }

    /// Deletes the runs beyond `keep`, and returns their number; `now_millis` is the time in
    /// milliseconds since the Unix epoch.
    ///
    /// # Errors
    /// [`StoreError`]; the store is then as it was.
    pub fn prune(&mut self, keep: Keep, now_millis: u64) -> Result<usize, StoreError> {
        let deleted = self.write(|transaction| match keep {
            Keep::Runs(count) => {
                let sql = "DELETE FROM run WHERE id NOT IN \
                           (SELECT id FROM run ORDER BY id DESC LIMIT ?)";
                transaction.execute(sql, [count])
            }
            Keep::Within(time) => {
                let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                let since = i64::try_from(now_millis.saturating_sub(millis)).unwrap_or(i64::MAX);
                transaction.execute("DELETE FROM run WHERE started_millis < ?", [since])
            }
        })?;
        if deleted > 0 {
            self.read(|connection| {
                // Each step of it gives back a page.
                let mut statement = connection.prepare("PRAGMA incremental_vacuum")?;
                let mut pages = statement.query([])?;
                while pages.next()?.is_some() {}
                schema::move_log(connection)
            })?;
        }
        Ok(deleted)
    }

    /// Checks every page and index of the file, and that each run has its records.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] says what is wrong.
    pub fn verify(&self) -> Result<(), StoreError> {
        let whole: String = self.read(|connection| {
            connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))
        })?;
        let sql = "SELECT count(*) FROM run LEFT JOIN record ON record.run = run.id \
                   WHERE record.run IS NULL";
        let bare: i64 = self.read(|connection| connection.query_row(sql, [], |row| row.get(0)))?;
        match (whole.as_str(), bare) {
            ("ok", 0) => Ok(()),
            ("ok", bare) => Err(self.damaged(&format!("{bare} runs without records"))),
            (what, _) => Err(self.damaged(&what)),
        }
    }

    /// Runs `act` under the lock of writers, all or nothing of it.
    fn write<T>(
        &mut self,
        act: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let written = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(|transaction| {
                let done = act(&transaction)?;
                transaction.commit()?;
                Ok(done)
            });
        written.map_err(|error| StoreError::of(&self.path, &error))
    }

    fn read<T>(
        &self,
        act: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        act(&self.connection).map_err(|error| StoreError::of(&self.path, &error))
    }

    fn damaged(&self, what: &impl ToString) -> StoreError {
        StoreError::damaged(&self.path, &what.to_string())
    }
}

fn insert(
    transaction: &Transaction<'_>,
    kept: &Kept,
    command: &str,
    packed: &[u8],
) -> rusqlite::Result<RunId> {
    let host = host(transaction, &kept.host)?;
    let peer = peer(transaction, &kept.peer)?;
    let sql = "INSERT INTO run (started_millis, command, host, peer) VALUES (?, ?, ?, ?)";
    transaction.execute(sql, params![kept.started_millis, command, host, peer])?;
    let id = RunId(transaction.last_insert_rowid());
    transaction.execute("INSERT INTO record VALUES (?, ?)", params![id.0, packed])?;
    for (position, row) in (0_i64..).zip(&kept.rows) {
        let stamp = row.stamp.map(|stamp| stamp.to_string()).unwrap_or_default();
        transaction.execute(
            INSERT_ROW,
            params![
                id.0,
                position,
                row.row,
                name(row.quantity),
                row.value,
                stamp,
                row.limit,
                row.settings
            ],
        )?;
    }
    for (name, value) in &kept.tags {
        put_tag(transaction, id, name, value)?;
    }
    Ok(id)
}

fn host(transaction: &Transaction<'_>, host: &KeptHost) -> rusqlite::Result<i64> {
    let KeptHost { name, kernel, architecture, driver, firmware, linerate } = host;
    let columns = "name, kernel, architecture, driver, firmware, linerate";
    let values = params![name, kernel, architecture, driver, firmware, linerate];
    let sql = format!("INSERT OR IGNORE INTO host ({columns}) VALUES (?, ?, ?, ?, ?, ?)");
    transaction.execute(&sql, values)?;
    let sql = format!("SELECT id FROM host WHERE ({columns}) = (?, ?, ?, ?, ?, ?)");
    transaction.query_row(&sql, values, |row| row.get(0))
}

fn peer(transaction: &Transaction<'_>, peer: &KeptPeer) -> rusqlite::Result<i64> {
    let values = params![peer.address, peer.software, peer.kernel];
    let sql = "INSERT OR IGNORE INTO peer (address, software, kernel) VALUES (?, ?, ?)";
    transaction.execute(sql, values)?;
    let sql = "SELECT id FROM peer WHERE (address, software, kernel) = (?, ?, ?)";
    transaction.query_row(sql, values, |row| row.get(0))
}

fn put_tag(
    transaction: &Transaction<'_>,
    id: RunId,
    name: &str,
    value: &str,
) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO tag (run, name, value) VALUES (?, ?, ?)";
    transaction.execute(sql, params![id.0, name, value]).map(drop)
}

/// The runs without tags and rows.
fn find(connection: &Connection, filter: &Filter) -> rusqlite::Result<Vec<Run>> {
    let (condition, mut values) = filter.condition();
    values.push(filter.most.map_or(Value::from(-1), |most| Value::from(i64::from(most))));
    let sql = format!(
        "SELECT run.id, started_millis, command, host.name, host.kernel, driver, firmware, \
         linerate, peer.address FROM run JOIN host ON host.id = run.host \
         JOIN peer ON peer.id = run.peer WHERE {condition} \
         ORDER BY run.id DESC LIMIT ?"
    );
    let run = |row: &Row<'_>| {
        Ok(Run {
            id: row.get(0)?,
            started_millis: row.get(1)?,
            command: row.get(2)?,
            host: row.get(3)?,
            kernel: row.get(4)?,
            driver: row.get(5)?,
            firmware: row.get(6)?,
            linerate: row.get(7)?,
            peer: row.get(8)?,
            tags: Vec::new(),
            rows: Vec::new(),
        })
    };
    connection.prepare(&sql)?.query_map(rusqlite::params_from_iter(values), run)?.collect()
}

fn tag(row: &Row<'_>) -> rusqlite::Result<String> {
    Ok(Tag::shown(&row.get::<_, String>(0)?, &row.get::<_, String>(1)?))
}

fn row(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let (quantity, stamp): (String, String) = (row.get(1)?, row.get(3)?);
    Ok(RunRow {
        row: row.get(0)?,
        settings: row.get(5)?,
        quantity: QUANTITIES.into_iter().find(|one| name(*one) == quantity).unwrap_or(RATE),
        value: row.get(2)?,
        stamp: STAMPS.into_iter().find(|one| one.to_string() == stamp),
        limit: row.get(4)?,
    })
}

/// As the table of rows has it.
const fn name(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Rate => "rate",
        Quantity::RoundTrip => "round trip",
    }
}

const TAGS: &str = "SELECT name, value FROM tag WHERE run = ? ORDER BY name";
const ROWS: &str = "SELECT title, quantity, value, stamp, bottleneck, settings FROM row \
     WHERE run = ? AND title LIKE ? ESCAPE '\\' ORDER BY position";
const INSERT_ROW: &str = "INSERT INTO row (run, position, title, quantity, value, stamp, bottleneck, settings) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
const RATE: Quantity = Quantity::Rate;
const QUANTITIES: [Quantity; 2] = [Quantity::Rate, Quantity::RoundTrip];
const STAMPS: [Stamp; 3] = [Stamp::Valid, Stamp::Suspect, Stamp::Invalid];
