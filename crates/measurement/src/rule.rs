//! Identifiers of the rules of analysis ([`RuleId`], e.g. `udp-receive-buffer`). The rules
//! themselves are in the crate `analysis`, their manual pages in `docs/rules`.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Makes [`RuleId`] from layers of lines of `Variant = "slug",`.
macro_rules! rules {
    ($($layer:literal { $($rule:ident = $slug:literal,)* })*) => {
        /// Identifier of a rule of the analysis, i.e. of one thing that can limit a test or
        /// mislead.
        ///
        /// It is written as a slug (`udp-receive-buffer`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum RuleId {
            $($(#[doc = concat!("`", $slug, "`")] $rule,)*)*
        }

        impl RuleId {
            /// All rules, in the order of a packet's path.
            pub const ALL: &[Self] = &[$($(Self::$rule),*),*];

            /// Name of the rule in records and on the command line, in kebab case, e.g.
            /// `udp-receive-buffer`. It never changes.
            pub const fn slug(self) -> &'static str {
                match self {
                    $($(Self::$rule => $slug,)*)*
                }
            }

            /// The layer of the host or of the test to which it belongs, e.g. `TCP`.
            pub const fn layer(self) -> &'static str {
                match self {
                    $($(Self::$rule => $layer,)*)*
                }
            }
        }
    };
}

rules! {
    "Link" {
        LinkSpeedLow = "link-speed-low",
        DuplexMismatch = "duplex-mismatch",
        RxFrameErrors = "rx-frame-errors",
        PauseFrames = "pause-frames",
        EeeActive = "eee-active",
        LinkSaturated = "link-saturated",
        PathMtuExceeded = "path-mtu-exceeded",
        PathMtuBlackHole = "path-mtu-black-hole",
        MtuSmall = "mtu-small",
        BusBandwidth = "bus-bandwidth",
    }
    "Interface, interrupts and hooks" {
        RxRingOverrun = "rx-ring-overrun",
        RxRingSmall = "rx-ring-small",
        ReceiveOnOneCpu = "receive-on-one-cpu",
        ChannelsUnused = "channels-unused",
        IrqOnSlowCore = "irq-on-slow-core",
        IrqAndAppOnOneCpu = "irq-and-app-on-one-cpu",
        IrqAffinityNotHonoured = "irq-affinity-not-honoured",
        IrqbalanceRunning = "irqbalance-running",
        RssImbalance = "rss-imbalance",
        InterruptStorm = "interrupt-storm",
        IrqCoalescingDelay = "irq-coalescing-delay",
        RpsRedundant = "rps-redundant",
        IngressDrops = "ingress-drops",
        InputDrops = "input-drops",
        ForwardDrops = "forward-drops",
        OutputDrops = "output-drops",
    }
    "Kernel receive path" {
        SoftnetBacklogOverflow = "softnet-backlog-overflow",
        NapiBudgetExhausted = "napi-budget-exhausted",
        RpsOff = "rps-off",
        RpsFlowLimit = "rps-flow-limit",
        SoftirqSaturated = "softirq-saturated",
        RfsOff = "rfs-off",
    }
    "UDP" {
        UdpReceiveBuffer = "udp-receive-buffer",
        UdpMemoryExhausted = "udp-memory-exhausted",
        UdpSendBlocked = "udp-send-blocked",
        UdpPortClosed = "udp-port-closed",
        UdpDamagedOrFragmented = "udp-damaged-or-fragmented",
        UdpPathLoss = "udp-path-loss",
        UdpSocketLock = "udp-socket-lock",
    }
    "TCP" {
        ReceiveWindowLimited = "receive-window-limited",
        SendBufferLimited = "send-buffer-limited",
        CwndGrowing = "cwnd-growing",
        ApplicationLimited = "application-limited",
        TcpPathLoss = "tcp-path-loss",
        PacketReordering = "packet-reordering",
        ReceiveQueuePruned = "receive-queue-pruned",
        TcpMemoryPressure = "tcp-memory-pressure",
        StandingQueue = "standing-queue",
        PathRateLimit = "path-rate-limit",
        AckPathLimited = "ack-path-limited",
        SocketBufferBelowBdp = "socket-buffer-below-bdp",
        SocketBufferMaximum = "socket-buffer-maximum",
        TcpOptionsMissing = "tcp-options-missing",
        EcnMarked = "ecn-marked",
        QueuedAtSender = "queued-at-sender",
        GroNotMerging = "gro-not-merging",
    }
    "CPU" {
        CopyCost = "copy-cost",
        ChecksumCost = "checksum-cost",
        MisalignedAccess = "misaligned-access",
        VectorCopyUnused = "vector-copy-unused",
        InOrderCore = "in-order-core",
        DmaSyncCost = "dma-sync-cost",
        CpufreqGovernor = "cpufreq-governor",
        SyscallCost = "syscall-cost",
        PacketFilterCost = "packet-filter-cost",
        LockContention = "lock-contention",
        PacketProcessingCost = "packet-processing-cost",
        SingleThreadSaturated = "single-thread-saturated",
        CpuSaturated = "cpu-saturated",
        ProcessStopped = "process-stopped",
    }
    "Offloads" {
        ChecksumOffloadOff = "checksum-offload-off",
        ScatterGatherOff = "scatter-gather-off",
        TsoOff = "tso-off",
        GroOff = "gro-off",
        HwGroOff = "hw-gro-off",
        UdpSegmentationOff = "udp-segmentation-off",
        BigTcpOff = "big-tcp-off",
    }
    "Transmit queues" {
        QdiscLimit = "qdisc-limit",
        NetemActive = "netem-active",
        PacingWithoutFq = "pacing-without-fq",
        BqlMissing = "bql-missing",
        TxDrops = "tx-drops",
        XpsOff = "xps-off",
    }
    "Memory and bus" {
        IrqOnRemoteNode = "irq-on-remote-node",
        ZerocopyOptmemLimit = "zerocopy-optmem-limit",
        ZerocopySmallPages = "zerocopy-small-pages",
        ConntrackFull = "conntrack-full",
        IommuMappingCost = "iommu-mapping-cost",
    }
    "Host and run" {
        SenderBelowRate = "sender-below-rate",
        WorkerSaturated = "worker-saturated",
        RunDelay = "run-delay",
        CpuSteal = "cpu-steal",
        CgroupCpuQuota = "cgroup-cpu-quota",
        CpuFrequencyDrop = "cpu-frequency-drop",
        OtherProcesses = "other-processes",
        ForeignTraffic = "foreign-traffic",
        LinkFlap = "link-flap",
        ClockOffsetUncertain = "clock-offset-uncertain",
        RunsDiffer = "runs-differ",
        VirtualPath = "virtual-path",
    }
    "Numbers that mislead" {
        LossLocation = "loss-location",
        SenderBursts = "sender-bursts",
        ReceiverResultMissing = "receiver-result-missing",
        WarmUpInMean = "warm-up-in-mean",
        TailLoss = "tail-loss",
        JitterOfReceiver = "jitter-of-receiver",
        IntervalMismatch = "interval-mismatch",
        CountersContradict = "counters-contradict",
        SpuriousRetransmissions = "spurious-retransmissions",
        SocketBufferDiffers = "socket-buffer-differs",
        ReassemblyFailures = "reassembly-failures",
        UdpPacingWithoutFq = "udp-pacing-without-fq",
        RateGranularity = "rate-granularity",
        ZerocopyCopied = "zerocopy-copied",
        TestIncomplete = "test-incomplete",
        PeerVersionDefects = "peer-version-defects",
        ConcurrentTests = "concurrent-tests",
        CongestionControlDiffers = "congestion-control-differs",
        HostCountersMissing = "host-counters-missing",
    }
}

