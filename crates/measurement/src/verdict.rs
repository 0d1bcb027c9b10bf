//! The verdict on a host or a test: what limits it, the evidence, and what to change.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host::Role;
use crate::profile::ProfileSource;
use crate::remedy::Remedy;
use crate::rule::RuleId;
use crate::transport::Direction;
use crate::units::BitRate;

/// The verdict on a test: what limits it, and what to change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The conclusion.
    pub conclusion: Conclusion,
    /// One sentence.
    pub sentence: String,
    /// The evidence for it, the headline's first where something limits; at most three more.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub findings: Vec<Finding>,
    /// The one measurement that would decide, where this evidence does not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub would_decide: Option<String>,
}

/// The conclusion of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Conclusion {
    /// All that was asked was sent and arrived: nothing limited it.
    Delivered,
    /// The first finding is what limits.
    Limited,
    /// This evidence does not decide it.
    Undecided,
}

/// One thing that limits, could limit, or is to be known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The rule that found it, e.g. `udp-receive-buffer`; `linerate explain` has its page.
    pub rule: RuleId,
    /// How sure that is.
    pub certainty: Certainty,
    /// How much of what is missing it explains, from 0 to 1, by the arithmetic of its rule.
    pub share: f64,
    /// On which host; none: between them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host: Option<Role>,
    /// In which direction; none: in each.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub direction: Option<Direction>,
    /// The limit, as a sentence without a full stop.
    pub text: String,
    /// The evidence: counters, settings and their values.
    pub evidence: Vec<String>,
    /// The change that removes the limit.
    pub remedy: Remedy,
}

/// How sure it is that a finding limits.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// To be known; it would limit at another rate, or costs little.
    Note,
    /// It could be what limits; the evidence does not show that it is.
    Candidate,
    /// The evidence shows that it limits.
    Limit,
}

/// A kind of work of CPUs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Copies between the kernel and processes.
    CopyUser,
    /// Copies between the kernel and processes through the kernel's iterators, where the copy
    /// itself may be inlined.
    CopyIterator,
    /// Copies within the kernel: `memcpy`, `memset`, pages, bounce buffers.
    CopyMemory,
    /// Checks beside copies: hardened usercopy, bounds of iterators.
    CopyChecks,
    /// Internet checksums.
    Checksum,
    /// Packets and pages made and given back.
    Allocation,
    /// Into the kernel and out of it.
    SystemCall,
    /// Waiting for sockets, waking who waits.
    Wakeup,
    /// Receiving up to the socket: softirq, NAPI, GRO, IP, TCP, UDP.
    Receive,
    /// Sending: TCP, UDP, IP, queueing disciplines; and the sockets' own work.
    Transmit,
    /// Drivers, and keeping memory coherent for their devices.
    Driver,
    /// BPF, security modules, netfilter, tracing.
    Filters,
    /// Waiting for locks that others hold.
    Locking,
    /// Scheduler, timers and clocks; locks that were free, and the moment in which interrupts
    /// become possible again: a sample that was due before is taken there.
    Scheduler,
    /// Instructions that a trap handler executes: misaligned accesses.
    TrapEmulation,
    /// Programs themselves.
    User,
    /// Nothing.
    Idle,
    /// Functions that no table knows.
    Other,
}

impl Work {
    /// Whether it moves bytes in memory.
    pub const fn is_copy(self) -> bool {
        matches!(self, Self::CopyUser | Self::CopyIterator | Self::CopyMemory | Self::CopyChecks)
    }
}

impl Display for Work {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::CopyUser => "copy to or from processes",
            Self::CopyIterator => "copy through iterators",
            Self::CopyMemory => "copy within the kernel",
            Self::CopyChecks => "checks beside copies",
            Self::Checksum => "checksums",
            Self::Allocation => "memory for packets",
            Self::SystemCall => "system calls",
            Self::Wakeup => "waiting and waking",
            Self::Receive => "receive path",
            Self::Transmit => "TCP/IP and sockets",
            Self::Driver => "driver",
            Self::Filters => "filters",
            Self::Locking => "waiting for locks",
            Self::Scheduler => "scheduler and timers",
            Self::TrapEmulation => "trap emulation",
            Self::User => "programs",
            Self::Idle => "idle",
            Self::Other => "other",
        })
    }
}

/// Where the CPU time of a host went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attribution {
    /// The host.
    pub host: Role,
    /// The origin of the samples.
    pub source: ProfileSource,
    /// Samples that were not idle.
    pub samples: u64,
    /// Share of those that a table knows, from 0 to 1.
    pub labelled: f64,
    /// The work of all busy CPUs together.
    pub work: BTreeMap<Work, Cost>,
    /// The work of each CPU; empty: not reported.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub cpus: Vec<CpuWork>,
    /// The rates that would be reached if some work cost nothing; empty: the rate is not known, or
    /// no CPU was full.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub what_if: Vec<WhatIf>,
}

/// The cost of one kind of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// Share of the time in which CPUs were not idle, from 0 to 1.
    pub share: f64,
    /// CPU time in nanoseconds for each 1,024 bytes of payload; none: what was moved, or the
    /// time, is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nanos_per_kib: Option<f64>,
}

/// The work of one CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuWork {
    /// Its number.
    pub cpu: u32,
    /// Share of its time in which it was not idle, from 0 to 1.
    pub busy: f64,
    /// Its work as shares of its busy time.
    pub work: BTreeMap<Work, f64>,
}

/// The rate that would be reached if some work cost nothing (Amdahl's law).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhatIf {
    /// Which work, in words: `copies to and from processes`.
    pub without: String,
    /// The rate that was measured.
    pub from: BitRate,
    /// At most so much, where that CPU is what limits.
    pub at_most: BitRate,
}
