//! An interface that frames leave by or arrive at, and the Ethernet address of a next hop.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::thread;
use std::time::Duration;
use std::{fs, io};

use dataplane::now;
use linux::frame_socket::FrameSocket;
use linux::netlink::{LinkEntry, RouteSocket};
use measurement::BitRate;

use crate::error::PacketError;
use crate::frame::MacAddress;

/// An Ethernet interface of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Its index (netdevice(7)).
    pub index: u32,
    /// Its Ethernet address.
    pub mac: MacAddress,
    /// Its MTU in bytes.
    pub mtu: u32,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// Whether a default route of this host leaves by it, or by a bridge, bond, VLAN or the like of which
    /// it is a part: others may need the link.
    pub has_default_route: bool,
    /// The number of its receive queues.
    pub queues: u32,
}

impl Port {
    /// Reads an interface in the network namespace of the calling thread.
    ///
    /// # Errors
    /// [`PacketError::NoInterface`], [`PacketError::Down`], [`PacketError::NoCarrier`],
    /// [`PacketError::NotEthernet`] or [`PacketError::Inspect`].
    pub fn read(name: &str) -> Result<Self, PacketError> {
        let mut route = RouteSocket::open().map_err(PacketError::Inspect)?;
        let links = route.links().map_err(PacketError::Inspect)?;
        let defaults = route.default_route_interfaces().map_err(PacketError::Inspect)?;
        let carriers = carriers(defaults, &links);
        let link = links.into_iter().find(|link| link.name == name);
        let link = link.ok_or_else(|| PacketError::NoInterface(name.to_owned()))?;
        if !link.is_up() {
            return Err(PacketError::Down(name.to_owned()));
        }
        if !link.has_carrier() {
            return Err(PacketError::NoCarrier(name.to_owned()));
        }
        let mac: Result<[u8; 6], _> = link.address.as_slice().try_into();
        let mac = mac.ok().filter(|_| link.device_type == ETHERNET);
        let mac = mac.map(MacAddress).ok_or_else(|| PacketError::NotEthernet(name.to_owned()))?;
        let addresses = route.addresses().map_err(PacketError::Inspect)?;
        let index = link.index;
        let own = addresses.iter().filter(|address| address.index == index);
        Ok(Self {
            name: link.name,
            index,
            mac,
            mtu: link.mtu,
            addresses: own.map(|address| address.address).collect(),
            has_default_route: carriers.contains(&index),
            queues: link.receive_queues.unwrap_or(1).max(1),
        })
    }

    /// Looks whether it is as it was.
    ///
    /// # Errors
    /// [`PacketError::Removed`], or as for [`Self::read`].
    pub fn check(&self) -> Result<(), PacketError> {
        match Self::read(&self.name) {
            Ok(now) if now.index == self.index => Ok(()),
            Ok(_) | Err(PacketError::NoInterface(_)) => {
                Err(PacketError::Removed(self.name.clone()))
            }
            Err(error) => Err(error),
        }
    }

    /// The speed of its link; none: it is virtual, or does not tell.
    pub fn speed(&self) -> Option<BitRate> {
        let of = |file: &str| format!("/sys/class/net/{}/{file}", self.name);
        if !Path::new(&of("device")).exists() {
            return None;
        }
        // In Mbit/s; -1 if it is not known (Documentation/ABI/testing/sysfs-class-net).
        let speed = fs::read_to_string(of("speed")).ok()?.trim().parse::<u64>().ok()?;
        (speed > 0).then(|| BitRate::from_bits_per_second(speed * 1_000_000))
    }

    /// The first address of a family, link-local ones last.
    pub fn address(&self, is_ipv4: bool) -> Option<IpAddr> {
        let is_link_local = |address: &IpAddr| match address {
            IpAddr::V4(address) => address.is_link_local(),
            IpAddr::V6(address) => address.is_unicast_link_local(),
        };
        let all = self.addresses.iter().filter(|address| address.is_ipv4() == is_ipv4);
        all.min_by_key(|address| is_link_local(address)).copied()
    }
}

