//! One link: creating virtual Ethernet pairs, settings, state and counters.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::RouteSocket;
use super::kernel::{self, IfInfoMessage};
use super::message::{Message, attribute, u32_at};

/// Operational state and counters of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkState {
    /// The interface index, unique in its network namespace, and the scope of
    /// link-local IPv6 addresses.
    pub index: u32,
    /// Largest network-layer packet in bytes.
    pub mtu: u32,
    /// Whether the link can pass packets (`IF_OPER_UP`, RFC 2863).
    pub operational: bool,
    /// Counters since the link was created.
    pub statistics: LinkStatistics,
}

/// The leading counters of `struct rtnl_link_stats64`, [linux/if_link.h].
///
/// [linux/if_link.h]: https://github.com/torvalds/linux/blob/v4.19/include/uapi/linux/if_link.h
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkStatistics {
    /// Packets that the interface received.
    pub received_packets: u64,
    /// Packets that the interface sent.
    pub sent_packets: u64,
    /// Bytes received, with link-layer headers.
    pub received_bytes: u64,
    /// Bytes sent, with link-layer headers.
    pub sent_bytes: u64,
    /// Bad packets that the interface received.
    pub receive_errors: u64,
    /// Packets that could not be sent.
    pub send_errors: u64,
    /// Packets received but dropped by the host for lack of buffers (`rx_dropped`).
    pub receive_drops: u64,
    /// Packets dropped on transmission (`tx_dropped`).
    pub send_drops: u64,
}

impl RouteSocket {
    /// Creates a pair of virtual Ethernet interfaces (`veth(4)`): `name` in this namespace
    /// and `peer_name` in `peer_namespace`. Both are down.
    ///
    /// # Errors
    /// `EOPNOTSUPP` without veth (`CONFIG_VETH`), `EEXIST` if a name is in use, `EPERM`
    /// without `CAP_NET_ADMIN`, `InvalidInput` if a name is too long.
    pub fn create_veth(
        &mut self,
        name: &str,
        peer_name: &str,
        peer_namespace: BorrowedFd<'_>,
    ) -> io::Result<()> {
        let (name, peer_name) = (interface_name(name)?, interface_name(peer_name)?);
        self.request(veth_request(&name, &peer_name, peer_namespace.as_raw_fd()))
    }

    /// Creates the bridge `name` (`ip link add NAME type bridge`). It is down.
    ///
    /// # Errors
    /// `EOPNOTSUPP` without bridges (`CONFIG_BRIDGE`), `EEXIST` if the name is in use, `EPERM`
    /// without `CAP_NET_ADMIN`, `InvalidInput` if the name is too long.
    pub fn create_bridge(&mut self, name: &str) -> io::Result<()> {
        let name = interface_name(name)?;
        let flags = kernel::NLM_F_CREATE | kernel::NLM_F_EXCL;
        let link = Message::new(libc::RTM_NEWLINK, flags, &IfInfoMessage::default().encode())
            .attribute(kernel::IFLA_IFNAME, name.as_bytes_with_nul())
            .nested(kernel::IFLA_LINKINFO, |info| {
                info.attribute(kernel::IFLA_INFO_KIND, b"bridge\0")
            });
        self.request(link)
    }

    /// Makes the interface `name` a port of the bridge `master`.
    ///
    /// # Errors
    /// `ENODEV` if there is no such link, `EPERM` without `CAP_NET_ADMIN`.
    pub fn set_master(&mut self, name: &str, master: &str) -> io::Result<()> {
        let link = self.select(name)?;
        let master = self.signed_index(master)?;
        let message = Message::new(libc::RTM_NEWLINK, 0, &link.encode());
        self.request(message.attribute(kernel::IFLA_MASTER, &master.to_ne_bytes()))
    }

    /// Sets the interface `name` administratively up (`IFF_UP`, `ip link set up`).
    ///
    /// # Errors
    /// `ENODEV` if there is no such link, `EPERM` without `CAP_NET_ADMIN`.
    pub fn set_up(&mut self, name: &str) -> io::Result<()> {
        let link = IfInfoMessage {
            index: self.signed_index(name)?,
            flags: kernel::IFF_UP,
            change: kernel::IFF_UP,
        };
        self.request(Message::new(libc::RTM_NEWLINK, 0, &link.encode()))
    }

    /// Sets the MTU of the interface `name`: the largest network-layer packet, in bytes.
    ///
    /// # Errors
    /// `ENODEV` if there is no such link, `EINVAL` if the device does not support the size,
    /// `EPERM` without `CAP_NET_ADMIN`.
    pub fn set_mtu(&mut self, name: &str, mtu: u32) -> io::Result<()> {
        let link = self.select(name)?;
        let message = Message::new(libc::RTM_NEWLINK, 0, &link.encode())
            .attribute(kernel::IFLA_MTU, &mtu.to_ne_bytes());
        self.request(message)
    }

    /// Deletes the interface `name`, and the other end of a veth(4) pair with it.
    ///
    /// # Errors
    /// `ENODEV` if there is no such link, `EOPNOTSUPP` if it is hardware, `EPERM` without
    /// `CAP_NET_ADMIN`.
    pub fn delete_link(&mut self, name: &str) -> io::Result<()> {
        let link = self.select(name)?;
        self.request(Message::new(libc::RTM_DELLINK, 0, &link.encode()))
    }

