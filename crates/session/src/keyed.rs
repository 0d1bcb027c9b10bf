//! The client's end of a control connection with a key, until both ends have proved it.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use linux::event::StopSignals;
use linux::poll::{PollFd, wait};
use protocol::iperf3::ProtocolError;
use protocol::keyed::{KeyedClient, KeyedError, Seal};
use protocol::tuning::SharedKey;

use crate::clock::Clock;
use crate::error::SessionError;

/// Proves the key to the server `to` at the other end of the socket, which does not block, and has
/// it proved by the server.
///
/// # Errors
/// [`SessionError::Keyed`] if the server has no key or another one, [`ProtocolError::Busy`],
/// [`SessionError::Interrupted`].
pub(crate) fn prove(
    mut socket: &TcpStream,
    to: SocketAddr,
    key: &SharedKey,
    (interrupts, clock): (Option<&StopSignals>, &dyn Clock),
) -> Result<Seal, SessionError> {
    let nonce = linux::entropy::random().map_err(SessionError::system("random bytes"))?;
    let mut machine = KeyedClient::new(key, nonce);
    let until = clock.now().after(LIMIT);
    let failed = |why| match why {
        KeyedError::Busy => SessionError::Protocol { peer: to, error: ProtocolError::Busy },
        why => SessionError::Keyed { to, why },
    };
    loop {
        // What is sent has a hundred bytes, for which an idle connection has room.
        if socket.write_all(&machine.take_output()).is_err() {
            return Err(failed(machine.closed()));
        }
        let mut watched = vec![PollFd::readable(socket.as_fd())];
        watched.extend(interrupts.map(|signals| PollFd::readable(signals.as_fd())));
        let left = until.since(clock.now());
        wait(&mut watched, Some(left)).map_err(SessionError::system("poll"))?;
        if interrupts.is_some_and(StopSignals::arrived) {
            return Err(SessionError::Interrupted);
        }
        if let Some(seal) = read(socket, &mut machine).map_err(failed)? {
            return Ok(seal);
        }
        if left.is_zero() {
            return Err(failed(machine.closed()));
        }
    }
}

fn read(mut socket: &TcpStream, machine: &mut KeyedClient) -> Result<Option<Seal>, KeyedError> {
    let mut buffer = [0; 256];
    match socket.read(&mut buffer) {
        Ok(0) => Err(machine.closed()),
        Ok(length) => machine.receive(&buffer[..length]),
        Err(error) if is_transient(&error) => Ok(None),
        Err(_) => Err(machine.closed()),
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Twice what a server waits for a proof.
const LIMIT: Duration = Duration::from_secs(10);
