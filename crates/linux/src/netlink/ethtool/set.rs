//! Requests that set what the rest of `ethtool` reads. A request names only what it changes; the
//! kernel leaves everything else of the device as it is.

use std::io;

use super::super::message::{Message, NESTED};
use super::{Coalescing, Duplex, Ethtool, Pause, bitset, of_device};

impl Ethtool {
    /// Wants features of the device `index`, or no longer (`ethtool -K`), by the kernel's names.
    /// Whether they become active depends on the features that they need.
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EINVAL` if the kernel has no such feature, `EPERM`
    /// without `CAP_NET_ADMIN`.
    pub fn set_features(&mut self, index: u32, features: &[(&str, bool)]) -> io::Result<()> {
        self.set(FEATURES_SET, index, |message| {
            message.nested(FEATURES_WANTED | NESTED, |set| bitset::changes(set, features))
        })
    }

    /// Sets the number of descriptors of each queue (`ethtool -G`); `name` is `rx` or `tx`.
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if the device has no rings, `EINVAL`
    /// if the number is more than the device supports or there is no such ring, `EPERM` without
    /// `CAP_NET_ADMIN`.
    pub fn set_ring(&mut self, index: u32, name: &str, entries: u32) -> io::Result<()> {
        let kind = of_name(&[("rx", 6), ("tx", 9)], name)?;
        self.set(RINGS_SET, index, |message| message.attribute(kind, &entries.to_ne_bytes()))
    }

    /// Sets the number of channels (`ethtool -L`); `name` is `rx`, `tx` or `combined`.
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if the device has no such setting,
    /// `EINVAL` if the number is more than the device supports or its other settings need more,
    /// `EPERM` without `CAP_NET_ADMIN`.
    pub fn set_channels(&mut self, index: u32, name: &str, count: u32) -> io::Result<()> {
        let kind = of_name(&[("rx", 6), ("tx", 7), ("combined", 9)], name)?;
        self.set(CHANNELS_SET, index, |message| message.attribute(kind, &count.to_ne_bytes()))
    }

    /// Sets those parameters of interrupt coalescing that are not `None` (`ethtool -C`).
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if the device has no such setting,
    /// `EPERM` without `CAP_NET_ADMIN`.
    pub fn set_coalescing(&mut self, index: u32, to: Coalescing) -> io::Result<()> {
        let numbers = [
            (2, to.receive_micros),
            (3, to.receive_frames),
            (6, to.send_micros),
            (7, to.send_frames),
        ];
        let switches = [(11, to.adaptive_receive), (12, to.adaptive_send)];
        self.set(COALESCE_SET, index, |message| {
            let given = numbers.iter().filter_map(|(kind, value)| Some((*kind, (*value)?)));
            let message = given.fold(message, |message, (kind, value)| {
                message.attribute(kind, &value.to_ne_bytes())
            });
            switched(message, &switches)
        })
    }

    /// Sets those parameters of flow control by pause frames that are not `None` (`ethtool -A`).
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if the device has no such setting,
    /// `EINVAL` if it is negotiated, `EPERM` without `CAP_NET_ADMIN`.
    pub fn set_pause(&mut self, index: u32, to: Pause) -> io::Result<()> {
        let switches = [(2, to.negotiated), (3, to.receive), (4, to.send)];
        self.set(PAUSE_SET, index, |message| switched(message, &switches))
    }

    /// Enables or disables Energy Efficient Ethernet (`ethtool --set-eee`).
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if the device has no such setting,
    /// `EPERM` without `CAP_NET_ADMIN`.
    pub fn set_energy_efficiency(&mut self, index: u32, is_enabled: bool) -> io::Result<()> {
        self.set(EEE_SET, index, |message| switched(message, &[(EEE_ENABLED, Some(is_enabled))]))
    }

    /// Sets autonegotiation, speed, duplex and advertised modes of the link (`ethtool -s`).
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if the device has no link modes,
    /// `EINVAL` if it does not support these, `EPERM` without `CAP_NET_ADMIN`.
    pub fn set_link(&mut self, index: u32, to: &LinkRequest<'_>) -> io::Result<()> {
        self.set(LINKMODES_SET, index, |mut message| {
            message = switched(message, &[(LINKMODES_AUTONEG, Some(to.negotiated))]);
            if let Some(modes) = to.advertised {
                message = message.nested(LINKMODES_OURS | NESTED, |set| bitset::all(set, modes));
            }
            if let Some(speed) = to.speed_mbps {
                message = message.attribute(LINKMODES_SPEED, &speed.to_ne_bytes());
            }
            if let Some(duplex) = to.duplex {
                let duplex = u8::from(duplex == Duplex::Full);
                message = message.attribute(LINKMODES_DUPLEX, &[duplex]);
            }
            message
        })
    }

    fn set(
        &mut self,
        command: u8,
        index: u32,
        fill: impl FnOnce(Message) -> Message,
    ) -> io::Result<()> {
        self.family.request(command, |message| fill(of_device(message, index)))
    }
}

/// What [`Ethtool::set_link`] sets. What is `None` is left to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRequest<'a> {
    /// Whether speed and duplex are negotiated.
    pub negotiated: bool,
    /// Speed in Mbit/s.
    pub speed_mbps: Option<u32>,
    /// Duplex mode.
    pub duplex: Option<Duplex>,
    /// Names of the modes to advertise, all others not, e.g. `1000baseT/Full`.
    pub advertised: Option<&'a [&'a str]>,
}

/// The attribute of a name.
fn of_name(known: &[(&str, u16)], name: &str) -> io::Result<u16> {
    let found = known.iter().find(|(known, _)| *known == name);
    found.map(|(_, kind)| *kind).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))
}

fn switched(message: Message, switches: &[(u16, Option<bool>)]) -> Message {
    let given = switches.iter().filter_map(|(kind, value)| Some((*kind, (*value)?)));
    given.fold(message, |message, (kind, value)| message.attribute(kind, &[u8::from(value)]))
}

// linux/ethtool_netlink.h
const LINKMODES_SET: u8 = 5;
const FEATURES_SET: u8 = 12;
const RINGS_SET: u8 = 16;
const CHANNELS_SET: u8 = 18;
const COALESCE_SET: u8 = 20;
const PAUSE_SET: u8 = 22;
const EEE_SET: u8 = 24;
const FEATURES_WANTED: u16 = 3;
const EEE_ENABLED: u16 = 5;
const LINKMODES_AUTONEG: u16 = 2;
const LINKMODES_OURS: u16 = 3;
const LINKMODES_SPEED: u16 = 5;
const LINKMODES_DUPLEX: u16 = 6;