    /// Reads the operational state and the counters of the interface `name` (`RTM_GETLINK`).
    ///
    /// # Errors
    /// `ENODEV` if there is no link of that name.
    pub fn link(&mut self, name: &str) -> io::Result<LinkState> {
        let answer = self.link_message(name)?;
        parse_link(&answer).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// The message that describes the interface `name`.
    pub(super) fn link_message(&mut self, name: &str) -> io::Result<Vec<u8>> {
        let name = interface_name(name)?;
        let message = Message::new(libc::RTM_GETLINK, 0, &IfInfoMessage::default().encode())
            .attribute(kernel::IFLA_IFNAME, name.as_bytes_with_nul());
        self.ask(message)
    }

    /// The index of the interface `name` (netdevice(7)).
    ///
    /// # Errors
    /// `ENODEV` if there is no link of that name.
    pub fn interface_index(&mut self, name: &str) -> io::Result<u32> {
        Ok(self.link(name)?.index)
    }

    /// The index in the signed type that most kernel structures use.
    pub(super) fn signed_index(&mut self, name: &str) -> io::Result<i32> {
        let index = self.interface_index(name)?;
        i32::try_from(index).map_err(|_| io::ErrorKind::InvalidData.into())
    }

    fn select(&mut self, name: &str) -> io::Result<IfInfoMessage> {
        let index = self.signed_index(name)?;
        Ok(IfInfoMessage { index, ..IfInfoMessage::default() })
    }
}

fn veth_request(name: &CString, peer_name: &CString, peer_namespace: i32) -> Message {
    let flags = kernel::NLM_F_CREATE | kernel::NLM_F_EXCL;
    let link = IfInfoMessage::default().encode();
    Message::new(libc::RTM_NEWLINK, flags, &link)
        .attribute(kernel::IFLA_IFNAME, name.as_bytes_with_nul())
        .nested(kernel::IFLA_LINKINFO, |info| {
            info.attribute(kernel::IFLA_INFO_KIND, b"veth\0").nested(
                kernel::IFLA_INFO_DATA,
                |data| {
                    data.nested(kernel::VETH_INFO_PEER, |peer| {
                        peer.body(&link)
                            .attribute(kernel::IFLA_IFNAME, peer_name.as_bytes_with_nul())
                            .attribute(kernel::IFLA_NET_NS_FD, &peer_namespace.to_ne_bytes())
                    })
                },
            )
        })
}

fn parse_link(message: &[u8]) -> Option<LinkState> {
    let attributes = message.get(IfInfoMessage::BYTES..)?;
    let state = attribute(attributes, kernel::IFLA_OPERSTATE);
    let counters = attribute(attributes, kernel::IFLA_STATS64).unwrap_or_default();
    Some(LinkState {
        index: u32_at(message, IfInfoMessage::INDEX)?,
        mtu: u32_at(attribute(attributes, kernel::IFLA_MTU)?, 0..4)?,
        operational: state == Some(&[kernel::IF_OPER_UP]),
        statistics: parse_statistics(counters),
    })
}

fn parse_statistics(bytes: &[u8]) -> LinkStatistics {
    let (counters, _) = bytes.as_chunks();
    let mut counters = counters.iter().map(|bytes| u64::from_ne_bytes(*bytes));
    let mut next = || counters.next().unwrap_or_default();
    LinkStatistics {
        received_packets: next(),
        sent_packets: next(),
        received_bytes: next(),
        sent_bytes: next(),
        receive_errors: next(),
        send_errors: next(),
        receive_drops: next(),
        send_drops: next(),
    }
}

/// The name as the kernel takes it; it must be shorter than `IFNAMSIZ`.
fn interface_name(name: &str) -> io::Result<CString> {
    if name.is_empty() || name.len() >= libc::IFNAMSIZ {
        let text = format!("`{name}` is not an interface name of 1 to 15 bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(CString::new(name)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_read_from_its_attributes() {
        let link = IfInfoMessage { index: 5, ..IfInfoMessage::default() };
        let counters: Vec<u8> = (1..=24_u64).flat_map(u64::to_ne_bytes).collect();
        let message = Message::new(libc::RTM_NEWLINK, 0, &link.encode())
            .attribute(kernel::IFLA_MTU, &1500_u32.to_ne_bytes())
            .attribute(kernel::IFLA_OPERSTATE, &[6])
            .attribute(kernel::IFLA_STATS64, &counters)
            .finish(1);
        let state = parse_link(&message[16..]).expect("present");
        assert_eq!((state.index, state.mtu, state.operational), (5, 1500, true));
        assert_eq!(state.statistics.received_packets, 1);
        assert_eq!(state.statistics.send_drops, 8);
    }

    #[test]
    fn a_veth_request_carries_both_names_and_the_peer_namespace() {
        let (near, far) =
            (interface_name("a").expect("short"), interface_name("b").expect("short"));
        let bytes = veth_request(&near, &far, 9).finish(1);
        let info = attribute(&bytes[32..], kernel::IFLA_LINKINFO).expect("present");
        let data = attribute(info, kernel::IFLA_INFO_DATA).expect("present");
        let peer =
            &attribute(data, kernel::VETH_INFO_PEER).expect("present")[IfInfoMessage::BYTES..];
        assert_eq!(attribute(&bytes[32..], kernel::IFLA_IFNAME), Some(&b"a\0"[..]));
        assert_eq!(attribute(info, kernel::IFLA_INFO_KIND), Some(&b"veth\0"[..]));
        assert_eq!(attribute(peer, kernel::IFLA_IFNAME), Some(&b"b\0"[..]));
        let descriptor = 9_i32.to_ne_bytes();
        assert_eq!(attribute(peer, kernel::IFLA_NET_NS_FD), Some(&descriptor[..]));
    }

    #[test]
    fn impossible_names_are_refused_before_the_kernel_sees_them() {
        for name in ["", "a-name-of-sixteen", "nul\0nul"] {
            let error = interface_name(name).expect_err("refused");
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name:?}");
        }
    }
}
