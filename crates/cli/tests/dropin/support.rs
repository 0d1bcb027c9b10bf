//! The drop-in and its server as these tests use them.

use std::process::Command;

use lab::Host;
use serde_json::Value;

pub(crate) use crate::shared::{
    Directory, Finished, LINERATE, Running, eventually, free_port, has_ipv6, link, plain_iperf3,
    program, run, skip, until,
};
use crate::shared::{linerate, linerate_on};

use crate::evidence;

/// `linerate iperf3` with these arguments, separated by spaces.
pub(crate) fn iperf3(arguments: &str) -> Command {
    linerate(&format!("iperf3 {arguments}"))
}

/// The same on one host of a link.
pub(crate) fn iperf3_on(host: &Host, arguments: &str) -> Command {
    linerate_on(host, &format!("iperf3 {arguments}"))
}

/// A client of this host's server at `port`.
pub(crate) fn client(port: u16, options: &str) -> Command {
    iperf3(&format!("-c 127.0.0.1 -p {port} {options}"))
}

/// A server with some options, and a client with others whose test goes on.
pub(crate) fn long_test(of_the_server: &str, of_the_client: &str) -> (Server, Running) {
    let server = Server::start(of_the_server);
    let client = Running::start(client(server.port, &format!("-t 20 {of_the_client}")));
    (server, client)
}

/// The same, once the end that prints text has had intervals: the other has had the first as well.
pub(crate) fn under_way(of_the_server: &str, of_the_client: &str) -> (Server, Running) {
    let (server, client) =
        long_test(&format!("-i 0.2 {of_the_server}"), &format!("-i 0.2 -b 10M {of_the_client}"));
    let prints_text = !of_the_client.contains("-J") && !of_the_client.contains("--json");
    let intervals = |text: &str| text.matches("/sec").count();
    eventually("intervals", || {
        intervals(&if prints_text { client.stdout() } else { server.running.stdout() }) >= 4
    });
    (server, client)
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

/// What a server prints in JSON of a test with these options.
pub(crate) fn server_report(options: &str) -> Value {
    let server = Server::start("-J -1");
    run(client(server.port, options)).assert_success();
    server.running.finish().json()
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

    /// It ended with 1, for the error that the server sent.
    pub(crate) fn assert_relayed(&self, words: &str) {
        assert_eq!(self.code, Some(1), "{self:?}");
        let (relayed, own) = self.stderr.split_once('\n').unwrap_or_default();
        let why = relayed.strip_prefix("iperf3: SERVER ERROR - ").unwrap_or_default();
        assert_eq!(own, format!("iperf3: error - {why}\n"), "{self:?}");
        assert!(why.contains(words), "no '{words}' in {self:?}");
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

    /// Its output in JSON, line by line.
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        let parse = |line: &str| serde_json::from_str(line);
        let lines: Result<_, _> = self.stdout.lines().map(parse).collect();
        lines.unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Waits until a server listens; whether it does, or has ended.
fn listens_at(server: &mut Running, port: u16) -> bool {
    let process = server.id();
    until("listener, or end", || {
        let listens = !evidence::listeners(process, port).is_empty();
        (listens || !server.is_running()).then_some(listens)
    })
}

/// Waits until the output of a program has these words.
pub(crate) fn await_words(running: &Running, words: &str) {
    eventually(&format!("'{words}' in the output"), || running.stdout().contains(words));
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
            if listens_at(&mut running, port) {
                return Self { running, port };
            }
            refusals.push(running.finish());
        }
        panic!("no server: {refusals:#?}")
    }

    /// Any program that is to listen at `port`.
    pub(crate) fn at(port: u16, command: Command) -> Self {
        let mut running = Running::start(command);
        assert!(listens_at(&mut running, port), "{:?}", running.finish());
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

/// Sends a signal by its name to any process of ours.
pub(crate) fn signal(process: u32, name: &str) {
    testbed::process::signal(process, name).expect("it runs");
}

const USAGE: &str =
    "\nUsage: iperf3 [-s|-c host] [options]\nTry `iperf3 --help' for more information.\n";
