//! A connection of bytes between two processes that share a key, each message with a code
//! ([`protocol::keyed`]): blocking, in two halves. What the bytes say is not known here.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use linux::clock;
use linux::tcp::Keepalive;
use protocol::iperf3::Cookie;
use protocol::keyed::{GREETING, KeyedClient, KeyedHost, Seal};
use protocol::tuning::SharedKey;

/// Bytes that the other end sent.
#[derive(Debug)]
pub struct SealedReader {
    socket: TcpStream,
    seal: Arc<Mutex<Seal>>,
    opened: Vec<u8>,
}

/// Bytes for the other end. It hears the end of them when this is dropped.
#[derive(Debug)]
pub struct SealedWriter {
    socket: TcpStream,
    seal: Arc<Mutex<Seal>>,
}

/// Connects to a process that has the key, within `limit`.
///
/// # Errors
/// It cannot be reached, or does not prove the key.
pub fn join(
    to: SocketAddr,
    key: &SharedKey,
    limit: Duration,
) -> io::Result<(SealedReader, SealedWriter)> {
    let mut socket = TcpStream::connect_timeout(&to, limit)?;
    let until = clock::monotonic() + limit;
    let mut machine = KeyedClient::new(key, linux::entropy::random()?);
    let mut seal = loop {
        socket.write_all(&machine.take_output())?;
        let mut buffer = [0; 256];
        let length = read_until(&mut socket, &mut buffer, until)?;
        if length == 0 {
            return Err(io::Error::other(machine.closed()));
        }
        if let Some(seal) = machine.receive(&buffer[..length]).map_err(io::Error::other)? {
            break seal;
        }
    };
    socket.write_all(&seal.seal(&GREETING))?;
    halves(socket, seal)
}

/// Has the process at the other end of `socket` prove the key, within `limit`.
///
/// # Errors
/// It does not, or the connection fails.
pub fn admit(
    mut socket: TcpStream,
    key: &SharedKey,
    limit: Duration,
) -> io::Result<(SealedReader, SealedWriter)> {
    let until = clock::monotonic() + limit;
    let mut greeting = [0; Cookie::LENGTH];
    let mut filled = 0;
    while filled < greeting.len() {
        filled += some(read_until(&mut socket, &mut greeting[filled..], until)?)?;
    }
    if greeting != GREETING {
        return Err(io::Error::new(ErrorKind::InvalidData, "it is no linerate with a key"));
    }
    let mut machine = KeyedHost::new(key, linux::entropy::random()?);
    loop {
        socket.write_all(&machine.take_output())?;
        let mut buffer = vec![0; machine.room()];
        let length = some(read_until(&mut socket, &mut buffer, until)?)?;
        let received = machine.receive(&buffer[..length]).map_err(io::Error::other)?;
        if let Some((_, seal)) = received {
            return halves(socket, seal);
        }
    }
}

fn some(length: usize) -> io::Result<usize> {
    if length > 0 { Ok(length) } else { Err(ErrorKind::UnexpectedEof.into()) }
}

fn read_until(socket: &mut TcpStream, buffer: &mut [u8], until: Duration) -> io::Result<usize> {
    let left = until.saturating_sub(clock::monotonic());
    if left.is_zero() {
        return Err(ErrorKind::TimedOut.into());
    }
    socket.set_read_timeout(Some(left))?;
    socket.read(buffer)
}

fn halves(socket: TcpStream, seal: Seal) -> io::Result<(SealedReader, SealedWriter)> {
    socket.set_read_timeout(None)?;
    linux::tcp::prepare_control(&socket, &Keepalive::default())?;
    socket.set_nonblocking(false)?;
    let seal = Arc::new(Mutex::new(seal));
    let reader =
        SealedReader { socket: socket.try_clone()?, seal: Arc::clone(&seal), opened: Vec::new() };
    Ok((reader, SealedWriter { socket, seal }))
}

fn locked(seal: &Mutex<Seal>) -> MutexGuard<'_, Seal> {
    seal.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SealedReader {
    /// The address of the other end, and that of this one.
    ///
    /// # Errors
    /// The connection is closed.
    pub fn addresses(&self) -> io::Result<(SocketAddr, SocketAddr)> {
        Ok((self.socket.peer_addr()?, self.socket.local_addr()?))
    }
}

impl Read for SealedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.opened.is_empty() {
            let mut received = [0; 4096];
            let length = self.socket.read(&mut received)?;
            if length == 0 {
                return Ok(0);
            }
            let opened = locked(&self.seal).open(&received[..length]);
            self.opened = opened.map_err(io::Error::other)?;
        }
        let length = buffer.len().min(self.opened.len());
        buffer[..length].copy_from_slice(&self.opened[..length]);
        self.opened.drain(..length);
        Ok(length)
    }
}

impl Write for SealedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sealed = locked(&self.seal).seal(bytes);
        self.socket.write_all(&sealed)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl Drop for SealedWriter {
    fn drop(&mut self) {
        // One that is closed already is what is wanted.
        _ = self.socket.shutdown(Shutdown::Write);
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    fn key(of: &str) -> SharedKey {
        SharedKey::parse(&of.repeat(64)).expect("a key")
    }

    /// Has a process with one key join a process with another one.
    fn both(one: &str, other: &str) -> [io::Result<(SealedReader, SealedWriter)>; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let (address, key_there) = (listener.local_addr().expect("an address"), key(other));
        let there = thread::spawn(move || {
            let (socket, _) = listener.accept().expect("a connection");
            admit(socket, &key_there, LIMIT)
        });
        let here = join(address, &key(one), LIMIT);
        [here, there.join().expect("no panic")]
    }

    #[test]
    fn both_ends_hear_each_other_and_the_end() {
        let [Ok((mut reader, writer)), Ok((mut other_reader, mut other_writer))] = both("a", "a")
        else {
            panic!("both have the key")
        };
        let long = vec![7; 100_000];
        let sent = long.clone();
        let sender = thread::spawn(move || other_writer.write_all(&sent).expect("sent"));
        let mut heard = Vec::new();
        reader.read_to_end(&mut heard).expect("heard");
        sender.join().expect("no panic");
        assert!(heard == long);
        drop(writer);
        assert_eq!(other_reader.read(&mut [0; 8]).expect("the end"), 0);
    }

    #[test]
    fn another_key_is_refused_at_both_ends() {
        assert!(both("a", "b").iter().all(Result::is_err));
    }

    const LIMIT: Duration = Duration::from_secs(10);
}
