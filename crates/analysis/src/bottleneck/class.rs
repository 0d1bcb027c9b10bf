//! Classes of causes: what follows from what, how telling a finding is, and what it does to a test.
//!
//! A rule names its class ([`super::Rule::new`]). Classes stand in causal order: a cause of a class
//! brings about what rules of later classes find, never of an earlier one. Causes of one class follow
//! from each other where [`within`] says so. The order of findings is made in `rank`.

use measurement::RuleId;

/// A class of causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// The machine or another program takes the CPU.
    Late,
    /// Packets are larger than the path passes.
    Oversize,
    /// A link, or the bus of its device.
    Link,
    /// A packet filter, a policer or a table of connections drops.
    Filter,
    /// Work for each packet below the sockets that could be saved.
    Offload,
    /// CPUs that serve interrupts.
    Placement,
    /// A queue that tells of itself: one of the host for sending, or one that marks.
    Queue,
    /// The sender does not reach the rate that was asked.
    Short,
    /// Work of the threads that move payload which could be saved.
    Costly,
    /// Work of these threads that every test has.
    Work,
    /// These threads wait for a CPU.
    Waiting,
    /// A CPU or a thread is full.
    Full,
    /// A queue of the host for receiving overflows.
    Overrun,
    /// A window or a socket buffer is full.
    Window,
    /// The path makes the rate.
    Path,
    /// Packets are lost or reordered on the path.
    Loss,
    /// The state of a sender that something else brings about.
    Symptom,
}

use Class::{
    Costly, Filter, Full, Late, Link, Loss, Offload, Overrun, Oversize, Path, Placement, Queue,
    Short, Symptom, Waiting, Window, Work,
};

impl Class {
    /// The classes that see what a cause of this class brings about on the same host: where both find
    /// something, the cause is the headline.
    pub(super) const fn brings_about(self) -> &'static [Self] {
        match self {
            // A program that does not run when it should: its socket fills, its window closes, and
            // acknowledgements come late and in bursts. Other things fill the CPUs.
            Late => &[
                Offload, Placement, Short, Costly, Work, Waiting, Full, Overrun, Window, Path,
                Loss, Symptom,
            ],
            Oversize => &[Queue, Window, Path, Loss, Symptom],
            Link => &[Queue, Short, Overrun, Path, Loss, Symptom],
            Filter => &[Queue, Short, Path, Loss, Symptom],
            Offload => {
                &[Placement, Short, Costly, Work, Waiting, Full, Window, Path, Loss, Symptom]
            }
            Placement => {
                &[Short, Costly, Work, Waiting, Full, Overrun, Window, Path, Loss, Symptom]
            }
            Queue => &[Short, Full, Overrun, Window, Path, Loss, Symptom],
            Short => &[Costly, Work, Full, Symptom],
            Costly => &[Work, Waiting, Full, Window, Path, Loss, Symptom],
            Work => &[Full, Window, Symptom],
            Waiting => &[Full, Overrun, Window, Path, Loss, Symptom],
            Full => &[Path, Loss, Symptom],
            Overrun | Path => &[Loss, Symptom],
            Window | Loss => &[Symptom],
            Symptom => &[],
        }
    }

    /// How telling a finding of this class is.
    pub(super) const fn kind(self) -> Kind {
        match self {
            Short | Full | Symptom => Kind::Location,
            Work | Path | Loss => Kind::Usual,
            _ => Kind::Particular,
        }
    }

    /// The effect of a cause of this class where its rule names none.
    pub(super) const fn usual_effect(self) -> UsualEffect {
        match self {
            Late => UsualEffect::Passed,
            Waiting => UsualEffect::Waiting,
            Offload | Placement | Costly | Work | Full => UsualEffect::CpuTime,
            Oversize | Filter | Overrun => UsualEffect::Loss,
            Link | Queue | Short | Window | Path | Loss | Symptom => UsualEffect::Unknown,
        }
    }

    /// Whether one end sees a limit that is at the other end by rules of this class.
    pub(super) const fn is_seen_from_the_other_end(self) -> bool {
        matches!(self, Short | Window | Path | Loss | Symptom)
    }

    /// Whether threads of the host of a finding that move payload take much CPU time. One that waits for a
    /// CPU is late however little it takes, and an offload that is off at one end costs the other one
    /// time as well.
    pub(super) const fn takes_time_of_workers(self) -> bool {
        matches!(self, Costly | Work | Full)
    }
}

