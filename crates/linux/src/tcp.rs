//! TCP sockets: how they are made, set up and asked about.

use std::io;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};

/// What is set on a stream's socket before it is connected.
#[derive(Clone, Debug, Default)]
pub struct TcpOptions {
    /// Address to send from; port 0: any.
    pub bind: Option<SocketAddr>,
    /// `SO_SNDBUF` and `SO_RCVBUF` in bytes (socket(7)).
    pub window: Option<usize>,
    /// `TCP_MAXSEG` in bytes (tcp(7)).
    pub mss: Option<u32>,
    /// `TCP_CONGESTION` (tcp(7)).
    pub congestion: Option<String>,
    /// `TCP_NODELAY` (tcp(7)).
    pub no_delay: bool,
}

/// Begins to connect. The socket does not block; it is connected, or has failed,
/// when it becomes writable: see [`connect_result`].
///
/// # Errors
/// What the kernel reports at once, e.g. an unreachable network.
pub fn start_connect(to: SocketAddr, options: &TcpOptions) -> io::Result<TcpStream> {
    let socket =
        Socket::new(Domain::for_address(to), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    apply(&SockRef::from(&socket), options)?;
    if let Some(bind) = options.bind {
        socket.bind(&bind.into())?;
    }
    match socket.connect(&to.into()) {
        Ok(()) => Ok(socket.into()),
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(socket.into()),
        Err(error) => Err(error),
    }
}

/// The result of a connect that was begun.
///
/// # Errors
/// Why it failed, e.g. `ECONNREFUSED`.
pub fn connect_result(stream: &TcpStream) -> io::Result<()> {
    stream.take_error()?.map_or(Ok(()), Err)
}

/// Sets the options of an accepted stream; a bind address has no meaning there.
///
/// # Errors
/// What setsockopt(2) reports, e.g. `ENOENT` for a congestion control that is not there.
pub fn configure(stream: &TcpStream, options: &TcpOptions) -> io::Result<()> {
    apply(&SockRef::from(stream), options)
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
    Ok(())
}

/// A listener on `address` whose accepted connections do not block. An IPv6
/// listener takes IPv4 too if `dual`.
///
/// # Errors
/// What the kernel reports, e.g. `EADDRINUSE`.
pub fn listen(address: SocketAddr, dual: bool) -> io::Result<TcpListener> {
    let socket =
        Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(!dual)?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Makes a control connection quick to send and quick to notice a vanished peer.
///
/// # Errors
/// What setsockopt(2) reports.
pub fn prepare_control(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    let keepalive =
        TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE).with_retries(3);
    socket.set_tcp_keepalive(&keepalive)?;
    socket.set_tcp_user_timeout(Some(USER_TIMEOUT))
}

/// Throws away what is unsent when the stream is closed (`SO_LINGER` with time 0).
///
/// # Errors
/// What setsockopt(2) reports.
pub fn abort_on_close(stream: &TcpStream) -> io::Result<()> {
    SockRef::from(stream).set_linger(Some(Duration::ZERO))
}

/// Congestion control in effect.
///
/// # Errors
/// What getsockopt(2) reports.
pub fn congestion(stream: &TcpStream) -> io::Result<String> {
    let name = SockRef::from(stream).tcp_congestion()?;
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// `struct tcp_info` of `linux/tcp.h` up to the fields of kernel 4.19. Fields that
/// a kernel does not know are zero.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpInfo {
    state: u8,
    congestion_state: u8,
    retransmits: u8,
    probes: u8,
    backoff: u8,
    options: u8,
    window_scales: u8,
    flags: u8,
    rto: u32,
    ato: u32,
    /// Segment size for sending in bytes.
    pub snd_mss: u32,
    rcv_mss: u32,
    /// Segments not acknowledged.
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
    rcv_ssthresh: u32,
    /// Smoothed round-trip time in microseconds.
    pub rtt: u32,
    /// Its variation in microseconds.
    pub rttvar: u32,
    snd_ssthresh: u32,
    /// Congestion window in segments.
    pub snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt: u32,
    rcv_space: u32,
    /// Segments retransmitted since the connection opened.
    pub total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    /// Bytes acknowledged by the peer (RFC 4898, tcpEStatsAppHCThruOctetsAcked).
    pub bytes_acked: u64,
    /// Bytes received (RFC 4898, tcpEStatsAppHCThruOctetsReceived).
    pub bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    /// Least round-trip time in microseconds.
    pub min_rtt: u32,
    data_segs_in: u32,
    data_segs_out: u32,
    /// Delivery rate in bytes per second.
    pub delivery_rate: u64,
    /// Time with data outstanding, in microseconds.
    pub busy_time: u64,
    /// Part of it limited by the receiver's window, in microseconds.
    pub rwnd_limited: u64,
    /// Part of it limited by the send buffer, in microseconds.
    pub sndbuf_limited: u64,
    delivered: u32,
    delivered_ce: u32,
    bytes_sent: u64,
    /// Bytes retransmitted.
    pub bytes_retrans: u64,
}

/// Asks the kernel about a connection (`TCP_INFO`, tcp(7)).
///
/// # Errors
/// What getsockopt(2) reports; `Unsupported` if it does not count acknowledged bytes,
/// as before Linux 4.1 and in some emulators.
pub fn info(stream: impl AsFd) -> io::Result<TcpInfo> {
    let mut info = MaybeUninit::<TcpInfo>::zeroed();
    let mut length = crate::length_of::<TcpInfo>();
    // SAFETY: pointer and length describe the structure, which is all numbers, so
    // that zeroes stand for what an older kernel leaves out.
    let (done, info) = unsafe {
        let done = libc::getsockopt(
            stream.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        );
        (done, info.assume_init())
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    let has_counters = length as usize >= std::mem::offset_of!(TcpInfo, segs_out);
    if has_counters { Ok(info) } else { Err(io::ErrorKind::Unsupported.into()) }
}

/// As long as the kernel allows (`net.core.somaxconn`).
const BACKLOG: i32 = 4096;
const KEEPALIVE: Duration = Duration::from_secs(3);
const USER_TIMEOUT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::Ipv4Addr;

    use super::*;

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
        let acknowledged = (0..1000).find_map(|_| {
            std::thread::sleep(Duration::from_millis(1));
            let acked = info(&client).expect("info").bytes_acked - before;
            (acked == 1000).then_some(acked)
        });
        assert_eq!(acknowledged, Some(1000));
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
    fn an_unknown_congestion_control_is_an_error() {
        let to = (Ipv4Addr::LOCALHOST, 1).into();
        let options = TcpOptions { congestion: Some("nonsense".into()), ..TcpOptions::default() };
        let error = start_connect(to, &options).expect_err("there is no such thing");
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
    }
}
