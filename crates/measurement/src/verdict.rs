//! The verdict on a test ([`Verdict`]): what limits it ([`Finding`]), with evidence and remedy; and
//! the CPU time of a host by kind of work ([`Attribution`]).

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

use crate::bound::Effect;
use crate::host::Role;
use crate::profile::ProfileSource;
use crate::remedy::Remedy;
use crate::rule::RuleId;
use crate::transport::Direction;
use crate::units::BitRate;

/// Verdict on a test: what limited it, and what to change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// Whether a limit was found.
    pub conclusion: Conclusion,
    /// The verdict in one sentence.
    pub sentence: String,
    /// Findings that support the verdict; if something limits, its finding comes first. At most
    /// three more follow.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub findings: Vec<Finding>,
    /// The measurement that would decide, if the evidence does not, or has a second explanation.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub would_decide: Option<String>,
}

/// Whether the evidence shows what limited a test, and whether anything did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Conclusion {
    /// Everything that was requested was sent and delivered: nothing limited the test.
    Delivered,
    /// The first finding is the limit.
    Limited,
    /// The evidence does not show what limited the test.
    Undecided,
}

/// Something that limits the test, could limit it, or would do so under other conditions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The rule that found it, e.g. `udp-receive-buffer`; `linerate explain` prints its manual
    /// page.
    pub rule: RuleId,
    /// Certainty that the finding limits the test.
    pub certainty: Certainty,
    /// Part of the missing rate that the finding explains, from 0 to 1, as computed by its rule.
    pub share: f64,
    /// What it does to the test: the rate that it allows, or loss or delay that it explains.
    #[serde(skip_serializing_if = "Effect::is_unknown", default)]
    pub effect: Effect,
    /// Host of the finding; none: the path between the hosts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host: Option<Role>,
    /// Direction of the finding; none: all directions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub direction: Option<Direction>,
    /// The finding, without a full stop.
    pub text: String,
    /// Evidence for the finding: counters and settings with their values.
    pub evidence: Vec<String>,
    /// Remedy of the finding.
    pub remedy: Remedy,
}

/// Certainty that a finding limits the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// Information: it would limit at another rate, or costs little.
    Note,
    /// It could limit the test, but the evidence does not show that it does.
    Candidate,
    /// The evidence shows that it limits the test.
    Limit,
}

/// Kind of work on which CPU time is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Copies between the kernel and processes.
    CopyUser,
    /// Copies between the kernel and processes through the kernel's iterators, where the copy
    /// itself may be inlined.
    CopyIterator,
    /// Copies within the kernel: `memcpy`, `memset`, pages, bounce buffers.
    CopyMemory,
    /// Checks of copies: hardened usercopy, bounds of iterators.
    CopyChecks,
    /// Computation of Internet checksums (RFC 1071).
    Checksum,
    /// Allocation and release of packets (`sk_buff`) and pages.
    Allocation,
    /// Entry into system calls and return from them.
    SystemCall,
    /// Waiting for sockets, and waking threads that wait.
    Wakeup,
    /// Receive path up to the socket: softirq, NAPI, GRO, IP, TCP, UDP.
    Receive,
    /// Transmit path: sockets, TCP, UDP, IP, queueing disciplines.
    Transmit,
    /// Drivers of network devices, including DMA mapping and cache maintenance.
    Driver,
    /// Packet filters and hooks: BPF, security modules, netfilter, tracing.
    Filters,
    /// Waiting for contended locks.
    Locking,
    /// Scheduler, timers and clocks; also uncontended locks and the end of sections without
    /// interrupts, where a delayed sample is taken.
    Scheduler,
    /// Emulation of instructions by a trap handler: misaligned accesses.
    TrapEmulation,
    /// Code of programs in user mode.
    User,
    /// Idle: no work.
    Idle,
    /// Functions that are not classified.
    Other,
}

impl Work {
    /// Whether the work copies bytes in memory.
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

/// CPU time of a host by kind of work, computed from a CPU profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Attribution {
    /// Host of the profile.
    pub host: Role,
    /// Origin of the samples.
    pub source: ProfileSource,
    /// Number of samples that were not idle.
    pub samples: u64,
    /// Share of these samples whose function is classified, from 0 to 1.
    pub labelled: f64,
    /// Cost of each kind of work, over all busy CPUs.
    pub work: BTreeMap<Work, Cost>,
    /// CPU time of each CPU by kind of work; empty: not reported.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub cpus: Vec<CpuWork>,
    /// Estimated rates if some work cost nothing; empty: the rate is not known, or no CPU was fully
    /// used.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub what_if: Vec<WhatIf>,
}

/// CPU time that one kind of [`Work`] cost: as a share of the busy time, and per KiB of payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cost {
    /// Share of the time in which CPUs were not idle, from 0 to 1.
    pub share: f64,
    /// CPU time per KiB of payload, in nanoseconds; none: the amount or the time is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nanos_per_kib: Option<f64>,
}

/// CPU time of one CPU by kind of work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuWork {
    /// Number of the CPU.
    pub cpu: u32,
    /// Share of the time in which the CPU was not idle, from 0 to 1.
    pub busy: f64,
    /// Share of each kind of work in the busy time, from 0 to 1.
    pub work: BTreeMap<Work, f64>,
}

/// Estimated rate if some work cost nothing (Amdahl's law).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhatIf {
    /// The work in words: `copies to and from processes`.
    pub without: String,
    /// Rate that the test reached.
    #[serde(rename = "from_bits_per_second")]
    pub from: BitRate,
    /// Estimated rate: an upper bound, if this CPU is what limits.
    #[serde(rename = "at_most_bits_per_second")]
    pub at_most: BitRate,
}
