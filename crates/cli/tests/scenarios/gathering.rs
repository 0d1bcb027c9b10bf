//! How the streams of a test come to a server: clients by hand that take their time, or
//! come to the wrong port, and firewalls between the two.

use std::collections::BTreeSet;
use std::io::Read;
use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use lab::{Host, Link};
use serde_json::{Value, json};
use testbed::sockets::{self, Socket};

use crate::support::control::{COOKIE, CREATE_STREAMS, Control};
use crate::support::{
    LINERATE, PATIENCE, Running, Server, across, client, eventually, has_ports, limited, link,
    ports_of_streams, program, shell, skip, test, typed, under_way, unprivileged,
};

#[test]
fn streams_that_trickle_in_hold_no_place() {
    let server = Server::start();
    let mut control = Client::ask(&server, &json!({"parallel": 300}));
    control.await_create_streams();
    let began = Instant::now();
    let streams = control.trickle(Duration::from_millis(300), PATIENCE);
    assert!(streams < 100, "{streams} streams were taken one by one");
    assert!(began.elapsed() < Duration::from_secs(22), "{:?}", began.elapsed());
    server.line_with("not served");
}

#[test]
fn streams_that_trickle_in_do_not_hold_up_the_queue() {
    let server = Server::start_with("--bind 127.0.0.1 --queue");
    let mut control = Client::ask(&server, &json!({"parallel": 2000}));
    control.await_create_streams();
    let next = Running::start(client(&server, "--tcp --send -n 1M"));
    let slow = std::thread::spawn(move || control.trickle(Duration::from_millis(200), PATIENCE));
    let finished = next.finish();
    finished.assert_ran_to_its_end();
    assert!(finished.took < Duration::from_secs(15), "{finished:?}");
    slow.join().expect("no panic");
}

#[test]
fn further_ports_are_opened_when_the_turn_of_their_test_has_come() {
    let server = Server::start_with("--bind 127.0.0.1 --queue");
    let first = under_way(&server, "--tcp --send -b 8M -t 20s");
    let mut waits = Client::ask(&server, &wants_doors());
    assert!(waits.message()["waiting"].is_object());
    assert_eq!(listeners(&server).len(), 1, "only its own port");
    first.signal("INT");
    first.finish();
    let ports = waits.await_create_streams();
    assert_eq!(ports.len(), 4, "one for each 16 streams");
    let expected: BTreeSet<u16> = ports.iter().copied().chain([server.address.port()]).collect();
    assert_eq!(listeners(&server), expected);
    drop(waits);
    server.line_with("not served");
    eventually("the further ports are shut", || listeners(&server).len() == 1);
}

#[test]
fn nobody_asks_for_a_test_at_a_further_port() {
    let server = Server::start();
    let mut control = Client::ask(&server, &wants_doors());
    let ports = control.await_create_streams();
    let door = SocketAddr::new(server.address.ip(), ports[0]);
    // A cookie that is complete only when its test has ended.
    let mut early = Control::connect(door);
    early.write(&COOKIE[..COOKIE.len() - 1]);
    let mut other = Control::connect(door);
    other.write(b"another-one-another-one-another-one-\0");
    assert_eq!(other.state(), Some(ACCESS_DENIED));
    drop(control);
    server.line_with("64 streams: not served");
    early.write(&COOKIE[COOKIE.len() - 1..]);
    let answer = early.state();
    assert!(answer.is_none_or(|answer| answer == ACCESS_DENIED), "{answer:?}");
    test(&server, "--tcp --send -n 1M").assert_success();
}

#[test]
fn a_firewall_that_says_nothing_does_not_hold_up_the_streams() {
    let Some(link) = link() else { return };
    if !has_ports(&link.near, "10000 12099") || !wall(&link.far, "32768-60999") {
        return;
    }
    let record = quickly_across(&link, "-P 2000 -b 100K -t 1s");
    assert_eq!(ports_of_streams(&record), BTreeSet::from([OWN]));
    assert_eq!(typed(&record).streams.len(), 2000);
    let notes = record["outcome"]["notes"].to_string();
    assert!(notes.contains("timed out") && notes.contains("5201"), "{notes}");
}

