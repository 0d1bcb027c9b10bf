//! Queries of a network device by ioctl(2) (`SIOCETHTOOL`).
//!
//! It serves kernels before 5.6, whose ethtool has no netlink
//! ([`crate::netlink::ethtool`]), the driver's name, which netlink does not report, and the table
//! of RSS, which netlink does not set before Linux 6.17.

use std::io;
use std::os::fd::AsRawFd;

use socket2::{Domain, Socket, Type};

use crate::netlink::ethtool::{Coalescing, EnergyEfficiency, Parameter, Pause};

/// A socket for ethtool's ioctl(2), in the network namespace in which the calling thread
/// was when it was opened.
#[derive(Debug)]
pub struct EthtoolIoctl {
    socket: Socket,
}

impl EthtoolIoctl {
    /// Opens the socket. It is not connected and sends nothing.
    ///
    /// # Errors
    /// `EMFILE` or `ENFILE` if too many files are open (socket(2)).
    pub fn open() -> io::Result<Self> {
        Ok(Self { socket: Socket::new(Domain::IPV4, Type::DGRAM, None)? })
    }

    /// The name of the interface's driver (`ETHTOOL_GDRVINFO`).
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if it has no driver.
    pub fn driver(&self, interface: &str) -> io::Result<String> {
        let words: [u32; DRIVER_WORDS] = self.ask(interface, GDRVINFO)?;
        Ok(text(&words[1..=8]))
    }

    /// The version of the interface's firmware (`ETHTOOL_GDRVINFO`); empty: the driver reports
    /// none.
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if it has no driver.
    pub fn firmware(&self, interface: &str) -> io::Result<String> {
        let words: [u32; DRIVER_WORDS] = self.ask(interface, GDRVINFO)?;
        let version = text(&words[17..=24]);
        Ok(if version == "N/A" { String::new() } else { version })
    }

    /// Sizes of the descriptor rings (`ETHTOOL_GRINGPARAM`): `rx`, `rx-mini`, `rx-jumbo`
    /// and `tx`, as [`crate::netlink::ethtool::Ethtool::rings`] reports them.
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if the device has no rings.
    pub fn rings(&self, interface: &str) -> io::Result<Vec<Parameter>> {
        let words: [u32; 9] = self.ask(interface, GRINGPARAM)?;
        Ok(amounts(&words, ["rx", "rx-mini", "rx-jumbo", "tx"]))
    }

    /// Numbers of queues (`ETHTOOL_GCHANNELS`): `rx`, `tx`, `other` and `combined`, as
    /// [`crate::netlink::ethtool::Ethtool::channels`] reports them.
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if the device has no such
    /// setting.
    pub fn channels(&self, interface: &str) -> io::Result<Vec<Parameter>> {
        let words: [u32; 9] = self.ask(interface, GCHANNELS)?;
        Ok(amounts(&words, ["rx", "tx", "other", "combined"]))
    }

    /// Interrupt coalescing (`ETHTOOL_GCOALESCE`), as
    /// [`crate::netlink::ethtool::Ethtool::coalescing`] reports it; parameters that the
    /// device does not have are 0 here.
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if the device has no such
    /// setting.
    pub fn coalescing(&self, interface: &str) -> io::Result<Coalescing> {
        let words: [u32; 23] = self.ask(interface, GCOALESCE)?;
        Ok(Coalescing {
            receive_micros: Some(words[1]),
            receive_frames: Some(words[2]),
            send_micros: Some(words[5]),
            send_frames: Some(words[6]),
            adaptive_receive: Some(words[10] != 0),
            adaptive_send: Some(words[11] != 0),
        })
    }

    /// Flow control by pause frames (`ETHTOOL_GPAUSEPARAM`), as
    /// [`crate::netlink::ethtool::Ethtool::pause`] reports it.
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if the device has no such
    /// setting.
    pub fn pause(&self, interface: &str) -> io::Result<Pause> {
        let [_, negotiated, receive, send]: [u32; 4] = self.ask(interface, GPAUSEPARAM)?;
        let switch = |word| Some(word != 0);
        Ok(Pause { negotiated: switch(negotiated), receive: switch(receive), send: switch(send) })
    }

