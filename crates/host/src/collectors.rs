//! What a host counts: a file for each thing that is read.
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

/// Reads one thing.
pub trait Collector: Send {
    /// The first part of the names of what it reads, e.g. [`Family::SOFTNET`].
    fn family(&self) -> Family;

    /// Reads it now.
    ///
    /// # Errors
    /// What could not be read, and why.
    fn read(&mut self, tree: &Tree, into: &mut Reading) -> Result<Told, Gap>;

    /// Reads of these threads too (gettid(2)), if it reads of threads.
    fn follow_threads(&mut self, threads: &[i32]) {
        _ = threads;
    }
}

/// Whether a collector had anything to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It read all of its family: what it did not put into a reading did not change.
    Something,
    /// There is nothing yet, e.g. no thread to follow.
    Nothing,
}

/// Every collector: a new one gets its line here. What is dropped and what is run come
/// first, as close to the time of the look as can be; what may sleep comes last.
pub fn all(subject: &Subject) -> Vec<Box<dyn Collector>> {
    vec![
        Box::new(snmp::Snmp::default()),
        Box::new(snmp6::Snmp6::default()),
        Box::new(netstat::Netstat::default()),
        Box::new(interface::Interfaces::default()),
        Box::new(qdisc::Disciplines::default()),
        Box::new(softnet::Softnet::default()),
        Box::new(cpu::Cpus::default()),
        Box::new(task::Tasks::of(&subject.threads)),
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
        Box::new(nic::Nic::of(&subject.interfaces)),
    ]
}

/// Puts what a text says into a reading.
pub type Parser = fn(&str, &mut Reading);

/// Every parser with the file that it reads: what a host may feed to this program.
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
