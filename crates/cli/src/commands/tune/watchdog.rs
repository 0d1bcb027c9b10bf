//! A process that undoes the changes of a tuning that was killed: it waits for the end of a pipe whose
//! other end the tuning holds, and which says whether there is a tuning.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use host::tuning::{self, TuningError};
use linux::event::StopSignals;

use crate::exit;

/// The process, as its parent sees it.
pub(in crate::commands) struct Watchdog {
    process: Child,
    pipe: Option<ChildStdin>,
}

impl Watchdog {
    /// Starts a process for the journal in `state`. Signals of the terminal do not reach it.
    pub(in crate::commands) fn start(state: &Path) -> io::Result<Self> {
        let mut command = Command::new("/proc/self/exe");
        command.arg("watchdog").arg(state).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut process = command.process_group(0).spawn()?;
        let pipe = process.stdin.take();
        Ok(Self { process, pipe })
    }

    /// Says whether a tuning is under way; from the start there is one.
    ///
    /// # Errors
    /// The process is gone.
    pub(in crate::commands) fn say(&mut self, is_tuned: bool) -> io::Result<()> {
        let pipe = self.pipe.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        pipe.write_all(&[u8::from(is_tuned)])
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.pipe = None;
        // It ends when the pipe does, and has undone what is left.
        _ = self.process.wait();
    }
}

/// Runs in the process: undoes what the journal has when the pipe ends during a tuning.
pub(crate) fn run(state: &Path) -> ExitCode {
    // A service manager sends SIGTERM to all processes at once: this one has to be the last.
    let _blocked = StopSignals::open();
    let (mut said, mut is_tuned) = ([0; 64], true);
    let mut input = io::stdin().lock();
    while let Ok(count @ 1..) = input.read(&mut said) {
        is_tuned = said[count - 1] != 0;
    }
    if !is_tuned {
        return ExitCode::SUCCESS;
    }
    for _ in 0..TIMES {
        match tuning::undo(state) {
            // The process that was killed has its lock until it is gone.
            Err(TuningError::Busy { .. }) => thread::sleep(RETRY),
            Err(error) => return exit::complain(&exit::failed(error.to_string())),
            Ok(_) => return ExitCode::SUCCESS,
        }
    }
    ExitCode::from(exit::FAILED)
}

const TIMES: u32 = 100;
const RETRY: Duration = Duration::from_millis(50);
