//! How the streams of a test come to a server: clients by hand that take their time, or
//! come to the wrong port, and firewalls between the two.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use lab::Host;
use serde_json::{Value, json};

use crate::support::{
    LINERATE, PATIENCE, Running, Server, client, link, program, run, skip, test, until,
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
    assert!(finished.ran_to_its_end(), "{finished:?}");
    assert!(finished.took < Duration::from_secs(15), "{finished:?}");
    slow.join().expect("no panic");
}

#[test]
fn further_ports_are_opened_when_the_turn_of_their_test_has_come() {
    let server = Server::start_with("--bind 127.0.0.1 --queue");
    let first = Running::start(client(&server, "--tcp --send -b 8M -t 3s"));
    server.await_test();
    let mut waits = Client::ask(&server, &wants_doors());
    assert!(waits.message()["waiting"].is_object());
    assert_eq!(listeners(&server).len(), 1, "only its own port");
    first.finish().assert_success();
    let ports = waits.await_create_streams();
    assert_eq!(ports.len(), 4, "one for each 16 streams");
    let expected: BTreeSet<u16> = ports.iter().copied().chain([server.address.port()]).collect();
    assert_eq!(listeners(&server), expected);
    drop(waits);
    server.line_with("not served");
    await_that("the further ports are shut", || listeners(&server).len() == 1);
}

#[test]
fn nobody_asks_for_a_test_at_a_further_port() {
    let server = Server::start();
    let mut control = Client::ask(&server, &wants_doors());
    let ports = control.await_create_streams();
    let door = SocketAddr::new(server.address.ip(), ports[0]);
    // A cookie that is complete only when its test has ended.
    let mut early = connect(door);
    early.write_all(&COOKIE[..COOKIE.len() - 1]).expect("sent");
    let mut other = connect(door);
    other.write_all(b"another-one-another-one-another-one-\0").expect("sent");
    assert_eq!(first_byte(&mut other), Some(ACCESS_DENIED));
    drop(control);
    server.line_with("64 streams: not served");
    early.write_all(&COOKIE[COOKIE.len() - 1..]).expect("sent");
    let answer = first_byte(&mut early);
    assert!(answer.is_none_or(|answer| answer == ACCESS_DENIED), "{answer:?}");
    test(&server, "--tcp --send -n 1M").assert_success();
}

#[test]
fn a_firewall_that_says_nothing_does_not_hold_up_the_streams() {
    let Some(link) = link() else { return };
    if !shell(&link.near, &ports("10000 12099")) || !wall(&link.far, "32768-60999") {
        return;
    }
    let record = across(&link.near, &link.far, "-P 2000 -t 1s");
    assert_eq!(doors(&record), BTreeSet::from([OWN]));
    assert_eq!(streams(&record), 2000);
    let notes = record["outcome"]["notes"].to_string();
    assert!(notes.contains("timed out") && notes.contains("5201"), "{notes}");
}

#[test]
fn the_ports_that_a_firewall_lets_through_share_the_streams() {
    let Some(link) = link() else { return };
    // Four further ports, of which one is behind the wall.
    let near = shell(&link.near, &ports("10000 10399"));
    if !near || !shell(&link.far, &ports("40000 40003")) || !wall(&link.far, "40001") {
        return;
    }
    let record = across(&link.near, &link.far, "-P 1000 -t 1s");
    assert_eq!(doors(&record), BTreeSet::from([OWN, 40_000, 40_002, 40_003]));
    assert_eq!(streams(&record), 1000);
    let notes = record["outcome"]["notes"].to_string();
    assert!(notes.contains("further port 40001 cannot be reached"), "{notes}");
}

#[test]
fn what_the_server_tells_to_raise_or_to_lower_is_enough() {
    let serve = |files: u64| limited(&format!("ulimit -n {files}"), OTHER_USER);
    let Some(few) = serve(400) else { return };
    let server = Server::spawn(few);
    let finished = test(&server, "--tcp --send -P 300 -t 200ms");
    let words = ["open files at the server, which has", "(ulimit -n, LimitNOFILE=) to"];
    finished.assert_refusal(1, &words);
    let line = server.line_with("not served");
    assert!(line.contains("raise its limit of open files") && !line.contains("taken"), "{line}");
    let (limit, streams) = (number(&finished.stderr, ") to "), number(&line, "-P to "));
    test(&server, &format!("--tcp --send -P {streams} -t 200ms")).assert_success();
    let server = Server::spawn(serve(limit).expect("it worked before"));
    test(&server, "--tcp --send -P 300 -t 200ms").assert_success();
}

