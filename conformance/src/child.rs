//! A program that was started here, and that ends here.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context;

/// A running child. Dropped, it is killed.
pub(crate) struct Running {
    child: Child,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

/// What a child left behind.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) how: HowEnded,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HowEnded {
    /// By itself, with success.
    Well,
    /// By itself, with a result that it does not believe itself: linerate's code 3.
    Doubting,
    /// By itself, with another code.
    Badly,
    /// It did not, and was killed.
    Stuck,
}

impl HowEnded {
    const DOUBTING: i32 = 3;

    fn with(status: ExitStatus) -> Self {
        match status.code() {
            Some(0) => Self::Well,
            Some(Self::DOUBTING) => Self::Doubting,
            _ => Self::Badly,
        }
    }

    /// Whether it had its test, believable or not.
    pub(crate) const fn had_its_test(self) -> bool {
        matches!(self, Self::Well | Self::Doubting)
    }
}

impl Running {
    /// Starts a command with its output taken.
    pub(crate) fn start(mut command: Command) -> anyhow::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let stdout = child.stdout.take().map(gather);
        let stderr = child.stderr.take().map(gather);
        Ok(Self { child, stdout, stderr })
    }

    /// Waits for its end, and kills it if that takes too long.
    pub(crate) fn finish(mut self, patience: Duration) -> anyhow::Result<Ended> {
        let how = match self.wait(patience)? {
            Some(status) => HowEnded::with(status),
            None => HowEnded::Stuck,
        };
        self.kill();
        Ok(Ended { how, stdout: text(self.stdout.take()), stderr: text(self.stderr.take()) })
    }

    /// Whether it still runs.
    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends it a signal, by its name.
    pub(crate) fn signal(&self, name: &str) -> anyhow::Result<()> {
        let process = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &process]).status();
        sent.context("cannot run kill")?;
        Ok(())
    }

    fn wait(&mut self, patience: Duration) -> anyhow::Result<Option<ExitStatus>> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(status) = self.child.try_wait().context("cannot wait for a child")? {
                return Ok(Some(status));
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Has no effect on a child that was waited for.
    fn kill(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

fn gather(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before an error is what there is to show.
        _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn text(reader: Option<JoinHandle<String>>) -> String {
    reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
}

const POLL_INTERVAL: Duration = Duration::from_millis(3);
