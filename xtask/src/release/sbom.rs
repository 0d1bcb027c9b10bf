//! The list of all that is in the file: an SBOM in CycloneDX 1.5 (cyclonedx.org/docs/1.5/json).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Linerate, VERSION};
use crate::command;

/// Writes it.
pub(super) fn write(linerate: &Linerate<'_>, folder: &Path) -> Result<PathBuf> {
    let triple = linerate.target.triple;
    let mut cargo = command::cargo(["metadata", "--format-version", "1", "--locked"]);
    cargo.args(["--filter-platform", triple]).current_dir(&linerate.workspace.root);
    let metadata: Metadata = serde_json::from_str(&command::output(&mut cargo)?)
        .context("cargo metadata lacks a field")?;
    let lock: Lock = toml::from_str(&linerate.text("Cargo.lock")?).context("Cargo.lock")?;
    let time = linerate.date("+%Y-%m-%dT%H:%M:%SZ")?;
    let bom = bom(&metadata, &lock, triple, &time).context("linerate is not in the metadata")?;
    let file = folder.join(format!("{}.cdx.json", linerate.name()));
    fs::write(&file, format!("{bom:#}\n"))
        .with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}

/// What cargo says of the workspace, as far as it is used here.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    /// None: of the workspace.
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    /// None: it is linked.
    kind: Option<String>,
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

impl Node {
    /// What it is built upon; what only its tests use is left out.
    fn uses(&self) -> impl Iterator<Item = &str> {
        let is_built = |kind: &DependencyKind| kind.kind.as_deref() != Some("dev");
        let built = move |one: &&Dependency| one.dep_kinds.iter().any(is_built);
        self.deps.iter().filter(built).map(|one| one.pkg.as_str())
    }
}

impl Package {
    /// By the name that it has everywhere, if it is handed out by itself (package-url).
    fn reference(&self) -> String {
        let scheme = if self.source.is_some() { "pkg:cargo/" } else { "" };
        format!("{scheme}{}@{}", self.name, self.version)
    }

    fn component(&self, lock: &Lock) -> Value {
        let reference = self.reference();
        let mut component = json!({
            "type": "library", "bom-ref": reference, "name": self.name, "version": self.version,
        });
        if let Some(licence) = &self.license {
            // Older manifests write a slash for OR.
            component["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
        }
        if self.source.is_some() {
            component["purl"] = reference.into();
        }
        let same = |one: &&Locked| one.name == self.name && one.version == self.version;
        if let Some(sum) = lock.package.iter().find(same).and_then(|one| one.checksum.as_ref()) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        component
    }
}

fn bom(metadata: &Metadata, lock: &Lock, triple: &str, time: &str) -> Option<Value> {
    let packages: BTreeMap<_, _> =
        metadata.packages.iter().map(|package| (package.id.as_str(), package)).collect();
    let nodes: BTreeMap<_, _> =
        metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let root = metadata.packages.iter().find(|package| package.name == "linerate")?;
    let built = reach(&root.id, &nodes);
    let parts = built.iter().filter(|id| **id != root.id);
    let components: Option<Vec<_>> =
        parts.map(|id| Some(packages.get(id)?.component(lock))).collect();
    let mut dependencies = Vec::new();
    for id in &built {
        let uses: BTreeSet<_> =
            nodes.get(id)?.uses().filter_map(|id| Some(packages.get(id)?.reference())).collect();
        dependencies.push(json!({ "ref": packages.get(id)?.reference(), "dependsOn": uses }));
    }
    let mut linerate = root.component(lock);
    linerate["type"] = "application".into();
    linerate["properties"] = json!([{ "name": "target", "value": triple }]);
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
        "components": components?,
        "dependencies": dependencies,
    }))
}

/// A package and all that it is built upon.
fn reach<'a>(root: &'a str, nodes: &BTreeMap<&str, &'a Node>) -> BTreeSet<&'a str> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![root]);
    while let Some(id) = next.pop() {
        if reached.insert(id) {
            next.extend(nodes.get(id).into_iter().flat_map(|node| node.uses()));
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = r#"{
        "packages": [
            {"id": "l", "name": "linerate", "version": "1.0.0", "license": "MIT", "source": null},
            {"id": "a", "name": "a", "version": "2.0.0", "license": "MIT/Apache-2.0",
             "source": "registry"},
            {"id": "t", "name": "t", "version": "3.0.0", "license": null, "source": "registry"}
        ],
        "resolve": {"nodes": [
            {"id": "l", "deps": [
                {"pkg": "a", "dep_kinds": [{"kind": "build"}]},
                {"pkg": "t", "dep_kinds": [{"kind": "dev"}]}]},
            {"id": "a", "deps": []},
            {"id": "t", "deps": []}
        ]}
    }"#;

    #[test]
    fn what_is_built_is_listed_with_its_checksum_and_what_only_tests_use_is_not() {
        let metadata = serde_json::from_str(METADATA).expect("metadata");
        let lock = "[[package]]\nname = 'a'\nversion = '2.0.0'\nchecksum = 'ff'";
        let bom = bom(&metadata, &toml::from_str(lock).expect("a lock"), "t", "now").expect("all");
        assert_eq!(
            bom["components"],
            json!([{
                "type": "library", "bom-ref": "pkg:cargo/a@2.0.0", "name": "a", "version": "2.0.0",
                "licenses": [{"expression": "MIT OR Apache-2.0"}], "purl": "pkg:cargo/a@2.0.0",
                "hashes": [{"alg": "SHA-256", "content": "ff"}],
            }])
        );
        let root = json!({"ref": "linerate@1.0.0", "dependsOn": ["pkg:cargo/a@2.0.0"]});
        assert!(bom["dependencies"].as_array().is_some_and(|all| all.contains(&root)));
        assert_eq!(bom["metadata"]["component"]["type"], "application");
    }
}