/// The interfaces that carry what leaves by `interfaces`: those themselves, their ports, and the lower
/// devices below them.
fn carriers(interfaces: BTreeSet<u32>, links: &[LinkEntry]) -> BTreeSet<u32> {
    let mut found = interfaces;
    // The other end of a veth is no lower device.
    let has_lower =
        |link: &&LinkEntry| link.peer_namespace.is_none() && link.kind.as_deref() != Some("veth");
    loop {
        let ports = links.iter().filter(|link| link.master.is_some_and(|one| found.contains(&one)));
        let ports = ports.map(|link| link.index);
        let upper = links.iter().filter(|link| found.contains(&link.index)).filter(has_lower);
        let lower = upper.filter_map(|link| link.peer);
        let new: Vec<_> = ports.chain(lower).filter(|index| !found.contains(index)).collect();
        if new.is_empty() {
            return found;
        }
        found.extend(new);
    }
}

/// Asks by ARP (RFC 826) for the Ethernet address of an IPv4 address at a port, as its `sender`.
///
/// # Errors
/// [`PacketError::Unresolved`] if nobody answers within a second, [`PacketError::Open`] if the port
/// cannot be used.
pub fn resolve(
    port: &Port,
    sender: Ipv4Addr,
    address: Ipv4Addr,
) -> Result<MacAddress, PacketError> {
    let open = |source| PacketError::Open { interface: port.name.clone(), source };
    let mut asking = FrameSocket::sender(port.index, 1, ARP_FRAME).map_err(open)?;
    let mut hearing = FrameSocket::receiver(port.index, 64, ARP_FRAME).map_err(open)?;
    for _ in 0..ARP_TRIES {
        asking.queue_frames(1, |_, frame| write_request(frame, port.mac, sender, address));
        // What the interface does not take now, it may take at the next try.
        asking.kick().map_err(open)?;
        if let Some(mac) = hear(&mut hearing, address).map_err(open)? {
            return Ok(mac);
        }
    }
    Err(PacketError::Unresolved { address: address.into(), interface: port.name.clone() })
}

fn hear(socket: &mut FrameSocket, address: Ipv4Addr) -> io::Result<Option<MacAddress>> {
    let end = now().after(ARP_PATIENCE);
    let mut found = None;
    while found.is_none() && now() < end {
        let count = socket.receive(|frame| found = found.or_else(|| answer(frame, address)))?;
        if count == 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(found)
}

fn write_request(frame: &mut [u8], mac: MacAddress, sender: Ipv4Addr, address: Ipv4Addr) -> usize {
    frame.fill(0);
    frame[..6].fill(0xff);
    frame[6..12].copy_from_slice(&mac.0);
    frame[12..20].copy_from_slice(&[8, 6, 0, 1, 8, 0, 6, 4]);
    frame[21] = ARP_REQUEST;
    frame[22..28].copy_from_slice(&mac.0);
    frame[28..32].copy_from_slice(&sender.octets());
    frame[38..42].copy_from_slice(&address.octets());
    ARP_FRAME
}

/// The Ethernet address that an answer gives for an address.
fn answer(frame: &[u8], address: Ipv4Addr) -> Option<MacAddress> {
    let is_answer = frame.get(12..22) == Some(&[8, 6, 0, 1, 8, 0, 6, 4, 0, ARP_REPLY]);
    let is_his = frame.get(28..32) == Some(&address.octets());
    let mac = frame.get(22..28)?.try_into().ok()?;
    (is_answer && is_his).then_some(MacAddress(mac))
}

/// `ARPHRD_ETHER`, linux/if_arp.h.
const ETHERNET: u16 = 1;
const ARP_FRAME: usize = 60;
const ARP_REQUEST: u8 = 1;
const ARP_REPLY: u8 = 2;
const ARP_TRIES: u32 = 4;
const ARP_PATIENCE: Duration = Duration::from_millis(250);
