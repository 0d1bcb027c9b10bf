//! All links of a network namespace, with their counters.

use std::io;

use super::RouteSocket;
use super::kernel::{self, IfInfoMessage};
use super::message::{attribute, text, u16_at, u32_at};

/// A network interface, as `RTM_GETLINK` reports it (rtnetlink(7)). What the kernel does not report
/// is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkEntry {
    /// Index of the interface (netdevice(7)).
    pub index: u32,
    /// Name of the interface, e.g. `eth0`.
    pub name: String,
    /// Type of the device (`ARPHRD_*`, `linux/if_arp.h`): 1 Ethernet, 772 loopback.
    pub device_type: u16,
    /// Flags of the interface (`IFF_*`, netdevice(7)).
    pub flags: u32,
    /// Largest network-layer packet in bytes.
    pub mtu: u32,
    /// The kind of a virtual device, e.g. `veth` (`IFLA_INFO_KIND`).
    pub kind: Option<String>,
    /// Operational state (RFC 2863), e.g. `up`.
    pub state: Option<&'static str>,
    /// How often the carrier changed (Linux 3.15).
    pub carrier_changes: Option<u32>,
    /// Largest packet that GSO may build, in bytes (`gso_max_size`, Linux 4.17).
    pub gso_max_bytes: Option<u32>,
    /// Largest packet that GRO may build, in bytes (`gro_max_size`, Linux 5.19).
    pub gro_max_bytes: Option<u32>,
    /// Number of transmit queues.
    pub send_queues: Option<u32>,
    /// Number of receive queues.
    pub receive_queues: Option<u32>,
    /// Kind of the root qdisc, e.g. `fq_codel`.
    pub qdisc: Option<String>,
    /// Link-layer address (MAC address).
    pub address: Vec<u8>,
    /// Index of the related link (`IFLA_LINK`): the other end of a veth, the lower device
    /// of a VLAN.
    pub peer: Option<u32>,
    /// Index of the bridge, bond or other device of which it is a port (`IFLA_MASTER`).
    pub master: Option<u32>,
    /// Number of the namespace of the related link, if it is another one
    /// (`IFLA_LINK_NETNSID`).
    pub peer_namespace: Option<u32>,
    /// Counters in the order of [`LINK_COUNTERS`]; an older kernel has fewer.
    pub counters: Vec<u64>,
}

impl LinkEntry {
    /// Whether the interface is administratively up (`IFF_UP`).
    pub const fn is_up(&self) -> bool {
        self.flags & libc::IFF_UP.cast_unsigned() != 0
    }

    /// Whether the interface has a carrier (`IFF_LOWER_UP`, netdevice(7)).
    pub const fn has_carrier(&self) -> bool {
        self.flags & IFF_LOWER_UP != 0
    }

    /// Whether the interface is a loopback device (`IFF_LOOPBACK`).
    pub const fn is_loopback(&self) -> bool {
        self.flags & libc::IFF_LOOPBACK.cast_unsigned() != 0
    }

    /// The counters of the interface, each with its name of [`LINK_COUNTERS`], e.g. `rx_bytes`. An
    /// older kernel has fewer of them.
    pub fn named_counters(&self) -> impl Iterator<Item = (&'static str, u64)> {
        LINK_COUNTERS.into_iter().zip(self.counters.iter().copied())
    }
}

impl RouteSocket {
    /// Lists all interfaces of the socket's network namespace (`RTM_GETLINK`). `/sys/class/net` is
    /// no substitute: it shows the namespace of the process that mounted it.
    ///
    /// # Errors
    /// The errors of sendto(2) and recv(2), such as `ENOBUFS`; none is expected.
    pub fn links(&mut self) -> io::Result<Vec<LinkEntry>> {
        self.dump(libc::RTM_GETLINK, &IfInfoMessage::default().encode(), entry)
    }
}

