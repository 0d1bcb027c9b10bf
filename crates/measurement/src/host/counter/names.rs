//! Every counter and gauge that code refers to: its constant, and the kernel's word for it.

use super::{Counter, EachCounter, EachGauge, Family, Gauge, Item, Part};

/// A counter that exists for IPv4 and for IPv6.
#[derive(Clone, Copy, Debug)]
pub struct Both {
    /// The counter of IPv4 (`/proc/net/snmp`).
    pub v4: Counter<'static>,
    /// The counter of IPv6 (`/proc/net/snmp6`).
    pub v6: Counter<'static>,
}

impl Both {
    /// Names of both counters: first that of IPv4, then that of IPv6.
    pub const fn each(self) -> [Counter<'static>; 2] {
        [self.v4, self.v6]
    }
}

/// Counters that a protocol of IPv4 and the one of IPv6 have by the same name.
macro_rules! both {
    ($protocol:literal, $($(#[$doc:meta])* $name:ident = $kernel:literal;)+) => {
        $(
            $(#[$doc])*
            #[doc = ""]
            #[doc = concat!("Names: `snmp.", $protocol, ".", $kernel, "`,")]
            #[doc = concat!("`snmp6.", $protocol, "6", $kernel, "`.")]
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
            #[doc = ""]
            #[doc = concat!("`", $kernel, "` of `TcpExt` in `/proc/net/netstat`.")]
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
            #[doc = ""]
            #[doc = concat!("Field `", $field, "` of `", stringify!($family), "`.")]
            pub const $name: $type<'static> = $type::field_of($family, $field);
        )+
    };
}

each! { EachCounter, Family::CPU,
    /// CPU time in user mode, in nanoseconds.
    CPU_USER = "user_ns";
    /// CPU time in user mode with low priority (nice), in nanoseconds.
    CPU_NICE = "nice_ns";
    /// CPU time in system calls and kernel threads, in nanoseconds.
    CPU_SYSTEM = "system_ns";
    /// Idle time of the CPU, in nanoseconds.
    CPU_IDLE = "idle_ns";
    /// Idle time of the CPU while a task waited for I/O, in nanoseconds.
    CPU_IOWAIT = "iowait_ns";
    /// CPU time in interrupt handlers, in nanoseconds.
    CPU_IRQ = "irq_ns";
    /// CPU time in softirqs, in nanoseconds.
    CPU_SOFTIRQ = "softirq_ns";
    /// Time that the hypervisor did not give to the virtual CPU (steal), in nanoseconds.
    CPU_STEAL = "steal_ns";
}

/// CPU time in each of the eight states, in the order of `/proc/stat` (proc_stat(5)), in
/// nanoseconds.
pub const CPU_STATES: [EachCounter<'static>; 8] =
    [CPU_USER, CPU_NICE, CPU_SYSTEM, CPU_IDLE, CPU_IOWAIT, CPU_IRQ, CPU_SOFTIRQ, CPU_STEAL];

each! { EachCounter, Family::INTERFACE,
    /// Bytes that an interface received.
    INTERFACE_RX_BYTES = "rx_bytes";
    /// Bytes that an interface sent.
    INTERFACE_TX_BYTES = "tx_bytes";
    /// Packets that an interface received.
    INTERFACE_RX_PACKETS = "rx_packets";
    /// Packets that an interface sent.
    INTERFACE_TX_PACKETS = "tx_packets";
    /// Packets that an interface received and the kernel did not process.
    INTERFACE_RX_DROPPED = "rx_dropped";
    /// Packets dropped by an interface on transmit.
    INTERFACE_TX_DROPPED = "tx_dropped";
    /// Transmit errors of an interface.
    INTERFACE_TX_ERRORS = "tx_errors";
    /// Frames that the device dropped for lack of receive buffers.
    INTERFACE_RX_MISSED_ERRORS = "rx_missed_errors";
    /// Overflows of the receive FIFO of the device.
    INTERFACE_RX_FIFO_ERRORS = "rx_fifo_errors";
    /// Overflows of the receive buffers of the device.
    INTERFACE_RX_OVER_ERRORS = "rx_over_errors";
    /// Received frames with a wrong frame check sequence (CRC).
    INTERFACE_RX_CRC_ERRORS = "rx_crc_errors";
    /// Received frames with an alignment error.
    INTERFACE_RX_FRAME_ERRORS = "rx_frame_errors";
    /// Received frames with a wrong length.
    INTERFACE_RX_LENGTH_ERRORS = "rx_length_errors";
    /// Underflows of the transmit FIFO of the device.
    INTERFACE_TX_FIFO_ERRORS = "tx_fifo_errors";
    /// Frames not sent because the carrier was lost.
    INTERFACE_TX_CARRIER_ERRORS = "tx_carrier_errors";
    /// Frames whose transmission was aborted.
    INTERFACE_TX_ABORTED_ERRORS = "tx_aborted_errors";
    /// Collisions on a half-duplex link.
    INTERFACE_COLLISIONS = "collisions";
    /// Changes of the carrier: link up or link down.
    INTERFACE_CARRIER_CHANGES = "carrier_changes";
}

each! { EachCounter, Family::QDISC,
    /// Bytes that a queueing discipline passed on.
    QDISC_BYTES = "bytes";
    /// Packets that a queueing discipline passed on.
    QDISC_PACKETS = "packets";
    /// Packets that a queueing discipline dropped.
    QDISC_DROPS = "drops";
    /// How often a queueing discipline was over its limit.
    QDISC_OVERLIMITS = "overlimits";
    /// Packets that a queueing discipline requeued, as the device did not take them.
    QDISC_REQUEUES = "requeues";
}

each! { EachGauge, Family::QDISC,
    /// Bytes in the queue of a queueing discipline.
    QDISC_BACKLOG_BYTES = "backlog_bytes";
}

each! { EachCounter, Family::SOFTNET,
    /// Packets that a CPU processed in the receive softirq.
    SOFTNET_PROCESSED = "processed";
    /// Packets dropped because the backlog of a CPU was full (`netdev_max_backlog`).
    SOFTNET_DROPPED = "dropped";
    /// How often the receive softirq ended because its budget or time was used up.
    SOFTNET_TIME_SQUEEZE = "time_squeeze";
    /// How often a CPU was woken by another CPU to process packets (RPS).
    SOFTNET_RECEIVED_RPS = "received_rps";
    /// Packets dropped by the flow limit of RPS.
    SOFTNET_FLOW_LIMIT_COUNT = "flow_limit_count";
}

each! { EachCounter, Family::TASK,
    /// Time in which a thread ran, in nanoseconds.
    TASK_RUN = "run_ns";
    /// Time in which a thread was runnable and waited for a CPU (run delay), in nanoseconds.
    TASK_WAIT = "wait_ns";
}

each! { EachCounter, Family::CONNTRACK,
    /// Packets dropped because connection tracking could not add an entry.
    CONNTRACK_DROP = "drop";
    /// Connection tracking entries removed to make room for new ones.
    CONNTRACK_EARLY_DROP = "early_drop";
}

each! { EachCounter, Family::THROTTLE,
    /// How often a core was throttled because of its temperature.
    THROTTLE_CORE = "core";
}

each! { EachGauge, Family::FREQUENCY,
    /// Clock frequency of a CPU, in kHz.
    FREQUENCY_KHZ = "khz";
}

each! { EachGauge, Family::COOLING,
    /// State of a cooling device; 0: it does not cool.
    COOLING_STATE = "state";
}

each! { EachGauge, Family::THERMAL,
    /// Temperature of a thermal zone, in thousandths of a degree Celsius.
    THERMAL_MILLICELSIUS = "millicelsius";
}

/// Runs of the `NET_RX` softirq, which receives packets, by CPU.
pub const SOFTIRQS_NET_RX: EachCounter<'static> = softirq("NET_RX");
/// Runs of the `NET_TX` softirq, which completes transmissions, by CPU.
pub const SOFTIRQS_NET_TX: EachCounter<'static> = softirq("NET_TX");
/// Runs of the `BLOCK` softirq, of block devices, by CPU.
pub const SOFTIRQS_BLOCK: EachCounter<'static> = softirq("BLOCK");
/// Runs of the `TASKLET` softirq, by CPU.
pub const SOFTIRQS_TASKLET: EachCounter<'static> = softirq("TASKLET");
/// Runs of the `HI` softirq, of tasklets with high priority, by CPU.
pub const SOFTIRQS_HI: EachCounter<'static> = softirq("HI");

const fn softirq(kind: &'static str) -> EachCounter<'static> {
    EachCounter::all_of(Family::SOFTIRQS, Item(Part::Text(kind)))
}

/// Runs of one kind of softirq, e.g. `NET_RX`, by CPU.
pub fn softirqs<'a>(kind: impl Into<Item<'a>>) -> EachCounter<'a> {
    EachCounter::all_of(Family::SOFTIRQS, kind.into())
}

/// Deliveries of one interrupt, by CPU (`/proc/interrupts`); `irq` is its number or name.
pub fn interrupts<'a>(irq: impl Into<Item<'a>>) -> EachCounter<'a> {
    EachCounter::all_of(Family::INTERRUPTS, irq.into())
}

/// Driver statistics of one interface (`ethtool -S`).
pub fn driver<'a>(interface: impl Into<Item<'a>>) -> EachCounter<'a> {
    EachCounter::all_of(Family::NIC, interface.into())
}

