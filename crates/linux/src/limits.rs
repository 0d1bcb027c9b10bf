//! Limits of this network namespace for many connections: local ports, socket memory,
//! listen backlog.
//!
//! They are read from `/proc/sys`; ip(7), tcp(7), udp(7) and listen(2) describe them.

use std::fs;

/// The local ports that the kernel assigns to sockets that ask for none, both ends included
/// (`net.ipv4.ip_local_port_range`, which applies to IPv6 too).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    /// Lowest port of the range.
    pub first: u16,
    /// Highest port of the range.
    pub last: u16,
}

impl PortRange {
    /// Reads the local port range of this network namespace. `None` if `/proc/sys` cannot be read.
    pub fn read() -> Option<Self> {
        Self::parse(&read("ipv4/ip_local_port_range")?)
    }

    /// Number of ports in the range, both ends included.
    pub fn count(self) -> u32 {
        u32::from(self.last).saturating_sub(self.first.into()) + 1
    }

    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().map(str::parse);
        let (first, last) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        (first <= last).then_some(Self { first, last })
    }
}

/// The congestion controls of TCP that are loaded (`net.ipv4.tcp_available_congestion_control`,
/// tcp(7)); none if that cannot be read.
pub fn congestion_controls() -> Vec<String> {
    names(read("ipv4/tcp_available_congestion_control"))
}

/// Those of them that are for processes without `CAP_NET_ADMIN`
/// (`net.ipv4.tcp_allowed_congestion_control`).
pub fn allowed_congestion_controls() -> Vec<String> {
    names(read("ipv4/tcp_allowed_congestion_control"))
}

fn names(text: Option<String>) -> Vec<String> {
    text.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Bytes that the buffers of all TCP sockets may use together: the third number of
/// `net.ipv4.tcp_mem`, which counts pages (tcp(7)). `None` if it cannot be read.
pub fn tcp_memory_limit() -> Option<u64> {
    most_pages(&read("ipv4/tcp_mem")?).map(bytes)
}

/// Bytes that the buffers of all UDP sockets may use together: the third number of
/// `net.ipv4.udp_mem`, which counts pages (udp(7)). `None` if it cannot be read.
pub fn udp_memory_limit() -> Option<u64> {
    most_pages(&read("ipv4/udp_mem")?).map(bytes)
}

/// The largest size in bytes to which the kernel tunes the receive buffer of a TCP socket by itself:
/// the third number of `net.ipv4.tcp_rmem` (tcp(7)). `None` if it cannot be read.
pub fn largest_receive_buffer() -> Option<u32> {
    read("ipv4/tcp_rmem")?.split_whitespace().nth(2)?.parse().ok()
}

/// The largest backlog of a listening socket (`net.core.somaxconn`, listen(2)); `None` if
/// it cannot be read.
pub fn somaxconn() -> Option<u32> {
    read("core/somaxconn")?.trim().parse().ok()
}

fn read(name: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/sys/net/{name}")).ok()
}

fn most_pages(text: &str) -> Option<u64> {
    text.split_whitespace().nth(2)?.parse().ok()
}

fn bytes(pages: u64) -> u64 {
    // SAFETY: the call takes no pointer.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    pages.saturating_mul(u64::try_from(size).unwrap_or(4096))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_ports_counts_both_ends() {
        let range = PortRange::parse("32768\t60999\n").expect("as the kernel writes it");
        assert_eq!(range.count(), 28_232);
        assert_eq!(PortRange::parse("7 7").map(PortRange::count), Some(1));
        for text in ["", "1", "9 8", "1 65536", "a b"] {
            assert_eq!(PortRange::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_most_of_a_memory_limit_is_its_third_number() {
        assert_eq!(most_pages("287901\t383868\t575802\n"), Some(575_802));
        assert_eq!(most_pages("287901 383868"), None);
        assert_eq!(bytes(2) % 8192, 0);
    }

    #[test]
    fn this_host_tells() {
        assert!(PortRange::read().is_some_and(|range| range.count() > 0));
        assert!(tcp_memory_limit().is_some_and(|bytes| bytes > 0));
        assert!(udp_memory_limit().is_some_and(|bytes| bytes > 0));
    }
}
