//! Programs that keep a rate, each in its manner.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use measurement::{BitRate, Pacing};

use super::run::LENGTH;
use crate::command;

/// A program with the options that it is given.
#[derive(Clone, Debug)]
pub(super) struct Contender {
    /// How it is called in the table.
    pub(super) name: String,
    /// Where it is.
    pub(super) path: PathBuf,
    manner: Option<Pacing>,
    speaks: Dialect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    Linerate,
    Iperf3,
}

impl Contender {
    /// One as it comes.
    pub(super) fn of(path: PathBuf) -> Result<Self> {
        let version = command::output(Command::new(&path).arg("--version"))?;
        let name: Vec<_> = version.split_whitespace().take(2).collect();
        let speaks =
            if version.starts_with("linerate") { Dialect::Linerate } else { Dialect::Iperf3 };
        Ok(Self { name: name.join(" "), path, manner: None, speaks })
    }

    /// Ours with `--pacing`.
    pub(super) fn linerate(path: PathBuf, manner: Pacing) -> Self {
        let name = format!("linerate --pacing {manner}");
        Self { name, path, manner: Some(manner), speaks: Dialect::Linerate }
    }

    /// Arguments of its server.
    pub(super) const fn server(&self) -> &'static [&'static str] {
        match self.speaks {
            Dialect::Linerate => &["serve"],
            Dialect::Iperf3 => &["--server"],
        }
    }

    /// Arguments of a client that sends to `host`.
    pub(super) fn client(&self, host: &str, rate: BitRate, seconds: u32) -> Vec<String> {
        let rate = rate.bits_per_second();
        let line = match self.speaks {
            Dialect::Linerate => {
                format!("test {host} --udp --send --quiet -b {rate} -l {LENGTH} -t {seconds}")
            }
            Dialect::Iperf3 => format!("--client {host} --udp -b {rate} -l {LENGTH} -t {seconds}"),
        };
        let mut words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        words.extend(self.manner.into_iter().flat_map(|m| ["--pacing".to_owned(), m.to_string()]));
        words
    }
}
