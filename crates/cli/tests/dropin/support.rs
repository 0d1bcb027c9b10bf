//! Programs under test, each with a limit to its life, and what they need around them.

use std::fmt::{Debug, Formatter};
use std::io::Read;
use std::net::{Ipv6Addr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lab::{Access, Host, Link, LinkSpec};
use serde_json::Value;

use crate::evidence;

/// `linerate iperf3` with these arguments, separated by spaces.
pub(crate) fn iperf3(arguments: &str) -> Command {
    let mut command = plain(Command::new(LINERATE));
    command.arg("iperf3").args(arguments.split_whitespace());
    command
}

/// The same on one host of a link.
pub(crate) fn iperf3_on(host: &Host, arguments: &str) -> Command {
    let mut command = plain(host.command(LINERATE));
    command.arg("iperf3").args(arguments.split_whitespace());
    command
}

/// A client of this host's server at `port`.
pub(crate) fn client(port: u16, options: &str) -> Command {
    iperf3(&format!("-c 127.0.0.1 -p {port} {options}"))
}

/// Takes the caller's settings off a command, and its terminal.
pub(crate) fn plain(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let ours = name.starts_with("LINERATE_") || name.starts_with("CLICOLOR");
        if ours || ["IPERF3_PASSWORD", "NO_COLOR", "COLUMNS", "TZ", "LC_ALL"].contains(&&*name) {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command to its end.
pub(crate) fn run(command: Command) -> Finished {
    Running::start(command).finish()
}

/// Runs a client against a server of its own, which ends with it.
pub(crate) fn test(options: &str) -> Finished {
    let server = Server::start("");
    run(client(server.port, options))
}

/// The JSON of a test that ended well, against a server of its own.
pub(crate) fn report(options: &str) -> Value {
    let finished = test(&format!("{options} -J"));
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
    /// It ended well and had nothing to complain about.
    pub(crate) fn assert_success(&self) {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{self:?}");
    }

    /// It ended with 1 and said why on standard error, in one line.
    pub(crate) fn assert_error(&self, words: &str) {
        assert_eq!(self.code, Some(1), "{self:?}");
        let line = self.stderr.strip_suffix('\n').unwrap_or_default();
        assert!(line.starts_with("iperf3: error - ") && !line.contains('\n'), "{self:?}");
        assert!(line.contains(words), "no '{words}' in {self:?}");
    }

    /// It ended with 1, said what is wrong with its arguments, and how to get help.
    pub(crate) fn assert_usage(&self, words: &str) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(1), ""), "{self:?}");
        let (line, rest) = self.stderr.split_once('\n').unwrap_or_default();
        assert!(line.starts_with("iperf3: parameter error - "), "{self:?}");
        assert!(line.contains(words), "no '{words}' in {self:?}");
        assert_eq!(rest, USAGE, "{self:?}");
    }

    /// It ended with 1, named what it does not know, and said how to get help.
    pub(crate) fn assert_unrecognized(&self, flag: &str) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(1), ""), "{self:?}");
        let (line, rest) = self.stderr.split_once('\n').unwrap_or_default();
        assert!(line.starts_with("iperf3: ") && line.contains(flag), "{self:?}");
        assert_eq!(rest, USAGE, "{self:?}");
    }

    /// The one JSON object that it printed.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Its output in JSON, line by line.
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        let parse = |line: &str| serde_json::from_str(line);
        let lines: Result<_, _> = self.stdout.lines().map(parse).collect();
        lines.unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A program that runs; it does not outlive this value.
pub(crate) struct Running {
    child: Child,
    stdout: Output,
    stderr: Output,
    since: Instant,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let since = Instant::now();
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let stdout = Output::of(child.stdout.take().expect("a pipe"));
        let stderr = Output::of(child.stderr.take().expect("a pipe"));
        Self { child, stdout, stderr, since }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name, e.g. `INT`.
    pub(crate) fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child of ours").is_none()
    }

    /// Waits until it listens; whether it does, or has ended.
    fn listens_at(&mut self, port: u16) -> bool {
        let pid = self.pid();
        until("a listener, or the end", || {
            let listens = !evidence::listeners(pid, port).is_empty();
            (listens || !self.is_running()).then_some(listens)
        })
    }

    /// What it has printed so far.
    pub(crate) fn printed(&self) -> String {
        self.stdout.text()
    }

    /// Waits until its output has these words.
    pub(crate) fn await_words(&mut self, words: &str) {
        until(&format!("'{words}' in the output"), || self.printed().contains(words).then_some(()));
    }

    /// Waits for its end.
    pub(crate) fn finish(mut self) -> Finished {
        let deadline = Instant::now() + PATIENCE;
        while self.is_running() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        let (took, too_late) = (self.since.elapsed(), self.is_running());
        let code = self.end().code();
        let (stdout, stderr) = (self.stdout.all(), self.stderr.all());
        let finished = Finished { code, stdout, stderr, took };
        assert!(!too_late, "still running after {PATIENCE:?}: {finished:?}");
        finished
    }

    fn end(&mut self) -> ExitStatus {
        // It may have ended already.
        _ = self.child.kill();
        self.child.wait().expect("a child of ours")
    }
}

