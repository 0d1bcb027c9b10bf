//! `versions`: a few tests of linerate against many versions of iperf3, in both roles.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use lab::LinkSpec;
use testbed::topology::{self, Topology};

use crate::Verdict;
use crate::ask::{Ask, Direction, End, Transport};
use crate::program::{Installed, Program};
use crate::trial::{Judged, Summary, Trial};

/// Plays a few tests against every iperf3-* of a directory, in both roles
#[derive(Debug, Args)]
pub(crate) struct Versions {
    /// The linerate to test
    #[arg(long, value_name = "FILE")]
    linerate: PathBuf,
    /// Where the files iperf3-VERSION are
    #[arg(long, value_name = "DIR")]
    binaries: PathBuf,
    /// Only versions whose file name contains this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

impl Versions {
    pub(crate) fn run(&self) -> anyhow::Result<Verdict> {
        let ours = Installed::find(Program::Linerate, &self.linerate)?;
        let hosts = &Topology::cable(topology::Path::Veth, &LinkSpec::default())?;
        let mut summary = Summary::begin();
        for theirs in self.installed()? {
            for (client, server) in [(&ours, &theirs), (&theirs, &ours)] {
                for ask in asks().iter().filter(|ask| theirs.supports(ask)) {
                    summary.add(&Trial { hosts, client, server, ask, judged: Judged::All })?;
                }
            }
        }
        Ok(summary.finish("versions"))
    }

    fn installed(&self) -> anyhow::Result<Vec<Installed>> {
        let directory = self.binaries.display();
        let entries = fs::read_dir(&self.binaries)
            .with_context(|| format!("cannot read {directory}"))?
            .map(|entry| Ok(entry?.path()))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let mut found = Vec::new();
        for path in entries.iter().filter(|path| self.is_wanted(path)) {
            found.push(Installed::find(Program::Iperf3, path)?);
        }
        if found.is_empty() {
            bail!("no iperf3-* in {directory}");
        }
        found.sort_by(|a, b| (a.version, a.path()).cmp(&(b.version, b.path())));
        Ok(found)
    }

    fn is_wanted(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("iperf3-") && self.only.as_ref().is_none_or(|only| name.contains(only))
    }
}

fn asks() -> Vec<Ask> {
    let ask = Ask::new;
    let mut asks = vec![
        ask(Transport::Tcp, Direction::Send),
        ask(Transport::Tcp, Direction::Reverse),
        ask(Transport::Udp, Direction::Send),
        ask(Transport::Udp, Direction::Reverse),
        ask(Transport::Tcp, Direction::Both),
        ask(Transport::Udp, Direction::Both),
        Ask { streams: 4, ..ask(Transport::Tcp, Direction::Send) },
        Ask { end: End::Bytes(1 << 20), ..ask(Transport::Tcp, Direction::Send) },
    ];
    for ask in asks.iter_mut().filter(|ask| ask.transport == Transport::Udp) {
        // Before 3.2 the default is a datagram that does not fit a frame (clause 6.5).
        ask.length = Some(1_400);
    }
    asks
}
