//! Structures and constants of the kernel headers, each defined once.
//!
//! A structure is encoded field by field in host byte order, not copied from memory: so it
//! has no implicit padding.

/// `struct ifinfomsg`, [linux/rtnetlink.h]: opens every message about a link.
///
/// [linux/rtnetlink.h]: https://github.com/torvalds/linux/blob/v4.19/include/uapi/linux/rtnetlink.h
#[derive(Debug, Default)]
pub(super) struct IfInfoMessage {
    /// Interface index, 0 where a name attribute selects the interface.
    pub(super) index: i32,
    /// `IFF_*`.
    pub(super) flags: u32,
    /// Which of the flags to change.
    pub(super) change: u32,
}

impl IfInfoMessage {
    pub(super) const BYTES: usize = 16;
    /// Offset of the device type (`ARPHRD_*`).
    pub(super) const DEVICE_TYPE: std::ops::Range<usize> = 2..4;
    /// Offset of `flags`.
    pub(super) const FLAGS: std::ops::Range<usize> = 8..12;
    /// Offset of `index`.
    pub(super) const INDEX: std::ops::Range<usize> = 4..8;

    pub(super) fn encode(&self) -> Vec<u8> {
        // Family, padding and device type are for the kernel to fill in.
        let mut bytes = vec![0; 4];
        bytes.extend(self.index.to_ne_bytes());
        bytes.extend(self.flags.to_ne_bytes());
        bytes.extend(self.change.to_ne_bytes());
        bytes
    }
}

/// `struct ifaddrmsg`, [linux/if_addr.h]: opens every message about an address.
///
/// [linux/if_addr.h]: https://github.com/torvalds/linux/blob/v4.19/include/uapi/linux/if_addr.h
#[derive(Debug)]
pub(super) struct IfAddressMessage {
    /// `AF_INET` or `AF_INET6`.
    pub(super) family: u8,
    /// Bits of the network part.
    pub(super) prefix_length: u8,
    /// `IFA_F_*`, the low eight.
    pub(super) flags: u8,
    /// `RT_SCOPE_*`.
    pub(super) scope: u8,
    /// Interface index.
    pub(super) index: u32,
}

impl IfAddressMessage {
    pub(super) const BYTES: usize = 8;
    /// Offset of `prefix_length`.
    pub(super) const PREFIX_LENGTH: usize = 1;
    /// Offset of `index`.
    pub(super) const INDEX: std::ops::Range<usize> = 4..8;

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![self.family, self.prefix_length, self.flags, self.scope];
        bytes.extend(self.index.to_ne_bytes());
        bytes
    }
}

/// `struct rtmsg`, `linux/rtnetlink.h`: opens every message about a route.
#[derive(Debug)]
pub(super) struct RouteMessage {
    /// `AF_INET` or `AF_INET6`.
    pub(super) family: u8,
    /// Length of the destination in bits.
    pub(super) destination_length: u8,
}

impl RouteMessage {
    pub(super) const BYTES: usize = 12;
    /// Offset of the address family.
    pub(super) const FAMILY: usize = 0;
    /// Offset of the length of the destination, in bits.
    pub(super) const DESTINATION_LENGTH: usize = 1;
    /// Offset of the routing table; the field is 0 if its number is above 255.
    pub(super) const TABLE: usize = 4;
    /// Offset of the origin of the route (`RTPROT_*`).
    pub(super) const PROTOCOL: usize = 5;
    /// Offset of the flags (`RTM_F_*`).
    pub(super) const FLAGS: std::ops::Range<usize> = 8..12;
    /// Offset of the route's type (`RTN_*`).
    pub(super) const TYPE: usize = 7;

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![self.family, self.destination_length];
        bytes.resize(Self::BYTES, 0);
        bytes
    }
}

/// `struct tcmsg`, `linux/rtnetlink.h`: opens every message about traffic control.
#[derive(Debug)]
pub(super) struct TrafficControlMessage {
    /// Interface index.
    pub(super) index: i32,
    /// The class or `TC_H_*` at which the qdisc is attached.
    pub(super) parent: u32,
}

impl TrafficControlMessage {
    pub(super) const BYTES: usize = 20;
    /// Offset of `index`.
    pub(super) const INDEX: std::ops::Range<usize> = 4..8;
    /// Offset of the qdisc's handle.
    pub(super) const HANDLE: std::ops::Range<usize> = 8..12;
    /// Offset of `parent`.
    pub(super) const PARENT: std::ops::Range<usize> = 12..16;

    /// The kernel chooses the handle.
    pub(super) fn encode(&self) -> Vec<u8> {
        self.encode_with_handle(0)
    }

