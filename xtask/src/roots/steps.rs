//! What is done with a package in a system, in this order.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use testbed::port;
use testbed::process::{self, Running};

use super::debian::{PACKAGE, Root};

/// A step; what it tells is a few words.
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) run: fn(&Root) -> Result<String>,
}

pub(super) const STEPS: [Step; 5] = [
    Step { name: "install", run: install },
    Step { name: "demo", run: demo },
    Step { name: "test", run: test },
    Step { name: "host", run: host },
    Step { name: "purge", run: purge },
];

/// As docs/install.md says.
fn install(root: &Root) -> Result<String> {
    root.run(&["apt-get", "install", "--yes", PACKAGE])?;
    for path in FILES {
        ensure!(root.folder().join(path).is_file(), "there is no /{path}");
    }
    let user = root.run(&["getent", "passwd", "linerate"]).context("no user for the service")?;
    ensure!(user.contains("/usr/sbin/nologin"), "the user of the service can log in: {user}");
    let version = root.run(&["linerate", "--version"])?;
    Ok(version.lines().next().unwrap_or_default().to_owned())
}

/// On hosts of its own where the emulator passes on what makes them, else over loopback.
fn demo(root: &Root) -> Result<String> {
    let demo = root.command(&["linerate", "demo", "--time", "1s", "--link-rate", "50M"]);
    let ended = process::finish(demo, LIMIT)?;
    ensure!(ended.has_measured(), "{:?}: {}", ended.how, ended.complaint());
    let is_loopback = ended.stdout.contains("over loopback");
    Ok(if is_loopback { "over loopback" } else { "on hosts of its own" }.to_owned())
}

/// A test of four rows against its own server.
fn test(root: &Root) -> Result<String> {
    let mut serve = root.command(&["linerate", "serve", "--quiet"]);
    serve.stdout(Stdio::null()).stderr(Stdio::piped());
    let server = Running::start(serve)?;
    let address = "127.0.0.1:5201".parse().context("an address")?;
    root.beside(|| port::await_answer(None, address))?
        .with_context(|| server.stderr().trim().to_owned())?;
    let words = ["linerate", "test", "127.0.0.1", "--quiet", "--json", "-t", "1s"];
    let ended = process::finish(root.command(&words), LIMIT)?;
    ensure!(ended.has_measured(), "{:?}: {}", ended.how, ended.complaint());
    let set = report::import::record::read(ended.stdout.as_bytes()).context("no record")?;
    let rates = set.records.iter().map(|record| record.outcome.rate());
    let rates: Option<Vec<_>> = rates.collect();
    let rates = rates.filter(|rates| rates.len() == 4).context("a row has no rate")?;
    let shown = rates.iter().map(|rate| format!("{:.0}", rate.bits_per_second() as f64 / 1e6));
    Ok(format!("{} Mbit/s", shown.collect::<Vec<_>>().join(", ")))
}

/// The screen of `linerate host`.
fn host(root: &Root) -> Result<String> {
    let screen = root.run(&["linerate", "host"])?;
    Ok(format!("{} lines", screen.lines().count()))
}

fn purge(root: &Root) -> Result<String> {
    root.run(&["apt-get", "purge", "--yes", "linerate"])?;
    ensure!(root.run(&["getent", "passwd", "linerate"]).is_err(), "its user is left");
    Ok("done".to_owned())
}

/// A few of what the package has.
const FILES: [&str; 4] = [
    "usr/bin/linerate",
    "usr/share/man/man1/linerate.1.gz",
    "usr/share/doc/linerate/copyright",
    "usr/share/doc/linerate/THIRD-PARTY-LICENSES.txt.gz",
];
/// An emulator takes its time.
const LIMIT: Duration = Duration::from_secs(180);