/// Pressure stall information of one resource: time in which tasks were stalled, in microseconds
/// (Documentation/accounting/psi.rst).
#[derive(Clone, Copy, Debug)]
pub struct Stalls {
    /// Time in which at least one task was stalled.
    pub some: Counter<'static>,
    /// Time in which all tasks were stalled at once.
    pub full: Counter<'static>,
}

/// Stalls for lack of CPU time (`/proc/pressure/cpu`).
pub const PRESSURE_CPU: Stalls = Stalls {
    some: Counter::whole("pressure.cpu.some_us"),
    full: Counter::whole("pressure.cpu.full_us"),
};
/// Stalls for lack of memory (`/proc/pressure/memory`).
pub const PRESSURE_MEMORY: Stalls = Stalls {
    some: Counter::whole("pressure.memory.some_us"),
    full: Counter::whole("pressure.memory.full_us"),
};
/// Stalls for lack of block I/O (`/proc/pressure/io`).
pub const PRESSURE_IO: Stalls = Stalls {
    some: Counter::whole("pressure.io.some_us"),
    full: Counter::whole("pressure.io.full_us"),
};

/// CPU time of this process in user space, in nanoseconds.
pub const PROCESS_USER: Counter<'static> = Counter::whole("process.self.user_ns");
/// CPU time of this process in the kernel, in nanoseconds.
pub const PROCESS_SYSTEM: Counter<'static> = Counter::whole("process.self.system_ns");

