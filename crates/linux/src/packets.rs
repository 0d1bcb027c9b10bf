//! Options of a socket that concern its packets, whether TCP or UDP: type of service, time to
//! live, pacing, flow label, interface.

use std::ffi::c_ulong;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use socket2::SockRef;

use crate::option;

/// Options of one socket that concern its packets: type of service, time to live, pacing rate, IPv6
/// flow label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketOptions {
    /// `IP_TOS` or `IPV6_TCLASS` (ip(7), ipv6(7)); 0: not set.
    pub type_of_service: u8,
    /// `IP_TTL` or `IPV6_UNICAST_HOPS` (ip(7), ipv6(7)).
    pub hop_limit: Option<u8>,
    /// `SO_MAX_PACING_RATE` in bytes per second (socket(7), tc-fq(8)).
    pub pacing_rate: Option<u64>,
    /// IPv6 flow label of a connecting socket (RFC 6437).
    pub flow_label: Option<u32>,
}

impl PacketOptions {
    /// Sets type of service, time to live and pacing rate of `socket` for packets to `peer`. The flow
    /// label is left to [`Self::with_flow_label`].
    ///
    /// # Errors
    /// `EINVAL` for a value that the kernel does not take, `ENOPROTOOPT` without kernel
    /// support, `EPERM` for a type of service that is reserved (setsockopt(2)).
    pub fn apply(&self, socket: &impl AsFd, peer: IpAddr) -> io::Result<()> {
        if self.type_of_service > 0 {
            set_type_of_service(socket, peer, self.type_of_service)?;
        }
        if let Some(hops) = self.hop_limit {
            set_hop_limit(socket, peer, hops)?;
        }
        if let Some(rate) = self.pacing_rate {
            set_max_pacing_rate(socket, rate)?;
        }
        Ok(())
    }

    /// Returns the address to connect to: `to`, with the IPv6 flow label of these options, if any.
    /// The label is requested from the kernel first (`IPV6_FLOWLABEL_MGR`, `linux/in6.h`).
    ///
    /// # Errors
    /// `InvalidInput` if `to` is IPv4, which has no flow labels; `EPERM` or `ENOBUFS` if
    /// the label is in exclusive use or there are too many (setsockopt(2)).
    pub fn with_flow_label(&self, socket: &impl AsFd, to: SocketAddr) -> io::Result<SocketAddr> {
        match (self.flow_label, to) {
            (None, _) => Ok(to),
            (Some(label), SocketAddr::V6(mut to)) if to.ip().to_ipv4_mapped().is_none() => {
                let request = FlowLabelRequest::obtain(to.ip().octets(), label);
                option::set(socket, libc::IPPROTO_IPV6, libc::IPV6_FLOWLABEL_MGR, &request)?;
                let on: libc::c_int = 1;
                option::set(socket, libc::IPPROTO_IPV6, libc::IPV6_FLOWINFO_SEND, &on)?;
                to.set_flowinfo(label.to_be());
                Ok(to.into())
            }
            (Some(_), _) => {
                let text = "a flow label needs IPv6, and the server's address is IPv4";
                Err(io::Error::new(io::ErrorKind::InvalidInput, text))
            }
        }
    }
}

/// Limits the rate at which a socket sends, in bytes per second (`SO_MAX_PACING_RATE`,
/// socket(7)). TCP always keeps it; UDP only if its packets leave through the qdisc fq.
///
/// # Errors
/// The errors of setsockopt(2); none is expected of an open socket.
pub fn set_max_pacing_rate(socket: &impl AsFd, bytes_per_second: u64) -> io::Result<()> {
    let rate = c_ulong::try_from(bytes_per_second).unwrap_or(c_ulong::MAX);
    option::set(socket, libc::SOL_SOCKET, SO_MAX_PACING_RATE, &rate)
}

/// An IPv6 socket may carry IPv4, whose packets have the IPv4 option only. Some sockets
/// support only one of the two, so that the option of the family in use decides the result.
fn set_type_of_service(socket: &impl AsFd, peer: IpAddr, value: u8) -> io::Result<()> {
    let socket = SockRef::from(socket);
    let class = socket.set_tclass_v6(value.into());
    let service = socket.set_tos_v4(value.into());
    if peer.to_canonical().is_ipv4() { service } else { class }
}

/// By family as the type of service.
fn set_hop_limit(socket: &impl AsFd, peer: IpAddr, hops: u8) -> io::Result<()> {
    let socket = SockRef::from(socket);
    let six = socket.set_unicast_hops_v6(hops.into());
    let four = socket.set_ttl_v4(hops.into());
    if peer.to_canonical().is_ipv4() { four } else { six }
}

/// Binds a socket to an interface, before it is bound to an address (`SO_BINDTODEVICE`).
///
/// # Errors
/// `ENODEV` if there is no such interface, `EPERM` without `CAP_NET_RAW` before Linux 5.7.
pub(crate) fn bind_to_device(socket: &impl AsFd, device: Option<&str>) -> io::Result<()> {
    device.map_or(Ok(()), |name| SockRef::from(socket).bind_device(Some(name.as_bytes())))
}

/// `struct in6_flowlabel_req` of `linux/in6.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct FlowLabelRequest {
    destination: [u8; 16],
    /// In network byte order.
    label: u32,
    action: u8,
    share: u8,
    flags: u16,
    expires: u16,
    linger: u16,
    padding: u32,
}

