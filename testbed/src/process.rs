//! Child processes with their output, their end and what they took. None outlives its value.

use std::ffi::OsStr;
use std::fmt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};

use self::capture::Capture;
use crate::usage::{Usage, cpu_time_of_children};
use crate::wait;

mod capture;

pub use capture::Line;

/// A running child process with its captured output. It is killed and waited for when this value is
/// dropped.
pub struct Running {
    child: Child,
    name: String,
    stdout: Capture,
    stderr: Capture,
    since: Instant,
    peak_memory: u64,
}

/// A child process that has ended: its output, its exit code, and the time and memory that it used.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How it ended.
    pub how: HowEnded,
    /// All that it printed, if that was captured.
    pub stdout: String,
    /// All that it printed on standard error, if that was captured.
    pub stderr: String,
    /// From its start to its end, to [`GLANCE`].
    pub took: Duration,
    /// User and system time of all its threads, and of its own children that it waited for.
    pub cpu: Duration,
    /// The most memory that was seen resident, in bytes.
    pub peak_memory: u64,
}

/// How a child process ended: exit code, signal, or killed at its time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HowEnded {
    /// By itself, with this exit code.
    Code(i32),
    /// By a signal of somebody else.
    Signal,
    /// It did not end in time and was killed.
    Killed,
}

impl Running {
    /// Starts a command with empty standard input. Output that the command sends to pipes is
    /// captured; other output goes where the command says.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(mut command: Command) -> Result<Self> {
        let name = name(&command);
        keep_no_history(&mut command);
        let since = Instant::now();
        let child = command.stdin(Stdio::null()).spawn();
        let mut child = child.with_context(|| format!("cannot start {name}"))?;
        let (stdout, stderr) =
            (Capture::start(child.stdout.take()), Capture::start(child.stderr.take()));
        Ok(Self { child, name, stdout, stderr, since, peak_memory: 0 })
    }

    /// Starts a command whose standard output and standard error are captured.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn captured(mut command: Command) -> Result<Self> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self::start(command)
    }

    /// Starts a command whose output is discarded.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn silent(mut command: Command) -> Result<Self> {
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Self::start(command)
    }

    /// The process ID of the child.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// A reader of the kernel's counters of the child: CPU time, memory, threads.
    pub fn usage(&self) -> Usage {
        Usage::of_process(self.id())
    }

    /// Whether the child has not ended yet.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// What the child has printed on standard output so far, if it is captured.
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// What the child has printed on standard error so far, if it is captured.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// The complete lines that the child has printed on standard output so far, from line `first`
    /// on, counted from 0.
    pub fn lines_from(&self, first: usize) -> Vec<Line> {
        self.stdout.lines_from(first)
    }

    /// Waits until a line of the child's standard output satisfies `is_it`, and returns it. Lines
    /// that it printed before count too.
    ///
    /// # Errors
    /// No such line came within `limit`, or the child has ended without it.
    pub fn await_line(&mut self, limit: Duration, is_it: impl Fn(&str) -> bool) -> Result<Line> {
        let mut seen = 0;
        let end = wait::within(limit, || {
            // Asked before the lines are read: what it printed last is read after its end too.
            let has_ended = !self.is_running() && self.stdout.is_complete();
            let lines = self.lines_from(seen);
            seen += lines.len();
            let line = lines.into_iter().find(|line| is_it(&line.text)).map(Ok);
            line.or_else(|| has_ended.then_some(Err("ended")))
        });
        let end = end.unwrap_or(Err("does not report it"));
        end.map_err(|why| {
            let complaint = self.complaint();
            anyhow!("{} {why}: {}", self.name, complaint.trim())
        })
    }

    /// Standard error of the child: what it has printed so far, or all of it if the child has ended.
    pub fn complaint(&mut self) -> String {
        if self.is_running() { self.stderr() } else { self.stderr.finish() }
    }

    /// Sends a signal to the child by its name without `SIG`, e.g. `INT` (kill(1)).
    ///
    /// # Errors
    /// The process has ended, or there is no such signal.
    pub fn signal(&self, name: &str) -> Result<()> {
        signal(self.id(), name)
    }

    /// Stops the child for `time` (SIGSTOP and SIGCONT, signal(7)), and blocks meanwhile.
    ///
    /// # Errors
    /// The process has ended.
    pub fn pause(&self, time: Duration) -> Result<()> {
        self.signal("STOP")?;
        thread::sleep(time);
        self.signal("CONT")
    }

    /// Waits until the child ends, and kills it when `limit` has passed from now on.
    ///
    /// # Errors
    /// The kernel does not report on the child (waitpid(2), `/proc`).
    pub fn finish(mut self, limit: Duration) -> Result<Ended> {
        let deadline = Instant::now() + limit;
        loop {
            // What it takes is added to this process's children at the moment it is waited for.
            let before = cpu_time_of_children()?;
            if let Some(status) = self.child.try_wait().context("cannot wait for a child")? {
                return self.ended(HowEnded::from_status(status), before);
            }
            if Instant::now() >= deadline {
                self.kill();
                return self.ended(HowEnded::Killed, before);
            }
            let peak = self.usage().peak_memory().unwrap_or(0);
            self.peak_memory = self.peak_memory.max(peak);
            thread::sleep(GLANCE);
        }
    }

    /// Kills the child and returns its output until now.
    ///
    /// # Errors
    /// The kernel does not report on the child (waitpid(2), `/proc`).
    pub fn stop(mut self) -> Result<Ended> {
        let before = cpu_time_of_children()?;
        self.kill();
        self.ended(HowEnded::Killed, before)
    }

    fn ended(self, how: HowEnded, cpu_before: Duration) -> Result<Ended> {
        let took = self.since.elapsed();
        let cpu = cpu_time_of_children()?.saturating_sub(cpu_before);
        let (stdout, stderr) = (self.stdout.finish(), self.stderr.finish());
        Ok(Ended { how, stdout, stderr, took, cpu, peak_memory: self.peak_memory })
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

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})\n{}\n{}", self.name, self.id(), self.stdout(), self.stderr())
    }
}

