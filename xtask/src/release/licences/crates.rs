//! Crates that are linked in, with the licence files that they are published with.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{Part, choose};
use crate::command;

/// Those of the registry, in the order of their names.
pub(super) fn read(triple: &str, root: &Path) -> Result<Vec<Part>> {
    let mut cargo = command::cargo(["metadata", "--format-version", "1", "--locked"]);
    let metadata = command::output(cargo.current_dir(root))?;
    let metadata: Metadata = serde_json::from_str(&metadata).context("cargo metadata")?;
    let linked = linked(triple, root)?;
    let mut parts = Vec::new();
    for package in metadata.packages {
        if package.source.is_some() && linked.contains(&package.name()) {
            parts.push(package.part(root)?);
        }
    }
    ensure!(!parts.is_empty(), "no crate is linked in: {linked:?}");
    parts.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(parts)
}

/// Name and version of all that is linked in: without what only builds, tests and macros use.
fn linked(triple: &str, root: &Path) -> Result<BTreeSet<String>> {
    let mut cargo = command::cargo(["tree", "--package", "linerate", "--locked"]);
    cargo.args(["--edges", "normal,no-proc-macro", "--target", triple, "--prefix", "none"]);
    let tree = command::output(cargo.args(["--format", "{p}"]).current_dir(root))?;
    Ok(tree.lines().filter_map(name_and_version).collect())
}

/// Of a line such as `anyhow v1.0.104` or `linerate v0.1.0 (/folder)`.
fn name_and_version(line: &str) -> Option<String> {
    let mut words = line.split(' ');
    Some(format!("{} {}", words.next()?, words.next()?.strip_prefix('v')?))
}

/// What cargo says, as far as it is used here.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    /// None: of the workspace.
    source: Option<String>,
    manifest_path: PathBuf,
}

impl Package {
    fn name(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    /// A crate that has the Apache License and no file of it is handed on with this project's copy.
    fn part(&self, root: &Path) -> Result<Part> {
        let name = self.name();
        let folder = self.manifest_path.parent().context("a manifest is in a folder")?;
        let licence = self.license.clone().with_context(|| format!("{name} names no licence"))?;
        let mut files =
            files(folder).with_context(|| format!("cannot read the licence of {name}"))?;
        if files.is_empty() && licence == "Apache-2.0" {
            files.push((APACHE.to_owned(), fs::read_to_string(root.join(APACHE))?));
        }
        ensure!(!files.is_empty(), "{name} has no licence file in {}", folder.display());
        Ok(Part { name, texts: choose(&licence, files), licence: licence.replace('/', " OR ") })
    }
}

/// Names and texts of the licence files in a folder, in the order of their names.
fn files(folder: &Path) -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_licence = BEGINNINGS.iter().any(|word| name.to_uppercase().starts_with(word));
        if is_licence && entry.path().is_file() {
            files.push((name, fs::read_to_string(entry.path())?));
        }
    }
    files.sort();
    Ok(files)
}

/// The text of that licence, which names no author.
const APACHE: &str = "LICENSE-APACHE";
/// Of the names of files with licences and notices.
const BEGINNINGS: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_tree_have_name_and_version() {
        assert_eq!(name_and_version("anyhow v1.0.104").as_deref(), Some("anyhow 1.0.104"));
        let of_workspace = "linerate v0.1.0 (/folder)";
        assert_eq!(name_and_version(of_workspace).as_deref(), Some("linerate 0.1.0"));
        assert_eq!(name_and_version(""), None);
    }

    #[test]
    fn every_crate_that_is_linked_in_has_its_licence() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let parts = read("x86_64-unknown-linux-musl", &root).expect("licences");
        let find = |name: &str| parts.iter().find(|part| part.name.starts_with(name));
        let serde = find("serde 1").expect("serde is linked in");
        assert_eq!(serde.texts.len(), 1);
        assert!(serde.texts[0].contains("Permission is hereby granted"), "{serde:?}");
        assert!(find("proptest").is_none(), "only tests use it");
        assert!(find("serde_derive").is_none(), "it is a macro");
    }
}
