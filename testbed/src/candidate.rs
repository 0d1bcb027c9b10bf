//! A program as a comparison runs it: with flags, on CPUs, for some workloads.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};
use lab::Host;

use crate::program::Installed;
use crate::workload::{Test, Traffic, Workload};

/// A program as a comparison runs it: with flags, on certain CPUs, for certain workloads.
#[derive(Clone)]
pub struct Candidate {
    /// Its name and version, and what else it is asked for.
    pub name: String,
    /// What it is here for.
    pub part: Part,
    /// The program.
    pub program: Installed,
    /// What it is asked for beside the test.
    pub flags: String,
    placement: Placement,
    wants: fn(&Workload) -> bool,
}

/// The role of a program in a comparison: the linerate that is judged, or one to compare it with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The linerate that is judged.
    Ours,
    /// The same linerate, in another way.
    Variant,
    /// The installed iperf3.
    Installed,
    /// A further program.
    Peer,
    /// The installed iperf3 or a further program, asked for more than its task.
    PeerVariant,
    /// The plain loop.
    Reference,
    /// The plain loop that does the most.
    Best,
}

/// On which CPUs client and server run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placement {
    /// Wherever the kernel puts them.
    Free,
    /// The client on CPU 0, the server on CPU 1.
    Apart,
}

impl Candidate {
    /// A candidate that runs `program` without further flags, on any CPUs, for all workloads.
    pub fn new(program: Installed, part: Part) -> Self {
        let (name, flags) = (program.name.clone(), String::new());
        Self { name, part, program, flags, placement: Placement::Free, wants: |_| true }
    }

    /// Asks the program at `path` for its name and version. It must be able to run one of the
    /// workloads `kinds`.
    ///
    /// # Errors
    /// The program cannot be run, or can run none of `kinds`.
    pub fn find(path: impl AsRef<Path>, part: Part, kinds: &[Workload]) -> Result<Self> {
        let program = Installed::find(&path)?;
        let takes = kinds.iter().any(|workload| program.takes(workload));
        ensure!(takes, "{} does nothing of the kind", path.as_ref().display());
        Ok(Self::new(program, part))
    }

    /// The candidate as it is, and one more for each set of flags with which its program does
    /// `workload` at less CPU cost, e.g. `-Z` of iperf3 ([`Installed::ways`]).
    pub fn in_all_ways(self, workload: &Workload) -> Vec<Self> {
        let ways = self.program.ways(workload);
        let ways =
            ways.into_iter().map(|way| Self { part: Part::PeerVariant, ..self.clone().with(way) });
        let ways: Vec<Self> = ways.collect();
        std::iter::once(self).chain(ways).collect()
    }

    /// This candidate with `flags` instead of its flags. They are appended to its name.
    #[must_use]
    pub fn with(self, flags: &str) -> Self {
        let name = format!("{} {flags}", self.name).trim_end().to_owned();
        Self { name, flags: flags.to_owned(), ..self }
    }

    /// This candidate as a [`Part::Variant`], with `flags` instead of its flags. They are appended
    /// to its name.
    #[must_use]
    pub fn variant(&self, flags: &str) -> Self {
        Self { part: Part::Variant, ..self.clone().with(flags) }
    }

    /// This candidate with `flags` instead of its flags, under another `name`, which does not show
    /// them.
    #[must_use]
    pub fn with_name(self, name: &str, flags: &str) -> Self {
        Self { name: name.to_owned(), flags: flags.to_owned(), ..self }
    }

    /// This candidate with its client pinned to CPU 0 and its server to CPU 1 (taskset(1)).
    #[must_use]
    pub fn pinned(self) -> Self {
        Self { placement: Placement::Apart, ..self }
    }

    /// This candidate restricted to the workloads for which `wants` returns true.
    #[must_use]
    pub fn only_for(self, wants: fn(&Workload) -> bool) -> Self {
        Self { wants, ..self }
    }

    /// Whether the candidate is to be run with this workload: it was not excluded, and its program
    /// supports the workload.
    pub fn takes(&self, workload: &Workload) -> bool {
        (self.wants)(workload) && self.program.takes(workload)
    }

    /// A test with what this candidate is asked for beside it.
    pub(crate) fn test(&self, test: &Test) -> Test {
        Test { flags: self.flags.clone(), ..test.clone() }
    }

    /// Its server on a host.
    pub(crate) fn server(&self, host: &Host, test: &Test) -> Command {
        let mut command = self.placed(host, "1", self.program.server(Some(host), test));
        let reports = self.program.program.reports_at_server;
        command.stdout(if reports { Stdio::piped() } else { Stdio::null() });
        if matches!(test.workload.traffic, Traffic::Exchange(_)) {
            command.stderr(Stdio::null());
        }
        command
    }

    /// Its client on a host.
    pub(crate) fn client(&self, host: &Host, test: &Test) -> Command {
        self.placed(host, "0", self.program.client(Some(host), test))
    }

    fn placed(&self, host: &Host, cpu: &str, command: Command) -> Command {
        match self.placement {
            Placement::Free => command,
            Placement::Apart => {
                let mut pinned = host.command("taskset");
                pinned.args(["-c", cpu]).arg(command.get_program()).args(command.get_args());
                pinned
            }
        }
    }
}

/// The flag by which linerate searches for its fastest engines. A comparison lets it search before
/// the rounds, so that the search is not part of the measured runs.
pub const FASTEST: &str = "--fastest";