impl FlowLabelRequest {
    /// A request for `label` towards `destination`: it is created if need be and shared
    /// with any other socket.
    fn obtain(destination: [u8; 16], label: u32) -> Self {
        let (action, share) = (ACTION_GET, SHARE_ANY);
        Self { destination, label: label.to_be(), action, share, flags: CREATE, ..Self::default() }
    }
}

/// `IPV6_FL_A_GET`, `IPV6_FL_S_ANY` and `IPV6_FL_F_CREATE` of `linux/in6.h`.
const ACTION_GET: u8 = 0;
const SHARE_ANY: u8 = 255;
const CREATE: u16 = 1;
/// `asm-generic/socket.h`; the other architectures number it differently.
#[cfg(not(any(target_arch = "sparc", target_arch = "sparc64")))]
const SO_MAX_PACING_RATE: i32 = 47;
#[cfg(any(target_arch = "sparc", target_arch = "sparc64"))]
const SO_MAX_PACING_RATE: i32 = 0x31;

#[cfg(test)]
pub(crate) mod tests {
    use std::net::{TcpListener, UdpSocket};

    use super::*;

    /// The pacing rate in effect.
    pub(crate) fn pacing_rate(socket: &impl AsFd) -> u64 {
        // SAFETY: it is a number.
        let read = unsafe { option::get::<c_ulong>(socket, libc::SOL_SOCKET, SO_MAX_PACING_RATE) };
        read.expect("asked").0
    }

    /// The flow label of a socket that sends.
    pub(crate) fn flow_label(socket: &impl AsFd) -> io::Result<u32> {
        // SAFETY: the request is made of numbers.
        let read = unsafe {
            option::get::<FlowLabelRequest>(socket, libc::IPPROTO_IPV6, libc::IPV6_FLOWLABEL_MGR)
        };
        Ok(u32::from_be(read?.0.label))
    }

    fn bound(address: &str) -> UdpSocket {
        UdpSocket::bind(address).expect("bound")
    }

    #[test]
    fn the_class_is_set_for_the_family_in_use() {
        let options = PacketOptions { type_of_service: 0x2c, ..PacketOptions::default() };
        let four = bound("127.0.0.1:0");
        options.apply(&four, "127.0.0.1".parse().expect("valid")).expect("set");
        assert_eq!(SockRef::from(&four).tos_v4().expect("asked"), 0x2c);
        let six = bound("[::]:0");
        options.apply(&six, "::ffff:127.0.0.1".parse().expect("valid")).expect("set");
        assert_eq!(SockRef::from(&six).tclass_v6().expect("asked"), 0x2c);
        assert_eq!(SockRef::from(&six).tos_v4().expect("asked"), 0x2c);
    }

    #[test]
    fn the_hop_limit_is_set_for_the_family_in_use() {
        let options = PacketOptions { hop_limit: Some(7), ..PacketOptions::default() };
        let (four, six) = (bound("127.0.0.1:0"), bound("[::]:0"));
        options.apply(&four, "127.0.0.1".parse().expect("valid")).expect("set");
        options.apply(&six, "::1".parse().expect("valid")).expect("set");
        assert_eq!(SockRef::from(&four).ttl_v4().expect("asked"), 7);
        assert_eq!(SockRef::from(&six).unicast_hops_v6().expect("asked"), 7);
        assert_eq!(SockRef::from(&six).ttl_v4().expect("asked"), 7, "IPv4 through IPv6");
    }

    #[test]
    fn a_class_of_zero_changes_nothing() {
        let socket = bound("127.0.0.1:0");
        SockRef::from(&socket).set_tos_v4(4).expect("set");
        PacketOptions::default().apply(&socket, "127.0.0.1".parse().expect("valid")).expect("set");
        assert_eq!(SockRef::from(&socket).tos_v4().expect("asked"), 4);
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn a_pacing_rate_beyond_32_bits_is_in_effect() {
        let socket = bound("127.0.0.1:0");
        let options = PacketOptions { pacing_rate: Some(5 << 30), ..PacketOptions::default() };
        options.apply(&socket, "127.0.0.1".parse().expect("valid")).expect("set");
        assert_eq!(pacing_rate(&socket), 5 << 30);
    }

    #[test]
    fn a_flow_label_is_in_effect_on_what_is_sent() {
        let (from, to) = (bound("[::1]:0"), bound("[::1]:0"));
        let options = PacketOptions { flow_label: Some(0x1_2345), ..PacketOptions::default() };
        let labelled =
            options.with_flow_label(&from, to.local_addr().expect("bound")).expect("labelled");
        from.connect(labelled).expect("connected");
        assert_eq!(flow_label(&from).expect("asked"), 0x1_2345);
    }

    #[test]
    fn a_flow_label_over_ipv4_is_an_error() {
        let socket = bound("127.0.0.1:0");
        let options = PacketOptions { flow_label: Some(7), ..PacketOptions::default() };
        for address in ["127.0.0.1:1", "[::ffff:127.0.0.1]:1"] {
            let error = options
                .with_flow_label(&socket, address.parse().expect("valid"))
                .expect_err("IPv4");
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn a_device_that_is_not_there_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let error = bind_to_device(&listener, Some("nowhere0")).expect_err("no such device");
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
        bind_to_device(&listener, Some("lo")).expect("bound");
        assert_eq!(SockRef::from(&listener).device().expect("asked").as_deref(), Some(&b"lo"[..]));
    }
}
