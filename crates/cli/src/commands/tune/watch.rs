//! Watches whether the server is heard of while a test runs with changed settings, and undoes them
//! when it is not: a change may have cut the connection.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context;
use campaign::{Event, Monitor};
use linux::clock;
use portable_atomic::{AtomicU64, Ordering::Relaxed};

use super::host_tuner::Session;

/// Passes the events of tests on, and notes when the server was heard of.
pub(in crate::commands) struct Watch<'a> {
    shown: &'a mut dyn Monitor,
    heard: Arc<Heard>,
    /// Bytes that had moved at the last glimpse.
    moved: u64,
    /// Its end stops the thread.
    running: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// When the server was last heard of, in milliseconds of the monotonic clock; [`IDLE`]: no test runs.
struct Heard(AtomicU64);

impl<'a> Watch<'a> {
    /// Starts a thread that undoes the settings of `session` after a silence of [`PATIENCE`].
    pub(in crate::commands) fn start(
        shown: &'a mut dyn Monitor,
        session: Session,
    ) -> anyhow::Result<Self> {
        let heard = Arc::new(Heard(AtomicU64::new(IDLE)));
        let (running, ended) = mpsc::channel();
        let watched = Arc::clone(&heard);
        let watch = move || {
            while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                if watched.is_silent() {
                    session.undo_all(SILENT);
                    watched.stop();
                }
            }
        };
        let thread = thread::Builder::new().name("watch".to_owned()).spawn(watch);
        let thread = Some(thread.context("cannot start a thread")?);
        Ok(Self { shown, heard, moved: 0, running: Some(running), thread })
    }
}

impl Monitor for Watch<'_> {
    fn receive(&mut self, event: &Event<'_>) {
        match event {
            Event::Begins(_) => {
                self.moved = 0;
                self.heard.note();
            }
            Event::Ended(_) | Event::Failed(_) => self.heard.stop(),
            Event::Glimpsed(glimpse) => {
                // What a sender of UDP does not know is no silence.
                let arrived = glimpse.acknowledged.unwrap_or(glimpse.sent);
                let moved = arrived.saturating_add(glimpse.received);
                if moved > std::mem::replace(&mut self.moved, moved) {
                    self.heard.note();
                }
            }
            Event::Sampled(_) => {}
            Event::Introduced(_)
            | Event::Waiting { .. }
            | Event::Opening { .. }
            | Event::Opened(_)
            | Event::Started { .. } => self.heard.note(),
        }
        self.shown.receive(event);
    }

    fn glimpses_every(&self) -> Option<Duration> {
        Some(self.shown.glimpses_every().unwrap_or(EVERY))
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.running = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing left to do.
            _ = thread.join();
        }
    }
}

impl Heard {
    fn note(&self) {
        self.0.store(now(), Relaxed);
    }

    fn stop(&self) {
        self.0.store(IDLE, Relaxed);
    }

    fn is_silent(&self) -> bool {
        let last = self.0.load(Relaxed);
        last != IDLE && now().saturating_sub(last) > PATIENCE
    }
}

fn now() -> u64 {
    u64::try_from(clock::monotonic().as_millis()).unwrap_or(IDLE - 1)
}

const IDLE: u64 = u64::MAX;
/// In milliseconds. A SYN is sent again after 1 and 3 seconds (RFC 6298, 2.1 and 5.5).
const PATIENCE: u64 = 3_500;
const EVERY: Duration = Duration::from_millis(200);
const SILENT: &str = "the server was silent for 3.5 s with it, so that it was undone";