/// The findings of the same class that the cause of `rule` brings about.
pub(super) const fn within(rule: RuleId) -> &'static [RuleId] {
    use RuleId as R;
    match rule {
        R::LinkSpeedLow | R::ForeignTraffic => &[R::LinkSaturated],
        R::DuplexMismatch => &[R::RxFrameErrors, R::LinkSaturated],
        R::PathMtuBlackHole => &[R::PathMtuExceeded],
        R::ScatterGatherOff => &[R::TsoOff],
        R::IrqOnSlowCore => &[R::ReceiveOnOneCpu, R::SoftirqSaturated, R::ChannelsUnused],
        R::RssImbalance => &[R::ReceiveOnOneCpu],
        R::ReceiveOnOneCpu => &[R::SoftirqSaturated, R::ChannelsUnused],
        R::SoftirqSaturated => &[R::ChannelsUnused],
        R::QdiscLimit => &[R::UdpSendBlocked],
        R::PacingWithoutFq => &[R::QdiscLimit],
        R::MisalignedAccess => &[R::VectorCopyUnused],
        R::CpufreqGovernor => &[R::CpuFrequencyDrop],
        R::SyscallCost => &[R::LockContention, R::PacketProcessingCost],
        R::CopyCost => &[R::InOrderCore],
        R::SingleThreadSaturated => &[R::CpuSaturated, R::WorkerSaturated],
        R::CpuSaturated => &[R::WorkerSaturated],
        R::RxRingSmall => &[R::RxRingOverrun],
        R::RpsFlowLimit => &[R::SoftnetBacklogOverflow],
        R::UdpMemoryExhausted => &[R::UdpReceiveBuffer],
        R::TcpMemoryPressure | R::TcpOptionsMissing => {
            &[R::ReceiveWindowLimited, R::SendBufferLimited]
        }
        R::ReceiveWindowLimited => &[R::SendBufferLimited, R::SocketBufferBelowBdp],
        R::SendBufferLimited => &[R::SocketBufferBelowBdp],
        R::AckPathLimited => &[R::PathRateLimit],
        R::PacketReordering => &[R::TcpPathLoss],
        R::QueuedAtSender => &[R::StandingQueue],
        R::StandingQueue => &[R::CwndGrowing],
        _ => &[],
    }
}

/// How telling a finding is, from a place to a thing that could be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// It shows where the limit is, but not its cause.
    Location,
    /// It is work that every test has.
    Usual,
    /// It is a condition that could be changed.
    Particular,
}

/// Effect of the finding of a rule on a test where the rule does not compute it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UsualEffect {
    /// It costs CPU time of its host, which bounds the rate.
    CpuTime,
    /// It keeps threads of its host from a CPU, which bounds the rate by the time that they want.
    Waiting,
    /// It keeps its host from more than passed it.
    Passed,
    /// It loses packets.
    Loss,
    /// It delays packets.
    Delay,
    /// It bounds the rate by an amount that is not known.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Class; 17] = [
        Late, Oversize, Link, Filter, Offload, Placement, Queue, Short, Costly, Work, Waiting,
        Full, Overrun, Window, Path, Loss, Symptom,
    ];

    #[test]
    fn a_class_brings_about_later_classes_only() {
        for class in ALL {
            assert!(class.brings_about().iter().all(|other| *other > class), "{class:?}");
            assert!(class.brings_about().is_sorted(), "{class:?}");
        }
    }
}
