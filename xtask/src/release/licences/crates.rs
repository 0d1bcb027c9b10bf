//! Crates that are linked in, with the licence files that they are published with.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{Part, choose};
use crate::command;
use crate::release::crates::{self, Crate};
use crate::static_binary::Target;

/// Those of the registry, in the order of their names: without what only builds, tests and macros use.
pub(super) fn read(target: &Target, root: &Path) -> Result<Vec<Part>> {
    let mut cargo = command::cargo(["metadata", "--format-version", "1", "--locked"]);
    let metadata = command::output(cargo.current_dir(root))?;
    let metadata: Metadata = serde_json::from_str(&metadata).context("cargo metadata")?;
    let tree = crates::tree(target, root, "normal,no-proc-macro")?.into_iter();
    let linked: BTreeSet<_> = tree.map(|(_, one)| one).filter(|one| one.is_published).collect();
    ensure!(!linked.is_empty(), "no crate is linked in");
    linked.into_iter().map(|one| part(one, &metadata, root)).collect()
}

/// A crate that has the Apache License and no file of it is handed on with this project's copy.
fn part(one: Crate, metadata: &Metadata, root: &Path) -> Result<Part> {
    let name = format!("{} {}", one.name, one.version);
    ensure!(!one.licence.is_empty(), "{name} names no licence");
    let is_same = |package: &&Package| package.name == one.name && package.version == one.version;
    let package = metadata.packages.iter().find(is_same);
    let folder = package.and_then(|package| package.manifest_path.parent());
    let folder = folder.with_context(|| format!("cargo metadata has no folder of {name}"))?;
    let mut files = files(folder).with_context(|| format!("cannot read the licence of {name}"))?;
    if files.is_empty() && one.licence == "Apache-2.0" {
        files.push((APACHE.to_owned(), fs::read_to_string(root.join(APACHE))?));
    }
    ensure!(!files.is_empty(), "{name} has no licence file in {}", folder.display());
    Ok(Part { name, texts: choose(&one.licence, files), licence: one.licence })
}

/// Where cargo has the sources.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    manifest_path: PathBuf,
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
    use crate::static_binary::TARGETS;

    #[test]
    fn every_crate_that_is_linked_in_has_its_licence() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let parts = read(&TARGETS[0], &root).expect("licences");
        let find = |name: &str| parts.iter().find(|part| part.name.starts_with(name));
        let serde = find("serde 1").expect("serde is linked in");
        assert_eq!(serde.texts.len(), 1);
        assert!(serde.texts[0].contains("Permission is hereby granted"), "{serde:?}");
        assert!(find("proptest").is_none(), "only tests use it");
        assert!(find("serde_derive").is_none(), "it is a macro");
    }
}