#[test]
fn a_system_that_gives_no_thread_is_told_as_that() {
    let Some(serve) = limited(&format!("ulimit -u {MOST_THREADS}"), LONELY_USER) else { return };
    let server = Server::spawn(serve);
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.running.id()));
    let own = number(&status.expect("a process of ours"), "Threads:\t");
    // What is left for the server is one thread, which the test itself takes, and then none.
    let mut idle: Vec<_> = (own + 1..MOST_THREADS).map(|_| sleeper()).collect();
    await_that("they sleep", || threads_of(LONELY_USER) >= MOST_THREADS - 1);
    let words = ["gets no more threads", "ulimit -u, TasksMax=, pids.max"];
    test(&server, "--tcp --send -t 200ms").assert_refusal(1, &words);
    server.line_with("gets no more threads");
    idle.push(sleeper());
    await_that("they sleep", || threads_of(LONELY_USER) >= MOST_THREADS);
    test(&server, "--tcp --send -t 200ms").assert_refusal(1, &words);
    server.line_with("gets no more threads");
    idle.clear();
    test(&server, "--tcp --send -t 200ms").assert_success();
}

/// A client by hand that knows many streams.
struct Client {
    control: TcpStream,
    server: SocketAddr,
}

impl Client {
    /// Asks for a test of `wishes`.
    fn ask(server: &Server, wishes: &Value) -> Self {
        let mut control = connect(server.address);
        control.write_all(&COOKIE).expect("sent");
        assert_eq!(first_byte(&mut control), Some(PARAM_EXCHANGE));
        let mut all = json!({"tcp": true, "omit": 0, "time": 5, "len": 1000});
        all["linerate"] = json!({"version": "0.1.0", "extensions": EXTENSIONS});
        for (key, value) in wishes.as_object().expect("wishes") {
            match all[key.as_str()].as_object_mut() {
                Some(object) => object.extend(value.as_object().cloned().unwrap_or_default()),
                None => all[key.as_str()] = value.clone(),
            }
        }
        control.write_all(&framed(&all.to_string())).expect("sent");
        Self { control, server: server.address }
    }

    /// The next message of an extension.
    fn message(&mut self) -> Value {
        assert_eq!(first_byte(&mut self.control), Some(EXTENSION));
        self.body()
    }

    fn body(&mut self) -> Value {
        let mut length = [0; 4];
        self.control.read_exact(&mut length).expect("a length");
        let mut text = vec![0; u32::from_be_bytes(length) as usize];
        self.control.read_exact(&mut text).expect("a message");
        serde_json::from_slice(&text).expect("JSON")
    }

