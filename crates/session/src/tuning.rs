//! The connection on which a client has settings of another host changed ([`TuningConnection`]).
//! Which ones is not decided here.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use linux::event::StopSignals;
use protocol::tuning::Broken;

use crate::clock::SystemClock;
use crate::error::SessionError;
use crate::iperf3::client::connect::connect_control;
use crate::request::Request as TestRequest;

/// Types of the protocol that are asked and answered.
pub use protocol::tuning::{
    Answer, ClientSide, HostSide, KeyError, MOST_SETTINGS, ReadBack, Request, SharedKey,
};

/// A connection to the linerate of a host that lets this one tune it. The host hears of it twice a
/// second, and undoes everything that is not kept when it does not, or when this is dropped.
#[derive(Debug)]
pub struct TuningConnection {
    shared: Arc<Shared>,
    /// Its end stops the thread that says that this host is there.
    _alive: Sender<()>,
}

#[derive(Debug)]
struct Shared {
    socket: TcpStream,
    machine: Mutex<ClientSide>,
}

/// Reason for which a host cannot be tuned, or not any more. Its text is a sentence about the host,
/// without a full stop.
#[derive(Debug, thiserror::Error)]
pub enum TuningLoss {
    /// There is no connection to it.
    #[error("{0}")]
    Connect(SessionError),
    /// The host's message is refused.
    #[error("{0}")]
    Broken(Broken),
    /// It has ended the connection.
    #[error("it has ended the connection, and undone the changes")]
    Ended,
    /// It does not answer.
    #[error("it does not answer within {} s, and undoes the changes", ANSWER.as_secs())]
    Silent,
    /// The connection failed.
    #[error("the connection failed: {}", crate::reason(.0))]
    Connection(io::Error),
    /// The request has too many settings, or too long ones.
    #[error("the settings do not fit into one request")]
    TooLong,
}

impl TuningConnection {
    /// Connects to the host and port of `to`, whose plan does not matter, and proves on both ends
    /// that they have `key`.
    ///
    /// # Errors
    /// [`TuningLoss`].
    pub fn open(
        to: &TestRequest,
        key: &SharedKey,
        interrupts: Option<&StopSignals>,
    ) -> Result<Self, TuningLoss> {
        let connected = connect_control(to, interrupts, &SystemClock);
        let (socket, _) = connected.map_err(TuningLoss::Connect)?;
        let nonce = linux::entropy::random().map_err(TuningLoss::Connection)?;
        let machine = Mutex::new(ClientSide::new(key, nonce));
        let shared = Arc::new(Shared { socket, machine });
        shared.prepare().map_err(TuningLoss::Connection)?;
        shared.flush(&mut shared.machine()).map_err(TuningLoss::Connection)?;
        while !shared.machine().is_open() {
            shared.receive()?;
        }
        let (alive, ended) = mpsc::channel();
        let own = Arc::clone(&shared);
        let work = move || {
            while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) && own.greet() {}
        };
        let thread = thread::Builder::new().name("alive".to_owned()).spawn(work);
        thread.map_err(TuningLoss::Connection)?;
        Ok(Self { shared, _alive: alive })
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// [`TuningLoss`]: the connection is of no use any more.
    pub fn ask(&mut self, request: &Request) -> Result<Answer, TuningLoss> {
        {
            let mut machine = self.shared.machine();
            if !machine.request(request) {
                return Err(TuningLoss::TooLong);
            }
            self.shared.flush(&mut machine).map_err(lost)?;
        }
        loop {
            // One request is under way at a time.
            if let Some(answer) = self.shared.receive()?.pop() {
                return Ok(answer);
            }
        }
    }
}

impl Drop for TuningConnection {
    fn drop(&mut self) {
        self.shared.end();
    }
}

impl Shared {
    fn prepare(&self) -> io::Result<()> {
        self.socket.set_nonblocking(false)?;
        self.socket.set_nodelay(true)?;
        self.socket.set_write_timeout(Some(WRITE))?;
        self.socket.set_read_timeout(Some(ANSWER))
    }

    /// Tells the host that this one is there; false: it cannot be told.
    fn greet(&self) -> bool {
        let mut machine = self.machine();
        let told = machine.request(&Request::Alive) && self.flush(&mut machine).is_ok();
        if !told {
            // Half a message would make the next one a forged one.
            self.end();
        }
        told
    }

    fn flush(&self, machine: &mut ClientSide) -> io::Result<()> {
        (&self.socket).write_all(&machine.take_output())
    }

    /// Waits for bytes; the answers that they complete.
    fn receive(&self) -> Result<Vec<Answer>, TuningLoss> {
        let mut buffer = [0; 4096];
        let length = (&self.socket).read(&mut buffer).map_err(lost)?;
        let mut machine = self.machine();
        if length == 0 {
            let has_no_key = machine.is_asked() && !machine.is_open();
            return Err(if has_no_key {
                TuningLoss::Broken(Broken::Proof)
            } else {
                TuningLoss::Ended
            });
        }
        let answers = machine.receive(&buffer[..length]).map_err(TuningLoss::Broken)?;
        self.flush(&mut machine).map_err(TuningLoss::Connection)?;
        Ok(answers)
    }

    fn end(&self) {
        // The host may have ended it before.
        _ = self.socket.shutdown(Shutdown::Both);
    }

    fn machine(&self) -> MutexGuard<'_, ClientSide> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lost(error: io::Error) -> TuningLoss {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => TuningLoss::Silent,
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => TuningLoss::Ended,
        _ => TuningLoss::Connection(error),
    }
}

/// From one sign of life to the next.
const EVERY: Duration = Duration::from_millis(500);
/// A driver may reset a device for three seconds for each of some settings.
const ANSWER: Duration = Duration::from_secs(15);
const WRITE: Duration = Duration::from_secs(2);
