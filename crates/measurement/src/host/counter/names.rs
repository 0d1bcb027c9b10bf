//! Every counter and gauge that code refers to: its constant, and the kernel's word for it.

use super::{Counter, EachCounter, EachGauge, Family, Gauge, Item, Part};

/// Counters that IPv4 and IPv6 have each for itself.
#[derive(Clone, Copy, Debug)]
pub struct Both {
    /// The counter of IPv4 (`/proc/net/snmp`).
    pub v4: Counter<'static>,
    /// The counter of IPv6 (`/proc/net/snmp6`).
    pub v6: Counter<'static>,
}

impl Both {
    /// Both counters, that of IPv4 first.
    pub const fn each(self) -> [Counter<'static>; 2] {
        [self.v4, self.v6]
    }
}

/// Counters that a protocol of IPv4 and the one of IPv6 have by the same name.
macro_rules! both {
    ($protocol:literal, $($(#[$doc:meta])* $name:ident = $kernel:literal;)+) => {
        $(
            $(#[$doc])*
            pub const $name: Both = Both {
                v4: Counter::whole(concat!("snmp.", $protocol, ".", $kernel)),
                v6: Counter::whole(concat!("snmp6.", $protocol, "6", $kernel)),
            };
        )+
    };
}

/// Counters of TCP beyond the standards (`TcpExt` of `/proc/net/netstat`).
macro_rules! tcp {
    ($($(#[$doc:meta])* $name:ident = $kernel:literal;)+) => {
        $(
            $(#[$doc])*
            pub const $name: Counter<'static> =
                Counter::whole(concat!("netstat.TcpExt.", $kernel));
        )+
    };
}

/// Counters, or gauges, that there is one of for each item of a family.
macro_rules! each {
    ($type:ident, $family:expr, $($(#[$doc:meta])* $name:ident = $field:literal;)+) => {
        $(
            $(#[$doc])*
            pub const $name: $type<'static> = $type::field_of($family, $field);
        )+
    };
}

each! { EachCounter, Family::CPU,
    /// Time in programs, in nanoseconds.
    CPU_USER = "user_ns";
    /// Time in programs of low priority, in nanoseconds.
    CPU_NICE = "nice_ns";
    /// Time in the kernel for programs, in nanoseconds.
    CPU_SYSTEM = "system_ns";
    /// Time without work, in nanoseconds.
    CPU_IDLE = "idle_ns";
    /// Time without work while a task waited for storage, in nanoseconds.
    CPU_IOWAIT = "iowait_ns";
    /// Time in interrupts, in nanoseconds.
    CPU_IRQ = "irq_ns";
    /// Time in softirqs, in nanoseconds.
    CPU_SOFTIRQ = "softirq_ns";
    /// Time that the hypervisor gave to others, in nanoseconds.
    CPU_STEAL = "steal_ns";
}

/// All states of a CPU, in the order of `/proc/stat` (proc_stat(5)).
pub const CPU_STATES: [EachCounter<'static>; 8] =
    [CPU_USER, CPU_NICE, CPU_SYSTEM, CPU_IDLE, CPU_IOWAIT, CPU_IRQ, CPU_SOFTIRQ, CPU_STEAL];

each! { EachCounter, Family::INTERFACE,
    /// Bytes received.
    INTERFACE_RX_BYTES = "rx_bytes";
    /// Bytes sent.
    INTERFACE_TX_BYTES = "tx_bytes";
    /// Packets received.
    INTERFACE_RX_PACKETS = "rx_packets";
    /// Packets sent.
    INTERFACE_TX_PACKETS = "tx_packets";
    /// Packets received and not processed.
    INTERFACE_RX_DROPPED = "rx_dropped";
    /// Packets dropped on their way out.
    INTERFACE_TX_DROPPED = "tx_dropped";
    /// Problems in sending.
    INTERFACE_TX_ERRORS = "tx_errors";
    /// Frames that the host had no buffer for.
    INTERFACE_RX_MISSED_ERRORS = "rx_missed_errors";
    /// Overflows of the receive FIFO.
    INTERFACE_RX_FIFO_ERRORS = "rx_fifo_errors";
    /// Overflows of receive buffers.
    INTERFACE_RX_OVER_ERRORS = "rx_over_errors";
    /// Frames with a wrong check sequence.
    INTERFACE_RX_CRC_ERRORS = "rx_crc_errors";
    /// Frames with an alignment error.
    INTERFACE_RX_FRAME_ERRORS = "rx_frame_errors";
    /// Frames of a wrong length.
    INTERFACE_RX_LENGTH_ERRORS = "rx_length_errors";
    /// Underflows of the transmit FIFO.
    INTERFACE_TX_FIFO_ERRORS = "tx_fifo_errors";
    /// Frames lost since the carrier went.
    INTERFACE_TX_CARRIER_ERRORS = "tx_carrier_errors";
    /// Frames given up.
    INTERFACE_TX_ABORTED_ERRORS = "tx_aborted_errors";
    /// Collisions (half duplex).
    INTERFACE_COLLISIONS = "collisions";
    /// Changes between link up and link down.
    INTERFACE_CARRIER_CHANGES = "carrier_changes";
}

each! { EachCounter, Family::QDISC,
    /// Bytes that a queueing discipline let through.
    QDISC_BYTES = "bytes";
    /// Packets that a queueing discipline let through.
    QDISC_PACKETS = "packets";
    /// Packets that a queueing discipline dropped.
    QDISC_DROPS = "drops";
    /// Times that a queueing discipline was over its limit.
    QDISC_OVERLIMITS = "overlimits";
    /// Packets that the device did not take at once.
    QDISC_REQUEUES = "requeues";
}

each! { EachGauge, Family::QDISC,
    /// Bytes that wait in a queueing discipline.
    QDISC_BACKLOG_BYTES = "backlog_bytes";
}

each! { EachCounter, Family::SOFTNET,
    /// Packets that a CPU took from its queues.
    SOFTNET_PROCESSED = "processed";
    /// Packets dropped since the backlog of a CPU was full.
    SOFTNET_DROPPED = "dropped";
    /// Times that the receive softirq ran out of its budget.
    SOFTNET_TIME_SQUEEZE = "time_squeeze";
    /// Times that another CPU woke this one (RPS).
    SOFTNET_RECEIVED_RPS = "received_rps";
    /// Packets dropped by the flow limit of RPS.
    SOFTNET_FLOW_LIMIT_COUNT = "flow_limit_count";
}

each! { EachCounter, Family::TASK,
    /// Time that a thread ran, in nanoseconds.
    TASK_RUN = "run_ns";
    /// Time that a thread waited for a CPU, in nanoseconds.
    TASK_WAIT = "wait_ns";
}

each! { EachCounter, Family::CONNTRACK,
    /// Packets dropped since no entry could be made.
    CONNTRACK_DROP = "drop";
    /// Entries removed to make room for others.
    CONNTRACK_EARLY_DROP = "early_drop";
}

each! { EachCounter, Family::THROTTLE,
    /// Times that a core was throttled as it was hot.
    THROTTLE_CORE = "core";
}

each! { EachGauge, Family::FREQUENCY,
    /// Clock speed of a CPU, in kHz.
    FREQUENCY_KHZ = "khz";
}

each! { EachGauge, Family::COOLING,
    /// State of a cooling device; 0: it does nothing.
    COOLING_STATE = "state";
}

each! { EachGauge, Family::THERMAL,
    /// Temperature of a zone, in thousandths of a degree Celsius.
    THERMAL_MILLICELSIUS = "millicelsius";
}

/// How often the softirq that receives ran, for each CPU.
pub const SOFTIRQS_NET_RX: EachCounter<'static> = softirq("NET_RX");
/// How often the softirq that frees what was sent ran.
pub const SOFTIRQS_NET_TX: EachCounter<'static> = softirq("NET_TX");
/// How often the softirq of block devices ran.
pub const SOFTIRQS_BLOCK: EachCounter<'static> = softirq("BLOCK");
/// How often tasklets ran.
pub const SOFTIRQS_TASKLET: EachCounter<'static> = softirq("TASKLET");
/// How often tasklets of high priority ran.
pub const SOFTIRQS_HI: EachCounter<'static> = softirq("HI");

const fn softirq(kind: &'static str) -> EachCounter<'static> {
    EachCounter::all_of(Family::SOFTIRQS, Item(Part::Text(kind)))
}

/// How often one kind of softirq ran, by the kernel's word for it, for each CPU.
pub fn softirqs<'a>(kind: impl Into<Item<'a>>) -> EachCounter<'a> {
    EachCounter::all_of(Family::SOFTIRQS, kind.into())
}

/// How often one interrupt came, for each CPU.
pub fn interrupts<'a>(irq: impl Into<Item<'a>>) -> EachCounter<'a> {
    EachCounter::all_of(Family::INTERRUPTS, irq.into())
}

/// Everything that the driver of one interface counts, by the driver's own words.
pub fn driver<'a>(interface: impl Into<Item<'a>>) -> EachCounter<'a> {
    EachCounter::all_of(Family::NIC, interface.into())
}

/// For how long tasks could not go on for want of something, in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Stalls {
    /// At least one task.
    pub some: Counter<'static>,
    /// All tasks at once.
    pub full: Counter<'static>,
}

/// The want of CPU time.
pub const PRESSURE_CPU: Stalls = Stalls {
    some: Counter::whole("pressure.cpu.some_us"),
    full: Counter::whole("pressure.cpu.full_us"),
};
/// The want of memory.
pub const PRESSURE_MEMORY: Stalls = Stalls {
    some: Counter::whole("pressure.memory.some_us"),
    full: Counter::whole("pressure.memory.full_us"),
};
/// The want of storage.
pub const PRESSURE_IO: Stalls = Stalls {
    some: Counter::whole("pressure.io.some_us"),
    full: Counter::whole("pressure.io.full_us"),
};

/// CPU time of this process in user space, in nanoseconds.
pub const PROCESS_USER: Counter<'static> = Counter::whole("process.self.user_ns");
/// CPU time of this process in the kernel, in nanoseconds.
pub const PROCESS_SYSTEM: Counter<'static> = Counter::whole("process.self.system_ns");

/// Periods of the quota of the process's control group.
pub const CGROUP_PERIODS: Counter<'static> = Counter::whole("cgroup.cpu.nr_periods");
/// Periods in which the quota was used up.
pub const CGROUP_THROTTLED: Counter<'static> = Counter::whole("cgroup.cpu.nr_throttled");
/// Time for which the group stood still, in microseconds.
pub const CGROUP_THROTTLED_TIME: Counter<'static> = Counter::whole("cgroup.cpu.throttled_us");

/// Connections that are tracked.
pub const CONNTRACK_COUNT: Gauge<'static> = Gauge::whole("conntrack.all.count");

/// Segments that TCP received, of IPv4 and IPv6 together.
pub const TCP_IN_SEGS: Counter<'static> = Counter::whole("snmp.Tcp.InSegs");

both! { "Udp",
    /// Datagrams that could not be delivered.
    UDP_IN_ERRORS = "InErrors";
    /// Datagrams with a wrong checksum.
    UDP_IN_CSUM_ERRORS = "InCsumErrors";
    /// Datagrams dropped since the receive buffer was full.
    UDP_RCVBUF_ERRORS = "RcvbufErrors";
    /// Datagrams not sent since a send buffer or a queue was full.
    UDP_SNDBUF_ERRORS = "SndbufErrors";
    /// Datagrams dropped for want of memory for UDP.
    UDP_MEM_ERRORS = "MemErrors";
    /// Datagrams to ports on which no socket listens.
    UDP_NO_PORTS = "NoPorts";
    /// Datagrams sent.
    UDP_OUT_DATAGRAMS = "OutDatagrams";
}

both! { "Ip",
    /// Packets received.
    IP_IN_RECEIVES = "InReceives";
    /// Packets handed to a protocol of this host.
    IP_IN_DELIVERS = "InDelivers";
    /// Packets forwarded.
    IP_FORW_DATAGRAMS = "ForwDatagrams";
    /// Packets forwarded, by the name of IPv6.
    IP_OUT_FORW_DATAGRAMS = "OutForwDatagrams";
    /// Packets with a wrong header.
    IP_IN_HDR_ERRORS = "InHdrErrors";
    /// Packets to a wrong address.
    IP_IN_ADDR_ERRORS = "InAddrErrors";
    /// Packets without a route.
    IP_IN_NO_ROUTES = "InNoRoutes";
    /// Packets too big to be forwarded.
    IP_IN_TOO_BIG_ERRORS = "InTooBigErrors";
    /// Packets shorter than they say.
    IP_IN_TRUNCATED_PKTS = "InTruncatedPkts";
    /// Packets of an unknown protocol.
    IP_IN_UNKNOWN_PROTOS = "InUnknownProtos";
    /// Packets discarded without an error.
    IP_IN_DISCARDS = "InDiscards";
    /// Fragments received.
    IP_REASM_REQDS = "ReasmReqds";
    /// Packets put together of fragments.
    IP_REASM_OKS = "ReasmOKs";
    /// Failures to put fragments together.
    IP_REASM_FAILS = "ReasmFails";
    /// Packets that could not be cut into fragments.
    IP_FRAG_FAILS = "FragFails";
}

tcp! {
    /// Times that the advertised window became zero.
    TCP_TO_ZERO_WINDOW_ADV = "TCPToZeroWindowAdv";
    /// Times that the window would have become zero.
    TCP_WANT_ZERO_WINDOW_ADV = "TCPWantZeroWindowAdv";
    /// Retransmissions of segments that had not left the host.
    TCP_SPURIOUS_RTX_HOST_QUEUES = "TCPSpuriousRtxHostQueues";
    /// Times that the write queue was too long.
    TCP_WQUEUE_TOO_BIG = "TCPWqueueTooBig";
    /// Segments dropped since the backlog of a socket was full.
    TCP_BACKLOG_DROP = "TCPBacklogDrop";
    /// Segments dropped since the receive queue was full.
    TCP_RCV_Q_DROP = "TCPRcvQDrop";
    /// Segments dropped since the out-of-order queue was full.
    TCP_OFO_DROP = "TCPOFODrop";
    /// Times that a receive queue was compacted for want of memory.
    TCP_PRUNE_CALLED = "PruneCalled";
    /// Segments dropped from a receive queue for want of memory.
    TCP_RCV_PRUNED = "RcvPruned";
    /// Segments dropped since the window was zero.
    TCP_ZERO_WINDOW_DROP = "TCPZeroWindowDrop";
    /// Reorderings found by SACK.
    TCP_SACK_REORDER = "TCPSACKReorder";
    /// Reorderings found by time stamps.
    TCP_TS_REORDER = "TCPTSReorder";
    /// Retransmission timeouts without need.
    TCP_SPURIOUS_RTOS = "TCPSpuriousRTOs";
    /// Duplicate SACKs received.
    TCP_DSACK_RECV = "TCPDSACKRecv";
    /// Failed probes of the path MTU.
    TCP_MTUP_FAIL = "TCPMTUPFail";
    /// Times that TCP came under memory pressure.
    TCP_MEMORY_PRESSURES = "TCPMemoryPressures";
}
