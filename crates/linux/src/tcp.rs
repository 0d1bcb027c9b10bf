//! TCP sockets: creation, options, state.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, FromRawFd};
use std::time::Duration;

use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, TcpKeepalive, Type};

use crate::option;
use crate::packets::{PacketOptions, bind_to_device};

mod low_water;
mod msg_zerocopy;
mod multipath;
mod repeated;
mod zerocopy_receive;

pub use low_water::{set_receive_low_water, set_unsent_low_water};
pub use msg_zerocopy::{Completions, enable_zerocopy, read_completions, send_zerocopy};
pub use multipath::{is_multipath, mptcp_bytes_acked};
pub use repeated::{MOST_PIECES, Received, receive_repeatedly, send_repeated};
pub use zerocopy_receive::{MappedBytes, ReceiveMapping};

/// Options of a TCP socket that are set before it connects, e.g. congestion control.
#[derive(Clone, Debug, Default)]
pub struct TcpOptions {
    /// Local address to bind; port 0 lets the kernel choose.
    pub bind: Option<SocketAddr>,
    /// Interface to bind the socket to (`SO_BINDTODEVICE`, socket(7)).
    pub device: Option<String>,
    /// Whether to request Multipath TCP, which the peer may decline (RFC 8684).
    pub multipath: bool,
    /// `SO_SNDBUF` and `SO_RCVBUF` in bytes (socket(7)).
    pub window: Option<usize>,
    /// Maximum segment size in bytes (`TCP_MAXSEG`, tcp(7)).
    pub mss: Option<u32>,
    /// Congestion control (`TCP_CONGESTION`, tcp(7)); none: the default of the host.
    pub congestion: Option<String>,
    /// Whether Nagle's algorithm is off (`TCP_NODELAY`, tcp(7)).
    pub no_delay: bool,
    /// How long sent bytes may stay unacknowledged before the connection is closed
    /// (`TCP_USER_TIMEOUT`, tcp(7)).
    pub send_timeout: Option<Duration>,
    /// Options of IP packets, e.g. the type of service.
    pub packets: PacketOptions,
}

/// Starts to connect a non-blocking socket to `to`. The socket becomes writable when it is
/// connected or has failed; [`connect_result`] then tells which.
///
/// # Errors
/// `ENETUNREACH` or `EHOSTUNREACH` without a route, `EADDRINUSE` or `EADDRNOTAVAIL` for the
/// local address, `ENODEV` without the interface, `ENOENT` without the congestion control,
/// `EMFILE` or `ENFILE` if too many files are open.
pub fn start_connect(to: SocketAddr, options: &TcpOptions) -> io::Result<TcpStream> {
    let protocol = if options.multipath { Protocol::MPTCP } else { Protocol::TCP };
    let socket = Socket::new(Domain::for_address(to), Type::STREAM.nonblocking(), Some(protocol))?;
    bind_to_device(&socket, options.device.as_deref())?;
    apply(&SockRef::from(&socket), options)?;
    options.packets.apply(&socket, to.ip())?;
    if let Some(bind) = options.bind {
        // A port that was asked for may still have a connection of an earlier test.
        socket.set_reuse_address(bind.port() != 0)?;
        if bind.port() == 0 {
            // The port is then chosen by the connect, so that it need only be new to that
            // peer. A kernel that cannot do that chooses now.
            _ = option::set(&socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, &1_i32);
        }
        socket.bind(&bind.into())?;
    }
    let to = options.packets.with_flow_label(&socket, to)?;
    match socket.connect(&to.into()) {
        Ok(()) => Ok(socket.into()),
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(socket.into()),
        Err(error) => Err(error),
    }
}

/// Tries out a congestion control on a socket of its own, which loads its module where this
/// process may do that.
///
/// # Errors
/// `ENOENT` if this host has none of that name, `EPERM` if it is not allowed to this process.
pub fn try_congestion(name: &str) -> io::Result<()> {
    Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?
        .set_tcp_congestion(name.as_bytes())
}

/// Whether a non-blocking connect(2) has succeeded, once `stream` is writable: reads and clears its
/// pending error (`SO_ERROR`, socket(7)).
///
/// # Errors
/// The reason of the failure: `ECONNREFUSED`, `ETIMEDOUT`, `EHOSTUNREACH`, `ENETUNREACH`.
pub fn connect_result(stream: &TcpStream) -> io::Result<()> {
    stream.take_error()?.map_or(Ok(()), Err)
}

