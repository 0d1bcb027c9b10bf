//! All addresses of a network namespace.

use std::io;
use std::net::IpAddr;

use super::RouteSocket;
use super::address::address;
use super::kernel::{self, IfAddressMessage};
use super::message::{attribute, u32_at};

/// An IPv4 or IPv6 address of a network interface (`RTM_GETADDR`, rtnetlink(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressEntry {
    /// Index of the interface (netdevice(7)).
    pub index: u32,
    /// The local address, also where the link has a peer address.
    pub address: IpAddr,
    /// Length of the network part in bits.
    pub prefix_length: u8,
}

impl RouteSocket {
    /// Lists all IPv4 and IPv6 addresses of the socket's network namespace (`RTM_GETADDR`).
    ///
    /// # Errors
    /// The errors of sendto(2) and recv(2), such as `ENOBUFS`; none is expected.
    pub fn addresses(&mut self) -> io::Result<Vec<AddressEntry>> {
        // No family is all of them, also others than these two: the length tells.
        let body = IfAddressMessage { family: 0, prefix_length: 0, flags: 0, scope: 0, index: 0 };
        self.dump(libc::RTM_GETADDR, &body.encode(), entry)
    }
}

fn entry(message: &[u8]) -> Option<AddressEntry> {
    let attributes = message.get(IfAddressMessage::BYTES..)?;
    // IFA_ADDRESS is the peer's on a link between two; IFA_LOCAL is absent of most IPv6
    // addresses (linux/if_addr.h).
    let octets = attribute(attributes, kernel::IFA_LOCAL)
        .or_else(|| attribute(attributes, kernel::IFA_ADDRESS))?;
    Some(AddressEntry {
        index: u32_at(message, IfAddressMessage::INDEX)?,
        address: address(octets)?,
        prefix_length: *message.get(IfAddressMessage::PREFIX_LENGTH)?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::message::{HEADER_BYTES, Message};
    use super::*;

    #[test]
    fn loopback_has_its_address() {
        let mut route = RouteSocket::open().expect("netlink is there");
        let index = route.interface_index("lo").expect("loopback is there");
        let address = IpAddr::from([127, 0, 0, 1]);
        let expected = AddressEntry { index, address, prefix_length: 8 };
        assert!(route.addresses().expect("asked").contains(&expected));
    }

    #[test]
    fn a_link_between_two_tells_its_own_address() {
        let body = IfAddressMessage { family: 2, prefix_length: 32, flags: 0, scope: 0, index: 7 };
        let message = Message::new(libc::RTM_NEWADDR, 0, &body.encode())
            .attribute(kernel::IFA_ADDRESS, &[192, 0, 2, 1])
            .attribute(kernel::IFA_LOCAL, &[192, 0, 2, 2])
            .finish(1);
        let found = entry(&message[HEADER_BYTES..]).expect("an address");
        let address = IpAddr::from([192, 0, 2, 2]);
        assert_eq!(found, AddressEntry { index: 7, address, prefix_length: 32 });
        assert_eq!(entry(&message[HEADER_BYTES..HEADER_BYTES + 12]), None);
    }
}
