//! The list of all that is in the file: an SBOM in CycloneDX 1.5 (cyclonedx.org/docs/1.5/json).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::crates::{self, Crate};
use super::{Linerate, VERSION};

/// Writes it.
pub(super) fn write(linerate: &Linerate<'_>, folder: &Path) -> Result<PathBuf> {
    let target = linerate.target;
    let tree = crates::tree(target, &linerate.workspace.root, "normal,build")?;
    let lock: Lock = toml::from_str(&linerate.text("Cargo.lock")?).context("Cargo.lock")?;
    let time = linerate.date("+%Y-%m-%dT%H:%M:%SZ")?;
    let bom = bom(&tree, &lock, target.triple, &time).context("cargo tree lists no crate")?;
    let file = folder.join(format!("{}.cdx.json", linerate.name()));
    fs::write(&file, format!("{bom:#}\n"))
        .with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

fn bom(tree: &[(usize, Crate)], lock: &Lock, triple: &str, time: &str) -> Option<Value> {
    let (_, root) = tree.first()?;
    let mut linerate = component(root, lock);
    linerate["type"] = "application".into();
    linerate["properties"] = json!([{ "name": "target", "value": triple }]);
    let uses = uses(tree);
    let parts = uses.keys().filter(|one| **one != root);
    let components: Vec<_> = parts.map(|one| component(one, lock)).collect();
    let dependencies =
        uses.iter().map(|(one, uses)| json!({ "ref": reference(one), "dependsOn": uses }));
    let dependencies: Vec<_> = dependencies.collect();
    Some(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time,
            "tools": { "components": [
                { "type": "application", "name": "linerate xtask", "version": VERSION },
            ] },
            "component": linerate,
        },
        "components": components,
        "dependencies": dependencies,
    }))
}

/// Every crate, with the references of those that it uses.
fn uses(tree: &[(usize, Crate)]) -> BTreeMap<&Crate, BTreeSet<String>> {
    let (mut uses, mut path) = (BTreeMap::<_, BTreeSet<_>>::new(), Vec::new());
    for (depth, one) in tree {
        path.truncate(*depth);
        if let Some(user) = path.last() {
            uses.entry(*user).or_default().insert(reference(one));
        }
        uses.entry(one).or_default();
        path.push(one);
    }
    uses
}

/// The name that a crate has everywhere, if it is handed out by itself (package-url).
fn reference(one: &Crate) -> String {
    let scheme = if one.is_published { "pkg:cargo/" } else { "" };
    format!("{scheme}{}@{}", one.name, one.version)
}

fn component(one: &Crate, lock: &Lock) -> Value {
    let reference = reference(one);
    let mut component = json!({
        "type": "library", "bom-ref": reference, "name": one.name, "version": one.version,
        "licenses": [{ "expression": one.licence }],
    });
    if one.is_published {
        component["purl"] = reference.into();
    }
    let same = |locked: &&Locked| locked.name == one.name && locked.version == one.version;
    if let Some(sum) = lock.package.iter().find(same).and_then(|one| one.checksum.as_ref()) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_listed_with_their_checksums_and_what_they_use() {
        let tree = [(0, "l", false), (1, "a", true), (2, "b", true), (1, "b", true)];
        let tree = tree.map(|(depth, name, is_published)| {
            let (name, version) = (name.to_owned(), "2.0.0".to_owned());
            (depth, Crate { name, version, licence: "MIT OR Apache-2.0".to_owned(), is_published })
        });
        let lock = "[[package]]\nname = 'a'\nversion = '2.0.0'\nchecksum = 'ff'";
        let bom = bom(&tree, &toml::from_str(lock).expect("a lock"), "t", "now").expect("all");
        assert_eq!(bom["components"].as_array().map(Vec::len), Some(2));
        assert_eq!(
            bom["components"][0],
            json!({
                "type": "library", "bom-ref": "pkg:cargo/a@2.0.0", "name": "a", "version": "2.0.0",
                "licenses": [{"expression": "MIT OR Apache-2.0"}], "purl": "pkg:cargo/a@2.0.0",
                "hashes": [{"alg": "SHA-256", "content": "ff"}],
            })
        );
        let (a, b) = ("pkg:cargo/a@2.0.0", "pkg:cargo/b@2.0.0");
        assert_eq!(
            bom["dependencies"],
            json!([
                {"ref": a, "dependsOn": [b]},
                {"ref": b, "dependsOn": []},
                {"ref": "l@2.0.0", "dependsOn": [a, b]},
            ])
        );
        assert_eq!(bom["metadata"]["component"]["type"], "application");
    }
}