impl Display for RuleId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(self.slug())
    }
}

/// Error of parsing a [`RuleId`]: the text is no identifier of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRule(String);

impl Display for UnknownRule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "there is no rule {}; linerate explain lists all rules", self.0)
    }
}

impl std::error::Error for UnknownRule {}

impl FromStr for RuleId {
    type Err = UnknownRule;

    /// Reads a slug, in letters of any case.
    fn from_str(text: &str) -> Result<Self, UnknownRule> {
        let is_it = |rule: &&Self| rule.slug().eq_ignore_ascii_case(text);
        Self::ALL.iter().find(is_it).copied().ok_or_else(|| UnknownRule(text.to_owned()))
    }
}

impl Serialize for RuleId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.slug())
    }
}

impl<'de> Deserialize<'de> for RuleId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_rules_have_one_name() {
        let slugs: BTreeSet<_> = RuleId::ALL.iter().map(|rule| rule.slug()).collect();
        assert_eq!(slugs.len(), RuleId::ALL.len());
    }

    #[test]
    fn slugs_are_kebab_case() {
        for rule in RuleId::ALL {
            let is_plain = |part: &str| {
                !part.is_empty()
                    && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
            };
            assert!(rule.slug().split('-').all(is_plain), "{rule}");
        }
    }

    #[test]
    fn a_rule_is_read_and_written_as_slug() {
        let read = |text: &str| serde_json::from_str::<RuleId>(text);
        for text in
            ["\"udp-receive-buffer\"", "\"UDP-Receive-Buffer\"", "\"\\u0075dp-receive-buffer\""]
        {
            assert_eq!(read(text).expect("a rule"), RuleId::UdpReceiveBuffer, "{text}");
        }
        let written = serde_json::to_string(&RuleId::UdpReceiveBuffer).expect("it is text");
        assert_eq!(written, "\"udp-receive-buffer\"");
        let error = read("\"X9\"").expect_err("no rule").to_string();
        assert!(error.starts_with("there is no rule X9"), "{error}");
    }
}
