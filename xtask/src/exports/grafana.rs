//! The dashboard for Grafana, checked by the types that Grafana publishes of its dashboards
//! (`@grafana/schema`). Grafana itself is in no registry that this installs from.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{command, packages};

/// Checks the dashboard in the tree at `root`, with packages of npm in `folder`.
pub(super) fn check(root: &Path, folder: &Path) -> Result<()> {
    packages::provide(&packages::NODE)?;
    fs::create_dir_all(folder)?;
    let npm = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--silent", "--no-save"];
    command::run(Command::new("npm").args(npm).args(PACKAGES).current_dir(folder))?;
    let dashboard = root.join("contrib/grafana/linerate.json");
    let dashboard = fs::read_to_string(&dashboard)
        .with_context(|| format!("cannot read {}", dashboard.display()))?;
    fs::write(folder.join("dashboard.ts"), include_str!("dashboard.ts").to_owned() + &dashboard)?;
    let compiler = Path::new("node_modules/typescript/bin/tsc");
    command::run(Command::new("node").arg(compiler).args(OPTIONS).current_dir(folder))
        .context("contrib/grafana/linerate.json is no dashboard of Grafana")
}

const PACKAGES: [&str; 2] = ["@grafana/schema@13.2.3", "typescript@5.8.3"];
const OPTIONS: [&str; 10] = [
    "--noEmit",
    "--strict",
    "--skipLibCheck",
    "--moduleResolution",
    "bundler",
    "--module",
    "esnext",
    "--target",
    "es2022",
    "dashboard.ts",
];