    pub(super) fn encode_with_handle(&self, handle: u32) -> Vec<u8> {
        let mut bytes = vec![0; 4];
        bytes.extend(self.index.to_ne_bytes());
        bytes.extend(handle.to_ne_bytes());
        bytes.extend(self.parent.to_ne_bytes());
        bytes.extend(0_u32.to_ne_bytes());
        bytes
    }
}

/// `struct tc_ratespec`, [linux/pkt_sched.h].
///
/// [linux/pkt_sched.h]: https://github.com/torvalds/linux/blob/v4.19/include/uapi/linux/pkt_sched.h
#[derive(Debug, Default)]
pub(super) struct RateSpecification {
    /// `TC_LINKLAYER_*`; anything but unaware spares the kernel a rate table.
    pub(super) link_layer: u8,
    /// Bytes per second.
    pub(super) rate: u32,
}

impl RateSpecification {
    fn encode_into(&self, bytes: &mut Vec<u8>) {
        let cell_log = 0;
        bytes.extend([cell_log, self.link_layer]);
        // Overhead, cell alignment and minimal packet unit: u16, i16, u16.
        bytes.extend([0; 6]);
        bytes.extend(self.rate.to_ne_bytes());
    }
}

/// `struct tc_tbf_qopt`, `linux/pkt_sched.h`.
#[derive(Debug)]
pub(super) struct TokenBucketOptions {
    pub(super) rate: RateSpecification,
    /// Largest length of the queue in bytes.
    pub(super) limit: u32,
}

impl TokenBucketOptions {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.rate.encode_into(&mut bytes);
        RateSpecification::default().encode_into(&mut bytes);
        bytes.extend(self.limit.to_ne_bytes());
        // Bucket and peak bucket in scheduler ticks: TCA_TBF_BURST says the
        // former in bytes, and there is no peak rate.
        bytes.extend([0; 8]);
        bytes
    }
}

// linux/netlink.h
pub(super) const NLM_F_REQUEST: u16 = 0x1;
pub(super) const NLM_F_ACK: u16 = 0x4;
pub(super) const NLM_F_ECHO: u16 = 0x8;
pub(super) const NLM_F_DUMP_INTR: u16 = 0x10;
pub(super) const NLM_F_DUMP: u16 = 0x300;
pub(super) const NLM_F_REPLACE: u16 = 0x100;
pub(super) const NLM_F_EXCL: u16 = 0x200;
pub(super) const NLM_F_CREATE: u16 = 0x400;
pub(super) const NLM_F_CAPPED: u16 = 0x100;
pub(super) const NLM_F_ACK_TLVS: u16 = 0x200;
pub(super) const NLMSG_ERROR: u16 = 2;
pub(super) const NLMSG_DONE: u16 = 3;
pub(super) const NLMSGERR_ATTR_MSG: u16 = 1;
pub(super) const NETLINK_CAP_ACK: libc::c_int = 10;
pub(super) const NETLINK_EXT_ACK: libc::c_int = 11;
pub(super) const NLA_TYPE_MASK: u16 = 0x3fff;

// linux/if_link.h and linux/veth.h
pub(super) const IFLA_ADDRESS: u16 = 1;
pub(super) const IFLA_IFNAME: u16 = 3;
pub(super) const IFLA_MTU: u16 = 4;
pub(super) const IFLA_MASTER: u16 = 10;
pub(super) const IFLA_LINK: u16 = 5;
pub(super) const IFLA_QDISC: u16 = 6;
pub(super) const IFLA_TXQLEN: u16 = 13;
pub(super) const IFLA_OPERSTATE: u16 = 16;
pub(super) const IFLA_LINKINFO: u16 = 18;
pub(super) const IFLA_STATS64: u16 = 23;
pub(super) const IFLA_NET_NS_FD: u16 = 28;
pub(super) const IFLA_NUM_TX_QUEUES: u16 = 31;
pub(super) const IFLA_NUM_RX_QUEUES: u16 = 32;
pub(super) const IFLA_CARRIER_CHANGES: u16 = 35;
pub(super) const IFLA_LINK_NETNSID: u16 = 37;
pub(super) const IFLA_GSO_MAX_SIZE: u16 = 41;
pub(super) const IFLA_GRO_MAX_SIZE: u16 = 58;
pub(super) const IFLA_GSO_IPV4_MAX_SIZE: u16 = 63;
pub(super) const IFLA_GRO_IPV4_MAX_SIZE: u16 = 64;
pub(super) const IFLA_INFO_KIND: u16 = 1;
pub(super) const IFLA_INFO_DATA: u16 = 2;
pub(super) const VETH_INFO_PEER: u16 = 1;
/// `linux/if.h`, RFC 2863: able to pass packets.
pub(super) const IF_OPER_UP: u8 = 6;
pub(super) const IFF_UP: u32 = 1;