fn entry(message: &[u8]) -> Option<LinkEntry> {
    let attributes = message.get(IfInfoMessage::BYTES..)?;
    let number = |kind| u32_at(attribute(attributes, kind)?, 0..4);
    let words = |kind| text(attribute(attributes, kind)?);
    let info = attribute(attributes, kernel::IFLA_LINKINFO).unwrap_or_default();
    let (counters, _) = attribute(attributes, kernel::IFLA_STATS64).unwrap_or_default().as_chunks();
    Some(LinkEntry {
        index: u32_at(message, IfInfoMessage::INDEX)?,
        name: words(kernel::IFLA_IFNAME)?,
        device_type: u16_at(message, IfInfoMessage::DEVICE_TYPE)?,
        flags: u32_at(message, IfInfoMessage::FLAGS)?,
        mtu: number(kernel::IFLA_MTU).unwrap_or_default(),
        kind: attribute(info, kernel::IFLA_INFO_KIND).and_then(text),
        state: attribute(attributes, kernel::IFLA_OPERSTATE).and_then(state),
        carrier_changes: number(kernel::IFLA_CARRIER_CHANGES),
        gso_max_bytes: number(kernel::IFLA_GSO_MAX_SIZE),
        gro_max_bytes: number(kernel::IFLA_GRO_MAX_SIZE),
        send_queues: number(kernel::IFLA_NUM_TX_QUEUES),
        receive_queues: number(kernel::IFLA_NUM_RX_QUEUES),
        qdisc: words(kernel::IFLA_QDISC),
        address: attribute(attributes, kernel::IFLA_ADDRESS).unwrap_or_default().to_vec(),
        peer: number(kernel::IFLA_LINK),
        master: number(kernel::IFLA_MASTER),
        peer_namespace: number(kernel::IFLA_LINK_NETNSID),
        counters: counters.iter().map(|bytes| u64::from_ne_bytes(*bytes)).collect(),
    })
}

/// The words of `operstates` in net/core/net-sysfs.c.
fn state(value: &[u8]) -> Option<&'static str> {
    let number = usize::from(*value.first()?);
    STATES.get(number).copied()
}

const STATES: [&str; 7] =
    ["unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up"];

/// Names of a link's counters: the fields of `struct rtnl_link_stats64`, [linux/if_link.h].
/// The structure grows at its end: Linux 4.6 added the last but one, Linux 5.19 the last.
///
/// [linux/if_link.h]: https://github.com/torvalds/linux/blob/v6.12/include/uapi/linux/if_link.h
pub const LINK_COUNTERS: [&str; 25] = [
    "rx_packets",
    "tx_packets",
    "rx_bytes",
    "tx_bytes",
    "rx_errors",
    "tx_errors",
    "rx_dropped",
    "tx_dropped",
    "multicast",
    "collisions",
    "rx_length_errors",
    "rx_over_errors",
    "rx_crc_errors",
    "rx_frame_errors",
    "rx_fifo_errors",
    "rx_missed_errors",
    "tx_aborted_errors",
    "tx_carrier_errors",
    "tx_fifo_errors",
    "tx_heartbeat_errors",
    "tx_window_errors",
    "rx_compressed",
    "tx_compressed",
    "rx_nohandler",
    "rx_otherhost_dropped",
];

/// linux/if.h.
const IFF_LOWER_UP: u32 = 1 << 16;

#[cfg(test)]
mod tests {
    use super::super::message::{HEADER_BYTES, Message};
    use super::*;

    #[test]
    fn loopback_is_among_the_links_and_counts() {
        let mut route = RouteSocket::open().expect("netlink is there");
        let links = route.links().expect("asked");
        let loopback = links.iter().find(|link| link.name == "lo").expect("loopback is there");
        assert_eq!(loopback.index, route.interface_index("lo").expect("there"));
        assert_eq!((loopback.device_type, loopback.address.len()), (772, 6));
        assert!(loopback.counters.len() >= 23, "those of Linux 4.5 and before");
        assert_eq!(loopback.named_counters().next().map(|(name, _)| name), Some("rx_packets"));
    }

    #[test]
    fn an_older_kernel_has_fewer_counters_and_not_zeroes() {
        let counters: Vec<u8> = (1..=23_u64).flat_map(u64::to_ne_bytes).collect();
        let link = IfInfoMessage { index: 5, ..IfInfoMessage::default() };
        let message = Message::new(libc::RTM_NEWLINK, 0, &link.encode())
            .attribute(kernel::IFLA_IFNAME, b"eth0\0")
            .attribute(kernel::IFLA_OPERSTATE, &[6])
            .attribute(kernel::IFLA_STATS64, &counters)
            .nested(kernel::IFLA_LINKINFO, |info| info.attribute(kernel::IFLA_INFO_KIND, b"veth\0"))
            .finish(1);
        let link = entry(&message[HEADER_BYTES..]).expect("a link");
        assert_eq!((link.state, link.kind.as_deref()), (Some("up"), Some("veth")));
        assert_eq!(link.named_counters().last(), Some(("tx_compressed", 23)));
        for length in 0..message.len() - HEADER_BYTES {
            // Whatever it still tells, it does not panic.
            let _ = entry(&message[HEADER_BYTES..HEADER_BYTES + length]);
        }
    }
}
