//! A wheel of the Python package: the static file as the command `linerate`, and the package that
//! runs it (packaging.python.org/en/latest/specifications/binary-distribution-format).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::tree::Tree;
use super::{Linerate, VERSION};
use crate::command;
use crate::static_binary::Target;

/// Packs the package with the program.
pub(super) fn pack(linerate: &Linerate<'_>, folder: &Path) -> Result<PathBuf> {
    let tags = tags(linerate.target)?;
    let package = linerate.workspace.root.join("python");
    let contents = Contents { binary: &linerate.binary, licences: &linerate.licences()? };
    write(&package, &contents, &tags, (folder, linerate.seconds))
}

/// What is in a wheel beside the package.
pub(crate) struct Contents<'a> {
    pub(crate) binary: &'a [u8],
    /// Names and texts.
    pub(crate) licences: &'a [(&'static str, String)],
}

/// Writes a wheel of a program that runs where `tags` say, with files of that time, into a folder.
pub(crate) fn write(
    package: &Path,
    contents: &Contents<'_>,
    tags: &[String],
    (folder, seconds): (&Path, u64),
) -> Result<PathBuf> {
    let unpacked = folder.join("wheel");
    let mut names = vec![format!("linerate-{VERSION}.data/scripts/linerate")];
    let mut tree = Tree::default();
    tree.program(names[0].as_str(), contents.binary);
    let mut texts = modules(package)?;
    let info = format!("linerate-{VERSION}.dist-info");
    texts.push((format!("{info}/METADATA"), metadata(package, contents.licences)?));
    for (name, text) in contents.licences {
        texts.push((format!("{info}/licenses/{name}"), text.clone().into_bytes()));
    }
    texts.push((format!("{info}/WHEEL"), wheel(tags)));
    for (name, text) in texts {
        tree.text(name.as_str(), text);
        names.push(name);
    }
    tree.write(&unpacked, seconds)?;
    let record = format!("{info}/RECORD");
    let mut list = Tree::default();
    list.text(record.as_str(), self::record(&unpacked, &names, &record)?);
    list.write(&unpacked, seconds)?;
    names.push(record);
    let platforms: Vec<_> = tags.iter().filter_map(|tag| tag.rsplit('-').next()).collect();
    let name = format!("linerate-{VERSION}-py3-none-{}.whl", platforms.join("."));
    // Without what a file system adds to a file, and with times of no zone.
    let mut zip = Command::new("zip");
    zip.args(["-X", "-q", "-9"]).arg(Path::new("..").join(&name)).args(&names);
    command::output(zip.current_dir(&unpacked).env("TZ", "UTC"))?;
    fs::remove_dir_all(&unpacked)?;
    Ok(folder.join(name))
}

/// Where the static file runs. It needs no C library, so that it runs with each of them.
fn tags(target: &Target) -> Result<Vec<String>> {
    let platforms: &[&str] = match target.name {
        "x86_64" => &["manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"],
        "aarch64" => &["manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"],
        "armv7" => &["manylinux_2_17_armv7l", "manylinux2014_armv7l", "musllinux_1_1_armv7l"],
        "riscv64" => &["manylinux_2_31_riscv64", "musllinux_1_2_riscv64"],
        _ => &[],
    };
    ensure!(!platforms.is_empty(), "no tag of Python for {}", target.name);
    Ok(platforms.iter().map(|platform| format!("py3-none-{platform}")).collect())
}

/// The modules, in the order of their names.
fn modules(package: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let folder = package.join("linerate");
    let entries =
        fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut modules = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().context("a file has a name")?.to_string_lossy().into_owned();
        if path.is_file() {
            modules.push((format!("linerate/{name}"), fs::read(&path)?));
        }
    }
    modules.sort();
    Ok(modules)
}

fn wheel(tags: &[String]) -> Vec<u8> {
    let tags: String = tags.iter().flat_map(|tag| ["Tag: ", tag, "\n"]).collect();
    let head = format!(
        "Wheel-Version: 1.0\nGenerator: linerate-xtask {VERSION}\nRoot-Is-Purelib: false\n"
    );
    (head + &tags).into_bytes()
}

/// What pyproject.toml says, in the words of packages (Core metadata 2.4).
fn metadata(package: &Path, licences: &[(&str, String)]) -> Result<Vec<u8>> {
    let read = |name: &str| {
        let path = package.join(name);
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let project: toml::Table = read("pyproject.toml")?.parse()?;
    let project = project.get("project").context("pyproject.toml lacks [project]")?;
    let text = |name: &str| {
        let value = project.get(name).and_then(toml::Value::as_str);
        value.with_context(|| format!("pyproject.toml lacks {name}"))
    };
    let words = |name: &str| {
        let words = project.get(name).and_then(toml::Value::as_array);
        words.into_iter().flatten().filter_map(toml::Value::as_str)
    };
    let mut lines = vec![
        "Metadata-Version: 2.4".to_owned(),
        format!("Name: {}", text("name")?),
        format!("Version: {VERSION}"),
        format!("Summary: {}", text("description")?),
        format!("Requires-Python: {}", text("requires-python")?),
        "License-Expression: MIT OR Apache-2.0".to_owned(),
        "Description-Content-Type: text/markdown".to_owned(),
        format!("Keywords: {}", words("keywords").collect::<Vec<_>>().join(",")),
        "Provides-Extra: pandas".to_owned(),
        "Requires-Dist: pandas; extra == \"pandas\"".to_owned(),
    ];
    lines.extend(licences.iter().map(|(name, _)| format!("License-File: {name}")));
    lines.extend(words("classifiers").map(|classifier| format!("Classifier: {classifier}")));
    Ok(format!("{}\n\n{}", lines.join("\n"), read("README.md")?).into_bytes())
}

/// The list of the files with their checksums and sizes; its own line has neither.
fn record(folder: &Path, names: &[String], own: &str) -> Result<String> {
    let sums = command::output(Command::new("sha256sum").args(names).current_dir(folder))?;
    let mut lines = Vec::new();
    for (line, name) in sums.lines().zip(names) {
        let hex = line.split(' ').next().context("sha256sum prints a sum")?;
        let sum = URL_SAFE_NO_PAD.encode(bytes(hex).context("a sum is hexadecimal")?);
        let size = fs::metadata(folder.join(name))?.len();
        lines.push(format!("{name},sha256={sum},{size}\n"));
    }
    lines.push(format!("{own},,\n"));
    Ok(lines.concat())
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let pairs = (0..hex.len()).step_by(2).map(|at| hex.get(at..at + 2));
    pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}
