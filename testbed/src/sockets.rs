//! Sockets of TCP and UDP, as the kernel's tables show them (proc_pid_net(5)).

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A TCP or UDP socket: a line of `/proc/net/tcp` and similar tables (proc_pid_net(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Its own address.
    pub local: SocketAddr,
    /// The address that it is connected to.
    pub peer: SocketAddr,
    /// Its state, as in include/net/tcp_states.h.
    pub state: u8,
    /// Its inode; 0: no process holds it.
    pub inode: u64,
}

/// All sockets in the network namespace of the process with this ID, from the files `tables` of
/// `/proc/PID/net`, e.g. `tcp6`. A file that the kernel does not have counts as empty.
pub fn of_process(process: u32, tables: &[&str]) -> Vec<Socket> {
    read(&process.to_string(), tables)
}

/// All sockets in the network namespace of the calling thread, from the files `tables` of
/// `/proc/thread-self/net`, e.g. `tcp6`. A file that the kernel does not have counts as empty.
pub fn of_thread(tables: &[&str]) -> Vec<Socket> {
    read("thread-self", tables)
}

fn read(whose: &str, tables: &[&str]) -> Vec<Socket> {
    let text = |name| fs::read_to_string(format!("/proc/{whose}/net/{name}")).unwrap_or_default();
    tables
        .iter()
        .flat_map(|name| text(name).lines().filter_map(parse).collect::<Vec<_>>())
        .collect()
}

impl Socket {
    /// Whether the socket waits for connections (`TCP_LISTEN`).
    pub fn listens(&self) -> bool {
        self.state == LISTEN
    }
}

/// Reads a line: slot, local and remote address, state, queues, timer, retransmissions, user,
/// timeout, inode.
fn parse(line: &str) -> Option<Socket> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    Some(Socket {
        local: address(fields.get(1)?)?,
        peer: address(fields.get(2)?)?,
        state: u8::from_str_radix(fields.get(3)?, 16).ok()?,
        inode: fields.get(9)?.parse().ok()?,
    })
}

/// An address is printed in words of 32 bits, each as a number of this host's byte order.
fn address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let word = |at: usize| {
        let number = u32::from_str_radix(address.get(at..at + 8)?, 16).ok()?;
        Some(number.to_ne_bytes())
    };
    let words: Option<Vec<_>> = (0..address.len()).step_by(8).map(word).collect();
    let ip: IpAddr = match words?.as_slice() {
        [v4] => Ipv4Addr::from(*v4).into(),
        v6 => Ipv6Addr::from(<[u8; 16]>::try_from(v6.concat()).ok()?).into(),
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// `TCP_LISTEN` of include/net/tcp_states.h.
const LISTEN: u8 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_addresses_state_and_inode() {
        let words = |bytes: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(bytes));
        let line = format!(
            "   1: {}:1451 {}:A000 0A 00000000:00000000 00:00000000 00000000  0 0 4711 1 0 20",
            words([0; 4]).repeat(4),
            [[0; 4], [0; 4], [0, 0, 255, 255], [10, 201, 3, 2]].map(words).concat(),
        );
        let socket = parse(&line).expect("a line");
        assert_eq!(socket.local, "[::]:5201".parse().expect("an address"));
        assert_eq!(socket.peer.ip().to_canonical(), Ipv4Addr::new(10, 201, 3, 2));
        assert_eq!((socket.peer.port(), socket.inode, socket.listens()), (0xa000, 4711, true));
        assert_eq!(parse("  sl  local_address rem_address   st"), None);
    }

    #[test]
    fn an_address_of_ipv4_is_one_word() {
        let text = format!("{:08X}:0016", u32::from_ne_bytes([127, 0, 0, 1]));
        assert_eq!(address(&text), "127.0.0.1:22".parse().ok());
    }
}
