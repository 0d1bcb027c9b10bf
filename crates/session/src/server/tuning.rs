//! Tuning of the server's host by its clients ([`TuningRelay`]): bytes of their connections are
//! passed on to a process that may change settings, and back. Nothing of them is understood here,
//! and the key is not known here.

mod link;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::client_prefix::ClientPrefix;
use super::log::Log;
use super::metrics::Refusal;

pub use link::{LinkMessage, MOST_BYTES};

/// Connects clients with the process that changes settings of this host. Its connections are few:
/// who has no key can hold one for five seconds.
#[derive(Debug)]
pub struct TuningRelay {
    /// To the process. Each message is written whole.
    link: Mutex<UnixStream>,
    clients: Mutex<Clients>,
}

#[derive(Debug, Default)]
struct Clients {
    open: BTreeMap<u32, Client>,
    /// Number of the next connection.
    next: u32,
    /// The process has ended, or the server ends.
    is_over: bool,
}

#[derive(Clone, Debug)]
struct Client {
    socket: Arc<TcpStream>,
    from: SocketAddr,
}

impl TuningRelay {
    /// A relay to the process at the other end of `link`.
    ///
    /// # Errors
    /// An error of setsockopt(2).
    pub fn new(link: UnixStream) -> io::Result<Self> {
        link.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { link: Mutex::new(link), clients: Mutex::default() })
    }

    /// Starts to pass on what the process sends.
    ///
    /// # Errors
    /// There is no thread for it, or no descriptor.
    pub(crate) fn start(self: &Arc<Self>, log: Arc<dyn Log>) -> io::Result<()> {
        let (relay, link) = (Arc::clone(self), lock(&self.link).try_clone()?);
        let work = move || {
            relay.pass_back(link, &*log);
            if !std::mem::replace(&mut relay.clients().is_over, true) {
                log.tuning(None, "the process that changes settings has ended: nobody can tune");
            }
            relay.close();
        };
        thread::Builder::new().name("tuning".to_owned()).spawn(work).map(drop)
    }

    /// Takes a connection whose first bytes are the greeting.
    ///
    /// # Errors
    /// There are too many of them, of this client or in all, or there is no thread for it.
    pub(crate) fn admit(
        self: &Arc<Self>,
        socket: TcpStream,
        from: SocketAddr,
    ) -> Result<(), (TcpStream, Refusal)> {
        let number = {
            let mut clients = self.clients();
            let prefix = ClientPrefix::containing(from.ip());
            let is_same = |one: &&Client| ClientPrefix::containing(one.from.ip()) == prefix;
            let own = clients.open.values().filter(is_same).count();
            if clients.is_over || own >= MOST_OF_ONE || clients.open.len() >= MOST {
                return Err((socket, Refusal::Busy));
            }
            clients.next = clients.next.wrapping_add(1);
            clients.next
        };
        let ready = socket
            .set_nonblocking(false)
            .and_then(|()| socket.set_nodelay(true))
            .and_then(|()| socket.set_write_timeout(Some(PATIENCE)));
        if ready.is_err() {
            return Err((socket, Refusal::Descriptors));
        }
        let client = Client { socket: Arc::new(socket), from };
        self.clients().open.insert(number, client.clone());
        let relay = Arc::clone(self);
        let work = move || relay.pass_on(number, &client);
        let thread = thread::Builder::new().name("tuning".to_owned());
        if thread.stack_size(linux::process::STACK_BYTES).spawn(work).is_err() {
            self.clients().open.remove(&number);
        }
        Ok(())
    }

    /// Ends all connections; the process then undoes what they have changed.
    pub(crate) fn close(&self) {
        let open = {
            let mut clients = self.clients();
            clients.is_over = true;
            std::mem::take(&mut clients.open)
        };
        open.values().for_each(Client::end);
        // The process may have ended it before.
        _ = lock(&self.link).shutdown(Shutdown::Both);
    }

    /// Passes bytes of a client on until it or the process ends the connection.
    fn pass_on(&self, connection: u32, client: &Client) {
        let from = client.from.to_string();
        let mut is_passed = self.send(&LinkMessage::Opened { connection, from });
        let mut buffer = [0; MOST_BYTES];
        while is_passed {
            match (&*client.socket).read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => {
                    let bytes = buffer[..length].to_vec();
                    is_passed = self.send(&LinkMessage::Bytes { connection, bytes });
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        client.end();
        self.clients().open.remove(&connection);
        _ = self.send(&LinkMessage::Closed { connection });
    }

    /// Passes on what the process sends, until it ends.
    fn pass_back(&self, mut link: UnixStream, log: &dyn Log) {
        let (mut input, mut buffer) = (Vec::new(), [0; MOST_BYTES]);
        loop {
            match link.read(&mut buffer) {
                Ok(0) => return,
                Ok(length) => input.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
            while let Ok(Some(message)) = LinkMessage::take(&mut input) {
                self.give(message, log);
            }
        }
    }

    fn give(&self, message: LinkMessage, log: &dyn Log) {
        let client = |number| self.clients().open.get(&number).cloned();
        match message {
            LinkMessage::Bytes { connection, bytes } => {
                if let Some(client) = client(connection) {
                    // One that does not take its answers is no client any more.
                    if (&*client.socket).write_all(&bytes).is_err() {
                        client.end();
                    }
                }
            }
            LinkMessage::Closed { connection } => {
                if let Some(client) = client(connection) {
                    client.end();
                }
            }
            LinkMessage::Report { from, text } => log.tuning(from.parse().ok(), &text),
            LinkMessage::Stranger { from, text } => log.tuning_refused(from.parse().ok(), &text),
            LinkMessage::Opened { .. } | LinkMessage::Ready => {}
        }
    }

    fn send(&self, message: &LinkMessage) -> bool {
        lock(&self.link).write_all(&message.encode()).is_ok()
    }

    fn clients(&self) -> MutexGuard<'_, Clients> {
        lock(&self.clients)
    }
}

impl Client {
    fn end(&self) {
        // The client may have ended it before.
        _ = self.socket.shutdown(Shutdown::Both);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Connections at one time, and those of one address.
const MOST: usize = 8;
const MOST_OF_ONE: usize = 4;
/// For the process or a client to take what was sent.
const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Connections of one address, from the first one that is refused on.
    #[test]
    fn one_address_has_few_connections_and_all_have_their_bytes_back() {
        let (here, mut process) = UnixStream::pair().expect("sockets");
        let relay = Arc::new(TuningRelay::new(here).expect("a relay"));
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let mut clients = Vec::new();
        for number in 0..=MOST_OF_ONE {
            let to = listener.local_addr().expect("bound");
            let client = TcpStream::connect(to).expect("connected");
            let (socket, from) = listener.accept().expect("accepted");
            let admitted = relay.admit(socket, from).map_err(|(_, why)| why);
            let expected = if number < MOST_OF_ONE { Ok(()) } else { Err(Refusal::Busy) };
            assert_eq!(admitted, expected, "{number}");
            clients.push(client);
        }
        (&clients[1]).write_all(b"hello").expect("sent");
        let mut input = Vec::new();
        let came = loop {
            let mut buffer = [0; 64];
            let length = process.read(&mut buffer).expect("the relay passes it on");
            input.extend_from_slice(&buffer[..length]);
            if let Some(LinkMessage::Bytes { connection, bytes }) =
                std::iter::from_fn(|| LinkMessage::take(&mut input).expect("whole"))
                    .find(|one| matches!(one, LinkMessage::Bytes { .. }))
            {
                break (connection, bytes);
            }
        };
        assert_eq!(came, (2, b"hello".to_vec()));
        relay.close();
        for client in clients.iter().take(MOST_OF_ONE) {
            let mut nothing = [0; 1];
            assert_eq!({ client }.read(&mut nothing).expect("closed"), 0);
        }
    }
}
