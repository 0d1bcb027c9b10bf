//! Programs under test, each with a limit to its life, and what they need around them.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lab::{Access, Link, LinkSpec};
use serde_json::Value;

/// The program with these arguments, separated by spaces, and no settings of the caller.
pub(crate) fn linerate(arguments: &str) -> Command {
    let mut command = program(Command::new(LINERATE));
    command.args(arguments.split_whitespace());
    command
}

/// Takes the caller's settings off a command, and its terminal.
pub(crate) fn program(mut command: Command) -> Command {
    let ours = |name: &str| name.starts_with("LINERATE_") || name.starts_with("CLICOLOR");
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if ours(&name) || ["NO_COLOR", "COLUMNS", "RUST_BACKTRACE"].contains(&name.as_str()) {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command to its end.
pub(crate) fn run(command: Command) -> Finished {
    Running::start(command).finish(PATIENCE)
}

/// Runs `linerate test` against a server on this host.
pub(crate) fn test(server: &Server, options: &str) -> Finished {
    run(client(server, options))
}

/// A `linerate test` against a server on this host.
pub(crate) fn client(server: &Server, options: &str) -> Command {
    let (ip, port) = (server.address.ip(), server.address.port());
    linerate(&format!("test {ip} --port {port} {options}"))
}

/// What `linerate test --json` prints of a test that ended well.
pub(crate) fn json(server: &Server, options: &str) -> Value {
    let finished = test(server, &format!("{options} --json"));
    finished.assert_success();
    finished.json()
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
    /// Nothing failed. On a busy host a result may be INVALID, which most tests are not about.
    pub(crate) fn ran_to_its_end(&self) -> bool {
        matches!(self.code, Some(0 | INVALID))
    }

    /// It ended well and had nothing to complain about.
    pub(crate) fn assert_success(&self) {
        assert!(self.ran_to_its_end(), "{self:?}");
        assert_eq!(self.stderr, "", "{self:?}");
    }

    /// It printed nothing but one sentence with all of `words` on standard error.
    pub(crate) fn assert_refusal(&self, code: i32, words: &[&str]) {
        assert_eq!(self.stdout, "", "{self:?}");
        self.assert_complaint(code, words);
    }

    /// It ended with `code`, and one sentence with all of `words` says why.
    pub(crate) fn assert_complaint(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        let sentence = self.stderr.strip_suffix('\n').unwrap_or_default();
        assert!(sentence.starts_with("linerate: ") && !sentence.contains('\n'), "{self:?}");
        // Rust's own number of an error tells a user nothing.
        assert!(!sentence.contains("(os error"), "{sentence}");
        for word in words {
            assert!(sentence.contains(word), "no '{word}' in: {sentence}");
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A program that runs; it does not outlive this value.
pub(crate) struct Running {
    child: Child,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
    since: Instant,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let since = Instant::now();
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let stdout = child.stdout.take().map(collect);
        let stderr = child.stderr.take().map(collect);
        Self { child, stdout, stderr, since }
    }

    /// Sends a signal by its name, e.g. `INT`.
    pub(crate) fn signal(&self, name: &str) {
        let script = format!("kill -{name} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &script]).status().expect("a shell");
        assert!(status.success(), "{script}");
    }

    /// The number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child of ours").is_none()
    }

    /// Waits for its end, but no longer than `limit`.
    pub(crate) fn finish(mut self, limit: Duration) -> Finished {
        let deadline = Instant::now() + limit;
        while self.is_running() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        let (took, too_late) = (self.since.elapsed(), self.is_running());
        if too_late {
            self.child.kill().expect("a child of ours");
        }
        let code = self.child.wait().expect("a child of ours").code();
        let text = |reader: Option<JoinHandle<String>>| {
            reader.map_or_else(String::new, |reader| reader.join().expect("text"))
        };
        let (stdout, stderr) = (text(self.stdout.take()), text(self.stderr.take()));
        let finished = Finished { code, stdout, stderr, took };
        assert!(!too_late, "still running after {limit:?}: {finished:?}");
        finished
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn collect(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = String::new();
        from.read_to_string(&mut text).expect("UTF-8");
        text
    })
}

/// A `linerate serve` and its log.
pub(crate) struct Server {
    pub(crate) running: Running,
    /// Where a client on the same host reaches it.
    pub(crate) address: SocketAddr,
    lines: Receiver<String>,
}

impl Server {
    /// On IPv4's loopback, at a port of the kernel's choice.
    pub(crate) fn start() -> Self {
        Self::start_with("--bind 127.0.0.1")
    }

    pub(crate) fn start_with(options: &str) -> Self {
        Self::spawn(linerate(&format!("serve --verbose --port 0 {options}")))
    }

    /// Reads the address from the first line of the log.
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::inherit()).spawn().expect("the program starts");
        let stdout = child.stdout.take().expect("a pipe");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            // The test may not want to know the rest.
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                _ = sender.send(line);
            }
        });
        let running = Running { child, stdout: None, stderr: None, since: Instant::now() };
        let address = SocketAddr::from((Ipv6Addr::LOCALHOST, 0));
        let mut server = Self { running, address, lines };
        let line = server.line_with("listens on");
        let address = line.split("listens on ").nth(1).and_then(|rest| rest.split(", ").next());
        server.address = address.and_then(|text| text.parse().ok()).expect("an address");
        server
    }

    /// Waits for a line of the log that contains `words`.
    pub(crate) fn line_with(&self, words: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).unwrap_or_else(|_| panic!("no '{words}'"));
            if line.contains(words) {
                return line;
            }
        }
    }

    /// Waits until a test is under way, and a bit longer, so that there is something to
    /// report of it.
    pub(crate) fn await_test(&self) {
        self.line_with("begins");
        std::thread::sleep(Duration::from_millis(500));
    }

    /// Waits for its end; it must have ended well.
    pub(crate) fn finish(self) {
        let finished = self.running.finish(PATIENCE);
        assert!(finished.ran_to_its_end(), "{finished:?}");
    }
}

/// A link between two hosts; none where the system forbids it.
pub(crate) fn link() -> Option<Link> {
    match lab::prepare() {
        Access::Forbidden { reason } => skip(&format!("no link can be made: {reason}")),
        _ => Some(Link::create(&LinkSpec::default()).expect("a link")),
    }
}

/// A TCP port of the loopback that nobody listens on.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Whether this host has IPv6's loopback.
pub(crate) fn has_ipv6() -> bool {
    let has = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    has || skip::<()>("no IPv6 on loopback").is_some()
}

/// The program as a user without privileges; none if that cannot be done.
pub(crate) fn unprivileged(arguments: &str) -> Option<Command> {
    let nobody = |arguments: &str| {
        let mut command = program(Command::new("setpriv"));
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", LINERATE]);
        command.args(arguments.split_whitespace());
        command
    };
    let works = nobody("--version").status().is_ok_and(|status| status.success());
    if works {
        return Some(nobody(arguments));
    }
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0);
    if is_root { skip("setpriv does not work here") } else { Some(linerate(arguments)) }
}

/// Says why a scenario is not played.
pub(crate) fn skip<T>(reason: &str) -> Option<T> {
    eprintln!("skipped: {reason}");
    None
}

/// A directory that vanishes with this value.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("{name}-{}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).expect("a directory");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("a directory");
        entries.map(|entry| entry.expect("an entry").file_name().display().to_string()).collect()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // The build directory is no place where a leftover does harm.
        _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) const LINERATE: &str = env!("CARGO_BIN_EXE_linerate");
/// Longer than anything takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Exit code of a result that is not to be believed.
const INVALID: i32 = 3;
