//! Files with one number each, in folders that are numbered: found once, read at each look.

use measurement::Gap;

use super::Told;
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
    pub(super) const fn of(folder: &'static str, prefix: &'static str, file: &'static str) -> Self {
        Self { folder, prefix, file, found: None }
    }

    /// Tells the number of each file by the number of its folder; a file that cannot be
    /// read is left out, and that none can is a gap.
    pub(super) fn each(
        &mut self,
        tree: &Tree,
        (what, absent): (&str, &str),
        mut tell: impl FnMut(u32, i64),
    ) -> Result<Told, Gap> {
        let (folder, prefix, file) = (self.folder, self.prefix, self.file);
        let found = self.found.get_or_insert_with(|| {
            let path = |n: u32| (n, format!("{folder}/{prefix}{n}/{file}"));
            let mut all: Vec<_> = numbered(tree, folder, prefix).into_iter().map(path).collect();
            all.retain(|(_, path)| is_there(tree, path));
            all
        });
        let mut failure = std::io::ErrorKind::NotFound.into();
        let mut told = Told::Nothing;
        for (number, path) in found {
            match tree.text(path) {
                Ok(text) => text.trim().parse().into_iter().for_each(|value| {
                    told = Told::Something;
                    tell(*number, value);
                }),
                Err(error) => failure = error,
            }
        }
        if told == Told::Nothing { Err(gap(what, &failure, absent)) } else { Ok(told) }
    }
}

/// A file that cannot be read now, as that of a sensor that sleeps, may be read later.
fn is_there(tree: &Tree, path: &str) -> bool {
    tree.text(path).map_or_else(|error| error.kind() != std::io::ErrorKind::NotFound, |_| true)
}
