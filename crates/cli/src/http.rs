//! A small server of HTTP/1.1 for monitoring systems, on a listener and a thread of its own, which
//! never blocks. No cryptography, no users: whoever reaches the address may read.

use std::io;
use std::net::{Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, anyhow};
use linux::event::EventFd;
use linux::poll::{PollFd, wait};

mod answer;
mod exchange;
mod request;

use exchange::Exchange;

pub(crate) use answer::{Answer, TEXT};
pub(crate) use request::{Form, Request, Wants};

/// The pages of a service, and its answers to requests.
pub(crate) trait Pages: Send {
    /// The answer to a `GET` or `HEAD` request. It may not wait.
    fn reply(&self, request: &Request) -> Reply;
}

/// Answer to a request.
pub(crate) enum Reply {
    /// The answer is known.
    Now(Answer),
    /// The answer takes work on another thread, for at most this long. That thread sends it, then
    /// notifies the event of [`Listener::start`].
    Later(Receiver<Answer>, Duration),
}

/// A port that is open and not yet answered.
pub(crate) struct Listener {
    listener: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Opens the port to serve `what` on the address that `option` gave.
    pub(crate) fn bind(on: SocketAddr, what: &str, option: &str) -> anyhow::Result<Self> {
        // All addresses mean those of IPv4 too.
        let dual = on.ip() == Ipv6Addr::UNSPECIFIED;
        let opened = linux::tcp::listen_on(None, on, dual).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(Self { address: listener.local_addr()?, listener })
        });
        opened.map_err(|error| {
            let hint = hint(&error).replace("OPTION", option);
            anyhow!("cannot serve {what} on {on}: {}; {hint}", session::reason(&error))
        })
    }

    /// Where they are served: the port that the kernel chose, if it was to choose.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers from now on, on a thread that inherits what this one may do. `answered` is the event
    /// for answers that come later.
    pub(crate) fn start(
        self,
        pages: Box<dyn Pages>,
        answered: Arc<EventFd>,
    ) -> anyhow::Result<Service> {
        let over = Arc::new(EventFd::new().context("cannot start the thread of HTTP")?);
        let desk = Desk {
            listener: self.listener,
            over: Arc::clone(&over),
            answered,
            pages,
            exchanges: Vec::new(),
            rests_until: None,
        };
        let thread = std::thread::Builder::new().name("http".to_owned());
        let thread = thread.spawn(|| desk.run()).context("cannot start the thread of HTTP")?;
        Ok(Service { over, thread: Some(thread) })
    }
}

/// A service that answers as long as this value lives.
pub(crate) struct Service {
    over: Arc<EventFd>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Service {
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
    /// Readable: an answer has come.
    answered: Arc<EventFd>,
    pages: Box<dyn Pages>,
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
            let pages = &*self.pages;
            self.exchanges.retain_mut(|exchange| exchange.proceed(now, pages).is_under_way());
        }
    }

    /// Waits until there is something to do; whether the thread is to end.
    fn wait(&mut self) -> io::Result<bool> {
        let now = linux::clock::monotonic();
        self.rests_until = self.rests_until.filter(|until| *until > now);
        let own = [self.over.as_fd(), self.answered.as_fd()];
        let mut watches: Vec<_> = own.into_iter().map(PollFd::readable).collect();
        watches.extend(self.exchanges.iter().map(Exchange::watch));
        if self.rests_until.is_none() {
            watches.push(PollFd::readable(self.listener.as_fd()));
        }
        let deadlines = self.exchanges.iter().map(Exchange::deadline).chain(self.rests_until);
        let left = deadlines.min().map(|deadline| deadline.saturating_sub(now));
        wait(&mut watches, left)?;
        let is_over = watches[0].ready().is_readable();
        self.answered.clear();
        Ok(is_over)
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
                // A client that sends its request without delay was answered long ago. What is
                // being worked on is bounded elsewhere, to fewer.
                let oldest = self.exchanges.iter().position(|one| !one.is_awaiting());
                self.exchanges.remove(oldest.unwrap_or(0));
            }
        }
    }
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "choose another port with OPTION",
        io::ErrorKind::PermissionDenied => "ports below 1024 need root: choose a higher one",
        io::ErrorKind::AddrNotAvailable => "no interface has that address: see \"ip address\"",
        _ => "check OPTION",
    }
}

/// Connections at one time; the oldest makes room.
const MOST_EXCHANGES: usize = 32;
/// How long to leave a kernel alone that has no room for another connection.
const REST: Duration = Duration::from_millis(100);
