//! The project's files as the rules of `check` see them.
//!
//! Rules read a [`Tree`] and never the disk, so that each is tested on a few
//! lines of text.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use syn::{Attribute, Item};

use crate::command;
use crate::workspace::{Member, Workspace};

/// Sources, documents and crates.
#[derive(Default)]
pub(crate) struct Tree {
    /// Every Rust file.
    pub(crate) sources: Vec<Source>,
    /// The documents at the root that rules speak about.
    documents: Vec<(String, String)>,
    /// The crates of the workspace and of that of the runtime.
    pub(crate) members: Vec<Member>,
    /// The crates that the binary is built from, each as `name vVERSION ... | LICENCE`.
    pub(crate) packages: Vec<String>,
}

/// A Rust file.
pub(crate) struct Source {
    /// Below the root, e.g. `crates/report/src/lib.rs`.
    pub(crate) path: String,
    /// As it stands.
    pub(crate) text: String,
    /// What it holds but for what is compiled for tests alone; nothing in a file of tests.
    pub(crate) items: Vec<Item>,
}

impl Tree {
    /// Reads the project.
    pub(crate) fn read(workspace: &Workspace) -> Result<Self> {
        let members = [workspace.members.clone(), Workspace::runtime()?.members].concat();
        let mut tree = Self { members, ..Self::default() };
        for folder in SOURCE_FOLDERS {
            tree.read_folder(&workspace.root, &workspace.root.join(folder))?;
        }
        for name in DOCUMENTS {
            // One that is not there is empty: the rule that reads it says what it misses.
            let text = fs::read_to_string(workspace.root.join(name)).unwrap_or_default();
            tree.documents.push((name.to_owned(), text));
        }
        let packages = command::output(command::cargo(PACKAGES).current_dir(&workspace.root))?;
        tree.packages = packages.lines().map(str::to_owned).collect();
        Ok(tree)
    }

    /// The text of a document at the root; empty if there is none.
    pub(crate) fn document(&self, name: &str) -> &str {
        self.documents.iter().find(|(known, _)| known == name).map_or("", |(_, text)| text)
    }

    /// Files of crates themselves, not of their tests or examples.
    pub(crate) fn shipped(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter().filter(|source| source.is_shipped())
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
            if path.ends_with(BUILT) {
                continue;
            }
            if path.is_dir() {
                self.read_folder(root, &path)?;
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path)
                    .with_context(|| format!("cannot read {}", path.display()))?;
                let below = path.strip_prefix(root).unwrap_or(&path);
                self.sources.push(Source::new(&below.to_string_lossy(), text)?);
            }
        }
        Ok(())
    }
}

impl Source {
    /// Parses a file.
    fn new(path: &str, text: String) -> Result<Self> {
        let file = syn::parse_file(&text).map_err(|error| anyhow!("{path}: {error}"))?;
        let is_test = path.ends_with("/tests.rs") || path.contains("/tests/");
        let items = if is_test { Vec::new() } else { without_tests(file.items) };
        Ok(Self { path: path.to_owned(), text, items })
    }

    /// Its crate and its path below the `src` of it: `report` and `json.rs`; none for a file
    /// that is not part of a crate under `crates/` or `runtime/` itself.
    pub(crate) fn place(&self) -> Option<(&str, &str)> {
        let (above, path) = self.path.split_once('/')?;
        let (folder, path) = path.split_once('/').filter(|_| HOMES.contains(&above))?;
        Some((folder, path.strip_prefix("src/")?))
    }

    fn is_shipped(&self) -> bool {
        self.place().is_some()
    }
}

/// Leaves out what is compiled for tests alone, within modules too.
fn without_tests(items: Vec<Item>) -> Vec<Item> {
    let shipped = items.into_iter().filter(|item| !attributes(item).iter().any(is_for_tests));
    let inside = |mut item| {
        if let Item::Mod(module) = &mut item {
            module.content =
                module.content.take().map(|(brace, items)| (brace, without_tests(items)));
        }
        item
    };
    shipped.map(inside).collect()
}

fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
}

/// The attributes of those items that are ever marked as tests.
fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

const SOURCE_FOLDERS: [&str; 6] =
    ["crates", "runtime", "conformance", "xtask", "fuzz/src", "fuzz/tests"];
/// Folders of crates that are built upon.
const HOMES: [&str; 2] = ["crates", "runtime"];
/// Folder of what cargo builds.
const BUILT: &str = "target";
const DOCUMENTS: [&str; 6] = [
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "Cargo.toml",
    "README.md",
    "promises.toml",
    "runtime/Cargo.toml",
];
/// What is in the binary and what builds it.
const PACKAGES: [&str; 9] = [
    "tree",
    "--package",
    "linerate",
    "--edges",
    "normal,build",
    "--prefix",
    "none",
    "--format",
    "{p} | {l}",
];

#[cfg(test)]
impl Tree {
    /// A tree of one file.
    pub(crate) fn of_source(path: &str, text: &str) -> Self {
        Self::of_sources(&[(path, text)])
    }

    /// A tree of files.
    pub(crate) fn of_sources(files: &[(&str, &str)]) -> Self {
        let source = |(path, text): &(&str, &str)| Source::new(path, (*text).to_owned());
        let sources = files.iter().map(source).collect::<Result<_>>().expect("Rust");
        Self { sources, ..Self::default() }
    }

    /// A tree of documents.
    pub(crate) fn of_documents(documents: &[(&str, &str)]) -> Self {
        let own = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        Self { documents: documents.iter().map(own).collect(), ..Self::default() }
    }

    /// A tree of what the binary is built from.
    pub(crate) fn of_packages(lines: &[&str]) -> Self {
        let packages = lines.iter().map(|line| (*line).to_owned()).collect();
        Self { packages, ..Self::default() }
    }

    /// Adds a document.
    pub(crate) fn add_document(&mut self, name: &str, text: &str) {
        self.documents.push((name.to_owned(), text.to_owned()));
    }

    /// Adds crates, each with what it uses.
    pub(crate) fn with_members(mut self, members: &[(&str, &[&str])]) -> Self {
        self.members = members
            .iter()
            .map(|(folder, uses)| Member {
                folder: (*folder).to_owned(),
                uses: uses.iter().map(|one| (*one).to_owned()).collect(),
                tests: Vec::new(),
            })
            .collect();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_tests_is_left_out() {
        let text =
            "use a;\n#[cfg(test)]\nmod tests { fn f() {} }\nmod b { #[cfg(test)] fn g() {} }";
        let tree = Tree::of_sources(&[("crates/x/src/y.rs", text), ("crates/x/tests/z.rs", text)]);
        assert_eq!(tree.sources[0].items.len(), 2);
        assert!(
            matches!(&tree.sources[0].items[1], Item::Mod(b) if b.content.as_ref().is_some_and(|(_, items)| items.is_empty()))
        );
        assert!(tree.sources[1].items.is_empty());
    }

    #[test]
    fn a_path_says_where_a_file_belongs() {
        let place =
            |path| Tree::of_source(path, "").sources[0].place().map(|(c, p)| format!("{c} {p}"));
        assert_eq!(place("crates/lab/src/a/b.rs").as_deref(), Some("lab a/b.rs"));
        assert_eq!(place("runtime/mars/src/a.rs").as_deref(), Some("mars a.rs"));
        assert_eq!(place("crates/lab/tests/link.rs"), None);
        assert_eq!(place("xtask/src/main.rs"), None);
    }
}
