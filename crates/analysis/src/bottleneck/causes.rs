//! What follows from what: which rules see the consequences of another rule's cause, what kind of
//! thing a rule finds, and what one end sees of the other's limit. The order of findings that
//! comes of it is made in `rank`.

#![cfg_attr(
    not(test),
    expect(clippy::enum_glob_use, reason = "a table of rules, and of nothing else")
)]

use measurement::RuleId::{self, *};

/// The rules that see what the cause of `rule` brings about on the same host: where both find
/// something, `rule` is the headline.
#[expect(clippy::too_many_lines, reason = "a table")]
const fn consequences(rule: RuleId) -> &'static [RuleId] {
    match rule {
        LinkSpeedLow => &[LinkSaturated, QdiscLimit, UdpSendBlocked, SenderBelowRate],
        DuplexMismatch => &[
            RxFrameErrors,
            LinkSaturated,
            QdiscLimit,
            TxDrops,
            UdpSendBlocked,
            UdpPathLoss,
            TcpPathLoss,
            StandingQueue,
            SenderBelowRate,
        ],
        PauseFrames | LinkSaturated => &[QdiscLimit, UdpSendBlocked, SenderBelowRate],
        PathMtuBlackHole => &[
            PathMtuExceeded,
            UdpSendBlocked,
            UdpPathLoss,
            SendBufferLimited,
            CwndGrowing,
            ApplicationLimited,
            TcpPathLoss,
            StandingQueue,
            SenderBelowRate,
        ],
        BusBandwidth => &[RxRingOverrun, UdpPathLoss, QdiscLimit, UdpSendBlocked, SenderBelowRate],
        IngressDrops | InputDrops | ForwardDrops | OutputDrops => DROPPED,
        RxRingOverrun | SoftnetBacklogOverflow => &[TcpPathLoss, StandingQueue],
        RxRingSmall => &[RxRingOverrun],
        ReceiveOnOneCpu => &[
            RxRingOverrun,
            RxRingSmall,
            ChannelsUnused,
            SoftnetBacklogOverflow,
            NapiBudgetExhausted,
            RpsOff,
            SoftirqSaturated,
            PauseFrames,
            UdpReceiveBuffer,
            UdpPathLoss,
            TcpPathLoss,
            StandingQueue,
            CopyCost,
            InOrderCore,
            SyscallCost,
            PacketProcessingCost,
            CpuSaturated,
            SenderBelowRate,
            WorkerSaturated,
            RunDelay,
        ],
        IrqOnSlowCore => &[
            RxRingOverrun,
            RxRingSmall,
            ReceiveOnOneCpu,
            ChannelsUnused,
            SoftnetBacklogOverflow,
            NapiBudgetExhausted,
            RpsOff,
            SoftirqSaturated,
            PauseFrames,
            UdpReceiveBuffer,
            UdpPathLoss,
            TcpPathLoss,
            StandingQueue,
            CopyCost,
            InOrderCore,
            SyscallCost,
            PacketProcessingCost,
            CpuSaturated,
            SenderBelowRate,
            WorkerSaturated,
            RunDelay,
        ],
        IrqAndAppOnOneCpu => &[
            RxRingOverrun,
            RxRingSmall,
            SoftnetBacklogOverflow,
            NapiBudgetExhausted,
            RpsOff,
            UdpReceiveBuffer,
            ReceiveWindowLimited,
            SenderBelowRate,
            WorkerSaturated,
            RunDelay,
            CopyCost,
            InOrderCore,
            SyscallCost,
            PacketProcessingCost,
            SingleThreadSaturated,
            CpuSaturated,
        ],
        RssImbalance => &[ReceiveOnOneCpu],
        InterruptStorm => &[GroOff],
        RpsFlowLimit => &[SoftnetBacklogOverflow, TcpPathLoss, StandingQueue],
        SoftirqSaturated => &[
            RxRingOverrun,
            RxRingSmall,
            SoftnetBacklogOverflow,
            NapiBudgetExhausted,
            RpsOff,
            ChannelsUnused,
            UdpReceiveBuffer,
            UdpPathLoss,
            TcpPathLoss,
            StandingQueue,
            CopyCost,
            InOrderCore,
            SyscallCost,
            PacketProcessingCost,
            CpuSaturated,
            PauseFrames,
            SenderBelowRate,
            WorkerSaturated,
            RunDelay,
        ],
        UdpMemoryExhausted => &[UdpReceiveBuffer, UdpPathLoss],
        UdpSendBlocked | CpuFrequencyDrop => {
            &[SenderBelowRate, WorkerSaturated, SingleThreadSaturated, CpuSaturated]
        }
        UdpPortClosed => &[UdpPathLoss],
        UdpDamagedOrFragmented => &[UdpPathLoss, PacketProcessingCost],
        UdpSocketLock => &[LockContention, SingleThreadSaturated, CpuSaturated, WorkerSaturated],
        ReceiveWindowLimited => &[
            SendBufferLimited,
            CwndGrowing,
            ApplicationLimited,
            ReceiveQueuePruned,
            StandingQueue,
            SocketBufferBelowBdp,
            SenderBelowRate,
            WorkerSaturated,
        ],
        SendBufferLimited => &[
            CwndGrowing,
            ApplicationLimited,
            SocketBufferBelowBdp,
            SenderBelowRate,
            WorkerSaturated,
            UdpSendBlocked,
        ],
        PathRateLimit => &[
            CwndGrowing,
            TcpPathLoss,
            UdpPathLoss,
            StandingQueue,
            EcnMarked,
            PacketReordering,
            SenderBelowRate,
        ],
        AckPathLimited => &[
            CwndGrowing,
            TcpPathLoss,
            StandingQueue,
            PathRateLimit,
            PacketReordering,
            SenderBelowRate,
        ],
        TcpPathLoss => &[CwndGrowing, PacketReordering, StandingQueue, SenderBelowRate],
        PacketReordering => &[CwndGrowing, TcpPathLoss, StandingQueue, SenderBelowRate],
        ReceiveQueuePruned => &[CwndGrowing, TcpPathLoss, StandingQueue],
        TcpMemoryPressure => &[ReceiveWindowLimited, SendBufferLimited, ReceiveQueuePruned],
        StandingQueue => &[CwndGrowing, SenderBelowRate],
        TcpOptionsMissing => &[ReceiveWindowLimited, SendBufferLimited],
        EcnMarked => &[CwndGrowing, StandingQueue],
        QueuedAtSender => &[StandingQueue],
        GroNotMerging => &[
            CopyCost,
            SyscallCost,
            PacketProcessingCost,
            SingleThreadSaturated,
            CpuSaturated,
            LockContention,
            WorkerSaturated,
            ReceiveWindowLimited,
            PacketReordering,
            StandingQueue,
        ],
        CopyCost => &[
            SingleThreadSaturated,
            CpuSaturated,
            WorkerSaturated,
            ReceiveWindowLimited,
            ApplicationLimited,
            InOrderCore,
            VectorCopyUnused,
        ],
        MtuSmall | ChecksumCost | PacketFilterCost | ChecksumOffloadOff | TsoOff => FULL,
        MisalignedAccess => &[InOrderCore, SingleThreadSaturated, CpuSaturated],
        DmaSyncCost | LockContention | PacketProcessingCost | IommuMappingCost => {
            &[SingleThreadSaturated, CpuSaturated, WorkerSaturated, ReceiveWindowLimited]
        }
        CpufreqGovernor => &[CpuFrequencyDrop, SingleThreadSaturated, CpuSaturated],
        SyscallCost => &[
            ReceiveWindowLimited,
            ApplicationLimited,
            QueuedAtSender,
            LockContention,
            PacketProcessingCost,
            SingleThreadSaturated,
            CpuSaturated,
            WorkerSaturated,
        ],
        SingleThreadSaturated => &[WorkerSaturated, CpuSaturated, ApplicationLimited],
        CpuSaturated => {
            &[WorkerSaturated, ApplicationLimited, PacketReordering, StandingQueue, UdpPathLoss]
        }
        ProcessStopped | RunDelay | CpuSteal | CgroupCpuQuota | OtherProcesses => LATE,
        ScatterGatherOff => &[TsoOff],
        QdiscLimit => &[
            UdpSendBlocked,
            SendBufferLimited,
            ApplicationLimited,
            TcpPathLoss,
            StandingQueue,
            QueuedAtSender,
            SenderBelowRate,
            AckPathLimited,
        ],
        PacingWithoutFq => &[QdiscLimit, UdpReceiveBuffer, UdpPathLoss],
        ZerocopyOptmemLimit => &[CopyCost, CpuSaturated],
        ZerocopySmallPages => &[SingleThreadSaturated, CpuSaturated, WorkerSaturated],
        ConntrackFull => &[UdpPathLoss, TcpPathLoss, StandingQueue],
        SenderBelowRate => &[
            WorkerSaturated,
            ApplicationLimited,
            CopyCost,
            SyscallCost,
            LockContention,
            PacketProcessingCost,
            SingleThreadSaturated,
            CpuSaturated,
        ],
        WorkerSaturated => &[ApplicationLimited],
        ForeignTraffic => &[
            QdiscLimit,
            LinkSaturated,
            CwndGrowing,
            TcpPathLoss,
            StandingQueue,
            EcnMarked,
            RxRingOverrun,
            UdpSendBlocked,
            UdpPathLoss,
            SenderBelowRate,
        ],
        _ => &[],
    }
}

