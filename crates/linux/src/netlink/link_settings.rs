//! Settings of one link that are numbers: MTU, transmit queue length, largest GSO and GRO packets.

use std::io;

use super::RouteSocket;
use super::kernel::{self, IfInfoMessage};
use super::message::{Message, attribute, u32_at};

/// Settings of an interface that are numbers (ip-link(8)). What the kernel does not report is
/// `None`; where they are set, `None` is left as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkSettings {
    /// Largest network-layer packet in bytes (`mtu`).
    pub mtu: Option<u32>,
    /// Length of the transmit queue in packets (`txqueuelen`).
    pub queue_length: Option<u32>,
    /// Largest packet that GSO may build, in bytes (`gso_max_size`, Linux 4.17).
    pub gso_max_bytes: Option<u32>,
    /// Largest packet that GRO may build, in bytes (`gro_max_size`, Linux 5.19).
    pub gro_max_bytes: Option<u32>,
    /// Largest IPv4 packet that GSO may build, in bytes (`gso_ipv4_max_size`, Linux 6.3).
    pub gso_ipv4_max_bytes: Option<u32>,
    /// Largest IPv4 packet that GRO may build, in bytes (`gro_ipv4_max_size`, Linux 6.3).
    pub gro_ipv4_max_bytes: Option<u32>,
}

impl RouteSocket {
    /// Reads the settings of the interface `name` (`RTM_GETLINK`).
    ///
    /// # Errors
    /// `ENODEV` if there is no link of that name.
    pub fn link_settings(&mut self, name: &str) -> io::Result<LinkSettings> {
        let answer = self.link_message(name)?;
        let attributes = answer.get(IfInfoMessage::BYTES..).unwrap_or_default();
        Ok(settings(attributes))
    }

    /// Sets those settings of the interface `name` that are not `None` (`RTM_NEWLINK`, `ip link
    /// set`). GSO and GRO sizes up to 65,536 bytes set those for IPv4 too, unless they are given.
    ///
    /// # Errors
    /// `ENODEV` if there is no such link, `EINVAL` if the device does not support the value,
    /// `EPERM` without `CAP_NET_ADMIN`.
    pub fn set_link_settings(&mut self, name: &str, to: &LinkSettings) -> io::Result<()> {
        let link = IfInfoMessage { index: self.signed_index(name)?, ..IfInfoMessage::default() };
        let values = [
            to.mtu,
            to.queue_length,
            to.gso_max_bytes,
            to.gro_max_bytes,
            to.gso_ipv4_max_bytes,
            to.gro_ipv4_max_bytes,
        ];
        let given = KINDS.iter().zip(values).filter_map(|(kind, value)| Some((*kind, value?)));
        let message = Message::new(libc::RTM_NEWLINK, 0, &link.encode());
        self.request(
            given.fold(message, |message, (kind, value)| {
                message.attribute(kind, &value.to_ne_bytes())
            }),
        )
    }
}

fn settings(attributes: &[u8]) -> LinkSettings {
    let values = KINDS.map(|kind| u32_at(attribute(attributes, kind)?, 0..4));
    LinkSettings {
        mtu: values[0],
        queue_length: values[1],
        gso_max_bytes: values[2],
        gro_max_bytes: values[3],
        gso_ipv4_max_bytes: values[4],
        gro_ipv4_max_bytes: values[5],
    }
}

/// The attributes, in the order of the fields.
const KINDS: [u16; 6] = [
    kernel::IFLA_MTU,
    kernel::IFLA_TXQLEN,
    kernel::IFLA_GSO_MAX_SIZE,
    kernel::IFLA_GRO_MAX_SIZE,
    kernel::IFLA_GSO_IPV4_MAX_SIZE,
    kernel::IFLA_GRO_IPV4_MAX_SIZE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_loopback_are_those_that_sysfs_has() {
        let mut route = RouteSocket::open().expect("netlink is there");
        let settings = route.link_settings("lo").expect("there");
        let file = |name: &str| {
            let text = std::fs::read_to_string(format!("/sys/class/net/lo/{name}"));
            text.expect("there").trim().parse().ok()
        };
        assert_eq!((settings.mtu, settings.queue_length), (file("mtu"), file("tx_queue_len")));
        assert_eq!(settings.gso_max_bytes.map(|bytes| bytes >= 65_536), Some(true));
        let absent = route.link_settings("no-such-name").expect_err("absent");
        assert_eq!(super::super::errno(&absent), Some(libc::ENODEV));
    }
}