// linux/if_addr.h and linux/rtnetlink.h
pub(super) const IFA_ADDRESS: u16 = 1;
pub(super) const IFA_LOCAL: u16 = 2;
pub(super) const IFA_F_NODAD: u8 = 0x02;
pub(super) const RT_SCOPE_UNIVERSE: u8 = 0;
pub(super) const RT_SCOPE_LINK: u8 = 253;
pub(super) const RTA_DST: u16 = 1;
pub(super) const RTA_OIF: u16 = 4;
pub(super) const RTA_GATEWAY: u16 = 5;
pub(super) const RTA_METRICS: u16 = 8;
pub(super) const RTA_MULTIPATH: u16 = 9;
pub(super) const RTA_TABLE: u16 = 15;
pub(super) const RTA_VIA: u16 = 18;
pub(super) const RTAX_MTU: u16 = 2;
pub(super) const RT_TABLE_MAIN: u8 = 254;
/// `RTPROT_STATIC`: the administrator added the route.
pub(super) const RTPROT_STATIC: u8 = 4;
pub(super) const RTM_F_CLONED: u32 = 0x200;
pub(super) const RTN_UNICAST: u8 = 1;
pub(super) const RTN_LOCAL: u8 = 2;

// linux/rtnetlink.h and linux/pkt_sched.h
pub(super) const TCA_KIND: u16 = 1;
pub(super) const TCA_OPTIONS: u16 = 2;
pub(super) const TCA_STATS2: u16 = 7;
pub(super) const TC_H_ROOT: u32 = u32::MAX;
pub(super) const TC_H_INGRESS: u32 = 0xffff_fff1;
pub(super) const TC_LINKLAYER_ETHERNET: u8 = 1;
pub(super) const TCA_TBF_PARMS: u16 = 1;
pub(super) const TCA_TBF_RATE64: u16 = 4;
pub(super) const TCA_TBF_BURST: u16 = 6;
pub(super) const TCA_HTB_PARMS: u16 = 1;
pub(super) const TCA_HTB_INIT: u16 = 2;
pub(super) const TCA_HTB_CEIL64: u16 = 7;
pub(super) const TCA_HFSC_USC: u16 = 3;
pub(super) const TCA_CAKE_BASE_RATE64: u16 = 2;
pub(super) const TCA_FQ_FLOW_MAX_RATE: u16 = 7;
pub(super) const TCA_NETEM_RATE: u16 = 6;
pub(super) const TCA_NETEM_RATE64: u16 = 8;
pub(super) const TCA_NETEM_LATENCY64: u16 = 10;
/// Offset of the rate in `struct tc_ratespec`, and so in `struct tc_tbf_qopt`.
pub(super) const RATE: std::ops::Range<usize> = 8..12;
/// Offset of `limit` in `struct tc_tbf_qopt`.
pub(super) const TBF_LIMIT: std::ops::Range<usize> = 24..28;
/// Offset of `buffer` in `struct tc_tbf_qopt`, in ticks.
pub(super) const TBF_BUFFER: std::ops::Range<usize> = 28..32;
/// Offset of the rate of `ceil` in `struct tc_htb_opt`.
pub(super) const HTB_CEIL: std::ops::Range<usize> = 20..24;
/// Size of `struct tc_netem_qopt`.
pub(super) const NETEM_BYTES: usize = 24;
/// Offset of `latency` in `struct tc_netem_qopt`, in ticks.
pub(super) const NETEM_LATENCY: std::ops::Range<usize> = 0..4;
/// Offset of `limit` in `struct tc_netem_qopt`, in packets.
pub(super) const NETEM_LIMIT: std::ops::Range<usize> = 4..8;
/// Offset of `loss` in `struct tc_netem_qopt`; all bits set is certain loss.
pub(super) const NETEM_LOSS: std::ops::Range<usize> = 8..12;

// linux/pkt_cls.h
pub(super) const TC_H_CLSACT_INGRESS: u32 = 0xffff_fff2;
pub(super) const TCA_ACT_KIND: u16 = 1;
pub(super) const TCA_ACT_OPTIONS: u16 = 2;
pub(super) const TCA_POLICE_TBF: u16 = 1;
pub(super) const TCA_POLICE_RATE64: u16 = 8;
/// Offset of the rate in `struct tc_police`.
pub(super) const POLICE_RATE: std::ops::Range<usize> = 28..32;

// linux/gen_stats.h
pub(super) const TCA_STATS_BASIC: u16 = 1;
pub(super) const TCA_STATS_QUEUE: u16 = 3;
pub(super) const TCA_STATS_PKT64: u16 = 8;