impl Debug for Running {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n{}\n{}", self.pid(), self.stdout.text(), self.stderr.text())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// What a program prints, as it comes.
struct Output {
    text: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Output {
    fn of(mut pipe: impl Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&text);
        let reader = std::thread::spawn(move || {
            let mut some = [0; 4096];
            while let Some(length) = pipe.read(&mut some).ok().filter(|length| *length > 0) {
                into.lock().expect("a reader").extend_from_slice(&some[..length]);
            }
        });
        Self { text, reader }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.text.lock().expect("a reader")).into_owned()
    }

    /// All of it, once the program has ended. What it left behind may hold the pipe.
    fn all(&mut self) -> String {
        let deadline = Instant::now() + Duration::from_secs(2);
        while !self.reader.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.text()
    }
}

/// A server on this host.
pub(crate) struct Server {
    pub(crate) running: Running,
    pub(crate) port: u16,
}

impl Server {
    pub(crate) fn start(options: &str) -> Self {
        Self::somewhere(|port| iperf3(&format!("-s -p {port} {options}")))
    }

    /// On one host of a link.
    pub(crate) fn start_on(host: &Host, options: &str) -> Self {
        Self::somewhere(|port| iperf3_on(host, &format!("-s -p {port} {options}")))
    }

    /// At a free port; another program may take that first, and then at the next one.
    fn somewhere(command: impl Fn(u16) -> Command) -> Self {
        let mut refusals = Vec::new();
        for port in std::iter::repeat_with(free_port).take(3) {
            let mut running = Running::start(command(port));
            if running.listens_at(port) {
                return Self { running, port };
            }
            refusals.push(running.finish());
        }
        panic!("no server: {refusals:#?}")
    }

    /// Any program that is to listen at `port`.
    pub(crate) fn at(port: u16, command: Command) -> Self {
        let mut running = Running::start(command);
        assert!(running.listens_at(port), "{:?}", running.finish());
        Self { running, port }
    }

    /// What it printed, once a signal has ended it.
    pub(crate) fn stop(self) -> Finished {
        self.running.signal("TERM");
        self.running.finish()
    }
}

/// Plays all cases side by side: most of a case is waiting.
pub(crate) fn side_by_side<T: Send>(cases: impl IntoIterator<Item = T>, play: impl Fn(T) + Sync) {
    std::thread::scope(|scope| {
        for case in cases {
            scope.spawn(|| play(case));
        }
    });
}

/// Waits until there is an answer.
pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "no {what} within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a signal by its name to any process of ours.
pub(crate) fn signal(pid: u32, name: &str) {
    let script = format!("kill -{name} {pid}");
    let status = Command::new("sh").args(["-c", &script]).status().expect("a shell");
    assert!(status.success(), "{script}");
}

/// A port, TCP and UDP, below those that the kernel chooses for others.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = u16::try_from(std::process::id() % 100).expect("two digits") * 100;
    let port = || 20_000 + (start + NEXT.fetch_add(1, Relaxed)) % 10_000;
    let is_free = |port: &u16| {
        let here = (Ipv6Addr::UNSPECIFIED, *port);
        let v4 = (std::net::Ipv4Addr::UNSPECIFIED, *port);
        (TcpListener::bind(here).is_ok() || TcpListener::bind(v4).is_ok())
            && UdpSocket::bind(v4).is_ok()
    };
    (0..1000).map(|_| port()).find(is_free).expect("a free port")
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

/// Says why a test does not run.
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
/// Longer than anything takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
const USAGE: &str =
    "\nUsage: iperf3 [-s|-c host] [options]\nTry `iperf3 --help' for more information.\n";
