//! Which tests run, and how what arrives finds its test.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use linux::event::Wake;
use measurement::{StreamOptions, Transport};
use protocol::iperf3::Cookie;

/// A stream that arrived for a test.
pub(super) enum Arrival {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

/// All tests of a server.
pub(super) struct Registry {
    sessions: Mutex<HashMap<Cookie, Entry>>,
    most: usize,
    changed: Wake,
    served: AtomicUsize,
    stopping: AtomicBool,
}

/// What the desk knows of a test.
struct Entry {
    /// The address of its control connection: UDP goes nowhere else (clause 13.6).
    client: IpAddr,
    /// What its streams need; none: it waits for no streams.
    opening: Option<(Transport, StreamOptions)>,
    /// UDP clients whose hello was taken.
    known: Vec<SocketAddr>,
    arrivals: Sender<Arrival>,
    wake: Arc<Wake>,
}

/// A hello's test.
pub(super) enum Owner {
    /// It waits for this stream.
    Expected(StreamOptions),
    /// It has it already.
    Known,
    /// Nobody's.
    Stray,
}

impl Registry {
    pub(super) fn new(most: usize) -> io::Result<Self> {
        Ok(Self {
            sessions: Mutex::default(),
            most,
            changed: Wake::new()?,
            served: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
        })
    }

    /// Becomes readable when a test has ended.
    pub(super) const fn changed(&self) -> &Wake {
        &self.changed
    }

    /// How many tests have begun and ended.
    pub(super) fn served(&self) -> usize {
        self.served.load(SeqCst)
    }

    /// Takes a new test in; none: there are too many.
    pub(super) fn enter(self: &Arc<Self>, cookie: Cookie, client: IpAddr) -> Option<Ticket> {
        let wake = Arc::new(Wake::new().ok()?);
        let mut sessions = self.lock();
        if sessions.len() >= self.most {
            return None;
        }
        let (arrivals, receiver) = channel();
        let client = client.to_canonical();
        let entry =
            Entry { client, opening: None, known: Vec::new(), arrivals, wake: Arc::clone(&wake) };
        sessions.insert(cookie, entry);
        let began = AtomicBool::new(false);
        Some(Ticket { registry: Arc::clone(self), cookie, arrivals: receiver, wake, began })
    }

    /// Hands a connection to the test whose cookie it bears; gives it back if there is
    /// none. One that its test does not wait for is sent away.
    pub(super) fn hand_over(&self, cookie: &Cookie, socket: TcpStream) -> Option<TcpStream> {
        let sessions = self.lock();
        let Some(entry) = sessions.get(cookie) else { return Some(socket) };
        if matches!(entry.opening, Some((Transport::Tcp, _))) {
            entry.deliver(Arrival::Tcp(socket));
        } else {
            super::greeter::send_away(&socket);
        }
        None
    }

    /// Whose hello it is that came from `source`.
    pub(super) fn owner(&self, source: SocketAddr) -> Owner {
        let sessions = self.lock();
        let of_client = |entry: &&Entry| entry.client == source.ip().to_canonical();
        let mut entries = sessions.values().filter(of_client);
        if entries.clone().any(|entry| entry.known.contains(&source)) {
            return Owner::Known;
        }
        match entries.find_map(|entry| entry.opening.clone()) {
            Some((Transport::Udp, options)) => Owner::Expected(options),
            _ => Owner::Stray,
        }
    }

    /// Hands a UDP stream to the test that waits for it.
    pub(super) fn deliver_udp(&self, source: SocketAddr, socket: UdpSocket) {
        let mut sessions = self.lock();
        let waiting = sessions.values_mut().find(|entry| {
            entry.client == source.ip().to_canonical()
                && matches!(entry.opening, Some((Transport::Udp, _)))
        });
        if let Some(entry) = waiting {
            entry.known.push(source);
            entry.deliver(Arrival::Udp(socket));
        }
    }

    /// Tells all tests to end.
    pub(super) fn stop(&self) {
        self.stopping.store(true, SeqCst);
        for entry in self.lock().values() {
            entry.wake.notify();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Cookie, Entry>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn deliver(&self, arrival: Arrival) {
        // A test that has just ended needs no more streams.
        _ = self.arrivals.send(arrival);
        self.wake.notify();
    }
}

/// One test's place in the registry, given up when dropped.
pub(super) struct Ticket {
    registry: Arc<Registry>,
    cookie: Cookie,
    arrivals: Receiver<Arrival>,
    wake: Arc<Wake>,
    began: AtomicBool,
}

impl Ticket {
    /// The name of the test.
    pub(super) const fn cookie(&self) -> Cookie {
        self.cookie
    }

    /// The test begins.
    pub(super) fn begin(&self) {
        self.began.store(true, SeqCst);
    }

    /// Lets streams come.
    pub(super) fn open(&self, transport: Transport, options: &StreamOptions) {
        if let Some(entry) = self.registry.lock().get_mut(&self.cookie) {
            entry.opening = Some((transport, options.clone()));
        }
    }

    /// Lets no more streams come.
    pub(super) fn close(&self) {
        if let Some(entry) = self.registry.lock().get_mut(&self.cookie) {
            entry.opening = None;
        }
    }

    /// The next stream that came.
    pub(super) fn arrival(&self) -> Option<Arrival> {
        self.arrivals.try_recv().ok()
    }

    /// Becomes readable when a stream came or the server stops.
    pub(super) fn wake(&self) -> &Wake {
        &self.wake
    }

    /// Whether the server stops.
    pub(super) fn is_stopping(&self) -> bool {
        self.registry.stopping.load(SeqCst)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.registry.lock().remove(&self.cookie);
        self.registry.served.fetch_add(usize::from(self.began.load(SeqCst)), SeqCst);
        self.registry.changed.notify();
    }
}
