//! The one compilation of the gate: clippy's driver compiles what the tests run, and lints it.
//!
//! `cargo clippy` would compile everything once more, since what it makes cannot be run. A crate that is
//! not of this workspace is compiled by rustc alone, and is shared with all other builds.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::command;
use crate::output::{pass_on, say};
use crate::workspace::{CHECKED, Workspace};

/// A program with tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TestProgram {
    /// As cargo chooses it: `-p linerate-dataplane --test streams`.
    pub(super) name: String,
    pub(super) file: PathBuf,
    /// Where cargo runs it: the folder of its package.
    pub(super) folder: PathBuf,
}

/// Compiles all that is tested, and fails on a warning.
pub(super) fn build(workspace: &Workspace) -> Result<Vec<TestProgram>> {
    say(format!("$ RUSTC_WORKSPACE_WRAPPER=clippy-driver cargo {}", CHECKED.join(" ")));
    let mut cargo = command::linting_cargo(CHECKED);
    cargo.arg("--message-format=json").current_dir(&workspace.root).stdout(Stdio::piped());
    let mut child = cargo.spawn().context("cannot run cargo")?;
    let output = child.stdout.take().context("cargo has no output")?;
    // A library is compiled once for its users and once for its tests.
    let (mut programs, mut warnings) = (Vec::new(), BTreeSet::new());
    for line in BufReader::new(output).lines() {
        match Said::read(&line.context("cannot read what cargo says")?) {
            Said::Program(program) => programs.push(program),
            Said::Warning(text) => _ = warnings.insert(text),
            Said::Other => {}
        }
    }
    let status = child.wait().context("cannot wait for cargo")?;
    for text in &warnings {
        pass_on(text.trim_end());
    }
    ensure!(status.success(), "the tests do not compile");
    let count = warnings.len();
    ensure!(count == 0, "{count} warnings: each is mended, or expected with a reason");
    Ok(programs)
}

/// What a line of cargo's messages says.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Program(TestProgram),
    /// A warning or an error, as the compiler shows it.
    Warning(String),
    Other,
}

impl Said {
    fn read(line: &str) -> Self {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        let said = match message["reason"].as_str() {
            Some("compiler-artifact") => program(&message).map(Self::Program),
            Some("compiler-message") => warning(&message).map(Self::Warning),
            _ => None,
        };
        said.unwrap_or(Self::Other)
    }
}

fn program(message: &Value) -> Option<TestProgram> {
    let is_test = message["profile"]["test"] == true;
    let file = message["executable"].as_str().filter(|_| is_test)?;
    let folder = PathBuf::from(message["manifest_path"].as_str()?).parent()?.to_owned();
    let package = message["package_id"].as_str()?;
    // `path+file:///folder#name@version`, or `#version` where the folder has the name of the package.
    let name = package.rsplit('#').next()?.split('@').next()?;
    let named = name.starts_with(char::is_alphabetic);
    let name = if named { name } else { folder.file_name()?.to_str()? };
    let target = message["target"]["name"].as_str()?;
    let chosen = match message["target"]["kind"][0].as_str()? {
        kind @ ("bin" | "bench" | "example" | "test") => format!("-p {name} --{kind} {target}"),
        _ => format!("-p {name} --lib"),
    };
    Some(TestProgram { name: chosen, file: file.into(), folder })
}

fn warning(message: &Value) -> Option<String> {
    let message = &message["message"];
    // Else it is a summary, such as `3 warnings emitted`.
    let has_place = message["spans"].as_array().is_some_and(|spans| !spans.is_empty());
    let is_one = matches!(message["level"].as_str(), Some("warning" | "error"));
    let text = message["rendered"].as_str().filter(|_| is_one && has_place)?;
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn artifact(kind: &str, package: &str) -> Said {
        let line = json!({
            "reason": "compiler-artifact", "package_id": package,
            "manifest_path": "/w/xtask/Cargo.toml", "target": {"kind": [kind], "name": "streams"},
            "profile": {"test": true}, "executable": "/t/streams-1",
        });
        Said::read(&line.to_string())
    }

    #[test]
    fn a_program_is_named_as_cargo_chooses_it() {
        let of = |name: &str| {
            Said::Program(TestProgram {
                name: name.into(),
                file: "/t/streams-1".into(),
                folder: "/w/xtask".into(),
            })
        };
        let package = "path+file:///w/crates/dataplane#linerate-dataplane@0.1.0";
        assert_eq!(artifact("test", package), of("-p linerate-dataplane --test streams"));
        assert_eq!(artifact("lib", package), of("-p linerate-dataplane --lib"));
        assert_eq!(artifact("bin", "path+file:///w/xtask#0.1.0"), of("-p xtask --bin streams"));
    }

    #[test]
    fn a_warning_with_a_place_counts_and_a_summary_does_not() {
        let line = |spans: Value| {
            let message = json!({"level": "warning", "rendered": "unused", "spans": spans});
            json!({"reason": "compiler-message", "message": message}).to_string()
        };
        assert_eq!(Said::read(&line(json!([{}]))), Said::Warning("unused".to_owned()));
        assert_eq!(Said::read(&line(json!([]))), Said::Other);
        assert_eq!(Said::read("   Compiling linerate"), Said::Other);
    }
}
