//! An image of containers for every kind of machine: the static file and its licences, as an archive
//! of the OCI image layout (OCI image specification 1.1).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::tree::{self, Tree};
use super::{Linerate, VERSION};
use crate::command;

/// Packs an image of all of them.
pub(super) fn pack(all: &[Linerate<'_>], folder: &Path) -> Result<PathBuf> {
    let first = all.first().context("an image needs a program")?;
    let layout = folder.join("image");
    fs::create_dir_all(layout.join(BLOBS))?;
    let manifests = all.iter().map(|linerate| manifest(linerate, folder, &layout));
    let manifests = manifests.collect::<Result<Vec<_>>>()?;
    let index = json!({
        "schemaVersion": 2,
        "mediaType": INDEX,
        "manifests": manifests,
    });
    let mut entry = blob(&layout, &index.to_string().into_bytes(), INDEX)?;
    let name = format!("localhost/linerate:{VERSION}");
    entry["annotations"] = json!({
        "org.opencontainers.image.ref.name": name,
        // What `docker load` and `ctr image import` read.
        "io.containerd.image.name": name,
    });
    let top = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [entry] });
    fs::write(layout.join("index.json"), top.to_string())?;
    fs::write(layout.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#)?;
    let file = folder.join(format!("linerate-{VERSION}-oci.tar"));
    tree::archive(&layout, &["blobs", "index.json", "oci-layout"], &file, first.seconds)?;
    Ok(file)
}

/// Writes the layer, the configuration and the manifest of one; the entry of an index.
fn manifest(linerate: &Linerate<'_>, folder: &Path, layout: &Path) -> Result<Value> {
    let (digest, packed) = layer(linerate, folder)?;
    let machine = machine(linerate.target.debian);
    let mut config = json!({
        "created": linerate.date("+%Y-%m-%dT%H:%M:%SZ")?,
        "os": "linux",
        "config": {
            // nobody, by number: there is no file of users.
            "User": "65534:65534",
            "ExposedPorts": { "5201/tcp": {}, "5201/udp": {} },
            "Entrypoint": ["/linerate"],
            // There is no home for a history.
            "Env": ["LINERATE_NO_STORE=1"],
            "Cmd": ["serve"],
            "StopSignal": "SIGTERM",
            "Labels": labels(),
        },
        "rootfs": { "type": "layers", "diff_ids": [digest] },
        "history": [{ "created_by": "cargo xtask release" }],
    });
    join(&mut config, &machine);
    let config =
        blob(layout, &config.to_string().into_bytes(), "application/vnd.oci.image.config.v1+json")?;
    let layer = blob(layout, &fs::read(&packed)?, "application/vnd.oci.image.layer.v1.tar+gzip")?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config,
        "layers": [layer],
        "annotations": labels(),
    });
    let mut entry = blob(layout, &manifest.to_string().into_bytes(), MANIFEST)?;
    let mut platform = json!({ "os": "linux" });
    join(&mut platform, &machine);
    entry["platform"] = platform;
    Ok(entry)
}

fn labels() -> Value {
    json!({
        "org.opencontainers.image.title": "linerate",
        "org.opencontainers.image.version": VERSION,
        "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
    })
}

/// The file system of one: its digest, and the packed file.
fn layer(linerate: &Linerate<'_>, folder: &Path) -> Result<(String, PathBuf)> {
    let root = folder.join("root");
    let mut tree = Tree::default();
    tree.program("linerate", linerate.binary.clone());
    for (name, text) in linerate.licences()? {
        tree.text(format!("licenses/{name}"), text);
    }
    tree.write(&root)?;
    let plain = folder.join("layer.tar");
    tree::archive(&root, &["licenses", "linerate"], &plain, linerate.seconds)?;
    let digest = digest(&plain)?;
    tree::compress(folder, &["layer.tar"])?;
    fs::remove_dir_all(&root)?;
    Ok((digest, folder.join("layer.tar.gz")))
}

/// As the specification, and Go, name architectures that Debian names so.
fn machine(debian: &str) -> Value {
    match debian {
        "armhf" => json!({ "architecture": "arm", "variant": "v7" }),
        other => json!({ "architecture": other }),
    }
}

fn join(object: &mut Value, more: &Value) {
    if let (Some(object), Some(more)) = (object.as_object_mut(), more.as_object()) {
        object.extend(more.clone());
    }
}

/// Stores bytes by their digest; what refers to them.
fn blob(layout: &Path, bytes: &[u8], kind: &str) -> Result<Value> {
    let file = layout.join(BLOBS).join("new");
    fs::write(&file, bytes)?;
    let digest = digest(&file)?;
    let name = digest.trim_start_matches("sha256:");
    fs::rename(&file, layout.join(BLOBS).join(name))?;
    Ok(json!({ "mediaType": kind, "digest": digest, "size": bytes.len() }))
}

fn digest(file: &Path) -> Result<String> {
    let sum = command::output(Command::new("sha256sum").arg(file))?;
    let sum = sum.split(' ').next().context("sha256sum prints a sum")?;
    Ok(format!("sha256:{sum}"))
}

const BLOBS: &str = "blobs/sha256";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_have_the_names_of_the_specification() {
        assert_eq!(machine("amd64")["architecture"], "amd64");
        assert_eq!(machine("armhf")["variant"], "v7");
        assert_eq!(machine("riscv64")["architecture"], "riscv64");
    }
}
