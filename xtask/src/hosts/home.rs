//! A host behind the router of a home, whose line has a rate in each direction, and a server.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use lab::{LinkSpec, Rate, Routed, Shape};
use testbed::port;
use testbed::process::Running;
use testbed::workload::PORT;

/// The hosts and their router.
pub(crate) struct Home {
    path: Routed,
}

impl Home {
    pub(crate) fn new() -> Result<Self> {
        let path = Routed::create(&LinkSpec::default())?;
        for (end, rate) in [(&path.router_near, DOWN), (&path.router_far, UP)] {
            let rate = Rate::from_bits_per_second(rate).context("the rate of the line is zero")?;
            end.add_shaper(&Shape::with_rate(rate))?;
        }
        Ok(Self { path })
    }

    /// Where the server is.
    pub(crate) fn server(&self) -> String {
        self.path.far.ipv4().to_string()
    }

    /// The server, on the usual port, so that commands can be typed as they are shown.
    pub(crate) fn serve(&self, program: &Path) -> Result<Running> {
        let mut serve = self.path.far.command(program);
        serve.args(["serve", "--quiet"]);
        let mut server = Running::silent(serve)?;
        port::await_listener(Some(&self.path.far), PORT, &mut server)?;
        Ok(server)
    }

    /// What is typed at home, behind `linerate`, on a terminal of so many columns.
    pub(crate) fn typed(&self, program: &Path, words: &str, width: usize) -> Command {
        let mut command = self.path.near.command(program);
        // The screen has commands that begin as this one was typed.
        command.arg0("linerate").args(words.split(' ')).env("COLUMNS", width.to_string());
        command
    }
}

/// Of the line, in bit/s: those of many homes, and far below what two CPUs move.
const DOWN: u64 = 100_000_000;
const UP: u64 = 20_000_000;
