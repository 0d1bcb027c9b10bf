//! Who tests what and when: tests that wait, and threads that run them, one test at a time against
//! each host. Bounded in number and time. A host whose last test failed is tested by a thread of its
//! own: one that does not answer holds up no test of another.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use linux::event::{EventFd, StopSignals};

use super::ask::Asked;
use super::measure;
use crate::flags::Allowed;
use crate::http::{Answer, Form};
use crate::lines::Lines;

/// The threads that test.
pub(super) struct Desk {
    pub(super) shared: Arc<Shared>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

/// What the threads have in common.
#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    /// Notified when there may be something to do.
    changed: Condvar,
    answered: Arc<EventFd>,
    /// Ends the tests that run.
    stop: StopSignals,
}

#[derive(Debug, Default)]
struct State {
    /// The earliest first.
    waiting: VecDeque<Job>,
    running: HashSet<Allowed>,
    /// Hosts whose last test failed.
    doubtful: HashSet<Allowed>,
    counts: Counts,
    is_closed: bool,
}

/// Which hosts a thread tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    Sound,
    Doubtful,
}

#[derive(Debug)]
struct Job {
    asked: Asked,
    form: Form,
    answer: SyncSender<Answer>,
    /// It is not begun after that, by the monotonic clock.
    deadline: Duration,
}

/// Counts since the start, and the present state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) succeeded: u64,
    pub(super) failed: u64,
    pub(super) invalid: u64,
    pub(super) forbidden: u64,
    pub(super) busy: u64,
    pub(super) running: u64,
    pub(super) waiting: u64,
}

impl Desk {
    /// Starts so many threads, and one for doubtful hosts. They notify `answered` when they have
    /// answered a request.
    pub(super) fn open(count: u32, answered: Arc<EventFd>, lines: Lines) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            answered,
            stop: StopSignals::manual()?,
        });
        let lines = Arc::new(lines);
        let start = |lane| {
            let (shared, lines) = (Arc::clone(&shared), Arc::clone(&lines));
            let thread = std::thread::Builder::new().name("probe".to_owned());
            thread.spawn(move || shared.work(lane, &lines))
        };
        let each = (0..count).map(|_| Lane::Sound).chain([Lane::Doubtful]);
        let threads = each.map(start).collect::<io::Result<_>>()?;
        Ok(Self { shared, threads })
    }

    /// Ends the tests that run, and the threads.
    pub(super) fn close(self) {
        let mut state = self.shared.lock();
        state.is_closed = true;
        // Whoever waits hears that there is nobody to answer.
        state.waiting.clear();
        drop(state);
        self.shared.stop.notify();
        self.shared.changed.notify_all();
        for thread in self.threads {
            // A thread that panicked has said so already.
            _ = thread.join();
        }
        self.shared.answered.notify();
    }
}

impl Shared {
    /// Has a test run; where its answer comes. None: too many wait.
    pub(super) fn take(&self, asked: Asked, form: Form) -> Option<Receiver<Answer>> {
        let (answer, receiver) = sync_channel(1);
        let deadline = linux::clock::monotonic() + LONGEST_WAIT;
        let mut state = self.lock();
        if state.waiting.len() >= MOST_WAITING || state.is_closed {
            state.counts.busy += 1;
            return None;
        }
        state.waiting.push_back(Job { asked, form, answer, deadline });
        self.changed.notify_all();
        Some(receiver)
    }

    pub(super) fn counts(&self) -> Counts {
        let state = self.lock();
        let count = |number: usize| number as u64;
        let (running, waiting) = (count(state.running.len()), count(state.waiting.len()));
        Counts { running, waiting, ..state.counts }
    }

    /// Counts a request that asks for what it may not have.
    pub(super) fn count_refused(&self, count: impl FnOnce(&mut Counts)) {
        count(&mut self.lock().counts);
    }

    fn work(&self, lane: Lane, lines: &Lines) {
        while let Some(job) = self.next(lane) {
            let target = job.asked.target.clone();
            let result = measure::run(job.asked, &self.stop);
            let mut state = self.lock();
            state.running.remove(&target);
            if result.failure.is_none() {
                state.counts.succeeded += 1;
                state.doubtful.remove(&target);
            } else {
                state.counts.failed += 1;
                state.doubtful.insert(target.clone());
            }
            drop(state);
            if let Some(failure) = result.failure {
                lines.write(format!("{}:{}: {failure}", target.host, target.port));
            }
            self.reply(&job.answer, Answer::metrics(job.form, result.text));
            // Another thread may have left a test of the same host.
            self.changed.notify_all();
        }
    }

    /// Waits for a test that may begin. None: there will be none.
    fn next(&self, lane: Lane) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return None;
            }
            self.dismiss(&mut state);
            let is_free = |job: &Job| {
                let target = &job.asked.target;
                let is_doubtful = state.doubtful.contains(target);
                !state.running.contains(target) && is_doubtful == (lane == Lane::Doubtful)
            };
            let free = state.waiting.iter().position(is_free);
            if let Some(job) = free.and_then(|at| state.waiting.remove(at)) {
                state.running.insert(job.asked.target.clone());
                return Some(job);
            }
            let waited = self.changed.wait_timeout(state, GLANCE);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Answers those that have waited too long.
    fn dismiss(&self, state: &mut State) {
        let now = linux::clock::monotonic();
        while state.waiting.front().is_some_and(|job| job.deadline <= now) {
            let Some(job) = state.waiting.pop_front() else { return };
            state.counts.busy += 1;
            self.reply(&job.answer, Answer::unavailable(BUSY));
        }
    }

    fn reply(&self, to: &SyncSender<Answer>, answer: Answer) {
        // A client that has gone needs no answer.
        _ = to.try_send(answer);
        self.answered.notify();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a test did not run.
pub(super) const BUSY: &str = "busy with other tests: ask less often, or for shorter ones";
/// How long a test waits for those before it.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Fewer than connections.
const MOST_WAITING: usize = 14;
/// How often those that wait are looked at.
const GLANCE: Duration = Duration::from_millis(250);