    /// Energy Efficient Ethernet (`ETHTOOL_GEEE`), as
    /// [`crate::netlink::ethtool::Ethtool::energy_efficiency`] reports it.
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if the device has no such
    /// setting.
    pub fn energy_efficiency(&self, interface: &str) -> io::Result<EnergyEfficiency> {
        let words: [u32; 10] = self.ask(interface, GEEE)?;
        Ok(EnergyEfficiency { active: Some(words[4] != 0), enabled: Some(words[5] != 0) })
    }

    /// Number of receive rings, over which RSS may spread flows (`ETHTOOL_GRXRINGS`).
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if the device does not report it.
    pub fn receive_rings(&self, interface: &str) -> io::Result<u32> {
        let words: [u32; RXNFC_WORDS] = self.ask(interface, GRXRINGS)?;
        // The number has 64 bits; no device has more rings than 32 bits tell.
        Ok(words[2].max(words[3]))
    }

    /// The table of RSS: the receive queue of each entry (`ETHTOOL_GRXFHINDIR`).
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if the device has no such table.
    pub fn rss_table(&self, interface: &str) -> io::Result<Vec<u32>> {
        let [_, entries]: [u32; 2] = self.ask(interface, GRXFHINDIR)?;
        let entries = usize::try_from(entries).unwrap_or(0).min(MOST_ENTRIES);
        let mut words = vec![0; 2 + entries];
        words[0] = GRXFHINDIR.0;
        words[1] = u32::try_from(entries).unwrap_or(0);
        self.call(interface, &mut words)?;
        Ok(words.split_off(2))
    }

