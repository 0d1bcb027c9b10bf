//! A program that stands still again and again (SIGSTOP and SIGCONT, signal(7)).

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use testbed::process;

/// A thread that stops a process and lets it go on; the process goes on when this ends.
#[derive(Debug)]
pub(crate) struct Standstill {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Standstill {
    /// The process runs so long, stands still so long, and so on.
    pub(crate) fn start(id: u32, run_ms: u64, stop_ms: u64) -> Result<Self> {
        let (end, ended) = mpsc::channel::<()>();
        let turns = [(run_ms, "STOP"), (stop_ms, "CONT")];
        let work = move || {
            for (millis, signal) in turns.into_iter().cycle() {
                let wait = ended.recv_timeout(Duration::from_millis(millis));
                if wait != Err(RecvTimeoutError::Timeout) {
                    break;
                }
                send(id, signal);
            }
            send(id, "CONT");
        };
        let thread = thread::Builder::new().spawn(work).context("cannot start a thread")?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Standstill {
    fn drop(&mut self) {
        drop(self.end.take());
        // A panic there has been shown; the process goes on to its end anyway.
        _ = self.thread.take().map(JoinHandle::join);
    }
}

fn send(id: u32, signal: &str) {
    // A process that has ended needs no signal.
    _ = process::signal(id, signal);
}
