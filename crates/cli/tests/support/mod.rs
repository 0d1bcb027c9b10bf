//! What both kinds of tests share: programs with a limit to their life, and what they need
//! around them.

use std::net::{Ipv6Addr, UdpSocket};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use lab::{Access, Host, Link, LinkSpec};
use serde_json::Value;
use testbed::process::HowEnded;
pub(crate) use testbed::wait::{PATIENCE, eventually, until};

pub(crate) mod control;

/// The program with these arguments, separated by spaces, and no settings of the caller.
pub(crate) fn linerate(arguments: &str) -> Command {
    with_arguments(Command::new(LINERATE), arguments)
}

/// The same on one host of a link.
pub(crate) fn linerate_on(host: &Host, arguments: &str) -> Command {
    with_arguments(host.command(LINERATE), arguments)
}

/// An iperf3 of this system, in the same way; none if it has none.
pub(crate) fn plain_iperf3(arguments: &str) -> Option<Command> {
    let version = Command::new("iperf3").arg("--version").output();
    let there = version.is_ok() || skip::<()>("no iperf3 on this system").is_some();
    there.then(|| with_arguments(Command::new("iperf3"), arguments))
}

fn with_arguments(command: Command, arguments: &str) -> Command {
    let mut command = program(command);
    command.args(arguments.split_whitespace());
    command
}

/// Takes the caller's settings off a command, and its terminal.
pub(crate) fn program(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let ours = name.starts_with("LINERATE_") || name.starts_with("CLICOLOR");
        if ours || SETTINGS.contains(&name.as_str()) {
            command.env_remove(name);
        }
    }
    // The user's history is not for tests.
    command.env("XDG_STATE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/state"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command to its end.
pub(crate) fn run(command: Command) -> Finished {
    Running::start(command).finish()
}

/// A program that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Finished {
    /// All of these words are on its standard output.
    pub(crate) fn assert_prints(&self, words: &[&str]) {
        for words in words {
            assert!(self.stdout.contains(words), "no '{words}' in {self:?}");
        }
    }

    /// The one JSON value that it printed.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A program that runs; it does not outlive this value.
#[derive(Debug)]
pub(crate) struct Running(testbed::process::Running);

impl Running {
    pub(crate) fn start(command: Command) -> Self {
        Self(testbed::process::Running::start(command).unwrap_or_else(|why| panic!("{why:#}")))
    }

    /// Sends a signal by its name, e.g. `INT`.
    pub(crate) fn signal(&self, name: &str) {
        self.0.signal(name).expect("it runs");
    }

    /// Waits for its end.
    pub(crate) fn finish(self) -> Finished {
        self.finish_within(PATIENCE)
    }

    /// Waits for its end, but no longer than `limit`.
    pub(crate) fn finish_within(self, limit: Duration) -> Finished {
        let ended = self.0.finish(limit).expect("a child of ours");
        let (code, how) = (ended.code(), ended.how);
        let finished =
            Finished { code, stdout: ended.stdout, stderr: ended.stderr, took: ended.took };
        assert_ne!(how, HowEnded::Killed, "still running after {limit:?}: {finished:?}");
        finished
    }
}

impl Deref for Running {
    type Target = testbed::process::Running;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

/// A port, TCP and UDP, below those that the kernel chooses for others.
pub(crate) fn free_port() -> u16 {
    testbed::port::free().expect("a free port")
}

/// A link between two hosts; none where the system forbids it.
pub(crate) fn link() -> Option<Link> {
    match lab::prepare() {
        Access::Forbidden { reason } => skip(&format!("no link can be made: {reason}")),
        _ => Some(Link::create(&LinkSpec::default()).expect("a link")),
    }
}

/// Whether this host has IPv6's loopback.
pub(crate) fn has_ipv6() -> bool {
    let has = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    has || skip::<()>("no IPv6 on loopback").is_some()
}

/// Reports why a test does not run.
pub(crate) fn skip<T>(reason: &str) -> Option<T> {
    eprintln!("skipped: {reason}");
    None
}

/// A directory that vanishes with this value.
pub(crate) struct Directory(pub(crate) PathBuf);

impl Directory {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("{name}-{}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).expect("a directory");
        Self(path)
    }

    /// A path in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // The build directory is no place where a leftover does harm.
        _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) const LINERATE: &str = env!("CARGO_BIN_EXE_linerate");
/// Variables of the environment that programs under test obey.
const SETTINGS: [&str; 6] =
    ["COLUMNS", "IPERF3_PASSWORD", "LC_ALL", "NO_COLOR", "RUST_BACKTRACE", "TZ"];