    /// Sets the table of RSS (`ETHTOOL_SRXFHINDIR`); it has as many entries as the device has.
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if the device has no such table,
    /// `EINVAL` if it has another length or the device has no such queue, `EPERM` without
    /// `CAP_NET_ADMIN`.
    pub fn set_rss_table(&self, interface: &str, table: &[u32]) -> io::Result<()> {
        if table.is_empty() || table.len() > MOST_ENTRIES {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let entries = u32::try_from(table.len()).map_err(io::Error::other)?;
        let mut words = vec![SRXFHINDIR, entries];
        words.extend(table);
        self.call(interface, &mut words)
    }

    /// Gives the device its default table of RSS (`ethtool -X IF default`), which follows the
    /// number of its channels.
    ///
    /// # Errors
    /// Those of [`Self::set_rss_table`].
    pub fn reset_rss_table(&self, interface: &str) -> io::Result<()> {
        self.call(interface, &mut [SRXFHINDIR, 0])
    }

    /// Lets the kernel fill the structure of `command`; returns it as 32-bit words.
    fn ask<const WORDS: usize>(
        &self,
        interface: &str,
        command: Command<WORDS>,
    ) -> io::Result<[u32; WORDS]> {
        let mut words = [0; WORDS];
        words[0] = command.0;
        self.call(interface, &mut words)?;
        Ok(words)
    }

    /// Passes a structure to the kernel, which reads or fills it. The words are as many as the
    /// structure of the command in the first of them has.
    fn call(&self, interface: &str, words: &mut [u32]) -> io::Result<()> {
        let mut request = libc::ifreq {
            ifr_name: name(interface)?,
            ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: words.as_mut_ptr().cast() },
        };
        // SAFETY: the request and the words that it points to outlive the call. A `Command` has as
        // many words as the kernel's structure; a table of RSS has as many entries as its second
        // word says, and the kernel copies no more than that.
        let done = unsafe {
            libc::ioctl(self.socket.as_raw_fd(), SIOCETHTOOL, (&raw mut request).cast::<u8>())
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

fn amounts(words: &[u32; 9], names: [&'static str; 4]) -> Vec<Parameter> {
    let amount = |(place, name): (usize, &'static str)| Parameter {
        name,
        current: words[5 + place],
        max: Some(words[1 + place]),
    };
    let has = |amount: &Parameter| amount.current > 0 || amount.max > Some(0);
    names.into_iter().enumerate().map(amount).filter(has).collect()
}

/// The interface's name as the kernel takes it, terminated by a zero byte.
fn name(interface: &str) -> io::Result<[libc::c_char; libc::IFNAMSIZ]> {
    let mut name = [0; libc::IFNAMSIZ];
    if interface.len() >= name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (place, byte) in name.iter_mut().zip(interface.bytes()) {
        *place = libc::c_char::from_ne_bytes([byte]);
    }
    Ok(name)
}

/// A command and the size of its structure in 32-bit words (`linux/ethtool.h`).
#[derive(Clone, Copy)]
struct Command<const WORDS: usize>(u32);

/// A text that ends at a zero byte.
fn text(words: &[u32]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// `struct ethtool_drvinfo`: command, five texts of 32 bytes, 12 bytes, five numbers.
const DRIVER_WORDS: usize = 1 + 5 * 8 + 3 + 5;
const GDRVINFO: Command<DRIVER_WORDS> = Command(0x03);
/// `struct ethtool_coalesce`.
const GCOALESCE: Command<23> = Command(0x0e);
/// `struct ethtool_ringparam`: the command, four maxima and four current values.
const GRINGPARAM: Command<9> = Command(0x10);
/// `struct ethtool_pauseparam`.
const GPAUSEPARAM: Command<4> = Command(0x12);
/// `struct ethtool_channels`: the command, four maxima and four current values.
const GCHANNELS: Command<9> = Command(0x3c);
/// `struct ethtool_rxnfc` up to its rules: the command, flow type, number, flow specification
/// (`struct ethtool_rx_flow_spec`, 168 bytes), number of rules.
const RXNFC_WORDS: usize = 4 + 42 + 2;
const GRXRINGS: Command<RXNFC_WORDS> = Command(0x2d);
/// `struct ethtool_rxfh_indir` without entries: the kernel tells how many there are.
const GRXFHINDIR: Command<2> = Command(0x38);
const SRXFHINDIR: u32 = 0x39;
/// Devices have up to some thousand.
const MOST_ENTRIES: usize = 1 << 16;
/// `struct ethtool_eee`.
const GEEE: Command<10> = Command(0x44);

/// linux/sockios.h
const SIOCETHTOOL: libc::Ioctl = 0x8946;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_or_has_no_rings_says_so() {
        let calls = EthtoolIoctl::open().expect("a socket");
        let absent = calls.driver("no-such-name").expect_err("absent");
        assert_eq!(absent.raw_os_error(), Some(libc::ENODEV));
        let refused = calls.rings("lo").expect_err("no rings");
        assert_eq!(refused.raw_os_error(), Some(libc::EOPNOTSUPP));
        let refused = calls.rss_table("lo").expect_err("no table");
        assert_eq!(refused.raw_os_error(), Some(libc::EOPNOTSUPP));
        let refused = calls.set_rss_table("lo", &[]).expect_err("no entries");
        assert_eq!(refused.raw_os_error(), Some(libc::EINVAL));
        assert!(calls.driver("a-name-of-sixteen").is_err());
    }

    #[test]
    fn both_ways_tell_the_same() {
        let Ok(mut ethtool) = crate::netlink::ethtool::Ethtool::open() else { return };
        let calls = EthtoolIoctl::open().expect("a socket");
        let mut route = crate::netlink::RouteSocket::open().expect("a socket");
        for entry in std::fs::read_dir("/sys/class/net").expect("interfaces") {
            let name = entry.expect("readable").file_name().into_string().expect("a name");
            // Tests beside this one make and delete interfaces.
            let Ok(index) = route.interface_index(&name) else { continue };
            let pairs = [
                (ethtool.rings(index).ok(), calls.rings(&name).ok()),
                (ethtool.channels(index).ok(), calls.channels(&name).ok()),
            ];
            for (asked, called) in pairs {
                assert_eq!(asked, called, "{name}");
            }
        }
    }
}
