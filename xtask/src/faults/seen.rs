//! What a run left: records, what its client ended with, and what the kernel counted meanwhile.

use anyhow::{Context, Result};
use measurement::{SearchRecord, TestRecord};
use testbed::process::Ended;

use super::scenario::Command;
use crate::hosts::records;

/// Of one command.
pub(super) struct Seen {
    /// One for each row; of a search the one that shows the limit.
    pub(super) records: Vec<TestRecord>,
    /// None: it was no search.
    pub(super) search: Option<SearchRecord>,
    /// What the client ended with.
    pub(super) code: i32,
    /// What each witness counted.
    pub(super) counted: Vec<Counted>,
}

/// What the kernel counted.
pub(super) struct Counted {
    pub(super) number: u64,
    /// That of the host that counted.
    pub(super) interface: String,
}

impl Seen {
    /// What a client printed; one that failed leaves a record as well.
    pub(super) fn of(command: Command, ended: &Ended, counted: Vec<Counted>) -> Result<Self> {
        let (records, search) = match command {
            Command::Test | Command::Sweep => (records(ended)?, None),
            Command::Diagnose => {
                let mut rows = records(ended)?;
                // Those that answer a question of the verdict belong to the row before.
                rows.retain(|row| row.origin.question.is_none());
                (rows, None)
            }
            Command::Search => {
                let search: SearchRecord =
                    serde_json::from_str(&ended.stdout).with_context(|| ended.complaint())?;
                (search.evidence.as_deref().cloned().into_iter().collect(), Some(search))
            }
        };
        let code = ended.code().unwrap_or(-1);
        Ok(Self { records, search, code, counted })
    }

    /// The record of a test of one row.
    pub(super) fn record(&self) -> Result<&TestRecord> {
        self.records.first().context("no record")
    }
}
