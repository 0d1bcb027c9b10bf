//! `exports`: what `linerate export` writes, read by the readers of others.

mod grafana;
mod kubernetes;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::workspace::{Build, Workspace};
use crate::{command, packages, python};

/// Reads what linerate export writes by the readers of others: flent, prometheus_client, mosquitto, ...
/// The Job for Kubernetes is checked against its schema, too.
///
/// Needs python3 with venv, mosquitto and npm, which it installs as root on Debian, PyPI, and the
/// registry of npm. If there is a node_exporter, its textfile collector reads the metrics, too.
#[derive(Debug, Args)]
pub(crate) struct Exports {}

impl Exports {
    #[expect(clippy::unused_self, reason = "as every task")]
    pub(crate) fn run(self) -> Result<String> {
        check(&Workspace::find()?)?;
        Ok("exports: every reader found what the records have".to_owned())
    }
}

/// Builds the program, and has its exports of stored records read.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    packages::provide(&packages::PYTHON)?;
    packages::provide(&packages::MQTT)?;
    let linerate = workspace.build(Build::Checked)?;
    let folder = workspace.target.join("exports");
    fs::create_dir_all(&folder)?;
    grafana::check(&workspace.root, &folder.join("grafana"))?;
    let environment = folder.join("environment");
    let python = python::environment(&environment)?;
    command::run(python::pip(&python, "install").args(READERS))?;
    kubernetes::check(&linerate, &environment, &folder)?;
    let script = folder.join("read.py");
    fs::write(&script, include_str!("exports/read.py"))?;
    let records = workspace.root.join("crates/report/tests/records");
    let [four_rows, latency] = ["four-rows.json", "latency.json"].map(|name| records.join(name));
    let files: [&Path; 5] = [&script, &linerate, &four_rows, &latency, &folder];
    command::run(Command::new(&python).args(files))
}

/// Packages of PyPI.
const READERS: [&str; 6] = [
    "flent",
    "hdrhistogram",
    "jinja2",
    "kubernetes-validate==1.37.0",
    "line-protocol-parser",
    "prometheus_client",
];
