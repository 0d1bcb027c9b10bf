//! Tables of `perf report --stdio`, and screens of `perf top --stdio`; a text may have several.

use super::plain::plain;
use super::{Content, Import, ImportError, Imported, head};

mod ahead;
mod line;
mod reader;
mod row;
mod table;

use self::line::Line;
use self::reader::Reader;

/// The text of `perf report --stdio` or of `perf top --stdio`.
pub(super) struct PerfTable;

impl Import for PerfTable {
    fn name(&self) -> &'static str {
        "output of perf report --stdio or perf top --stdio"
    }

    fn content(&self) -> Content {
        Content::Profile
    }

    fn recognises(&self, bytes: &[u8]) -> bool {
        head(bytes).lines().any(|line| matches!(Line::parse(line, false), Line::Row(_)))
    }

    fn read(&self, bytes: &[u8]) -> Result<Imported, ImportError> {
        let mut tables = Reader::read(&plain(bytes)).tables;
        match tables.len() {
            0 => Err(ImportError::Unrecognised),
            1 => Ok(Imported::Profile(tables.remove(0).profile)),
            _ => Ok(Imported::Tables(tables)),
        }
    }

    fn unread(&self, bytes: &[u8]) -> Vec<usize> {
        Reader::read(&plain(bytes)).unread
    }
}
