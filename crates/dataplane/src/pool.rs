//! The workers of one test.

use std::io;
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use linux::event::Wake;
use measurement::StreamCounters;

use crate::counters::Counters;
use crate::pacing::PacingTally;
use crate::scratch::{Memory, Scratch};
use crate::stream::Stream;
use crate::worker::{Orders, Worker};

/// A stream that is connected and ready to start.
pub struct OpenStream {
    /// Its id on the wire.
    pub id: u32,
    /// Whether this end sends.
    pub sender: bool,
    /// Its engine.
    pub engine: Box<dyn Stream>,
    /// What the engine counts.
    pub counters: Arc<Counters>,
}

/// Worker threads, each with its share of the streams.
pub struct Pool {
    threads: Vec<(JoinHandle<io::Result<()>>, Arc<Wake>)>,
    orders: Arc<Orders>,
    gate: Arc<Gate>,
    done: Arc<Wake>,
    streams: Vec<Watched>,
    /// One per worker.
    tallies: Vec<Arc<PacingTally>>,
}

/// What the pool's owner keeps of a stream.
struct Watched {
    id: u32,
    sender: bool,
    counters: Arc<Counters>,
}

impl Pool {
    /// Starts one thread per CPU of `cpus`, but no more than there are streams, and
    /// deals the streams out. The threads wait for [`Self::start`]. With `pin`
    /// thread `n` stays on the `n`th CPU.
    ///
    /// # Errors
    /// What the kernel reports, e.g. too many open files, or `EINVAL` for a CPU on which
    /// this process may not run.
    pub fn prepare(
        streams: Vec<OpenStream>,
        memory: Memory,
        cpus: &[usize],
        pin: bool,
    ) -> io::Result<Self> {
        let count = cpus.len().min(streams.len()).max(1);
        let mut pool = Self {
            threads: Vec::with_capacity(count),
            orders: Arc::default(),
            gate: Arc::default(),
            done: Arc::new(Wake::new()?),
            streams: Vec::with_capacity(streams.len()),
            tallies: Vec::with_capacity(count),
        };
        let mut shares: Vec<Vec<Box<dyn Stream>>> = (0..count).map(|_| Vec::new()).collect();
        for (index, stream) in streams.into_iter().enumerate() {
            let OpenStream { id, sender, counters, engine } = stream;
            pool.streams.push(Watched { id, sender, counters });
            shares[index % count].push(engine);
        }
        for (index, share) in shares.into_iter().enumerate() {
            let cpu = if pin { cpus.get(index).copied() } else { None };
            pool.spawn(share, Scratch::new(memory)?, cpu)?;
        }
        Ok(pool)
    }

