//! The programs under test. Here, and nowhere else, it is known which is which.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use clap::Args;
use lab::Host;
use testbed::workload::Test;

use crate::ask::{Ask, Direction};
use crate::seen::{Role, Seen};

mod iperf3;
mod linerate;

/// A kind of program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    Linerate,
    Iperf3,
}

/// The programs of a task.
#[derive(Clone, Debug, Args)]
pub(crate) struct Programs {
    /// The linerate to test
    #[arg(long, value_name = "FILE")]
    pub(crate) linerate: PathBuf,
    /// The iperf3 to test it with
    #[arg(long, default_value = "iperf3", value_name = "FILE")]
    pub(crate) iperf3: PathBuf,
}

/// A program at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Installed {
    pub(crate) program: Program,
    pub(crate) version: Version,
    /// The version as the program writes it.
    label: String,
    path: PathBuf,
}

/// Major and minor number; a patch changes no behaviour that matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(pub(crate) u32, pub(crate) u32);

impl Programs {
    /// Asks linerate and iperf3 for their versions.
    pub(crate) fn find(&self) -> anyhow::Result<(Installed, Installed)> {
        let ours = Installed::find(Program::Linerate, &self.linerate)?;
        Ok((ours, Installed::find(Program::Iperf3, &self.iperf3)?))
    }
}

impl Installed {
    /// Asks the program for its version.
    pub(crate) fn find(program: Program, path: &Path) -> anyhow::Result<Self> {
        let output = Command::new(path)
            .arg("--version")
            .output()
            .with_context(|| format!("cannot run {}", path.display()))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let label = text.split_whitespace().find(|word| word.contains('.')).unwrap_or_default();
        let version = Version::parse(label)
            .with_context(|| format!("{} does not report its version", path.display()))?;
        Ok(Self { program, version, label: label.to_owned(), path: path.to_owned() })
    }

    /// The name in tables.
    pub(crate) fn name(&self) -> String {
        match self.program {
            Program::Linerate => "linerate".to_owned(),
            Program::Iperf3 => format!("iperf3 {}", self.label),
        }
    }

    /// The file that it was started from.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it can run such a test at all.
    pub(crate) fn supports(&self, ask: &Ask) -> bool {
        // Clause 1.4.
        self.program == Program::Linerate
            || ask.direction != Direction::Both
            || self.version >= Version(3, 7)
    }

    /// A client of `server`.
    pub(crate) fn client(&self, host: &Host, ask: &Ask, server: IpAddr) -> Command {
        let mut command = host.command(&self.path);
        command.args(self.client_arguments(&ask.test(server)).split_whitespace());
        command
    }

    /// The arguments of a client, separated by blanks.
    pub(crate) fn client_arguments(&self, test: &Test) -> String {
        match self.program {
            Program::Linerate => testbed::program::LINERATE.client(test),
            Program::Iperf3 => testbed::program::IPERF3.client(test),
        }
    }

    /// A server that ends after one test.
    pub(crate) fn server(&self, host: &Host) -> Command {
        let mut command = host.command(&self.path);
        command.args(match self.program {
            Program::Linerate => linerate::SERVER_ARGUMENTS,
            Program::Iperf3 => iperf3::SERVER_ARGUMENTS,
        });
        command
    }

    /// Reads what it printed.
    pub(crate) fn parse(&self, role: Role, ask: &Ask, stdout: &str) -> anyhow::Result<Seen> {
        match (self.program, role) {
            (Program::Linerate, Role::Client) => linerate::parse_client(stdout),
            (Program::Linerate, Role::Server) => linerate::parse_server(stdout),
            (Program::Iperf3, role) => iperf3::parse(role, ask.direction, stdout),
        }
    }
}

impl Version {
    /// Reads `3.12` or `3.1.7`. 3.17 calls itself `3.16+` (clause 6.4).
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?;
        match minor.strip_suffix('+') {
            Some(minor) => Some(Self(major, minor.parse::<u32>().ok()? + 1)),
            None => Some(Self(major, minor.parse().ok()?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_its_first_two_numbers() {
        let parse = Version::parse;
        assert_eq!(parse("3.12"), Some(Version(3, 12)));
        assert_eq!(parse("3.1.7"), Some(Version(3, 1)));
        assert_eq!(parse("3.16+"), Some(Version(3, 17)));
        assert_eq!(parse(""), None);
    }
}
