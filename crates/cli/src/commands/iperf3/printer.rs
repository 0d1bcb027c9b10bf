//! Where the lines go, and what stands before each.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::words::Failure;
use crate::flags::Iperf3Flags;

/// Standard output or a log file; shared by all that print.
#[derive(Clone)]
pub(super) struct Printer {
    out: Arc<Mutex<Box<dyn Write + Send>>>,
    /// The output goes to a file, and errors with it.
    logs: bool,
    title: Option<String>,
    timestamps: Option<String>,
}

impl Printer {
    pub(super) fn new(flags: &Iperf3Flags) -> Result<Self, Failure> {
        let out: Box<dyn Write + Send> = match &flags.logfile {
            None => Box::new(io::stdout()),
            Some(path) => {
                let file = OpenOptions::new().append(true).create(true).open(path);
                Box::new(file.map_err(|error| {
                    Failure::system(&format!("unable to open log file {}", path.display()), &error)
                })?)
            }
        };
        Ok(Self {
            out: Arc::new(Mutex::new(out)),
            logs: flags.logfile.is_some(),
            title: flags.title.clone(),
            timestamps: flags.timestamps.clone(),
        })
    }

    /// Prints whole lines, each after the time and the title if these were asked for.
    /// Gives what it printed.
    pub(super) fn lines(&self, text: &str) -> String {
        let prefix = self.prefix();
        let whole: String = text.split_inclusive('\n').flat_map(|line| [&prefix, line]).collect();
        self.raw(&whole);
        whole
    }

    /// Prints a text of which only the beginning is a line of its own.
    pub(super) fn block(&self, text: &str) {
        self.raw(&format!("{}{text}", self.prefix()));
    }

    /// Prints a text as it is.
    pub(super) fn raw(&self, text: &str) {
        let mut out = self.lock();
        // A reader that has gone has seen enough; the test goes on for the peer's sake.
        _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    /// Says what went wrong: in the log file if there is one, else on standard error.
    pub(super) fn error(&self, text: &str) {
        let line = format!("{}iperf3: {text}\n", self.time());
        if self.logs {
            self.raw(&line);
        } else {
            // Standard error may be closed; the exit code is what is left then.
            _ = io::stderr().write_all(line.as_bytes());
        }
    }

    fn time(&self) -> String {
        self.timestamps.as_deref().map(linux::clock::local_time).unwrap_or_default()
    }

    fn prefix(&self) -> String {
        let title = self.title.as_ref().map(|title| format!("{title}:  ")).unwrap_or_default();
        format!("{}{title}", self.time())
    }

    fn lock(&self) -> MutexGuard<'_, Box<dyn Write + Send>> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
