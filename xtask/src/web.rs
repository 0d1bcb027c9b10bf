//! `web`: the page of `linerate report`, which is built from `web/`, and its test in a browser.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;

use crate::generated::{self, File};
use crate::workspace::{Build, Workspace};
use crate::{command, packages};

mod samples;

/// Builds the page of reports from web/, and tests reports in a browser
///
/// Needs npm and Chromium, which it installs as root on Debian, and the registry of npm. Pictures of
/// the pages are in target/web.
#[derive(Debug, Args)]
pub(crate) struct Web {
    /// Compare the page with the one that is committed, and do not write it
    #[arg(long)]
    check: bool,
}

impl Web {
    pub(crate) fn run(self) -> Result<String> {
        let workspace = Workspace::find()?;
        let page = build(&workspace)?;
        if self.check {
            generated::check(&workspace.root, &[page], TASK)?;
        } else {
            generated::write(&workspace.root, &[page])?;
        }
        open(&workspace)?;
        Ok(format!("web: every page passed; pictures are in {}", folder(&workspace).display()))
    }
}

/// Compares the page with the one that is committed, and opens reports in a browser.
pub(crate) fn short(workspace: &Workspace) -> Result<()> {
    generated::check(&workspace.root, &[build(workspace)?], TASK)?;
    open(workspace)
}

/// Builds the page without data.
fn build(workspace: &Workspace) -> Result<File> {
    packages::provide(&packages::WEB)?;
    let web = workspace.root.join("web");
    let run = |program: &str, arguments: &[&str]| {
        command::run(Command::new(program).args(arguments).current_dir(&web))
    };
    // No package runs a program of its own at its installation.
    run("npm", &["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--silent"])?;
    run("npx", &["--no-install", "tsc"])?;
    let built = folder(workspace).join("shell.html");
    fs::create_dir_all(folder(workspace))?;
    run("node", &["build.mjs", &built.to_string_lossy()])?;
    let text = read(&built)?;
    Ok(File { path: PAGE.to_owned(), text })
}

/// Makes reports of tests that run here, and opens them.
fn open(workspace: &Workspace) -> Result<()> {
    let linerate = workspace.build(Build::Checked)?;
    let pages = folder(workspace).join("pages");
    // What an earlier run left there would be opened, too.
    _ = fs::remove_dir_all(&pages);
    fs::create_dir_all(&pages)?;
    samples::write(&linerate, &pages)?;
    let mut node = Command::new("node");
    command::run(node.arg("test/page.mjs").arg(&pages).current_dir(workspace.root.join("web")))
}

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("web")
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

const TASK: &str = "web";
const PAGE: &str = "crates/report/src/html/shell.html";