/// The backlog to pass to listen(2): `net.core.somaxconn`, or 4,096 if that cannot be read.
pub fn max_backlog() -> u32 {
    let most = BACKLOG.unsigned_abs();
    crate::limits::somaxconn().map_or(most, |limit| limit.min(most))
}

/// Sets `options` on an accepted connection, except those that concern connecting.
///
/// # Errors
/// `ENOENT` if the congestion control is not available, `EPERM` if it is not allowed,
/// `EINVAL` for a maximum segment size that the kernel does not take (setsockopt(2)).
pub fn configure(stream: &TcpStream, options: &TcpOptions) -> io::Result<()> {
    apply(&SockRef::from(stream), options)?;
    options.packets.apply(stream, stream.peer_addr()?.ip())
}

fn apply(socket: &SockRef<'_>, options: &TcpOptions) -> io::Result<()> {
    if let Some(window) = options.window {
        socket.set_send_buffer_size(window)?;
        socket.set_recv_buffer_size(window)?;
    }
    if let Some(mss) = options.mss {
        socket.set_tcp_mss(mss)?;
    }
    if let Some(congestion) = &options.congestion {
        socket.set_tcp_congestion(congestion.as_bytes())?;
    }
    if options.no_delay {
        socket.set_tcp_nodelay(true)?;
    }
    if options.send_timeout.is_some() {
        socket.set_tcp_user_timeout(options.send_timeout)?;
    }
    Ok(())
}

/// A TCP listener on `address` whose accepted connections do not block. With `dual` an IPv6
/// listener accepts IPv4 too. It accepts Multipath TCP where the kernel supports that.
///
/// # Errors
/// `EADDRINUSE` if the port is in use, `EADDRNOTAVAIL` if the address is not local,
/// `EACCES` for a privileged port.
pub fn listen(address: SocketAddr, dual: bool) -> io::Result<TcpListener> {
    listen_on(None, address, dual)
}

/// Like [`listen`], restricted to one interface if `device` names one (`SO_BINDTODEVICE`,
/// socket(7)).
///
/// # Errors
/// The errors of [`listen`]; `ENODEV` if there is no such interface.
pub fn listen_on(device: Option<&str>, address: SocketAddr, dual: bool) -> io::Result<TcpListener> {
    let socket = multipath::socket_for_all(Domain::for_address(address))?;
    bind_to_device(&socket, device)?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(!dual)?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Accepts the next pending connection of a non-blocking listener. The connection does not
/// block either (accept4(2)).
///
/// # Errors
/// `EAGAIN` if no connection is pending, `EMFILE` or `ENFILE` if too many files are open,
/// `ECONNABORTED` if the connection was reset.
pub fn accept(listener: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    // SAFETY: storage and length are what the call expects; a result that is no error is
    // a descriptor that nobody else owns.
    let (stream, from) = unsafe {
        SockAddr::try_init(|storage, length| {
            let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
            let fd = libc::accept4(listener.as_raw_fd(), storage.cast(), length, flags);
            if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(TcpStream::from_raw_fd(fd)) }
        })
    }?;
    let from = from.as_socket().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    Ok((stream, from))
}

/// Keepalive parameters of a TCP connection (tcp(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    /// Idle time before the first keepalive probe (`TCP_KEEPIDLE`).
    pub idle: Duration,
    /// Time between two probes (`TCP_KEEPINTVL`).
    pub interval: Duration,
    /// Number of unanswered probes after which the connection is closed (`TCP_KEEPCNT`).
    pub probes: u32,
    /// How long sent bytes may stay unacknowledged (`TCP_USER_TIMEOUT`).
    pub user_timeout: Duration,
}

impl Default for Keepalive {
    /// Detects a peer that is gone within nine seconds: at the first probe after the user
    /// timeout, which takes precedence over the number of probes.
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(2),
            interval: Duration::from_secs(1),
            probes: 6,
            user_timeout: USER_TIMEOUT,
        }
    }
}