    /// Waits until the streams may be opened; the further ports for them.
    fn await_create_streams(&mut self) -> Vec<u16> {
        let mut ports = Vec::new();
        loop {
            match first_byte(&mut self.control) {
                Some(EXTENSION) => {
                    let told = self.body()["ports"].take();
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
        self.control.set_read_timeout(Some(pause)).expect("a timeout");
        while Instant::now() < deadline {
            let mut byte = [0];
            match self.control.read(&mut byte) {
                Ok(1) if byte[0] == EXTENSION => _ = self.body(),
                // An error, or the end.
                Ok(_) => break,
                Err(_) => {
                    let number = u32::try_from(streams.len()).expect("few streams");
                    let mut stream = connect(self.server);
                    stream.write_all(&[&COOKIE[..], &number.to_be_bytes()].concat()).expect("sent");
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

fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// What comes next; none: the end.
fn first_byte(stream: &mut TcpStream) -> Option<u8> {
    let mut byte = [0];
    stream.read_exact(&mut byte).ok().map(|()| byte[0])
}

fn framed(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).expect("short").to_be_bytes();
    [&length, text.as_bytes()].concat()
}

/// The TCP ports on which the server listens: proc_pid_fd(5) and proc_pid_net(5).
fn listeners(server: &Server) -> BTreeSet<u16> {
    let process = server.running.id();
    let files = std::fs::read_dir(format!("/proc/{process}/fd")).expect("a process of ours");
    let names = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    let own: BTreeSet<String> = names.map(|name| name.display().to_string()).collect();
    let table = std::fs::read_to_string(format!("/proc/{process}/net/tcp")).expect("a table");
    let port = |line: &str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let is_own =
            fields.get(3) == Some(&"0A") && own.contains(&format!("socket:[{}]", fields.get(9)?));
        let port = fields.get(1)?.split(':').nth(1)?;
        u16::from_str_radix(port, 16).ok().filter(|_| is_own)
    };
    table.lines().skip(1).filter_map(port).collect()
}

fn await_that(what: &str, is_so: impl Fn() -> bool) {
    until(what, || is_so().then_some(()));
}

/// The record of a test that was not held up.
fn across(near: &Host, far: &Host, options: &str) -> Value {
    let mut serve = program(far.command(LINERATE));
    serve.args(["serve", "--verbose", "--port", &OWN.to_string()]);
    let _server = Server::spawn(serve);
    let mut test = program(near.command(LINERATE));
    test.args(["test", &far.ipv4().to_string(), "--tcp", "--send", "--json"]);
    test.args(["--connect-timeout", "20s"]).args(options.split(' '));
    let finished = run(test);
    finished.assert_success();
    // A connect that is not answered takes longer.
    assert!(finished.took < Duration::from_secs(9), "{:?}", finished.took);
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

fn ports(range: &str) -> String {
    format!("echo '{range}' > /proc/sys/net/ipv4/ip_local_port_range")
}

/// Runs a line of shell on a host; whether it worked.
fn shell(host: &Host, script: &str) -> bool {
    let status = host.command("sh").args(["-c", script]).status();
    let works = status.is_ok_and(|status| status.success());
    works || skip::<()>(&format!("this does not work here: {script}")).is_some()
}

/// The server's ports to which the streams went.
fn doors(record: &Value) -> BTreeSet<u16> {
    let address = |stream: &Value| stream["peer"].as_str()?.parse::<SocketAddr>().ok();
    let streams = record["streams"].as_array().expect("streams");
    streams.iter().filter_map(address).map(|peer| peer.port()).collect()
}

fn streams(record: &Value) -> usize {
    record["streams"].as_array().expect("streams").len()
}

/// The number that follows `words`.
fn number(text: &str, words: &str) -> u64 {
    let rest = text.split(words).nth(1).unwrap_or_else(|| panic!("no '{words}' in {text}"));
    let digits = rest.chars().take_while(|c| c.is_ascii_digit() || *c == ',');
    let digits: String = digits.filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no number after '{words}' in {text}"))
}

/// A server of `user` with a limit of the shell's; none where that cannot be done.
fn limited(limit: &str, user: u32) -> Option<Command> {
    let script = format!("{limit} && exec \"$@\"");
    let mut command = program(as_user(user));
    command.args(["bash", "-c", &script, "bash", LINERATE]);
    command.args("serve --verbose --port 0 --bind 127.0.0.1".split(' '));
    let works = program(as_user(user)).args(["bash", "-c", limit]).status();
    if works.is_ok_and(|status| status.success()) {
        return Some(command);
    }
    skip(&format!("this does not work here: {limit}"))
}

fn as_user(user: u32) -> Command {
    let mut command = Command::new("setpriv");
    command.args([format!("--reuid={user}"), format!("--regid={user}")]).arg("--clear-groups");
    command
}

fn sleeper() -> Running {
    let mut command = program(as_user(LONELY_USER));
    command.args(["sleep", "60"]);
    Running::start(command)
}

/// Threads of a user; each of the processes that the test makes has its own.
fn threads_of(user: u32) -> u64 {
    let processes = std::fs::read_dir("/proc").expect("a proc file system");
    let statuses = processes
        .filter_map(|process| std::fs::read_to_string(process.ok()?.path().join("status")).ok());
    let own = |status: &String| number(status, "Uid:\t") == u64::from(user);
    statuses.filter(own).map(|status| number(&status, "Threads:\t")).sum()
}

const COOKIE: [u8; 37] = *b"gatheringgatheringgatheringgathering\0";
const EXTENSIONS: [&str; 3] = ["many-streams", "queue", "refusal"];
const OWN: u16 = 5201;
const PARAM_EXCHANGE: u8 = 9;
const CREATE_STREAMS: u8 = 10;
const EXTENSION: u8 = 64;
const ACCESS_DENIED: u8 = 0xff;
/// Users without any other process.
const OTHER_USER: u32 = 65_531;
const LONELY_USER: u32 = 65_532;
/// A server keeps 32 of them for others, and gives half of the rest to one client.
const MOST_THREADS: u64 = 40;
