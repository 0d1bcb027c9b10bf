//! The program and its server as scenarios use them.

use std::cell::Cell;
use std::net::{Ipv6Addr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

pub(crate) use crate::shared::{
    Directory, Finished, LINERATE, PATIENCE, Running, free_port, has_ipv6, link, program, run,
    skip, until,
};

/// The program with these arguments, separated by spaces, and no settings of the caller.
pub(crate) fn linerate(arguments: &str) -> Command {
    let mut command = program(Command::new(LINERATE));
    command.args(arguments.split_whitespace());
    command
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

    /// Waits until a test is under way, and a bit longer, so that there is something to
    /// report of it.
    pub(crate) fn await_test(&self) {
        self.line_with("begins");
        std::thread::sleep(Duration::from_millis(500));
    }

    /// Waits for its end; it must have ended well.
    pub(crate) fn finish(self) {
        let finished = self.running.finish();
        assert!(finished.ran_to_its_end(), "{finished:?}");
    }
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

impl Directory {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("a directory");
        entries.map(|entry| entry.expect("an entry").file_name().display().to_string()).collect()
    }
}

/// Exit code of a result that is not to be believed.
const INVALID: i32 = 3;