    fn spawn(
        &mut self,
        streams: Vec<Box<dyn Stream>>,
        scratch: Scratch,
        cpu: Option<usize>,
    ) -> io::Result<()> {
        self.tallies.push(Arc::clone(&scratch.pacing));
        let wake = Arc::new(Wake::new()?);
        let (orders, done) = (Arc::clone(&self.orders), Arc::clone(&self.done));
        let mut worker = Worker::new(streams, scratch, orders, Arc::clone(&wake), done)?;
        let gate = Arc::clone(&self.gate);
        let name = format!("worker-{}", self.threads.len());
        let (report, pinned) = channel();
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            // Whoever waits for that is there until it has come.
            _ = report.send(cpu.map_or(Ok(()), linux::host::pin_thread));
            linux::host::sharpen_timers();
            gate.wait();
            worker.run()
        })?;
        self.threads.push((thread, wake));
        // A thread that ends without a word has panicked, which the join tells.
        pinned.recv().unwrap_or(Ok(()))
    }

    /// Lets all workers go at once.
    pub fn start(&self) {
        self.gate.open();
    }

    /// Ends the sending streams; receiving ones go on. When it returns the senders'
    /// counters are final, unless a worker hangs in the kernel.
    pub fn stop_sending(&self) {
        self.orders.stop_sending();
        self.wake_all();
        for _ in 0..STOP_CHECKS {
            if self.senders_finished() {
                return;
            }
            std::thread::sleep(STOP_CHECK);
        }
    }

    /// Ends all streams and waits for the threads.
    ///
    /// # Errors
    /// What stopped a worker early.
    pub fn close(mut self) -> io::Result<()> {
        self.join_all()
    }

    /// Becomes readable when a stream is done; see [`Self::senders_finished`].
    pub fn done(&self) -> &Wake {
        &self.done
    }

    /// Whether no sending stream will send more.
    pub fn senders_finished(&self) -> bool {
        self.streams.iter().all(|stream| !stream.sender || stream.counters.is_finished())
    }

    /// Whether a stream ended with an error, or no stream is left to receive: then
    /// what has not moved will not move any more.
    pub fn is_stuck(&self) -> bool {
        let mut receivers = self.streams.iter().filter(|stream| !stream.sender).peekable();
        let deaf = receivers.peek().is_some() && receivers.all(|s| s.counters.is_finished());
        deaf || self.stream_error().is_some()
    }

    /// The first error that ended a stream.
    pub fn stream_error(&self) -> Option<(u32, io::Error)> {
        self.streams.iter().find_map(|stream| {
            let errno = stream.counters.errno()?;
            Some((stream.id, io::Error::from_raw_os_error(errno)))
        })
    }

    /// Every stream's id, whether it sends, and its counters now.
    pub fn read(&self) -> impl Iterator<Item = (u32, bool, StreamCounters)> + '_ {
        self.streams.iter().map(|stream| (stream.id, stream.sender, stream.counters.read()))
    }

    /// How the paced senders of each worker keep their times.
    pub fn pacing(&self) -> impl Iterator<Item = &PacingTally> {
        self.tallies.iter().map(|tally| &**tally)
    }

    /// What every stream counts, for those who watch it from afar.
    pub fn counters(&self) -> impl Iterator<Item = Arc<Counters>> + '_ {
        self.streams.iter().map(|stream| Arc::clone(&stream.counters))
    }

    /// Worker of the stream that was given as number `index`.
    pub fn worker_of(&self, index: usize) -> usize {
        index % self.threads.len()
    }

    /// Stops all threads and waits for every one; the first error of any.
    fn join_all(&mut self) -> io::Result<()> {
        self.orders.stop();
        self.gate.open();
        self.wake_all();
        let mut result = Ok(());
        for (thread, _) in self.threads.drain(..) {
            let panicked = |_| Err(io::Error::other("a worker thread panicked"));
            result = result.and(thread.join().unwrap_or_else(panicked));
        }
        result
    }

    fn wake_all(&self) {
        for (_, wake) in &self.threads {
            wake.notify();
        }
    }
}

/// No thread outlives its pool, also if that could only be prepared in part.
impl Drop for Pool {
    fn drop(&mut self) {
        // Who wants to know why a worker stopped calls `close`.
        _ = self.join_all();
    }
}

/// A worker looks up between two system calls, so that one check is mostly enough.
const STOP_CHECK: Duration = Duration::from_micros(50);
const STOP_CHECKS: u32 = 10_000;

/// Holds the workers until all are to go.
#[derive(Debug, Default)]
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn open(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.opened.notify_all();
    }

    fn wait(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        while !*open {
            open = self.opened.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::{Filling, Kind};

    #[test]
    fn a_worker_that_cannot_stay_on_its_cpu_is_refused_before_the_start() {
        let memory = Memory { kind: Kind::Blocks, block: 1, filling: Filling::Digits };
        let refusal = Pool::prepare(Vec::new(), memory, &[1 << 20], true).err();
        assert_eq!(refusal.expect("no such CPU").kind(), io::ErrorKind::InvalidInput);
        let own = linux::host::allowed_cpus().expect("an affinity");
        assert!(Pool::prepare(Vec::new(), memory, &own, true).is_ok());
    }
}