impl Ended {
    /// The exit code of the child. `None`: a signal ended it.
    pub fn code(&self) -> Option<i32> {
        match self.how {
            HowEnded::Code(code) => Some(code),
            HowEnded::Signal | HowEnded::Killed => None,
        }
    }

    /// Whether the child completed a measurement: exit code 0, or 3, by which linerate says that
    /// its own result is not trustworthy, e.g. on a busy host.
    pub fn has_measured(&self) -> bool {
        matches!(self.how, HowEnded::Code(0 | 3))
    }

    /// The last line that the child printed that is not empty: of standard error if there is one,
    /// else of standard output.
    pub fn last_line(&self) -> &str {
        let mut lines = self.stdout.lines().chain(self.stderr.lines());
        lines.rfind(|line| !line.trim().is_empty()).unwrap_or("it printed nothing")
    }

    /// The lines of the child's standard error, joined to one line.
    pub fn complaint(&self) -> String {
        let lines = self.stderr.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("; ")
    }

    /// Adds the child's standard error, if there is any, to an error of reading its output.
    pub fn blame(&self, error: anyhow::Error) -> anyhow::Error {
        match self.complaint() {
            complaint if complaint.is_empty() => error,
            complaint => error.context(complaint),
        }
    }
}

impl HowEnded {
    fn from_status(status: ExitStatus) -> Self {
        status.code().map_or(Self::Signal, Self::Code)
    }
}

/// Runs a command to its end, for at most `limit`, with its output captured.
///
/// # Errors
/// The command cannot be started, or does not end in time; then it is killed.
pub fn finish(command: Command, limit: Duration) -> Result<Ended> {
    let ended = Running::captured(command)?.finish(limit)?;
    if ended.how == HowEnded::Killed {
        bail!("no end after {} s", limit.as_secs());
    }
    Ok(ended)
}

/// The wall-clock time from the start of a command to its end. The end is awaited by waitpid(2) and
/// not by polling, so that it is exact.
///
/// # Errors
/// The command cannot be started, or its exit code is neither 0 nor 3 ([`Ended::has_measured`]).
pub fn wall_time(mut command: Command) -> Result<Duration> {
    keep_no_history(&mut command);
    let start = Instant::now();
    let output = command.stdin(Stdio::null()).output()?;
    let wall = start.elapsed();
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(matches!(output.status.code(), Some(0 | 3)), "{}", complaint.trim());
    Ok(wall)
}

/// Makes a linerate that the command starts keep no run in the history of who runs the tests. A
/// command whose own environment says where the history is, or that it is nowhere, is left as it is.
pub fn keep_no_history(command: &mut Command) {
    let mut own = command.get_envs().map(|(name, _)| name);
    let says_where = own.any(|name| PLACES.iter().any(|place| name == *place));
    if !says_where {
        command.env("LINERATE_NO_STORE", "1");
        command.env_remove("LINERATE_STORE").env_remove("LINERATE_KEEP");
    }
}

/// Sends a signal to a process by its name without `SIG`, e.g. `INT` (kill(1)).
///
/// # Errors
/// There is no such process or signal.
pub fn signal(process: u32, name: &str) -> Result<()> {
    // A shell has kill built in; the program is not on every host.
    let script = format!("kill -{name} {process}");
    let output = Command::new("sh").args(["-c", &script]).output().context("cannot run a shell")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{script}: {}", complaint.trim());
    Ok(())
}

/// Repeats `attempt` for up to one second while its error is a refused connection or a busy server:
/// the server may not listen yet, and iperf3 closes its port between two tests.
///
/// # Errors
/// The error of the last attempt.
pub fn patiently<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    let start = Instant::now();
    loop {
        match attempt() {
            Err(error) if may_pass(&error) && start.elapsed() < PATIENCE => thread::sleep(GLANCE),
            other => return other,
        }
    }
}

