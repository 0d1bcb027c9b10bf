//! The program and its server as scenarios use them.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::net::{Ipv6Addr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use lab::{Access, Host, Impairment, Link, LinkSpec, Rate, Relayed};
use measurement::server_status::{ServedState, ServedTest};
use measurement::{BitRate, TestRecord};
use serde_json::Value;

pub(crate) use crate::shared::{
    Directory, Finished, LINERATE, PATIENCE, Running, control, eventually, free_port, has_ipv6,
    linerate, linerate_on, link, plain_iperf3, program, run, skip, until,
};

/// Runs `linerate test` against a server on this host.
pub(crate) fn test(server: &Server, options: &str) -> Finished {
    run(client(server, options))
}

/// A `linerate test` against a server on this host.
pub(crate) fn client(server: &Server, options: &str) -> Command {
    linerate(&server.arguments("test", options))
}

/// A command against a server on this host.
pub(crate) fn client_of(server: &Server, command: &str, options: &str) -> Command {
    linerate(&server.arguments(command, options))
}

/// A `linerate test` that has begun, and has something to report.
pub(crate) fn under_way(server: &Server, options: &str) -> Running {
    let running = Running::start(client(server, options));
    server.await_test();
    running
}

/// A command that a busy machine does not slow down.
pub(crate) fn before_others(mut command: Command) -> Command {
    linux::process::give_priority(&mut command);
    command
}

/// Two hosts with 20 ms of round-trip time and 200 Mbit/s between them, whose bottleneck a busy machine
/// does not hide. Returns `None` and skips the test if no relay can be made.
pub(crate) fn far_apart() -> Option<Relayed> {
    if let Access::Forbidden { reason } = lab::prepare() {
        return skip(&format!("no link can be made: {reason}"));
    }
    let rate = Rate::from_bits_per_second(200_000_000);
    let (delay, queue_limit) = (Duration::from_millis(10), Duration::from_millis(20));
    let way = Impairment { delay, queue_limit, rate, ..Impairment::default() };
    match Relayed::create(&LinkSpec::default(), way, way, 1) {
        Ok(relayed) => Some(relayed),
        Err(error) => skip(&format!("no relay can be made: {error}")),
    }
}

/// Runs `linerate` with a command from the near end of a link, against a server at the far end.
pub(crate) fn across(link: &Link, command: &str, options: &str) -> Finished {
    run(linerate_on(&link.near, &format!("{command} {} {options}", link.far.ipv4())))
}

/// The record of such a test, of which nothing is suspect.
pub(crate) fn json_across(link: &Link, options: &str) -> Value {
    let finished = across(link, "test", &format!("{options} --json"));
    finished.assert_success();
    finished.json()
}

/// What `linerate test --json` prints of a test that ended well.
pub(crate) fn json(server: &Server, options: &str) -> Value {
    let finished = test(server, &format!("{options} --json"));
    finished.assert_success();
    finished.json()
}

impl Running {
    /// Starts a server, and waits until it listens at a TCP port of this host.
    pub(crate) fn start_listening(command: Command, port: u16) -> Self {
        let mut server = Self::start(command);
        let listens = testbed::port::await_listener(None, port, &mut server);
        listens.unwrap_or_else(|why| panic!("{why:#}"));
        server
    }
}

impl Finished {
    /// Nothing failed. On a busy host a result may be INVALID, which most tests are not about.
    pub(crate) fn ran_to_its_end(&self) -> bool {
        matches!(self.code, Some(0 | INVALID))
    }

    pub(crate) fn assert_ran_to_its_end(&self) {
        assert!(self.ran_to_its_end(), "{self:?}");
    }

    /// It ended well and had nothing to complain about.
    pub(crate) fn assert_success(&self) {
        self.assert_ran_to_its_end();
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
}

/// A `linerate serve` and its log.
pub(crate) struct Server {
    pub(crate) running: Running,
    /// Where a client on the same host reaches it.
    pub(crate) address: SocketAddr,
    /// How many lines of its log were looked through.
    seen: Cell<usize>,
}

impl Server {
    /// On IPv4's loopback, at a port of the kernel's choice.
    pub(crate) fn start() -> Self {
        Self::start_with("--bind 127.0.0.1")
    }

    pub(crate) fn start_with(options: &str) -> Self {
        Self::spawn(linerate(&format!("serve --verbose --port 0 {options}")))
    }

    /// On a host of a link, at the usual port.
    pub(crate) fn start_on(host: &Host, options: &str) -> Self {
        Self::spawn(linerate_on(host, &format!("serve --verbose {options}")))
    }

    /// Starts a server on `host` that runs before other processes ([`before_others`]).
    pub(crate) fn start_first_on(host: &Host, options: &str) -> Self {
        Self::spawn(before_others(linerate_on(host, &format!("serve --verbose {options}"))))
    }

