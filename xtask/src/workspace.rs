//! What cargo says about this workspace and that of the runtime (`cargo metadata`).

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::command;

/// A workspace.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Its folder.
    pub(crate) root: PathBuf,
    /// Where cargo builds.
    pub(crate) target: PathBuf,
    /// Its members.
    pub(crate) members: Vec<Member>,
}

/// One crate of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Its folder, e.g. `protocol`: the name that the project uses.
    pub(crate) folder: String,
    /// Folders of the members that it is built upon; what only its tests use is left out.
    pub(crate) uses: Vec<String>,
    /// Names of its integration tests.
    pub(crate) tests: Vec<String>,
}

impl Workspace {
    /// Asks cargo.
    pub(crate) fn find() -> Result<Self> {
        Self::at("..")
    }

    /// That of the runtime, which linerate is built upon and which is tested by itself.
    pub(crate) fn runtime() -> Result<Self> {
        Self::at("../runtime")
    }

    fn at(folder: &str) -> Result<Self> {
        let text = command::output(
            command::cargo(["metadata", "--format-version", "1", "--no-deps"])
                .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)),
        )?;
        let metadata = serde_json::from_str(&text).context("cargo metadata is not JSON")?;
        Self::read(&metadata).context("cargo metadata lacks a field")
    }

    /// Builds the optimised binary and says where it is.
    pub(crate) fn build_release(&self) -> Result<PathBuf> {
        self.build(Build::Release)
    }

    /// Builds the binary and says where it is.
    pub(crate) fn build(&self, build: Build) -> Result<PathBuf> {
        self.program(build, "linerate")
    }

    /// Builds the program of a member and says where it is.
    pub(crate) fn program(&self, build: Build, name: &str) -> Result<PathBuf> {
        let mut cargo = match build {
            // As the gate compiles, so that nothing is compiled twice; programs with a test of
            // their own are built beside it.
            Build::Checked => command::linting_cargo(CHECKED),
            Build::Release => command::cargo(["build", "--release", "--package", name]),
        };
        command::run(cargo.current_dir(&self.root))?;
        Ok(self.target.join(build.folder()).join(name))
    }

    fn read(metadata: &Value) -> Option<Self> {
        let folder = |key: &str| metadata.get(key)?.as_str().map(PathBuf::from);
        let packages = metadata.get("packages")?.as_array()?;
        Some(Self {
            root: folder("workspace_root")?,
            target: folder("target_directory")?,
            members: packages.iter().map(Member::read).collect::<Option<_>>()?,
        })
    }
}

/// What the gate compiles.
pub(crate) const CHECKED: [&str; 5] =
    ["test", "--workspace", "--all-targets", "--no-run", "--quiet"];

/// How programs are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    /// As unit tests are, which have built it already: it panics where a number overflows.
    Checked,
    /// As users have it.
    Release,
}

impl Build {
    const fn folder(self) -> &'static str {
        match self {
            Self::Checked => "debug",
            Self::Release => "release",
        }
    }
}

impl Member {
    fn read(package: &Value) -> Option<Self> {
        let manifest = Path::new(package.get("manifest_path")?.as_str()?);
        let dependencies = package.get("dependencies")?.as_array()?;
        let targets = package.get("targets")?.as_array()?.iter();
        let is_test = |target: &&Value| target["kind"][0] == "test";
        let built_upon = dependencies.iter().filter(|one| one["kind"] != "dev");
        Some(Self {
            folder: last(manifest.parent()?)?,
            uses: built_upon.filter_map(|one| last(Path::new(one["path"].as_str()?))).collect(),
            tests: targets
                .filter(is_test)
                .filter_map(|one| Some(one["name"].as_str()?.to_owned()))
                .collect(),
        })
    }
}

fn last(path: &Path) -> Option<String> {
    path.file_name()?.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_go_by_their_folders() {
        let workspace = Workspace::read(&json!({
            "workspace_root": "/w", "target_directory": "/t",
            "packages": [{
                "manifest_path": "/w/crates/report/Cargo.toml",
                "dependencies": [
                    {"name": "linerate-measurement", "kind": null, "path": "/w/crates/measurement"},
                    {"name": "linerate-lab", "kind": "dev", "path": "/w/crates/lab"},
                    {"name": "serde_json", "kind": null},
                ],
                "targets": [
                    {"name": "linerate_report", "kind": ["lib"]},
                    {"name": "transcripts", "kind": ["test"]},
                ],
            }],
        }))
        .expect("complete");
        assert_eq!(workspace.target, Path::new("/t"));
        let (uses, tests) = (vec!["measurement".into()], vec!["transcripts".into()]);
        let member = Member { folder: "report".into(), uses, tests };
        assert_eq!(workspace.members, [member]);
    }
}
