//! Files with one number each, in folders that are numbered: found once, read at each look.

use measurement::Gap;

use super::ReadOutcome;
use crate::Tree;
use crate::source::{gap, numbered};

/// Where such files are: `FOLDER/PREFIXn/FILE`.
#[derive(Debug)]
pub(super) struct Numbers {
    folder: &'static str,
    prefix: &'static str,
    file: &'static str,
    found: Option<Vec<(u32, String)>>,
}

impl Numbers {
    pub(super) const fn new(
        folder: &'static str,
        prefix: &'static str,
        file: &'static str,
    ) -> Self {
        Self { folder, prefix, file, found: None }
    }

    /// Calls `record` with the number of each folder and the number in its file. A file that
    /// cannot be read is left out; if none can be read the result is a gap.
    pub(super) fn each(
        &mut self,
        tree: &Tree,
        (what, absent): (&str, &str),
        mut record: impl FnMut(u32, i64),
    ) -> Result<ReadOutcome, Gap> {
        let (folder, prefix, file) = (self.folder, self.prefix, self.file);
        let found = self.found.get_or_insert_with(|| {
            let path = |n: u32| (n, format!("{folder}/{prefix}{n}/{file}"));
            let mut all: Vec<_> = numbered(tree, folder, prefix).into_iter().map(path).collect();
            all.retain(|(_, path)| is_there(tree, path));
            all
        });
        let mut failure = std::io::ErrorKind::NotFound.into();
        let mut outcome = ReadOutcome::Nothing;
        for (number, path) in found {
            match tree.text(path) {
                Ok(text) => text.trim().parse().into_iter().for_each(|value| {
                    outcome = ReadOutcome::Complete;
                    record(*number, value);
                }),
                Err(error) => failure = error,
            }
        }
        if outcome == ReadOutcome::Nothing { Err(gap(what, &failure, absent)) } else { Ok(outcome) }
    }
}

/// A file that cannot be read now, as that of a sensor that sleeps, may be read later.
fn is_there(tree: &Tree, path: &str) -> bool {
    tree.text(path).map_or_else(|error| error.kind() != std::io::ErrorKind::NotFound, |_| true)
}
