//! Ports: free ones, and waiting until a server listens.

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

use anyhow::{Context, Result, anyhow};
use lab::Host;

use crate::process::Running;
use crate::sockets;
use crate::wait::{self, PATIENCE};

/// A port from 20,000 to 29,999 that is free for TCP and UDP on all addresses of this host now. It
/// is below the ephemeral ports of the kernel (`net.ipv4.ip_local_port_range`). Two calls of one
/// process give two ports.
///
/// # Errors
/// None of a thousand ports is free.
pub fn free() -> Result<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = (std::process::id() % 100) as u16 * 100;
    let next = || 20_000 + (start + NEXT.fetch_add(1, Relaxed) % 10_000) % 10_000;
    (0..1000).map(|_| next()).find(|port| is_free(*port)).context("cannot find a free port")
}

/// Without binding it: a child that another thread forks meanwhile would hold the socket until
/// its exec.
fn is_free(port: u16) -> bool {
    let sockets = sockets::of_thread(&["tcp", "tcp6", "udp", "udp6"]);
    sockets.iter().all(|socket| socket.local.port() != port)
}

/// Waits until a server listens on a TCP port of `host` (`None`: of this host), without connecting
/// to it.
///
/// # Errors
/// The server has ended, or does not listen within 30 s; the text has what it printed on standard
/// error.
pub fn await_listener(host: Option<&Host>, port: u16, server: &mut Running) -> Result<()> {
    let end = wait::within(PATIENCE, || match listens(host, port) {
        Ok(false) => (!server.is_running()).then(|| Err(anyhow!("the server has ended"))),
        Ok(true) => Some(Ok(())),
        Err(error) => Some(Err(error)),
    });
    let end = end.unwrap_or_else(|| Err(anyhow!("the server does not listen")));
    end.map_err(|error| anyhow!("{error:#}: {}", server.complaint().trim()))
}

/// Waits until a TCP connection from `host` (`None`: from this host) to `address` succeeds: the
/// server listens and the path to it works.
///
/// # Errors
/// No connection succeeds within about 30 s.
pub fn await_answer(host: Option<&Host>, address: SocketAddr) -> Result<()> {
    match host {
        Some(host) => host.run(|| connect(address))?,
        None => connect(address),
    }
}

fn connect(address: SocketAddr) -> Result<()> {
    let connection = wait::within(PATIENCE, || TcpStream::connect_timeout(&address, PATIENCE).ok());
    connection.map(drop).with_context(|| format!("the server does not answer at {address}"))
}

/// Whether a program of the host listens on a port.
fn listens(host: Option<&Host>, port: u16) -> Result<bool> {
    let read = || sockets::of_thread(&["tcp", "tcp6"]);
    let sockets = match host {
        Some(host) => host.run(read)?,
        None => read(),
    };
    Ok(sockets.iter().any(|socket| socket.listens() && socket.local.port() == port))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::process::Command;

    use super::*;

    #[test]
    fn free_ports_differ_and_are_free() {
        let (one, other) = (free().expect("a port"), free().expect("a port"));
        assert_ne!(one, other);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, one)).expect("it is free");
        assert!(listens(None, one).expect("proc is there") && !listens(None, other).expect("proc"));
        assert!(!is_free(one));
        await_answer(None, listener.local_addr().expect("an address")).expect("it listens");
    }

    #[test]
    fn a_server_that_ends_is_not_waited_for() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo no such flag >&2"]);
        let mut server = Running::captured(command).expect("a shell");
        let error = await_listener(None, free().expect("a port"), &mut server).expect_err("ended");
        assert!(error.to_string().starts_with("the server has ended"), "{error}");
    }
}
