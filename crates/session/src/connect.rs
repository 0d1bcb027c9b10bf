//! Connects one TCP socket within a time limit.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use linux::event::StopSignals;
use linux::poll::{PollFd, wait};
use linux::tcp::TcpOptions;

use crate::clock::Clock;
use crate::error::SessionError;

/// Connects within `limit`, unless a signal comes first.
///
/// # Errors
/// [`SessionError::Interrupted`] after a signal, or what poll(2) refuses; the inner error is
/// why the connect failed.
pub(crate) fn connect(
    to: SocketAddr,
    options: &TcpOptions,
    limit: Duration,
    (interrupts, clock): (Option<&StopSignals>, &dyn Clock),
) -> Result<io::Result<TcpStream>, SessionError> {
    let socket = match linux::tcp::start_connect(to, options) {
        Ok(socket) => socket,
        Err(error) => return Ok(Err(error)),
    };
    let deadline = clock.now().after(limit);
    loop {
        let now = clock.now();
        if now >= deadline {
            return Ok(Err(io::Error::from_raw_os_error(ETIMEDOUT)));
        }
        let mut watches = vec![PollFd::writable(socket.as_fd())];
        watches.extend(interrupts.map(|interrupts| PollFd::readable(interrupts.as_fd())));
        wait(&mut watches, Some(deadline.since(now))).map_err(SessionError::system("poll"))?;
        if watches[0].ready().is_writable() {
            return Ok(linux::tcp::connect_result(&socket).map(|()| socket));
        }
        if interrupts.is_some_and(StopSignals::arrived) {
            return Err(SessionError::Interrupted);
        }
    }
}

/// `asm-generic/errno.h`.
pub(crate) const ETIMEDOUT: i32 = 110;
