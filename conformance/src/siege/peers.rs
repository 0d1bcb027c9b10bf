//! Any number of raw peers on one thread, each with its script.
//!
//! Sockets do not block; readiness comes by epoll(7) and time by a tick, which is
//! coarse on purpose: the machine is there for the server.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use linux::epoll::{Epoll, Events};

use super::peer::{Peer, Progress, Turn, Watches};
use super::random::Random;
use super::script::{Script, Step};
use super::server::PORT;
use super::topology::{Host, Spoke};

/// What a crowd of peers did, for whoever watches it from another thread.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Connections begun.
    pub(super) begun: AtomicU64,
    /// Ended by the server.
    pub(super) closed: AtomicU64,
    /// Of these with a word of refusal.
    pub(super) refused: AtomicU64,
    /// Scripts that came to their end.
    pub(super) finished: AtomicU64,
    /// Connections open now.
    pub(super) open: AtomicU64,
    /// Those of them that have come to their last step.
    pub(super) settled: AtomicU64,
}

/// The sum of one count over several crowds.
pub(super) fn sum(counters: &[Counters], count: fn(&Counters) -> &AtomicU64) -> u64 {
    counters.iter().map(|counters| count(counters).load(Relaxed)).sum()
}

/// A crowd to be.
#[derive(Clone, Copy)]
pub(super) struct Crowd<'a> {
    pub(super) server: SocketAddr,
    pub(super) count: usize,
    /// How far apart they come at first.
    pub(super) spacing: Duration,
    /// How soon the next comes for one that is gone; none: never.
    pub(super) again: Option<Duration>,
    /// One for each kind of peer: slots count in turn.
    pub(super) counters: &'a [Counters],
}

/// Holds a session on each of these hosts of the star while `work` goes on.
pub(super) fn hold<'a, T>(
    sessions: impl IntoIterator<Item = (&'a Spoke, &'a [Step])>,
    counters: &Counters,
    work: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let stop = &AtomicBool::new(false);
    thread::scope(|scope| {
        for (spoke, steps) in sessions {
            let server = SocketAddr::new(spoke.server_address.into(), PORT);
            let crowd = Crowd::of_one(server, counters);
            let script = |_| Script::new(steps.to_vec());
            scope.spawn(move || spoke.client.run(|| crowd.run(script, stop)));
        }
        let outcome = work();
        stop.store(true, Relaxed);
        outcome
    })
}

/// One slot of the crowd.
struct Slot<'a> {
    counters: &'a Counters,
    peer: Option<Peer>,
    /// When there is something to do without the server; none: only then.
    wake_at: Option<Instant>,
    is_settled: bool,
}

impl<'a> Crowd<'a> {
    /// One peer, which comes once.
    const fn of_one(server: SocketAddr, counters: &'a Counters) -> Self {
        let counters = std::slice::from_ref(counters);
        Self { server, count: 1, spacing: Duration::ZERO, again: None, counters }
    }

    /// Runs on a host while `work` goes on. `script` gives each slot its next script.
    pub(super) fn run_during<T>(
        &self,
        host: &Host,
        script: impl FnMut(usize) -> Script + Send,
        work: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let stop = &AtomicBool::new(false);
        thread::scope(|scope| {
            let running = scope.spawn(move || host.run(|| self.run(script, stop))?);
            let outcome = work();
            stop.store(true, Relaxed);
            running.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause))?;
            outcome
        })
    }

    /// Runs until `stop` is set, which closes all connections.
    fn run(
        &self,
        mut script: impl FnMut(usize) -> Script,
        stop: &AtomicBool,
    ) -> anyhow::Result<()> {
        let watches = Watches {
            reading: Epoll::new().context("no epoll")?,
            writing: Epoll::new().context("no epoll")?,
        };
        let mut events = Events::with_capacity(1024);
        let mut random = Random::from_seed(Random::fresh_seed());
        let start = Instant::now();
        let due = |index| start + self.spacing * u32::try_from(index).unwrap_or(0);
        let mut slots: Vec<Slot<'_>> = (0..self.count)
            .map(|index| Slot::due(due(index), &self.counters[index % self.counters.len()]))
            .collect();
        let mut ready = vec![false; self.count];
        while !stop.load(Relaxed) {
            let mark = |token: u64| {
                if let Some(one) = usize::try_from(token).ok().and_then(|at| ready.get_mut(at)) {
                    *one = true;
                }
            };
            watches.wait(&mut events, TICK, mark).context("epoll")?;
            let now = Instant::now();
            for (index, slot) in slots.iter_mut().enumerate() {
                let is_due = slot.wake_at.is_some_and(|at| at <= now);
                if is_due || ready[index] {
                    ready[index] = false;
                    let turn = Turn { watches: &watches, token: index as u64, now };
                    slot.progress(self, turn, &mut random, || script(index));
                }
            }
        }
        for slot in &mut slots {
            slot.leave();
        }
        Ok(())
    }
}

