//! A program as a comparison runs it: with flags, on CPUs, for some workloads.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};
use lab::Host;

use crate::program::Installed;
use crate::workload::{Test, Traffic, Workload};

/// A program as a comparison runs it.
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

/// What a program is here for.
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
    /// A program as it comes.
    pub fn new(program: Installed, part: Part) -> Self {
        let (name, flags) = (program.name.clone(), String::new());
        Self { name, part, program, flags, placement: Placement::Free, wants: |_| true }
    }

    /// Asks a program what it is; it must take one of these workloads.
    ///
    /// # Errors
    /// It cannot be run, or does nothing of the kind.
    pub fn find(path: impl AsRef<Path>, part: Part, kinds: &[Workload]) -> Result<Self> {
        let program = Installed::find(&path)?;
        let takes = kinds.iter().any(|workload| program.takes(workload));
        ensure!(takes, "{} does nothing of the kind", path.as_ref().display());
        Ok(Self::new(program, part))
    }

    /// The program as it is, and in each [way](Installed::ways) to do a workload at less expense.
    pub fn in_all_ways(self, workload: &Workload) -> Vec<Self> {
        let ways = self.program.ways(workload);
        let ways =
            ways.into_iter().map(|way| Self { part: Part::PeerVariant, ..self.clone().with(way) });
        let ways: Vec<Self> = ways.collect();
        std::iter::once(self).chain(ways).collect()
    }

    /// The same with more flags, which its name then bears.
    #[must_use]
    pub fn with(self, flags: &str) -> Self {
        let name = format!("{} {flags}", self.name).trim_end().to_owned();
        Self { name, flags: flags.to_owned(), ..self }
    }

    /// The same program in another way, by more flags, which its name then bears.
    #[must_use]
    pub fn variant(&self, flags: &str) -> Self {
        Self { part: Part::Variant, ..self.clone().with(flags) }
    }

    /// The same with flags that its name does not bear.
    #[must_use]
    pub fn with_name(self, name: &str, flags: &str) -> Self {
        Self { name: name.to_owned(), flags: flags.to_owned(), ..self }
    }

    /// The same with a CPU for the client and one for the server.
    #[must_use]
    pub fn pinned(self) -> Self {
        Self { placement: Placement::Apart, ..self }
    }

    /// The same for these workloads alone.
    #[must_use]
    pub fn only_for(self, wants: fn(&Workload) -> bool) -> Self {
        Self { wants, ..self }
    }

    /// Whether it is worth a run with this workload.
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

/// The flag by which linerate searches for its engines; a comparison lets it do so before the
/// rounds, so that what the search takes is not counted.
pub const FASTEST: &str = "--fastest";