fn may_pass(error: &anyhow::Error) -> bool {
    let text = format!("{error:#}").to_lowercase();
    text.contains("connection refused") || text.contains("busy")
}

/// The program of a command, without its folder.
fn name(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    program.file_name().unwrap_or(OsStr::new("")).to_string_lossy().into_owned()
}

/// How often a child process is polled for its end.
pub const GLANCE: Duration = Duration::from_millis(5);
/// How long a refused connect is tried again.
const PATIENCE: Duration = Duration::from_secs(1);
/// Where the history is, to linerate.
const PLACES: [&str; 2] = ["LINERATE_STORE", "XDG_STATE_HOME"];

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn a_child_leaves_its_output_its_code_and_what_it_took() {
        let script = "echo one; echo two; echo no >&2; i=0; \
                      while [ $i -lt 200000 ]; do i=$((i + 1)); done; exit 3";
        let ended = Running::captured(shell(script)).expect("a shell").finish(LONG).expect("ended");
        assert_eq!((ended.how, ended.stdout.as_str()), (HowEnded::Code(3), "one\ntwo\n"));
        assert_eq!((ended.complaint().as_str(), ended.has_measured()), ("no", true));
        assert!(ended.cpu > Duration::ZERO && ended.cpu <= ended.took * 2, "{ended:?}");
        assert!(ended.peak_memory > 0, "{ended:?}");
    }

    #[test]
    fn a_child_keeps_no_history_unless_its_command_says_where() {
        let said = |set: fn(&mut Command)| {
            let mut command = shell("echo \"$LINERATE_NO_STORE $LINERATE_STORE\"");
            set(&mut command);
            Running::captured(command).expect("a shell").finish(LONG).expect("ended").stdout
        };
        assert_eq!(said(|_| {}), "1 \n");
        let own = said(|command| _ = command.env("LINERATE_STORE", "/tmp/a.db"));
        assert!(own.ends_with(" /tmp/a.db\n") && !own.starts_with('1'), "{own}");
    }

    #[test]
    fn a_child_that_does_not_end_is_killed() {
        let running = Running::captured(shell("echo begun; exec sleep 100")).expect("a shell");
        let ended = running.finish(Duration::from_millis(300)).expect("killed");
        assert_eq!((ended.how, ended.stdout.as_str()), (HowEnded::Killed, "begun\n"));
        assert!(finish(shell("exec sleep 100"), Duration::ZERO).is_err());
    }

    #[test]
    fn a_child_does_not_outlive_its_value() {
        let running = Running::silent(shell("exec sleep 100")).expect("a shell");
        let usage = running.usage();
        assert!(usage.cpu_time().is_ok());
        drop(running);
        assert!(usage.cpu_time().is_err());
    }

    #[test]
    fn lines_are_awaited_and_numbered() {
        let mut running = Running::captured(shell("echo a; sleep 0.05; echo b; exec sleep 100"))
            .expect("a shell");
        let line = running.await_line(LONG, |line| line.starts_with('b')).expect("it comes");
        let lines = running.lines_from(1);
        assert_eq!((line.text.as_str(), lines.len()), ("b", 1));
        assert!(running.lines_from(0)[0].at <= line.at);
        running.signal("TERM").expect("it runs");
        assert_eq!(running.finish(LONG).expect("ended").how, HowEnded::Signal);
    }

    #[test]
    fn a_line_that_never_comes_is_an_error_with_the_complaint() {
        let mut running = Running::captured(shell("echo sorry >&2")).expect("a shell");
        let error = running.await_line(LONG, |_| true).expect_err("no line");
        assert_eq!(error.to_string(), "sh ended: sorry");
    }

    #[test]
    fn a_reason_is_one_line() {
        let mut ended = finish(shell("echo 'linerate: no\n\n  tip: yes' >&2"), LONG).expect("ends");
        assert_eq!(ended.complaint(), "linerate: no; tip: yes");
        let blamed = ended.blame(anyhow::anyhow!("it printed no JSON"));
        assert_eq!(format!("{blamed:#}"), "linerate: no; tip: yes: it printed no JSON");
        ended.stderr = "\n".to_owned();
        let silent = ended.blame(anyhow::anyhow!("it printed no JSON"));
        assert_eq!(silent.to_string(), "it printed no JSON");
    }

    #[test]
    fn a_refused_connect_is_tried_again() {
        let mut left = 2;
        let result = patiently(|| {
            left -= 1;
            ensure!(left == 0, "cannot connect: Connection refused");
            Ok(left)
        });
        assert_eq!(result.expect("the second attempt"), 0);
    }

    #[test]
    fn another_error_is_final() {
        let mut attempts = 0;
        let result: Result<()> = patiently(|| {
            attempts += 1;
            bail!("no such option")
        });
        assert!(result.is_err() && attempts == 1);
    }
}