/// Periods of the CPU quota of the process's control group (`nr_periods` of `cpu.stat`).
pub const CGROUP_PERIODS: Counter<'static> = Counter::whole("cgroup.cpu.nr_periods");
/// Periods in which the CPU quota was used up (`nr_throttled` of `cpu.stat`).
pub const CGROUP_THROTTLED: Counter<'static> = Counter::whole("cgroup.cpu.nr_throttled");
/// Time for which the control group was throttled, in microseconds (`throttled_usec` of
/// `cpu.stat`).
pub const CGROUP_THROTTLED_TIME: Counter<'static> = Counter::whole("cgroup.cpu.throttled_us");

/// Connections in the connection tracking table.
pub const CONNTRACK_COUNT: Gauge<'static> = Gauge::whole("conntrack.all.count");

/// TCP segments received, over IPv4 and IPv6 together.
pub const TCP_IN_SEGS: Counter<'static> = Counter::whole("snmp.Tcp.InSegs");

both! { "Udp",
    /// UDP datagrams that could not be delivered.
    UDP_IN_ERRORS = "InErrors";
    /// UDP datagrams with a wrong checksum.
    UDP_IN_CSUM_ERRORS = "InCsumErrors";
    /// UDP datagrams dropped because the receive buffer of the socket was full.
    UDP_RCVBUF_ERRORS = "RcvbufErrors";
    /// UDP datagrams not sent because a send buffer or queue was full.
    UDP_SNDBUF_ERRORS = "SndbufErrors";
    /// UDP datagrams dropped because the memory limit of UDP was reached (`udp_mem`).
    UDP_MEM_ERRORS = "MemErrors";
    /// UDP datagrams to a port without a socket.
    UDP_NO_PORTS = "NoPorts";
    /// UDP datagrams sent.
    UDP_OUT_DATAGRAMS = "OutDatagrams";
}

both! { "Ip",
    /// IP packets received.
    IP_IN_RECEIVES = "InReceives";
    /// IP packets delivered to a protocol of this host.
    IP_IN_DELIVERS = "InDelivers";
    /// IP packets forwarded.
    IP_FORW_DATAGRAMS = "ForwDatagrams";
    /// IP packets forwarded, by the name that IPv6 has for them.
    IP_OUT_FORW_DATAGRAMS = "OutForwDatagrams";
    /// IP packets with a wrong header.
    IP_IN_HDR_ERRORS = "InHdrErrors";
    /// IP packets with a wrong destination address.
    IP_IN_ADDR_ERRORS = "InAddrErrors";
    /// IP packets that exceed the MTU on forwarding.
    IP_IN_TOO_BIG_ERRORS = "InTooBigErrors";
    /// IP packets of an unknown protocol.
    IP_IN_UNKNOWN_PROTOS = "InUnknownProtos";
    /// IP packets discarded without an error of their own, e.g. for lack of buffers.
    IP_IN_DISCARDS = "InDiscards";
    /// IP fragments received.
    IP_REASM_REQDS = "ReasmReqds";
    /// IP packets reassembled.
    IP_REASM_OKS = "ReasmOKs";
    /// Failures of IP reassembly.
    IP_REASM_FAILS = "ReasmFails";
    /// IP packets that could not be fragmented.
    IP_FRAG_FAILS = "FragFails";
    /// IP packets that protocols of this host gave to the IP layer to send.
    IP_OUT_REQUESTS = "OutRequests";
    /// IP packets that the IP layer sent, also forwarded ones; older kernels do not count them.
    IP_OUT_TRANSMITS = "OutTransmits";
}

