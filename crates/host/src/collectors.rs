//! Collectors: readers of the counters and gauges of a host, one for each family, i.e. for each
//! source such as `/proc/net/snmp`.
//!
//! A parser takes the text of a file and nothing else, so that it runs on what was captured
//! on another host. Names of counters and gauges are part of a record: analysis looks them
//! up.

mod cgroup;
mod conntrack;
mod cooling;
mod cpu;
mod frequency;
mod interface;
mod interrupts;
mod netstat;
mod nic;
mod numbers;
mod pairs;
mod pressure;
mod process;
mod qdisc;
mod snmp;
mod snmp6;
mod sockstat;
mod softirqs;
mod softnet;
mod task;
mod thermal;
mod throttle;

use measurement::Gap;
use measurement::host::{Family, counter};

use crate::{Reading, Subject, Tree};

/// Reader of a family of counters and gauges of a host, e.g. those of `/proc/net/snmp`.
pub trait Collector: Send {
    /// Family of the counters, which is the first part of their names, e.g. [`Family::SOFTNET`].
    fn family(&self) -> Family;

    /// Reads all counters and gauges of the family, and records them in `into`.
    ///
    /// # Errors
    /// A gap with the reason if nothing could be read: the kernel does not have the source or
    /// refused access, or a captured tree does not contain the file.
    fn read(&mut self, tree: &Tree, into: &mut Reading) -> Result<ReadOutcome, Gap>;

    /// Adds threads of this process whose counters are read (gettid(2)). Collectors without
    /// counters of threads ignore it.
    fn follow_threads(&mut self, threads: &[i32]) {
        _ = threads;
    }
}

/// Completeness of a successful [`Collector::read`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// All of the family was read: a counter that was not recorded did not change.
    Complete,
    /// There was nothing to read, e.g. no thread was added yet.
    Nothing,
}

/// The collectors of all families, for a test with this `subject`. Those of drops and CPU time come
/// first, so that they are read close to the time of the sample; those that may sleep come last.
pub fn all(subject: &Subject) -> Vec<Box<dyn Collector>> {
    vec![
        Box::new(snmp::Snmp::default()),
        Box::new(snmp6::Snmp6::default()),
        Box::new(netstat::Netstat::default()),
        Box::new(interface::Interfaces::default()),
        Box::new(qdisc::Disciplines::default()),
        Box::new(softnet::Softnet::default()),
        Box::new(cpu::Cpus::default()),
        Box::new(task::Tasks::for_threads(&subject.threads)),
        Box::new(process::Process::default()),
        Box::new(softirqs::Softirqs::default()),
        Box::new(interrupts::Interrupts::default()),
        Box::new(pressure::Pressure::default()),
        Box::new(cgroup::ControlGroups::default()),
        Box::new(sockstat::Sockstat::default()),
        Box::new(conntrack::Conntrack::default()),
        Box::new(throttle::Throttle::default()),
        Box::new(cooling::Cooling::default()),
        Box::new(thermal::Thermal::default()),
        Box::new(frequency::Frequency::default()),
        Box::new(nic::Nic::for_interfaces(&subject.interfaces)),
    ]
}

/// Function that parses the text of a file and records its counters and gauges in a [`Reading`].
pub type Parser = fn(&str, &mut Reading);

/// All parsers, each with the path of a file that it parses, relative to the root directory. They
/// serve tests of the parsers with arbitrary texts.
pub const PARSERS: [(&str, Parser); 14] = [
    ("proc/stat", |text, into| cpu::parse(text, 100, into)),
    ("proc/net/softnet_stat", |text, into| softnet::parse(text, &[1, 3], into)),
    ("proc/interrupts", interrupts::parse_twice),
    ("proc/softirqs", softirqs::parse),
    ("proc/net/snmp", snmp::parse),
    ("proc/net/snmp6", snmp6::parse),
    ("proc/net/netstat", netstat::parse),
    ("proc/self/task/1/schedstat", |text, into| task::parse(text, 1, into)),
    ("proc/self/stat", |text, into| process::parse(text, 100, into)),
    ("proc/pressure/cpu", |text, into| pressure::parse(text, counter::PRESSURE_CPU, into)),
    ("proc/self/mountinfo", |text, _| drop(cgroup::folders(text, text))),
    ("cpu.stat", cgroup::parse),
    ("proc/net/sockstat", sockstat::parse),
    ("proc/net/stat/nf_conntrack", conntrack::parse),
];

#[cfg(test)]
mod tests;
