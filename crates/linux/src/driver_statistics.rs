//! Counters of a network driver, as `ethtool -S` prints them.
//!
//! Only the ioctl(2) `SIOCETHTOOL` reads them ([linux/ethtool.h]); ethtool over netlink has
//! standardised counters only.
//!
//! [linux/ethtool.h]: https://github.com/torvalds/linux/blob/v6.12/include/uapi/linux/ethtool.h

mod guarded;

use std::io;
use std::os::fd::AsRawFd;

use socket2::{Domain, Socket, Type};

use guarded::Guarded;

/// The driver counters of one interface.
///
/// The interface is looked up in the network namespace in which the calling thread was when
/// this was opened.
#[derive(Debug)]
pub struct DriverStatistics {
    interface: Interface,
    names: Vec<String>,
    values: Vec<u64>,
    buffer: Guarded,
}

impl DriverStatistics {
    /// Reads the names of the driver's counters (`ETHTOOL_GSTRINGS`).
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if its driver has no counters
    /// of its own, `InvalidInput` if the name is too long for an interface.
    pub fn open(interface: &str) -> io::Result<Self> {
        let interface = Interface::open(interface)?;
        let count = interface.count()?;
        if count == 0 {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        let names = interface.names(count)?;
        let buffer = Guarded::new(STATISTICS_HEADER + count * 8)?;
        Ok(Self { interface, names, values: Vec::new(), buffer })
    }

    /// The names of the counters, as the driver spells them.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Reads all counters, in the order of [`Self::names`] (`ETHTOOL_GSTATS`).
    ///
    /// # Errors
    /// `InvalidData` if the number of counters has changed, as after a change of the number
    /// of queues: then the statistics have to be opened again. `ENODEV` if the interface is
    /// gone.
    pub fn read(&mut self) -> io::Result<&[u64]> {
        let count = self.names.len();
        let header = [ETHTOOL_GSTATS, narrow(count)];
        self.interface.ask(&header, &mut self.buffer)?;
        if number_at(&self.buffer, 4) != narrow(count) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let (values, _) = self.buffer[STATISTICS_HEADER..][..count * 8].as_chunks();
        self.values.clear();
        self.values.extend(values.iter().map(|bytes| u64::from_ne_bytes(*bytes)));
        Ok(&self.values)
    }
}

/// A socket and the name of the interface that is asked about.
#[derive(Debug)]
struct Interface {
    socket: Socket,
    name: [libc::c_char; libc::IFNAMSIZ],
}

impl Interface {
    fn open(interface: &str) -> io::Result<Self> {
        let bytes = interface.as_bytes();
        let mut name = [0; libc::IFNAMSIZ];
        if bytes.is_empty() || bytes.len() >= name.len() || bytes.contains(&0) {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        for (to, from) in name.iter_mut().zip(bytes) {
            *to = libc::c_char::from_ne_bytes([*from]);
        }
        // Any kind of socket is good for this; a system without IPv4 has local ones.
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)
            .or_else(|_| Socket::new(Domain::UNIX, Type::DGRAM, None))?;
        Ok(Self { socket, name })
    }

    /// The number of counters (`ETHTOOL_GSSET_INFO`).
    fn count(&self) -> io::Result<usize> {
        // `struct ethtool_sset_info`: command, padding, a set of 64 bits, then a number for
        // each bit that stayed.
        let mut buffer = Guarded::new(20)?;
        let set = (1_u64 << ETH_SS_STATS).to_ne_bytes();
        let (low, high) = set.split_at(4);
        let half = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes));
        self.ask(&[ETHTOOL_GSSET_INFO, 0, half(low), half(high)], &mut buffer)?;
        let is_told = buffer[8..16].iter().any(|byte| *byte != 0);
        let count = if is_told { number_at(&buffer, 16) } else { 0 };
        match usize::try_from(count) {
            Ok(count) if count <= MOST_COUNTERS => Ok(count),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn names(&self, count: usize) -> io::Result<Vec<String>> {
        let mut buffer = Guarded::new(STRINGS_HEADER + count * ETH_GSTRING_LEN)?;
        self.ask(&[ETHTOOL_GSTRINGS, ETH_SS_STATS, narrow(count)], &mut buffer)?;
        if number_at(&buffer, 8) != narrow(count) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let names = buffer[STRINGS_HEADER..][..count * ETH_GSTRING_LEN].chunks(ETH_GSTRING_LEN);
        Ok(names.map(name).collect())
    }

    /// Writes `header` into the buffer and lets the kernel write its answer behind it.
    fn ask(&self, header: &[u32], buffer: &mut Guarded) -> io::Result<()> {
        for (to, number) in buffer.chunks_mut(4).zip(header) {
            to.copy_from_slice(&number.to_ne_bytes());
        }
        // SAFETY: an all-zero ifreq is a valid one.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        request.ifr_name = self.name;
        request.ifr_ifru.ifru_data = buffer.as_mut_ptr().cast();
        // SAFETY: the request and what it points to outlive the call. How much the kernel
        // writes is for the driver to say: the buffer has room for what it said before, and
        // behind that a page that cannot be written, so that more ends in EFAULT.
        let done = unsafe {
            libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request)
        };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

fn name(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
}

fn number_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes))
}

/// Converts a count, which is at most [`MOST_COUNTERS`].
#[expect(clippy::cast_possible_truncation, reason = "far below")]
fn narrow(count: usize) -> u32 {
    count as u32
}

// linux/ethtool.h
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSTATS: u32 = 0x1d;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETH_SS_STATS: u32 = 1;
const ETH_GSTRING_LEN: usize = 32;
/// Size of `struct ethtool_gstrings` and `struct ethtool_stats` without the data that
/// follows.
const STRINGS_HEADER: usize = 12;
const STATISTICS_HEADER: usize = 8;
/// Upper bound on the number of counters; a card with a thousand queues has some 20,000.
const MOST_COUNTERS: usize = 1 << 17;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_counts_nothing_of_its_own() {
        let error = DriverStatistics::open("lo").expect_err("no driver");
        assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP));
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        for name in ["", "no-such-if0", "a-name-of-sixteen"] {
            let error = DriverStatistics::open(name).expect_err("not there");
            assert_eq!(error.raw_os_error(), Some(libc::ENODEV), "{name}");
        }
    }

    #[test]
    fn a_name_ends_at_its_zero_or_its_end() {
        assert_eq!(name(b"rx_packets\0\0junk"), "rx_packets");
        assert_eq!(name(b"Rx queue 0"), "Rx queue 0");
    }
}