/// The kind of finding that a rule makes, from what every test has to what should not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// It shows where the limit is, but not its cause.
    Location,
    /// It is work that every test has.
    Usual,
    /// It is a condition that could be changed.
    Particular,
}

/// The kind of finding that `rule` makes.
pub(super) const fn kind(rule: RuleId) -> Kind {
    match rule {
        SingleThreadSaturated
        | CpuSaturated
        | WorkerSaturated
        | CwndGrowing
        | ApplicationLimited
        | StandingQueue
        | UdpSendBlocked => Kind::Location,
        CopyCost | InOrderCore | SyscallCost | PacketProcessingCost | TcpPathLoss | UdpPathLoss
        | PathRateLimit => Kind::Usual,
        _ => Kind::Particular,
    }
}

/// Whether what `cause` finds brings about what `finding` finds. What shows as a standing queue
/// follows from whatever a standing queue follows from.
pub(super) fn brings_about(cause: RuleId, finding: RuleId) -> bool {
    let all = consequences(cause);
    let is_queue = matches!(finding, PathRateLimit | AckPathLimited)
        && !matches!(cause, PathRateLimit | AckPathLimited);
    all.contains(&finding) || (is_queue && all.contains(&StandingQueue))
}

/// What the finding of a rule does to a test where the rule does not compute it.
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

