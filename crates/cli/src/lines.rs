//! A log whose writers never wait.

use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::time::Duration;

use portable_atomic::{AtomicU64, Ordering::Relaxed};

/// Writer of lines to standard output on a thread of its own. If the output is not read, the newest
/// lines are dropped and counted.
pub(crate) struct Lines {
    queue: SyncSender<String>,
    dropped: AtomicU64,
}

/// Handle to wait until all lines are written.
pub(crate) struct Written(Receiver<()>);

impl Lines {
    /// Starts the thread.
    pub(crate) fn start() -> std::io::Result<(Self, Written)> {
        let (queue, lines) = sync_channel::<String>(MOST_WAITING);
        let (done, written) = channel();
        std::thread::Builder::new().name("log".to_owned()).spawn(move || {
            let mut out = anstream::stdout();
            for line in lines {
                // A log that is no longer read is no reason to stop serving.
                _ = writeln!(out, "{line}");
            }
            // The waiting end may be gone.
            _ = done.send(());
        })?;
        Ok((Self { queue, dropped: AtomicU64::new(0) }, Written(written)))
    }

    /// Writes a line; if too many lines wait, it is dropped and counted.
    pub(crate) fn write(&self, line: String) {
        let dropped = self.dropped.swap(0, Relaxed);
        let line = match dropped {
            0 => line,
            1 => format!("1 line was dropped: nobody read it\n{line}"),
            count => format!("{count} lines were dropped: nobody read them\n{line}"),
        };
        if let Err(TrySendError::Full(_)) = self.queue.try_send(line) {
            self.dropped.fetch_add(dropped + 1, Relaxed);
        }
    }
}

impl Written {
    /// Waits for the last line, but not for ever.
    pub(crate) fn wait(self) {
        // A reader that has stopped reading does not get the rest.
        _ = self.0.recv_timeout(LONGEST_WAIT);
    }
}

const MOST_WAITING: usize = 1024;
const LONGEST_WAIT: Duration = Duration::from_secs(1);
