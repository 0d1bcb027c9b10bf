//! The project's files as the rules of `check` see them.
//!
//! Rules read a [`Tree`] and never the disk, so that each is tested on a few
//! lines of text.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::workspace::{Member, Workspace};

mod imports;
mod scanner;
mod source;

pub(crate) use source::{Line, Source, has_word};

/// Sources, documents and crate graph.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// Every Rust file.
    pub(crate) sources: Vec<Source>,
    /// The documents at the root that rules speak about.
    documents: Vec<(String, String)>,
    /// The crates.
    pub(crate) members: Vec<Member>,
}

impl Tree {
    /// Reads the project.
    pub(crate) fn read(workspace: &Workspace) -> Result<Self> {
        let mut tree = Self { members: workspace.members.clone(), ..Self::default() };
        for folder in SOURCE_FOLDERS {
            tree.read_folder(&workspace.root, &workspace.root.join(folder))?;
        }
        for name in DOCUMENTS {
            // One that is not there is empty: the rule that reads it says what it misses.
            let text = fs::read_to_string(workspace.root.join(name)).unwrap_or_default();
            tree.documents.push((name.to_owned(), text));
        }
        Ok(tree)
    }

    /// The text of a document at the root; empty if there is none.
    pub(crate) fn document(&self, name: &str) -> &str {
        self.documents.iter().find(|(known, _)| known == name).map_or("", |(_, text)| text)
    }

    fn read_folder(&mut self, root: &Path, folder: &Path) -> Result<()> {
        let entries = || fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>();
        let mut paths: Vec<_> = entries()
            .with_context(|| format!("cannot read {}", folder.display()))?
            .iter()
            .map(fs::DirEntry::path)
            .collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                self.read_folder(root, &path)?;
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path)
                    .with_context(|| format!("cannot read {}", path.display()))?;
                let below = path.strip_prefix(root).unwrap_or(&path);
                self.sources.push(Source::new(&below.to_string_lossy(), &text));
            }
        }
        Ok(())
    }
}

const SOURCE_FOLDERS: [&str; 5] =
    ["crates", "conformance", "xtask", "fuzz/src", "fuzz/fuzz_targets"];
const DOCUMENTS: [&str; 4] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "Cargo.toml", "README.md"];

#[cfg(test)]
impl Tree {
    /// A tree of one file.
    pub(crate) fn of_source(path: &str, text: &str) -> Self {
        Self { sources: vec![Source::new(path, text)], ..Self::default() }
    }

    /// A tree of documents.
    pub(crate) fn of_documents(documents: &[(&str, &str)]) -> Self {
        let own = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        Self { documents: documents.iter().map(own).collect(), ..Self::default() }
    }

    /// Adds crates, each with what it uses.
    pub(crate) fn with_members(mut self, members: &[(&str, &[&str])]) -> Self {
        self.members = members
            .iter()
            .map(|(folder, uses)| Member {
                folder: (*folder).to_owned(),
                uses: uses.iter().map(|one| (*one).to_owned()).collect(),
            })
            .collect();
        self
    }
}