/// What the findings of `rule` do to a test where the rule does not compute it.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) const fn usual_effect(rule: RuleId) -> UsualEffect {
    match rule {
        ReceiveOnOneCpu
        | ChannelsUnused
        | IrqOnSlowCore
        | IrqAndAppOnOneCpu
        | IrqAffinityNotHonoured
        | IrqbalanceRunning
        | RssImbalance
        | InterruptStorm
        | RpsRedundant
        | RpsOff
        | SoftirqSaturated
        | RfsOff
        | UdpSocketLock
        | GroNotMerging
        | CopyCost
        | ChecksumCost
        | MisalignedAccess
        | VectorCopyUnused
        | InOrderCore
        | DmaSyncCost
        | CpufreqGovernor
        | SyscallCost
        | PacketFilterCost
        | LockContention
        | PacketProcessingCost
        | SingleThreadSaturated
        | CpuSaturated
        | ChecksumOffloadOff
        | ScatterGatherOff
        | TsoOff
        | GroOff
        | HwGroOff
        | UdpSegmentationOff
        | BigTcpOff
        | XpsOff
        | IrqOnRemoteNode
        | ZerocopyOptmemLimit
        | ZerocopySmallPages
        | IommuMappingCost
        | MtuSmall
        | WorkerSaturated => UsualEffect::CpuTime,
        PathMtuBlackHole
        | RxFrameErrors
        | RxRingOverrun
        | RxRingSmall
        | SoftnetBacklogOverflow
        | NapiBudgetExhausted
        | RpsFlowLimit
        | UdpMemoryExhausted
        | UdpPortClosed
        | UdpDamagedOrFragmented
        | TxDrops
        | NetemActive
        | ConntrackFull
        | IngressDrops
        | InputDrops
        | ForwardDrops
        | OutputDrops
        | DuplexMismatch => UsualEffect::Loss,
        RunDelay | OtherProcesses => UsualEffect::Waiting,
        CgroupCpuQuota | ProcessStopped | CpuSteal => UsualEffect::Passed,
        EeeActive | IrqCoalescingDelay | BqlMissing | StandingQueue => UsualEffect::Delay,
        _ => UsualEffect::Unknown,
    }
}

/// Whether the findings of `rule` are that the threads of their own host which move payload take much CPU
/// time. One that waits for a CPU is late however little it takes, and an offload that is off at one end
/// costs the other one time as well.
pub(super) const fn takes_time_of_workers(rule: RuleId) -> bool {
    matches!(
        rule,
        GroNotMerging
            | CopyCost
            | ChecksumCost
            | MisalignedAccess
            | VectorCopyUnused
            | InOrderCore
            | CpufreqGovernor
            | CpuFrequencyDrop
            | SyscallCost
            | LockContention
            | PacketProcessingCost
            | SingleThreadSaturated
            | CpuSaturated
            | WorkerSaturated
    )
}

