//! A table of the other formats as data of the page.

use serde::Serialize;

use crate::columns::Columns;

/// A table of texts, with a line of titles.
#[derive(Debug, Serialize)]
pub(super) struct TextTable {
    name: &'static str,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// None: it has no rows.
    pub(super) fn of(name: &'static str, columns: &Columns) -> Option<Self> {
        let mut rows = columns.texts();
        let head = rows.next()?;
        let rows: Vec<_> = rows.collect();
        (!rows.is_empty()).then_some(Self { name, head, rows })
    }
}
