//! A client of `NETLINK_ROUTE`: links, addresses, routes, and queueing disciplines with
//! their classes and policers.
//!
//! It replaces calls of the programs `ip` and `tc`, so that neither has to be installed. It
//! is not a general netlink library: one request is in flight at a time, and there are no
//! notifications.
//!
//! The protocol is that of `netlink(7)` and `rtnetlink(7)`. Numbers are in host byte order,
//! except addresses, which are in network order.
//!
//! The crate netlink-packet-route is not used: with it one unknown option of a queueing
//! discipline makes the whole message unreadable, and a counter that an older kernel does
//! not have is zero, not absent.

use std::io::{self, Read};
use std::os::fd::AsRawFd;

use socket2::{Domain, Protocol, Socket, Type};

mod address;
mod addresses;
mod classes;
mod dump;
mod egress;
pub mod ethtool;
mod extended_ack;
mod generic;
mod kernel;
mod link;
mod link_settings;
mod links;
mod message;
mod policers;
mod qdisc_options;
mod qdisc_parameters;
mod qdiscs;
mod root_qdisc;
mod routes;
mod shaping;
mod xdp_features;

pub use addresses::AddressEntry;
pub use classes::TrafficClass;
pub use extended_ack::{ExtendedAck, errno};
pub use link::{LinkState, LinkStatistics};
pub use link_settings::LinkSettings;
pub use links::{LINK_COUNTERS, LinkEntry};
pub use policers::{Policer, policers};
pub use qdisc_options::{QdiscOptions, class_ceiling};
pub use qdisc_parameters::Parameters;
pub use qdiscs::{Qdisc, QdiscHandle, QdiscParent, QdiscStatistics};
pub use root_qdisc::RootQdisc;
pub use routes::RouteEntry;
pub use shaping::TokenBucket;
pub use xdp_features::takes_redirected_frames;

use message::{Message, Reply, replies};

/// A netlink(7) socket to `NETLINK_ROUTE`, which reads and changes links, addresses, routes and
/// queueing disciplines (rtnetlink(7)).
///
/// It belongs to the network namespace in which the calling thread was when it was opened,
/// on whichever thread it is used later.
///
/// An error carries the `errno` of the kernel, and the kernel's explanation if there is
/// one: see [`ExtendedAck`] and [`errno`].
#[derive(Debug)]
pub struct RouteSocket {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

impl RouteSocket {
    /// Opens a socket in the network namespace of the calling thread.
    ///
    /// # Errors
    /// `EMFILE` or `ENFILE` if too many files are open, `EAFNOSUPPORT` or `EPROTONOSUPPORT`
    /// without netlink (socket(2)).
    pub fn open() -> io::Result<Self> {
        Self::open_to(libc::NETLINK_ROUTE)
    }

    /// Opens a socket of another netlink protocol (`NETLINK_*`).
    fn open_to(protocol: libc::c_int) -> io::Result<Self> {
        let domain = Domain::from(libc::AF_NETLINK);
        let protocol = Protocol::from(protocol);
        let socket = Socket::new(domain, Type::RAW, Some(protocol))?;
        for option in [kernel::NETLINK_CAP_ACK, kernel::NETLINK_EXT_ACK] {
            // Both shorten or enrich the answers, and a kernel without them
            // answers all the same.
            let _ = enable(&socket, option);
        }
        Ok(Self { socket, sequence: 0, buffer: vec![0; RECEIVE_BUFFER_BYTES] })
    }

    /// Sends a request that changes something, and waits for its acknowledgement.
    fn request(&mut self, message: Message) -> io::Result<()> {
        self.exchange(message, |_| ())
    }

    /// Sends a request for one object, and returns the message that describes it.
    fn ask(&mut self, message: Message) -> io::Result<Vec<u8>> {
        let mut answer = None;
        self.exchange(message, |reply| answer = Some(reply.payload.to_vec()))?;
        answer.ok_or_else(|| io::Error::other("the kernel acknowledged without an answer"))
    }

    /// Sends `message` and calls `answer` with each reply up to the acknowledgement, which
    /// every request asks for.
    fn exchange(&mut self, message: Message, mut answer: impl FnMut(&Reply)) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        // An unconnected netlink socket sends to the kernel.
        self.socket.send(&message.finish(self.sequence))?;
        loop {
            let received = (&self.socket).read(&mut self.buffer)?;
            for reply in replies(&self.buffer[..received]) {
                if reply.sequence != self.sequence {
                    continue;
                }
                match reply.kind {
                    kernel::NLMSG_ERROR => return extended_ack::parse(&reply),
                    _ => answer(&reply),
                }
            }
        }
    }
}

fn enable(socket: &Socket, option: libc::c_int) -> io::Result<()> {
    let on: libc::c_int = 1;
    let length: libc::socklen_t = libc::c_int::BITS / 8;
    // SAFETY: the pointer and the length describe `on`, which outlives the
    // call, and the borrow keeps the socket open.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_NETLINK,
            option,
            (&raw const on).cast(),
            length,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// `netlink(7)` recommends at least 8 KiB; a link that describes its virtual functions
/// needs more.
const RECEIVE_BUFFER_BYTES: usize = 32 * 1024;