/// Sets up a control connection: `TCP_NODELAY` and keepalive.
///
/// # Errors
/// The errors of setsockopt(2); none is expected of an open socket.
pub fn prepare_control(stream: &TcpStream, keepalive: &Keepalive) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    let probes = TcpKeepalive::new()
        .with_time(keepalive.idle)
        .with_interval(keepalive.interval)
        .with_retries(keepalive.probes);
    socket.set_tcp_keepalive(&probes)?;
    socket.set_tcp_user_timeout(Some(keepalive.user_timeout))
}

/// Makes close(2) of this socket reset the connection and discard unsent bytes (`SO_LINGER` with
/// time 0, socket(7)).
///
/// # Errors
/// The errors of setsockopt(2); none is expected of an open socket.
pub fn abort_on_close(stream: &TcpStream) -> io::Result<()> {
    SockRef::from(stream).set_linger(Some(Duration::ZERO))
}

/// Sends `bytes` and shuts down the sending side, in one segment if they fit (`MSG_MORE`,
/// send(2)).
///
/// # Errors
/// `WriteZero` if the kernel did not take all bytes, `EAGAIN` if it took none, `EPIPE` or
/// `ECONNRESET` if the connection is gone.
pub fn send_and_shutdown(stream: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    let flags = libc::MSG_MORE | libc::MSG_NOSIGNAL;
    // SAFETY: pointer and length describe `bytes`.
    let sent = unsafe { libc::send(stream.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
    let sent = usize::try_from(sent).map_err(|_| io::Error::last_os_error())?;
    if sent < bytes.len() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    stream.shutdown(std::net::Shutdown::Write)
}

/// Name of the congestion control algorithm that the connection uses (`TCP_CONGESTION`, tcp(7)).
///
/// # Errors
/// The errors of getsockopt(2); none is expected of a TCP socket.
pub fn congestion(stream: &TcpStream) -> io::Result<String> {
    let name = SockRef::from(stream).tcp_congestion()?;
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// `struct tcp_info` of `linux/tcp.h` up to the fields of Linux 5.4. Fields that the kernel
/// does not fill are zero.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpInfo {
    state: u8,
    congestion_state: u8,
    retransmits: u8,
    probes: u8,
    backoff: u8,
    /// TCP options in use (`TCPI_OPT_*`).
    pub options: u8,
    window_scales: u8,
    /// `tcpi_delivery_rate_app_limited` is the lowest bit on little-endian machines, the
    /// highest on big-endian ones.
    flags: u8,
    rto: u32,
    ato: u32,
    /// Maximum segment size for sending, in bytes.
    pub snd_mss: u32,
    rcv_mss: u32,
    /// Segments sent and not acknowledged.
    pub unacked: u32,
    sacked: u32,
    lost: u32,
    retrans: u32,
    fackets: u32,
    last_data_sent: u32,
    last_ack_sent: u32,
    last_data_recv: u32,
    last_ack_recv: u32,
    /// Path MTU in bytes.
    pub pmtu: u32,
    /// Window that this end advertises at most for now, in bytes (`tcpi_rcv_ssthresh`).
    pub rcv_ssthresh: u32,
    /// Smoothed round-trip time in microseconds.
    pub rtt: u32,
    /// Variation of the round-trip time in microseconds (RFC 6298).
    pub rttvar: u32,
    snd_ssthresh: u32,
    /// Congestion window in segments.
    pub snd_cwnd: u32,
    advmss: u32,
    /// Reordering that is tolerated before a segment counts as lost, in segments.
    pub reordering: u32,
    /// Round-trip time as a receiver estimates it, in microseconds.
    pub rcv_rtt: u32,
    rcv_space: u32,
    /// Segments retransmitted since the connection was opened.
    pub total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    /// Bytes mptcp_bytes_acked by the peer (RFC 4898, tcpEStatsAppHCThruOctetsAcked).
    pub bytes_acked: u64,
    /// Bytes received (RFC 4898, tcpEStatsAppHCThruOctetsReceived).
    pub bytes_received: u64,
    /// Segments sent, acknowledgements included (RFC 4898, tcpEStatsPerfSegsOut).
    pub segs_out: u32,
    /// Segments received, acknowledgements included (RFC 4898, tcpEStatsPerfSegsIn).
    pub segs_in: u32,
    /// Bytes written by the application and not yet sent.
    pub notsent_bytes: u32,
    /// Minimum round-trip time in microseconds.
    pub min_rtt: u32,
    data_segs_in: u32,
    data_segs_out: u32,
    /// Delivery rate in bytes per second.
    pub delivery_rate: u64,
    /// Time with data outstanding, in microseconds.
    pub busy_time: u64,
    /// Part of `busy_time` limited by the receiver's window, in microseconds.
    pub rwnd_limited: u64,
    /// Part of `busy_time` limited by the send buffer, in microseconds.
    pub sndbuf_limited: u64,
    delivered: u32,
    /// Segments delivered with a congestion mark (CE, RFC 3168).
    pub delivered_ce: u32,
    /// Bytes sent, including retransmissions.
    pub bytes_sent: u64,
    /// Bytes that were retransmitted.
    pub bytes_retrans: u64,
    /// Duplicate SACKs received (RFC 2883).
    pub dsack_dups: u32,
    /// Number of reordering events.
    pub reord_seen: u32,
    rcv_ooopack: u32,
    /// The receiver's window in bytes.
    pub snd_wnd: u32,
}

impl TcpInfo {
    /// Whether [`Self::delivery_rate`] was measured while the application sent less than the path
    /// allowed (`tcpi_delivery_rate_app_limited`, `linux/tcp.h`).
    pub const fn is_application_limited(&self) -> bool {
        // A bit field: its first bit is the lowest one on little-endian machines.
        let first = if cfg!(target_endian = "big") { 0x80 } else { 0x01 };
        self.flags & first != 0
    }
}

/// Reads `TCP_INFO` of a connection (tcp(7)).
///
/// # Errors
/// `Unsupported` if the kernel does not count acknowledged bytes: before Linux 4.1, and in
/// some emulators. `ENOPROTOOPT` or `EOPNOTSUPP` if it is no TCP socket.
pub fn info(stream: impl AsFd) -> io::Result<TcpInfo> {
    // SAFETY: the structure is all numbers, so that zeroes stand for what an older kernel leaves out.
    let read = unsafe { option::get::<TcpInfo>(&stream, libc::IPPROTO_TCP, libc::TCP_INFO) };
    let (info, length) = read?;
    let has_counters = length >= std::mem::offset_of!(TcpInfo, segs_out);
    if has_counters { Ok(info) } else { Err(io::ErrorKind::Unsupported.into()) }
}

/// The value if `net.core.somaxconn` cannot be read: its default since Linux 5.4.
const BACKLOG: i32 = 4096;
const USER_TIMEOUT: Duration = Duration::from_secs(8);

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

    use super::*;
    use crate::packets::tests::{flow_label, pacing_rate};

    fn pair() -> (TcpStream, TcpStream) {
        let listener = listen((Ipv4Addr::LOCALHOST, 0).into(), false).expect("listens");
        listener.set_nonblocking(false).expect("blocks");
        let address = listener.local_addr().expect("bound");
        let client = start_connect(address, &TcpOptions::default()).expect("begins");
        let (server, _) = listener.accept().expect("accepts");
        client.set_nonblocking(false).expect("blocks");
        connect_result(&client).expect("connected");
        (client, server)
    }

    #[test]
    fn acknowledged_bytes_are_counted() {
        let (mut client, mut server) = pair();
        server.set_nonblocking(false).expect("blocks");
        let before = info(&client).expect("info").bytes_acked;
        client.write_all(&[0; 1000]).expect("written");
        server.read_exact(&mut [0; 1000]).expect("read");
        // The acknowledgement may come a little later than the data.
        let mptcp_bytes_acked = (0..1000).find_map(|_| {
            std::thread::sleep(Duration::from_millis(1));
            let acked = info(&client).expect("info").bytes_acked - before;
            (acked == 1000).then_some(acked)
        });
        assert_eq!(mptcp_bytes_acked, Some(1000));
    }

    #[test]
    fn options_are_in_effect_on_the_connected_socket() {
        let listener = listen((Ipv4Addr::LOCALHOST, 0).into(), false).expect("listens");
        let options = TcpOptions { window: Some(65_536), no_delay: true, ..TcpOptions::default() };
        let client =
            start_connect(listener.local_addr().expect("bound"), &options).expect("begins");
        // The kernel doubles what is asked (socket(7)).
        assert_eq!(SockRef::from(&client).send_buffer_size().expect("asked"), 131_072);
        assert!(client.nodelay().expect("asked"));
        assert!(!congestion(&client).expect("asked").is_empty());
    }

    #[test]
    fn what_packets_bear_is_in_effect_at_both_ends() {
        let listener = listen((Ipv6Addr::UNSPECIFIED, 0).into(), true).expect("listens");
        listener.set_nonblocking(false).expect("blocks");
        let port = listener.local_addr().expect("bound").port();
        for ip in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
            let packets = PacketOptions {
                type_of_service: 0x20,
                hop_limit: Some(9),
                pacing_rate: Some(1_000_000_000),
                flow_label: ip.is_ipv6().then_some(0xabcde),
            };
            let options = TcpOptions {
                packets,
                send_timeout: Some(Duration::from_millis(1_234)),
                device: Some("lo".to_owned()),
                ..TcpOptions::default()
            };
            let client = start_connect((ip, port).into(), &options).expect("begins");
            let (server, _) = listener.accept().expect("accepts");
            configure(&server, &options).expect("set");
            for socket in [&client, &server] {
                let known = SockRef::from(socket);
                let is_v4 = socket.peer_addr().expect("connected").ip().to_canonical().is_ipv4();
                let class = if is_v4 { known.tos_v4() } else { known.tclass_v6() };
                assert_eq!(class.expect("asked"), 0x20);
                let hops = if is_v4 { known.ttl_v4() } else { known.unicast_hops_v6() };
                assert_eq!(hops.expect("asked"), 9);
                assert_eq!(pacing_rate(socket), 1_000_000_000);
                let timeout = known.tcp_user_timeout().expect("asked");
                assert_eq!(timeout, Some(Duration::from_millis(1_234)));
            }
            assert_eq!(flow_label(&client).is_ok(), ip.is_ipv6());
            let device = SockRef::from(&client).device().expect("asked");
            assert_eq!(device.as_deref(), Some(&b"lo"[..]));
        }
    }

    #[test]
    fn a_port_to_send_from_can_be_had_again_at_once() {
        let listeners = [(); 2].map(|()| {
            let listener = listen((Ipv4Addr::LOCALHOST, 0).into(), false).expect("listens");
            listener.set_nonblocking(false).expect("blocks");
            listener
        });
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bound");
        let bind = free.local_addr().expect("bound");
        drop(free);
        for listener in listeners {
            let to = listener.local_addr().expect("bound");
            let options = TcpOptions { bind: Some(bind), ..TcpOptions::default() };
            let client = start_connect(to, &options).expect("begins");
            let (server, from) = listener.accept().expect("accepts");
            assert_eq!(from, bind);
            // The end that closes first keeps the port for a minute (TIME-WAIT).
            drop(client);
            drop(server);
        }
    }

    #[test]
    fn a_server_on_one_interface_listens_there_only() {
        let address = (Ipv4Addr::UNSPECIFIED, 0).into();
        let listener = listen_on(Some("lo"), address, false).expect("listens");
        let device = SockRef::from(&listener).device().expect("asked");
        assert_eq!(device.as_deref(), Some(&b"lo"[..]));
        let error = listen_on(Some("nowhere0"), address, false).expect_err("no such device");
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }

    #[test]
    fn discarded_bytes_are_counted_and_gone() {
        let (mut client, mut server) = pair();
        server.set_nonblocking(false).expect("blocks");
        client.write_all(b"throw this away").expect("written");
        let mut room = [b'-'; 11];
        assert_eq!(
            receive_repeatedly(&server, &mut room, 11, Received::Dropped).expect("taken"),
            11
        );
        assert_eq!(room, [b'-'; 11], "nothing is copied");
        server.read_exact(&mut room[..4]).expect("read");
        assert_eq!(&room[..4], b"away");
        drop(client);
        assert_eq!(
            receive_repeatedly(&server, &mut room, 11, Received::Dropped).expect("taken"),
            0
        );
    }

    #[test]
    fn an_unknown_congestion_control_is_an_error() {
        let to = (Ipv4Addr::LOCALHOST, 1).into();
        let options = TcpOptions { congestion: Some("nonsense".into()), ..TcpOptions::default() };
        let error = start_connect(to, &options).expect_err("there is no such thing");
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
        let error = try_congestion("nonsense").expect_err("there is no such thing");
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
        let available = crate::limits::congestion_controls();
        assert!(available.iter().any(|name| try_congestion(name).is_ok()), "{available:?}");
    }
}
