//! Identifiers of the rules of analysis ([`RuleId`], e.g. `udp-receive-buffer`). The rules
//! themselves are in the crate `analysis`, their manual pages in `docs/rules`.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Makes [`RuleId`] from layers of lines of `Variant = "slug" | "old name",`.
macro_rules! rules {
    ($($layer:literal { $($rule:ident = $slug:literal $(| $old:literal)?,)* })*) => {
        /// Identifier of a rule of the analysis, i.e. of one thing that can limit a test or
        /// mislead.
        ///
        /// It is written as a slug (`udp-receive-buffer`). The oldest records have a letter and a
        /// number instead (`U1`), which can still be read.
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

            /// The identifier that the oldest records have for the rule, such as `U1`. None: the
            /// rule is newer than that.
            pub const fn old_name(self) -> Option<&'static str> {
                let names: &[&'static str] = match self {
                    $($(Self::$rule => &[$($old)?],)*)*
                };
                names.first().copied()
            }
        }
    };
}

rules! {
    "Link" {
        LinkSpeedLow = "link-speed-low" | "L1",
        DuplexMismatch = "duplex-mismatch" | "L2",
        RxFrameErrors = "rx-frame-errors" | "L3",
        PauseFrames = "pause-frames" | "L4",
        EeeActive = "eee-active" | "L5",
        LinkSaturated = "link-saturated" | "L6",
        PathMtuExceeded = "path-mtu-exceeded" | "L7",
        PathMtuBlackHole = "path-mtu-black-hole",
        MtuSmall = "mtu-small",
        BusBandwidth = "bus-bandwidth" | "L8",
    }
    "Interface, interrupts and hooks" {
        RxRingOverrun = "rx-ring-overrun" | "N1",
        RxRingSmall = "rx-ring-small" | "N2",
        ReceiveOnOneCpu = "receive-on-one-cpu" | "N3",
        ChannelsUnused = "channels-unused" | "N4",
        IrqOnSlowCore = "irq-on-slow-core" | "N5",
        IrqAndAppOnOneCpu = "irq-and-app-on-one-cpu" | "N6",
        IrqAffinityNotHonoured = "irq-affinity-not-honoured" | "N7",
        IrqbalanceRunning = "irqbalance-running" | "N8",
        RssImbalance = "rss-imbalance" | "N9",
        InterruptStorm = "interrupt-storm" | "N10",
        IrqCoalescingDelay = "irq-coalescing-delay" | "N11",
        RpsRedundant = "rps-redundant" | "N12",
        IngressDrops = "ingress-drops",
        InputDrops = "input-drops",
        ForwardDrops = "forward-drops",
        OutputDrops = "output-drops",
    }
    "Kernel receive path" {
        SoftnetBacklogOverflow = "softnet-backlog-overflow" | "S1",
        NapiBudgetExhausted = "napi-budget-exhausted" | "S2",
        RpsOff = "rps-off" | "S3",
        RpsFlowLimit = "rps-flow-limit" | "S4",
        SoftirqSaturated = "softirq-saturated" | "S5",
        RfsOff = "rfs-off" | "S6",
    }
    "UDP" {
        UdpReceiveBuffer = "udp-receive-buffer" | "U1",
        UdpMemoryExhausted = "udp-memory-exhausted" | "U2",
        UdpSendBlocked = "udp-send-blocked" | "U3",
        UdpPortClosed = "udp-port-closed" | "U4",
        UdpDamagedOrFragmented = "udp-damaged-or-fragmented" | "U5",
        UdpPathLoss = "udp-path-loss" | "U6",
        UdpSocketLock = "udp-socket-lock" | "U7",
    }
    "TCP" {
        ReceiveWindowLimited = "receive-window-limited" | "H1",
        SendBufferLimited = "send-buffer-limited" | "H2",
        CwndGrowing = "cwnd-growing" | "H3",
        ApplicationLimited = "application-limited" | "H4",
        TcpPathLoss = "tcp-path-loss" | "H5",
        PacketReordering = "packet-reordering" | "H6",
        ReceiveQueuePruned = "receive-queue-pruned" | "H7",
        TcpMemoryPressure = "tcp-memory-pressure" | "H8",
        StandingQueue = "standing-queue" | "H9",
        PathRateLimit = "path-rate-limit",
        AckPathLimited = "ack-path-limited",
        SocketBufferBelowBdp = "socket-buffer-below-bdp" | "H10",
        SocketBufferMaximum = "socket-buffer-maximum",
        TcpOptionsMissing = "tcp-options-missing" | "H11",
        EcnMarked = "ecn-marked" | "H12",
        QueuedAtSender = "queued-at-sender" | "H13",
        GroNotMerging = "gro-not-merging" | "H14",
    }
    "CPU" {
        CopyCost = "copy-cost" | "K1",
        ChecksumCost = "checksum-cost" | "K2",
        MisalignedAccess = "misaligned-access" | "K3",
        VectorCopyUnused = "vector-copy-unused" | "K4",
        InOrderCore = "in-order-core" | "K5",
        DmaSyncCost = "dma-sync-cost" | "K6",
        CpufreqGovernor = "cpufreq-governor" | "K7",
        SyscallCost = "syscall-cost" | "K9",
        PacketFilterCost = "packet-filter-cost" | "K10",
        LockContention = "lock-contention" | "K11",
        PacketProcessingCost = "packet-processing-cost" | "K12",
        SingleThreadSaturated = "single-thread-saturated" | "K13",
        CpuSaturated = "cpu-saturated" | "K14",
        ProcessStopped = "process-stopped" | "K15",
    }
    "Offloads" {
        ChecksumOffloadOff = "checksum-offload-off" | "O1",
        ScatterGatherOff = "scatter-gather-off" | "O2",
        TsoOff = "tso-off" | "O3",
        GroOff = "gro-off" | "O4",
        HwGroOff = "hw-gro-off" | "O5",
        UdpSegmentationOff = "udp-segmentation-off" | "O6",
        BigTcpOff = "big-tcp-off" | "O7",
    }
    "Transmit queues" {
        QdiscLimit = "qdisc-limit" | "Q1",
        NetemActive = "netem-active",
        PacingWithoutFq = "pacing-without-fq" | "Q2",
        BqlMissing = "bql-missing" | "Q3",
        TxDrops = "tx-drops" | "Q4",
        XpsOff = "xps-off" | "Q5",
    }
    "Memory and bus" {
        IrqOnRemoteNode = "irq-on-remote-node" | "M1",
        ZerocopyOptmemLimit = "zerocopy-optmem-limit" | "M2",
        ZerocopySmallPages = "zerocopy-small-pages" | "M3",
        ConntrackFull = "conntrack-full" | "M4",
        IommuMappingCost = "iommu-mapping-cost" | "M5",
    }
    "Host and run" {
        SenderBelowRate = "sender-below-rate" | "T1",
        WorkerSaturated = "worker-saturated" | "T2",
        RunDelay = "run-delay" | "T3",
        CpuSteal = "cpu-steal" | "T4",
        CgroupCpuQuota = "cgroup-cpu-quota" | "T5",
        CpuFrequencyDrop = "cpu-frequency-drop" | "T6",
        OtherProcesses = "other-processes" | "T7",
        ForeignTraffic = "foreign-traffic" | "T8",
        LinkFlap = "link-flap" | "T9",
        ClockOffsetUncertain = "clock-offset-uncertain" | "T10",
        RunsDiffer = "runs-differ" | "T11",
        VirtualPath = "virtual-path" | "T12",
    }
    "Numbers that mislead" {
        LossLocation = "loss-location" | "C1",
        SenderBursts = "sender-bursts" | "C4",
        ReceiverResultMissing = "receiver-result-missing" | "C5",
        WarmUpInMean = "warm-up-in-mean" | "C7",
        TailLoss = "tail-loss" | "C9",
        JitterOfReceiver = "jitter-of-receiver" | "C12",
        IntervalMismatch = "interval-mismatch" | "C14",
        CountersContradict = "counters-contradict" | "C15",
        SpuriousRetransmissions = "spurious-retransmissions" | "C16",
        SocketBufferDiffers = "socket-buffer-differs" | "C19",
        ReassemblyFailures = "reassembly-failures" | "C21",
        UdpPacingWithoutFq = "udp-pacing-without-fq" | "C23",
        RateGranularity = "rate-granularity" | "C26",
        ZerocopyCopied = "zerocopy-copied" | "C27",
        TestIncomplete = "test-incomplete" | "C28",
        PeerVersionDefects = "peer-version-defects" | "C29",
        ConcurrentTests = "concurrent-tests" | "C30",
        CongestionControlDiffers = "congestion-control-differs" | "C31",
        HostCountersMissing = "host-counters-missing" | "hosts",
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

    /// Reads a slug or an old name, in letters of any case.
    fn from_str(text: &str) -> Result<Self, UnknownRule> {
        let is_it = |rule: &&Self| {
            let names = [Some(rule.slug()), rule.old_name()];
            names.into_iter().flatten().any(|name| name.eq_ignore_ascii_case(text))
        };
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
        let slugs = RuleId::ALL.iter().map(|rule| rule.slug());
        let old = RuleId::ALL.iter().filter_map(|rule| rule.old_name());
        let names: Vec<_> = slugs.chain(old).map(str::to_ascii_lowercase).collect();
        let unique: BTreeSet<_> = names.iter().collect();
        assert_eq!(unique.len(), names.len());
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
    fn a_rule_is_read_by_slug_and_by_its_old_name_and_written_as_slug() {
        let read = |text: &str| serde_json::from_str::<RuleId>(text);
        for text in ["\"udp-receive-buffer\"", "\"U1\"", "\"u1\"", "\"\\u0055\\u0031\""] {
            assert_eq!(read(text).expect("a rule"), RuleId::UdpReceiveBuffer, "{text}");
        }
        let written = serde_json::to_string(&RuleId::UdpReceiveBuffer).expect("it is text");
        assert_eq!(written, "\"udp-receive-buffer\"");
        let error = read("\"X9\"").expect_err("no rule").to_string();
        assert!(error.starts_with("there is no rule X9"), "{error}");
    }
}