impl<'a> Slot<'a> {
    const fn due(at: Instant, counters: &'a Counters) -> Self {
        Self { counters, peer: None, wake_at: Some(at), is_settled: false }
    }

    fn progress(
        &mut self,
        crowd: &Crowd<'_>,
        turn: Turn<'_>,
        random: &mut Random,
        script: impl FnOnce() -> Script,
    ) {
        let Some(peer) = &mut self.peer else {
            return self.begin(crowd, turn, random, script());
        };
        match peer.advance(turn) {
            Progress::Waiting(until) => {
                self.wake_at = until;
                if peer.is_at_its_last_step() && !self.is_settled {
                    self.is_settled = true;
                    self.counters.settled.fetch_add(1, Relaxed);
                }
            }
            Progress::Over(end) => {
                let counters = self.counters;
                let count =
                    if end == End::Finished { &counters.finished } else { &counters.closed };
                count.fetch_add(1, Relaxed);
                counters.refused.fetch_add(u64::from(end == End::Refused), Relaxed);
                self.leave();
                self.wake_at = crowd.again.map(|pause| turn.now + pause);
            }
        }
    }

    fn begin(&mut self, crowd: &Crowd<'_>, turn: Turn<'_>, random: &mut Random, script: Script) {
        self.counters.begun.fetch_add(1, Relaxed);
        self.peer = Peer::connect(crowd.server, script, turn, random).ok();
        if self.peer.is_some() {
            self.wake_at = Some(turn.now);
            self.counters.open.fetch_add(1, Relaxed);
        } else {
            self.wake_at = crowd.again.map(|pause| turn.now + pause);
        }
    }

    fn leave(&mut self) {
        if self.peer.take().is_some() {
            self.counters.open.fetch_sub(1, Relaxed);
            self.counters.settled.fetch_sub(u64::from(self.is_settled), Relaxed);
            self.is_settled = false;
        }
    }
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// By the server.
    Closed,
    /// By the server, with a word.
    Refused,
    /// By its script, or by its patience.
    Finished,
}

const TICK: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;
    use crate::ask::{Direction, Transport};
    use crate::siege::script::{ACCESS_DENIED, COOKIE_LENGTH, PARAM_EXCHANGE, Session, Stage};

    #[test]
    fn a_peer_plays_its_script_and_tells_how_it_ended() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let server = listener.local_addr().expect("bound");
        let (counters, stop) = (Counters::default(), AtomicBool::new(false));
        let crowd = Crowd::of_one(server, &counters);
        let session = Session::new(Transport::Tcp, Direction::Send);
        let script = || Script::new(session.silent_from(Stage::Asked));
        thread::scope(|scope| {
            let running = scope.spawn(|| crowd.run(|_| script(), &stop));
            let (mut control, _) = listener.accept().expect("a peer comes");
            control.read_exact(&mut [0; COOKIE_LENGTH]).expect("a cookie");
            control.write_all(&[PARAM_EXCHANGE]).expect("it listens");
            let mut parameters = vec![0; session.parameters().len()];
            control.read_exact(&mut parameters).expect("parameters");
            assert_eq!(parameters, session.parameters());
            control.write_all(&[ACCESS_DENIED]).expect("it listens");
            drop(control);
            while counters.closed.load(Relaxed) == 0 {
                thread::yield_now();
            }
            stop.store(true, Relaxed);
            running.join().expect("no panic").expect("it runs");
        });
        let Counters { begun, refused, finished, open, .. } = &counters;
        assert_eq!([begun, refused, finished, open].map(|count| count.load(Relaxed)), [1, 1, 0, 0]);
    }
}
