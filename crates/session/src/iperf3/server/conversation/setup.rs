//! The data of the second stage: the streams that have come.

use protocol::iperf3::{Hello, Parameters};

use super::gathering::Gathering;
use crate::sockets::{Opened, StreamSocket};

/// The streams that have come, and how the others are to come.
pub(super) struct StreamSetup {
    pub(super) opened: Vec<Opened>,
    pub(super) gathering: Gathering,
}

impl StreamSetup {
    pub(super) fn new(parameters: &Parameters, under_way: u32) -> Self {
        Self { opened: Vec::new(), gathering: Gathering::new(parameters, under_way) }
    }

    /// A client whose reply was lost says hello again, now to the stream's own socket.
    pub(super) fn answer_repeated_hellos(&self) {
        for index in self.gathering.heard() {
            let one = self.opened.get(index).map(|one| &one.socket);
            let Some(StreamSocket::Udp { socket }) = one else { continue };
            let mut datagram = [0; Hello::LONGEST + 1];
            for _ in 0..MOST_AT_ONCE {
                let Ok(length) = socket.recv(&mut datagram) else { break };
                if let Some(hello) = Hello::recognise(&datagram[..length]) {
                    // If this reply is lost too, the client asks again.
                    _ = socket.send(&hello.reply());
                }
            }
        }
    }
}

/// Datagrams of one stream that are looked at before it is other work's turn.
const MOST_AT_ONCE: usize = 64;
