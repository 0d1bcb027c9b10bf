//! Opens connections at a rate and drops them at once.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use socket2::{Domain, SockAddr, Socket, Type};

use super::script::COOKIE_LENGTH;

/// What is opened, and how fast.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dropper {
    pub(super) server: SocketAddr,
    /// Connections in a second.
    pub(super) rate: u32,
    pub(super) says: Says,
}

/// What a connection says before it is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    Nothing,
    /// A whole cookie, so that it could be a client.
    Cookie,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dropped {
    pub(super) connections: u64,
    /// That were not opened within [`PATIENCE`].
    pub(super) failed: u64,
    pub(super) time: Duration,
}

impl Dropped {
    /// Connections opened in a second.
    pub(super) fn rate(&self) -> f64 {
        self.connections as f64 / self.time.as_secs_f64()
    }
}

impl Dropper {
    /// Goes on until `stop` is set, or has opened so many.
    pub(super) fn run(&self, most: u64, stop: &AtomicBool) -> Dropped {
        let start = Instant::now();
        let mut done = Dropped::default();
        let mut begun = 0;
        while begun < most && !stop.load(Relaxed) {
            let due = start.elapsed().as_secs_f64() * f64::from(self.rate);
            if begun as f64 >= due {
                thread::sleep(TURN);
                continue;
            }
            match self.open_and_drop(begun) {
                Ok(()) => done.connections += 1,
                Err(_) => done.failed += 1,
            }
            begun += 1;
        }
        done.time = start.elapsed();
        done
    }

    /// Every other one is dropped with a reset.
    fn open_and_drop(&self, number: u64) -> std::io::Result<()> {
        let socket = Socket::new(Domain::for_address(self.server), Type::STREAM, None)?;
        // It bounds the connect too (socket(7)).
        socket.set_write_timeout(Some(PATIENCE))?;
        socket.connect(&SockAddr::from(self.server))?;
        if self.says == Says::Cookie {
            let mut cookie = [b'd'; COOKIE_LENGTH];
            cookie[..8].copy_from_slice(&number.to_le_bytes().map(|byte| b'a' + byte % 26));
            cookie[COOKIE_LENGTH - 1] = 0;
            socket.send(&cookie)?;
        }
        if number.is_multiple_of(2) {
            socket.set_linger(Some(Duration::ZERO))?;
        }
        Ok(())
    }
}

/// After which a connect has failed: a flood does not wait.
const PATIENCE: Duration = Duration::from_millis(50);
const TURN: Duration = Duration::from_millis(1);