    /// Reads the address from the first line of the log.
    pub(crate) fn spawn(mut command: Command) -> Self {
        command.stderr(Stdio::inherit());
        let address = SocketAddr::from((Ipv6Addr::LOCALHOST, 0));
        let mut server = Self { running: Running::start(command), address, seen: Cell::new(0) };
        let line = server.line_with("listens on");
        let address = line.split("listens on ").nth(1).and_then(|rest| rest.split(", ").next());
        server.address = address.and_then(|text| text.parse().ok()).expect("an address");
        server
    }

    /// Arguments of a command against this server, from the same host.
    pub(crate) fn arguments(&self, command: &str, options: &str) -> String {
        let (ip, port) = (self.address.ip(), self.address.port());
        format!("{command} {ip} --port {port} {options}")
    }

    /// Waits for a line of the log that contains `words`.
    pub(crate) fn line_with(&self, words: &str) -> String {
        let seen = &self.seen;
        until(&format!("line with '{words}'"), || {
            let lines = self.running.lines_from(seen.get());
            let at = lines.iter().position(|line| line.text.contains(words))?;
            seen.set(seen.get() + at + 1);
            Some(lines[at].text.clone())
        })
    }

    /// Waits until a test is under way, and all that run move data, so that there is something to
    /// report of them.
    pub(crate) fn await_test(&self) {
        self.line_with("begins");
        eventually("tests that move data", || {
            let mut running = self.tests();
            running.retain(|test| test.state == ServedState::Running);
            let moves = |test: &ServedTest| test.rate > Some(BitRate::from_bits_per_second(0));
            !running.is_empty() && running.iter().all(moves)
        });
    }

    /// Waits until it has so many tests, running and waiting.
    pub(crate) fn await_tests(&self, count: usize) {
        eventually(&format!("{count} tests"), || self.tests().len() == count);
    }

    /// Its tests, by `linerate serve status`.
    fn tests(&self) -> Vec<ServedTest> {
        let status = format!("serve status --json --port {}", self.address.port());
        let tests = run(linerate(&status)).json()["servers"][0]["tests"].take();
        serde_json::from_value(tests).expect("tests")
    }

    /// Waits for its end; it must have ended well.
    pub(crate) fn finish(self) {
        self.running.finish().assert_ran_to_its_end();
    }
}

/// The server's line on a test that has ended and is like that.
pub(crate) fn ended(server: &Server, what: &str) -> String {
    loop {
        let line = server.line_with(what);
        if !line.contains(": begins: ") {
            return line;
        }
    }
}

/// A command under a limit of the shell's `ulimit`.
pub(crate) fn limited(limit: &str, command: &Command) -> Command {
    let mut shell = program(Command::new("sh"));
    shell.args(["-c", &format!("ulimit {limit} && exec \"$0\" \"$@\"")]);
    shell.arg(command.get_program()).args(command.get_args());
    shell
}

/// Runs a line of shell on a host; whether it worked.
pub(crate) fn shell(host: &Host, script: &str) -> bool {
    let status = host.command("sh").args(["-c", script]).status();
    let works = status.is_ok_and(|status| status.success());
    works || skip::<()>(&format!("this does not work here: {script}")).is_some()
}

/// Leaves a host only these ports for connections of its own, e.g. `10000 10399`.
pub(crate) fn has_ports(host: &Host, range: &str) -> bool {
    shell(host, &format!("echo '{range}' > /proc/sys/net/ipv4/ip_local_port_range"))
}

/// The children that a process's main thread has started.
pub(crate) fn children(process: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    let children = children.expect("Linux tells it");
    children.split_whitespace().map(|child| child.parse().expect("a number")).collect()
}

/// The first of them.
pub(crate) fn child(process: u32) -> Option<u32> {
    children(process).first().copied()
}

/// The elements of an array.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no array: {value}"))
}

/// A record as its readers have it.
pub(crate) fn typed(record: &Value) -> TestRecord {
    measurement::json::record(&record.to_string()).expect("it is a record")
}

/// The server's ports to which the streams of a record went.
pub(crate) fn ports_of_streams(record: &Value) -> BTreeSet<u16> {
    let streams = typed(record).streams;
    streams.iter().filter_map(|stream| stream.peer).map(|peer| peer.port()).collect()
}

/// The program as a user without privileges; none if that cannot be done.
pub(crate) fn unprivileged(arguments: &str) -> Option<Command> {
    let nobody = |arguments: &str| {
        let mut command = program(Command::new("setpriv"));
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", LINERATE]);
        command.args(arguments.split_whitespace());
        // The folder of the tests is not that user's.
        command.env("LINERATE_NO_STORE", "1");
        command
    };
    let works = nobody("--version").status().is_ok_and(|status| status.success());
    if works {
        return Some(nobody(arguments));
    }
    let is_root = fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0);
    if is_root { skip("setpriv does not work here") } else { Some(linerate(arguments)) }
}

impl Directory {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("a directory");
        entries.map(|entry| entry.expect("an entry").file_name().display().to_string()).collect()
    }
}

/// Exit code of a result that is not to be believed.
const INVALID: i32 = 3;