#[test]
fn the_ports_that_a_firewall_lets_through_share_the_streams() {
    let Some(link) = link() else { return };
    // Four further ports, of which one is behind the wall.
    let near = has_ports(&link.near, "10000 10399");
    if !near || !has_ports(&link.far, "40000 40003") || !wall(&link.far, "40001") {
        return;
    }
    let record = quickly_across(&link, "-P 1000 -b 100K -t 1s");
    assert_eq!(ports_of_streams(&record), BTreeSet::from([OWN, 40_000, 40_002, 40_003]));
    assert_eq!(typed(&record).streams.len(), 1000);
    let notes = record["outcome"]["notes"].to_string();
    assert!(notes.contains("port 40001 of the server cannot be reached"), "{notes}");
}

#[test]
fn what_the_server_tells_to_raise_or_to_lower_is_enough() {
    let Some(serve) = unprivileged("serve --verbose --port 0 --bind 127.0.0.1") else { return };
    let server = Server::spawn(limited("-n 400", &serve));
    let finished = test(&server, "--tcp --send -P 300 -t 200ms");
    let words = ["open files at the server, which has", "(ulimit -n, LimitNOFILE=) to"];
    finished.assert_refusal(1, &words);
    let line = server.line_with("not served");
    assert!(line.contains("raise its limit of open files") && !line.contains("taken"), "{line}");
    let (limit, streams) = (number(&finished.stderr, ") to "), number(&line, "-P to "));
    test(&server, &format!("--tcp --send -P {streams} -t 200ms")).assert_success();
    let server = Server::spawn(limited(&format!("-n {limit}"), &serve));
    test(&server, "--tcp --send -P 300 -t 200ms").assert_success();
}

#[test]
fn a_system_that_gives_no_thread_is_told_as_that() {
    let Some(serve) = serve_with_few_threads() else { return };
    let server = Server::spawn(serve);
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.running.id()));
    let own = number(&status.expect("a process of ours"), "Threads:\t");
    // What is left for the server is one thread, which the test itself takes, and then none.
    let mut idle: Vec<_> = (own + 1..MOST_THREADS).map(|_| sleeper()).collect();
    eventually("they sleep", || threads_of(LONELY_USER) >= MOST_THREADS - 1);
    let words = ["gets no more threads", "ulimit -u, TasksMax=, pids.max"];
    test(&server, "--tcp --send -t 200ms").assert_refusal(1, &words);
    server.line_with("gets no more threads");
    idle.push(sleeper());
    eventually("they sleep", || threads_of(LONELY_USER) >= MOST_THREADS);
    test(&server, "--tcp --send -t 200ms").assert_refusal(1, &words);
    server.line_with("gets no more threads");
    idle.clear();
    test(&server, "--tcp --send -t 200ms").assert_success();
}

/// A client by hand that knows many streams.
struct Client {
    control: Control,
    server: SocketAddr,
}

impl Client {
    /// Asks for a test of `wishes`.
    fn ask(server: &Server, wishes: &Value) -> Self {
        let mut all = json!({"tcp": true, "omit": 0, "time": 5, "len": 1000});
        all["linerate"] = json!({"version": "0.1.0", "extensions": EXTENSIONS});
        for (key, value) in wishes.as_object().expect("wishes") {
            match all[key.as_str()].as_object_mut() {
                Some(object) => object.extend(value.as_object().cloned().unwrap_or_default()),
                None => all[key.as_str()] = value.clone(),
            }
        }
        Self { control: Control::ask(server.address, &all), server: server.address }
    }

    /// The next message of an extension.
    fn message(&mut self) -> Value {
        assert_eq!(self.control.state(), Some(EXTENSION));
        self.control.hear()
    }

    /// Waits until the streams may be opened; the further ports for them.
    fn await_create_streams(&mut self) -> Vec<u16> {
        let mut ports = Vec::new();
        loop {
            match self.control.state() {
                Some(EXTENSION) => {
                    let told = self.control.hear()["ports"].take();
                    let told = told.as_array().cloned().unwrap_or_default();
                    ports.extend(told.iter().filter_map(|port| u16::try_from(port.as_u64()?).ok()));
                }
                Some(CREATE_STREAMS) => return ports,
                other => panic!("{other:?} is no state of this phase"),
            }
        }
    }