/// Whether the findings of `rule` are about CPU time, or about threads that wait for it.
pub(crate) const fn is_about_cpu(rule: RuleId) -> bool {
    use UsualEffect::{CpuTime, Passed, Waiting};
    takes_time_of_workers(rule) || matches!(usual_effect(rule), CpuTime | Waiting | Passed)
}

/// Whether what `rule` finds takes CPU time now more and now less, so that a rate that it limits varies.
pub(crate) const fn varies_a_rate(rule: RuleId) -> bool {
    takes_time_of_workers(rule) || matches!(rule, OtherProcesses | RunDelay | CpuSteal)
}

/// Whether an experiment with CPU time and pacing can contradict the findings of `rule`.
pub(crate) const fn is_open_to_experiment(rule: RuleId) -> bool {
    let is_of_a_queue = matches!(
        rule,
        PathRateLimit
            | StandingQueue
            | CwndGrowing
            | QueuedAtSender
            | ApplicationLimited
            | TcpPathLoss
    );
    is_of_a_queue || is_about_cpu(rule)
}

/// Whether `rule` counts what a packet filter or a policer drops.
pub(super) const fn is_of_a_filter(rule: RuleId) -> bool {
    matches!(rule, IngressDrops | InputDrops | ForwardDrops | OutputDrops)
}

/// Whether one end sees by `rule` a limit that is at the other: waits of a sender, a rate that
/// was not sent, loss.
pub(super) const fn is_seen_from_the_other_end(rule: RuleId) -> bool {
    matches!(
        rule,
        ReceiveWindowLimited
            | SendBufferLimited
            | CwndGrowing
            | ApplicationLimited
            | TcpPathLoss
            | PacketReordering
            | StandingQueue
            | PathRateLimit
            | AckPathLimited
            | QueuedAtSender
            | GroNotMerging
            | SenderBelowRate
            | WorkerSaturated
            | UdpSendBlocked
            | UdpPathLoss
    )
}

/// The consequences of packets that a rule of a packet filter or a policer drops.
const DROPPED: &[RuleId] = &[
    UdpPathLoss,
    CwndGrowing,
    ApplicationLimited,
    TcpPathLoss,
    PacketReordering,
    StandingQueue,
    QueuedAtSender,
    SenderBelowRate,
    QdiscLimit,
    PathRateLimit,
];

/// The consequences of a program that does not run when it should: its socket fills, its window
/// closes, acknowledgements come late and in bursts, so that segments are sent again without
/// need; and CPUs are full of other things.
const LATE: &[RuleId] = &[
    UdpReceiveBuffer,
    UdpPathLoss,
    ReceiveWindowLimited,
    CwndGrowing,
    ApplicationLimited,
    TcpPathLoss,
    PacketReordering,
    ReceiveQueuePruned,
    StandingQueue,
    QueuedAtSender,
    GroNotMerging,
    CopyCost,
    ChecksumCost,
    SyscallCost,
    PacketFilterCost,
    LockContention,
    PacketProcessingCost,
    SingleThreadSaturated,
    CpuSaturated,
    ProcessStopped,
    ChecksumOffloadOff,
    TsoOff,
    GroOff,
    SoftirqSaturated,
    RfsOff,
    SenderBelowRate,
    WorkerSaturated,
    RunDelay,
    OtherProcesses,
];

/// The consequences of a CPU that is full of one kind of work: everything is late.
const FULL: &[RuleId] = &[
    ReceiveWindowLimited,
    CwndGrowing,
    ApplicationLimited,
    PacketReordering,
    StandingQueue,
    QueuedAtSender,
    GroNotMerging,
    CopyCost,
    InOrderCore,
    SyscallCost,
    LockContention,
    PacketProcessingCost,
    SingleThreadSaturated,
    CpuSaturated,
    SoftirqSaturated,
    SenderBelowRate,
    WorkerSaturated,
    RunDelay,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bottleneck::rules::RULES;

    #[test]
    fn no_cause_has_a_consequence_twice() {
        for cause in RuleId::ALL {
            let all = consequences(*cause);
            let times = |one: &RuleId| all.iter().filter(|other| *other == one).count();
            assert!(all.iter().all(|one| times(one) == 1), "{cause}");
        }
    }

    #[test]
    fn causes_and_consequences_are_rules_of_what_limits() {
        let is_registered = |rule: &RuleId| RULES.iter().any(|one| one.page.id == *rule);
        for cause in RuleId::ALL.iter().filter(|cause| !consequences(**cause).is_empty()) {
            assert!(is_registered(cause), "{cause}");
            assert!(consequences(*cause).iter().all(is_registered), "{cause}");
        }
    }
}
