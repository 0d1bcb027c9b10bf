//! Serves what the server counts to monitoring systems: OpenMetrics by HTTP, on a
//! listener and a thread of its own, which never blocks. No cryptography, no users:
//! whoever reaches the address may read.

use std::io;
use std::net::{Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, anyhow};
use linux::event::EventFd;
use linux::poll::{PollFd, wait};
use session::server::ServerMetrics;

mod exchange;
mod exposition;
mod http;
mod pages;
mod plain;
mod process;

use exchange::Exchange;
use pages::Pages;

/// A port for metrics that is open and not yet answered.
pub(super) struct MetricsListener {
    listener: TcpListener,
    address: SocketAddr,
}

impl MetricsListener {
    /// Opens the port.
    pub(super) fn bind(on: SocketAddr) -> anyhow::Result<Self> {
        // All addresses mean those of IPv4 too.
        let dual = on.ip() == Ipv6Addr::UNSPECIFIED;
        let opened = linux::tcp::listen_on(None, on, dual).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(Self { address: listener.local_addr()?, listener })
        });
        opened.map_err(|error| {
            anyhow!("cannot serve metrics on {on}: {}; {}", session::reason(&error), hint(&error))
        })
    }

    /// Where they are served: the port that the kernel chose, if it was to choose.
    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers from now on, on a thread that inherits what this one may do.
    pub(super) fn start(self, counts: Arc<ServerMetrics>) -> anyhow::Result<Metrics> {
        let wake = Arc::new(EventFd::new().context("cannot start the metrics' thread")?);
        let desk = Desk {
            listener: self.listener,
            over: Arc::clone(&wake),
            pages: Pages::new(counts),
            exchanges: Vec::new(),
            rests_until: None,
        };
        let thread = std::thread::Builder::new().name("metrics".to_owned());
        let thread = thread.spawn(|| desk.run()).context("cannot start the metrics' thread")?;
        Ok(Metrics { over: wake, thread: Some(thread) })
    }
}

/// Metrics that are served as long as this value lives.
pub(super) struct Metrics {
    over: Arc<EventFd>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.over.notify();
        // A thread that panicked has said so already.
        _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The thread that serves all connections.
struct Desk {
    listener: TcpListener,
    over: Arc<EventFd>,
    pages: Pages,
    /// The oldest first.
    exchanges: Vec<Exchange>,
    /// No connection is accepted before, by the monotonic clock.
    rests_until: Option<Duration>,
}

impl Desk {
    fn run(mut self) {
        loop {
            match self.wait() {
                Ok(false) => {}
                Ok(true) => return,
                // The kernel lacks memory, which this server cannot mend.
                Err(_) => std::thread::sleep(REST),
            }
            let now = linux::clock::monotonic();
            self.accept(now);
            let pages = &self.pages;
            self.exchanges.retain_mut(|exchange| exchange.proceed(now, pages).is_under_way());
        }
    }

    /// Waits until there is something to do; whether the thread is to end.
    fn wait(&mut self) -> io::Result<bool> {
        let now = linux::clock::monotonic();
        self.rests_until = self.rests_until.filter(|until| *until > now);
        let mut watches = vec![PollFd::readable(self.over.as_fd())];
        watches.extend(self.exchanges.iter().map(Exchange::watch));
        if self.rests_until.is_none() {
            watches.push(PollFd::readable(self.listener.as_fd()));
        }
        let deadlines = self.exchanges.iter().map(Exchange::deadline).chain(self.rests_until);
        let left = deadlines.min().map(|deadline| deadline.saturating_sub(now));
        wait(&mut watches, left)?;
        Ok(watches[0].ready().is_readable())
    }

    fn accept(&mut self, now: Duration) {
        for _ in 0..MOST_EXCHANGES {
            if self.rests_until.is_some() {
                return;
            }
            match linux::tcp::accept(&self.listener) {
                Ok((socket, _)) => self.exchanges.push(Exchange::new(socket, now)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Too many open files, or about one connection only.
                Err(_) => self.rests_until = Some(now + REST),
            }
            if self.exchanges.len() > MOST_EXCHANGES {
                // A client that sends its request without delay was answered long ago.
                self.exchanges.remove(0);
            }
        }
    }
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "choose another port with --metrics",
        io::ErrorKind::PermissionDenied => "ports below 1024 need root: choose a higher one",
        io::ErrorKind::AddrNotAvailable => "no interface has that address: see \"ip address\"",
        _ => "check --metrics",
    }
}

/// Connections at one time; the oldest makes room.
const MOST_EXCHANGES: usize = 32;
/// How long to leave a kernel alone that has no room for another connection.
const REST: Duration = Duration::from_millis(100);