/// Counters of IP that IPv4 has in `IpExt` of `/proc/net/netstat`.
macro_rules! ip_extended {
    ($($(#[$doc:meta])* $name:ident = $kernel:literal;)+) => {
        $(
            $(#[$doc])*
            #[doc = ""]
            #[doc = concat!("Names: `netstat.IpExt.", $kernel, "`, `snmp6.Ip6", $kernel, "`.")]
            pub const $name: Both = Both {
                v4: Counter::whole(concat!("netstat.IpExt.", $kernel)),
                v6: Counter::whole(concat!("snmp6.Ip6", $kernel)),
            };
        )+
    };
}

ip_extended! {
    /// Bytes of IP packets received.
    IP_IN_OCTETS = "InOctets";
    /// IP packets without a route.
    IP_IN_NO_ROUTES = "InNoRoutes";
    /// IP packets that are shorter than their length field says.
    IP_IN_TRUNCATED_PKTS = "InTruncatedPkts";
    /// Bytes of the IP packets sent, with their headers.
    IP_OUT_OCTETS = "OutOctets";
    /// Segments in the IP packets received without ECN: a packet that GSO or GRO made counts as
    /// many.
    IP_IN_NO_ECT_PKTS = "InNoECTPkts";
    /// Segments in the IP packets received with ECT(1).
    IP_IN_ECT1_PKTS = "InECT1Pkts";
    /// Segments in the IP packets received with ECT(0).
    IP_IN_ECT0_PKTS = "InECT0Pkts";
    /// Segments in the IP packets received with a mark of congestion (CE).
    IP_IN_CE_PKTS = "InCEPkts";
}

tcp! {
    /// How often the advertised receive window became zero.
    TCP_TO_ZERO_WINDOW_ADV = "TCPToZeroWindowAdv";
    /// How often the receive window would have become zero, but was not shrunk.
    TCP_WANT_ZERO_WINDOW_ADV = "TCPWantZeroWindowAdv";
    /// Retransmissions of segments that were still in the queues of this host.
    TCP_SPURIOUS_RTX_HOST_QUEUES = "TCPSpuriousRtxHostQueues";
    /// How often the write queue of a socket was too long.
    TCP_WQUEUE_TOO_BIG = "TCPWqueueTooBig";
    /// TCP segments dropped because the backlog of the socket was full.
    TCP_BACKLOG_DROP = "TCPBacklogDrop";
    /// TCP segments dropped because the receive queue was full.
    TCP_RCV_Q_DROP = "TCPRcvQDrop";
    /// TCP segments dropped because the out-of-order queue was full.
    TCP_OFO_DROP = "TCPOFODrop";
    /// TCP segments that arrived before older ones.
    TCP_OFO_QUEUE = "TCPOFOQueue";
    /// How often a receive queue was collapsed for lack of memory.
    TCP_PRUNE_CALLED = "PruneCalled";
    /// TCP segments dropped from a receive queue for lack of memory.
    TCP_RCV_PRUNED = "RcvPruned";
    /// TCP segments dropped because the receive window was zero.
    TCP_ZERO_WINDOW_DROP = "TCPZeroWindowDrop";
    /// Reordering detected by SACK.
    TCP_SACK_REORDER = "TCPSACKReorder";
    /// Reordering detected by TCP timestamps.
    TCP_TS_REORDER = "TCPTSReorder";
    /// Spurious retransmission timeouts.
    TCP_SPURIOUS_RTOS = "TCPSpuriousRTOs";
    /// Duplicate SACKs received (RFC 2883).
    TCP_DSACK_RECV = "TCPDSACKRecv";
    /// Duplicate SACKs sent for segments that had arrived and been delivered (RFC 2883).
    TCP_DSACK_OLD_SENT = "TCPDSACKOldSent";
    /// Duplicate SACKs sent for segments that had arrived out of order (RFC 2883).
    TCP_DSACK_OFO_SENT = "TCPDSACKOfoSent";
    /// TCP segments dropped since newer ones had arrived, by their timestamps (RFC 7323, section 5).
    TCP_PAWS = "PAWSEstab";
    /// Failed probes of packetization layer path MTU discovery (RFC 4821).
    TCP_MTUP_FAIL = "TCPMTUPFail";
    /// IP packets dropped since the way back to their source is another interface (`rp_filter`).
    IP_REVERSE_PATH_FILTER = "IPReversePathFilter";
    /// How often TCP came under memory pressure.
    TCP_MEMORY_PRESSURES = "TCPMemoryPressures";
}
