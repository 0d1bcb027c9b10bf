//! A client of `NETLINK_GENERIC`: message families that the kernel numbers at run time.
//!
//! The protocol is that of [genetlink]: a header of four bytes, with command and version,
//! follows the netlink header.
//!
//! [genetlink]: https://docs.kernel.org/userspace-api/netlink/intro.html#generic-netlink

use std::io;

use super::RouteSocket;
use super::message::{Message, attribute, u16_at};

/// A socket to one family.
#[derive(Debug)]
pub(super) struct Family {
    socket: RouteSocket,
    number: u16,
}

impl Family {
    /// Opens a socket in the network namespace of the calling thread and resolves the
    /// number of the family. The errno is `ENOENT` if the kernel has no such family.
    pub(super) fn open(name: &str) -> io::Result<Self> {
        let mut socket = RouteSocket::open_to(libc::NETLINK_GENERIC)?;
        let mut text = name.as_bytes().to_vec();
        text.push(0);
        let request = Message::new(CONTROL_FAMILY, 0, &header(CTRL_CMD_GETFAMILY))
            .attribute(CTRL_ATTR_FAMILY_NAME, &text);
        let answer = socket.ask(request)?;
        let number = answer.get(HEADER_BYTES..).and_then(|bytes| {
            let number = attribute(bytes, CTRL_ATTR_FAMILY_ID)?;
            u16_at(number, 0..2)
        });
        let number = number.ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { socket, number })
    }

    /// Sends a request with the attributes that `fill` appends, and returns the attributes
    /// of the answer.
    pub(super) fn ask(
        &mut self,
        command: u8,
        fill: impl FnOnce(Message) -> Message,
    ) -> io::Result<Vec<u8>> {
        let request = fill(Message::new(self.number, 0, &header(command)));
        let mut answer = self.socket.ask(request)?;
        if answer.len() < HEADER_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(answer.split_off(HEADER_BYTES))
    }

    /// Sends a request that changes something, with the attributes that `fill` appends, and waits
    /// for its acknowledgement; what the kernel answers beside it is left out.
    pub(super) fn request(
        &mut self,
        command: u8,
        fill: impl FnOnce(Message) -> Message,
    ) -> io::Result<()> {
        let request = fill(Message::new(self.number, 0, &header(command)));
        self.socket.request(request)
    }
}

/// `struct genlmsghdr`, `linux/genetlink.h`: command, version, two reserved bytes.
const fn header(command: u8) -> [u8; HEADER_BYTES] {
    [command, 1, 0, 0]
}

const HEADER_BYTES: usize = 4;

// linux/genetlink.h
const CONTROL_FAMILY: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