    /// Opens one stream after another, each after `pause`, until the server has enough of
    /// it, but no longer than for `limit`; how many there are then.
    fn trickle(mut self, pause: Duration, limit: Duration) -> u32 {
        let (mut streams, deadline) = (Vec::new(), Instant::now() + limit);
        self.control.0.set_read_timeout(Some(pause)).expect("a timeout");
        while Instant::now() < deadline {
            let mut byte = [0];
            match self.control.0.read(&mut byte) {
                Ok(1) if byte[0] == EXTENSION => _ = self.control.hear(),
                // An error, or the end.
                Ok(_) => break,
                Err(_) => {
                    let number = u32::try_from(streams.len()).expect("few streams");
                    let mut stream = Control::connect(self.server);
                    stream.write(&[&COOKIE[..], &number.to_be_bytes()].concat());
                    streams.push(stream);
                }
            }
        }
        u32::try_from(streams.len()).expect("few streams")
    }
}

/// 64 streams, and more ports for them than are of use.
fn wants_doors() -> Value {
    json!({"parallel": 64, "linerate": {"further_ports": 15}})
}

/// The TCP ports on which the server listens: proc_pid_fd(5).
fn listeners(server: &Server) -> BTreeSet<u16> {
    let process = server.running.id();
    let files = std::fs::read_dir(format!("/proc/{process}/fd")).expect("a process of ours");
    let names = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    let own: BTreeSet<String> = names.map(|name| name.display().to_string()).collect();
    let is_own = |socket: &Socket| own.contains(&format!("socket:[{}]", socket.inode));
    let sockets = sockets::of_process(process, &["tcp"]).into_iter();
    let listeners = sockets.filter(|socket| socket.listens() && is_own(socket));
    listeners.map(|socket| socket.local.port()).collect()
}

/// The record of a test that was not held up.
fn quickly_across(link: &Link, options: &str) -> Value {
    let _server = Server::start_on(&link.far, "");
    // A connect that is not answered would take longer than the test waits for the end.
    let options = format!("--tcp --send --json --connect-timeout 60s {options}");
    let finished = across(link, "test", &options);
    finished.assert_success();
    finished.json()
}

/// Drops without a word what comes to these TCP ports of a host.
fn wall(host: &Host, ports: &str) -> bool {
    let rules = format!(
        "ip rule add pref 100 lookup local && ip rule del pref 0 && \
         ip rule add pref 10 iif {} ipproto tcp dport {ports} blackhole",
        host.interface()
    );
    shell(host, &rules)
}

/// The number that follows `words`.
fn number(text: &str, words: &str) -> u64 {
    let rest = text.split(words).nth(1).unwrap_or_else(|| panic!("no '{words}' in {text}"));
    let digits = rest.chars().take_while(|c| c.is_ascii_digit() || *c == ',');
    let digits: String = digits.filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no number after '{words}' in {text}"))
}

/// A server that may have no more than [`MOST_THREADS`]; none where that cannot be done.
fn serve_with_few_threads() -> Option<Command> {
    let limit = format!("ulimit -u {MOST_THREADS}");
    let works = as_lonely_user(&["bash", "-c", &limit]).status();
    if !works.is_ok_and(|status| status.success()) {
        return skip(&format!("this does not work here: {limit}"));
    }
    let serve = format!("{limit} && exec \"$0\" serve --verbose --port 0 --bind 127.0.0.1");
    Some(as_lonely_user(&["bash", "-c", &serve, LINERATE]))
}

fn as_lonely_user(words: &[&str]) -> Command {
    let mut command = program(Command::new("setpriv"));
    let user = [format!("--reuid={LONELY_USER}"), format!("--regid={LONELY_USER}")];
    command.args(user).arg("--clear-groups").args(words);
    command
}

fn sleeper() -> Running {
    Running::start(as_lonely_user(&["sleep", "60"]))
}

/// Threads of a user; each of the processes that the test makes has its own.
fn threads_of(user: u32) -> u64 {
    let processes = std::fs::read_dir("/proc").expect("a proc file system");
    let statuses = processes
        .filter_map(|process| std::fs::read_to_string(process.ok()?.path().join("status")).ok());
    let own = |status: &String| number(status, "Uid:\t") == u64::from(user);
    statuses.filter(own).map(|status| number(&status, "Threads:\t")).sum()
}

const EXTENSIONS: [&str; 3] = ["many-streams", "queue", "refusal"];
const OWN: u16 = 5201;
const EXTENSION: u8 = 64;
const ACCESS_DENIED: u8 = 0xff;
/// A user without any other process.
const LONELY_USER: u32 = 65_532;
/// A server keeps 32 of them for others, and gives half of the rest to one client.
const MOST_THREADS: u64 = 40;
