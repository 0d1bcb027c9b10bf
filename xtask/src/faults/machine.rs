//! Machines that this one stands for, so that a verdict is judged on several: with fewer CPUs, slower
//! ones, or without offloads.

use clap::{Args, ValueEnum};

use super::scenario::{Need, Scenario, TopologyKind};
use super::step::{At, End, Step};

/// The machines of a run.
#[derive(Clone, Debug, Args)]
pub(crate) struct Machines {
    /// Run each case on these machines, which this one stands for
    #[arg(long, value_enum, value_name = "NAME", value_delimiter = ',', default_values_t = [Machine::Here])]
    pub(super) machine: Vec<Machine>,
}

/// A change of this machine ahead of a case, with its cause and without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Machine {
    /// This machine as it is
    #[default]
    Here,
    /// All programs on one CPU
    OneCpu,
    /// No TSO, GSO and GRO on any interface
    NoOffloads,
    /// A real-time loop takes 40 % of each CPU, in steps of a millisecond
    Slow,
    /// Each end has a quota of 0.7 CPUs
    Quota,
}

impl Machines {
    /// Each scenario on each machine.
    pub(crate) fn each(&self, scenarios: &[Scenario]) -> Vec<Scenario> {
        let on_each = |scenario: &Scenario| -> Vec<Scenario> {
            self.machine.iter().map(|machine| scenario.clone().on(*machine)).collect()
        };
        scenarios.iter().flat_map(on_each).collect()
    }
}

impl Machine {
    /// The steps that make it, which follow those of a case.
    pub(super) fn steps(self, topology: TopologyKind) -> Vec<Step> {
        let ends = [End::Client, End::Server];
        match self {
            Self::Here => Vec::new(),
            Self::OneCpu => ends.map(|at| Step::Pin { at, cpu: 0 }).to_vec(),
            Self::NoOffloads => {
                let routers = [At::Router, At::RouterNear].into_iter();
                let routers = routers.filter(|_| topology == TopologyKind::Router);
                let words = "tso off gso off gro off";
                let off = |at| Step::Offloads { at, words: words.to_owned() };
                [At::Both].into_iter().chain(routers).map(off).collect()
            }
            Self::Slow => vec![Step::Slower { percent: 40 }],
            Self::Quota => ends.map(|at| Step::Quota { at, percent: 70 }).to_vec(),
        }
    }

    pub(super) fn needs(self) -> Vec<Need> {
        match self {
            Self::Here => Vec::new(),
            Self::OneCpu => vec![Need::Program("taskset".to_owned())],
            Self::NoOffloads => vec![Need::Program("ethtool".to_owned())],
            Self::Slow => vec![Need::RealTime, Need::Program("perl".to_owned())],
            Self::Quota => vec![Need::Quota],
        }
    }

    /// A case of that name on this machine: `shaper-600@slow`.
    pub(super) fn case(self, name: &str) -> String {
        if self == Self::Here { name.to_owned() } else { format!("{name}@{}", self.name()) }
    }

    /// Its name on a command line.
    pub(super) fn name(self) -> String {
        let name = self.to_possible_value().map(|value| value.get_name().to_owned());
        name.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_steps_that_follow_those_of_a_case() {
        for machine in Machine::value_variants() {
            let is_here = *machine == Machine::Here;
            assert_eq!(machine.steps(TopologyKind::Cable).is_empty(), is_here, "{machine:?}");
            assert_eq!(machine.needs().is_empty(), is_here, "{machine:?}");
        }
        assert_eq!(Machine::NoOffloads.steps(TopologyKind::Router).len(), 3);
        assert_eq!(Machine::OneCpu.case("queue-600"), "queue-600@one-cpu");
        assert_eq!(Machine::Here.case("queue-600"), "queue-600");
    }
}
