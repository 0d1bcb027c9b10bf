//! `python`: the tests of the Python package, with a program of this tree.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;

use crate::workspace::{Build, Workspace};
use crate::{command, packages};

/// Installs the Python package into a fresh environment, and runs its tests and mypy there
///
/// Needs python3 with venv, which it installs as root on Debian, and PyPI.
#[derive(Debug, Args)]
pub(crate) struct Python {
    /// Program to pack [default: built from this tree]
    #[arg(long, value_name = "FILE")]
    linerate: Option<PathBuf>,
}

impl Python {
    pub(crate) fn run(self) -> Result<String> {
        let workspace = Workspace::find()?;
        let linerate = match self.linerate {
            Some(linerate) => linerate,
            None => workspace.build_release()?,
        };
        check(&workspace, &linerate, &["pandas"])?;
        Ok("python: pytest passed, mypy --strict is content".to_owned())
    }
}

/// The same with a program that is built already, and without pandas.
pub(crate) fn short(workspace: &Workspace) -> Result<()> {
    check(workspace, &workspace.build(Build::Checked)?, &[])
}

fn check(workspace: &Workspace, linerate: &Path, more: &[&str]) -> Result<()> {
    packages::provide(&packages::PYTHON)?;
    let folder = workspace.target.join("python");
    // What an earlier run left there would be installed, too.
    _ = fs::remove_dir_all(&folder);
    let package = workspace.root.join("python");
    let python = environment(&folder.join("environment"))?;
    let linerate = fs::canonicalize(linerate)
        .with_context(|| format!("there is no {}", linerate.display()))?;
    let mut install = pip(&python, "install");
    install.env("LINERATE_COMMAND", linerate);
    command::run(install.arg(&package).args(["pytest", "mypy"]).args(more))?;
    // Not in the folder of the sources, which would be found in place of what is installed.
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&python);
        command.args(arguments).current_dir(&folder).env_remove("LINERATE");
        command::run(&mut command)
    };
    let (tests, config) = (package.join("tests"), package.join("pyproject.toml"));
    let (tests, config) = (tests.to_string_lossy(), config.to_string_lossy());
    run(&["-m", "mypy", "--strict", "--config-file", &config, "-p", "linerate"])?;
    run(&["-m", "mypy", "--strict", "--config-file", &config, &tests])?;
    run(&["-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", &config, &tests])
}

/// Python in an environment (venv) of its own in a folder.
pub(crate) fn environment(folder: &Path) -> Result<PathBuf> {
    // Which it installs last.
    if !folder.join("bin/pip").exists() {
        command::run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    }
    Ok(folder.join("bin/python"))
}

/// A command of pip in an environment.
pub(crate) fn pip(python: &Path, name: &str) -> Command {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", name, "--quiet", "--disable-pip-version-check"]);
    pip
}
