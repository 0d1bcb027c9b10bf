//! Ends TCP connections in order: the server reads up to the end, and closes its own side.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::Duration;

use linux::poll::{PollFd, wait};

use super::Around;
use crate::sockets::{Opened, StreamSocket};

/// Ends the sending, and waits until the server has closed too; what is unread by then the kernel
/// goes on delivering.
pub(super) fn end(streams: &[Opened], around: &Around<'_>) {
    let mut open: Vec<_> = streams
        .iter()
        .filter(|one| one.sender)
        .filter_map(|one| match &one.socket {
            StreamSocket::Tcp { socket, .. } => Some(socket),
            StreamSocket::Udp { .. } => None,
        })
        .collect();
    streams.iter().filter(|one| one.sender).for_each(|one| one.socket.end_sending());
    let deadline = around.clock.now().after(PATIENCE);
    loop {
        let now = around.clock.now();
        if open.is_empty() || now >= deadline || around.is_interrupted() {
            return;
        }
        let mut watches: Vec<_> =
            open.iter().map(|socket| PollFd::readable(socket.as_fd())).collect();
        watches.extend(around.interrupts.map(|signals| PollFd::readable(signals.as_fd())));
        if wait(&mut watches, Some(deadline.since(now))).is_err() {
            return;
        }
        let has_come = |index: usize| watches[index].ready().is_readable();
        let came: Vec<_> = (0..open.len()).map(has_come).collect();
        let mut came = came.into_iter();
        open.retain(|socket| !(came.next().unwrap_or(false) && is_over(socket)));
    }
}

/// Reads what has come; whether it was the last: what is sent after the time is nobody's.
fn is_over(socket: &TcpStream) -> bool {
    let mut room = [0; 16 * 1024];
    match linux::message::receive(socket, &mut room) {
        Ok(length) => length == 0,
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
    }
}

/// How long a server may take to read the rest.
const PATIENCE: Duration = Duration::from_secs(2);
