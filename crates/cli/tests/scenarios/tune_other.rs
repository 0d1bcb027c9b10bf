//! Tuning of a host by another one: what is refused changes nothing, what is made is undone however it
//! ends, and `linerate tune` treats the settings of the server and of a router like its own.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use lab::{Access, Host, Link, LinkSpec, Rate, Routed, Shape};
use measurement::remedy::Setting;
use session::tuning::{Answer, ClientSide, Request, SharedKey};

use crate::support::{
    Directory, Finished, Running, Server, before_others, child, eventually, far_apart, linerate,
    linerate_on, link, list, run, shell, skip,
};

/// A link with a server at its far end that allows tuning.
struct Bed {
    link: Link,
    server: Server,
    state: Directory,
}

impl Bed {
    /// None where no link can be made.
    fn new(name: &str, allowed: &str) -> Option<Self> {
        let link = link()?;
        let state = Directory::new(name);
        write_key(&state);
        let server = Server::start_on(&link.far, &options(&state, allowed));
        Some(Self { link, server, state })
    }

    fn far(&self) -> &Host {
        &self.link.far
    }

    /// The length of the transmit queue at the server.
    fn queue(&self) -> String {
        words(self.far(), QUEUE)
    }

    /// A client with the key.
    fn client(&self) -> Client {
        Client::open(&self.link, KEY).expect("the key is right")
    }
}

fn write_key(state: &Directory) {
    let key = state.file("key");
    fs::write(&key, KEY).expect("written");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("set");
}

fn options(state: &Directory, allowed: &str) -> String {
    let (key, journal) = (state.file("key"), state.file("served"));
    format!("{allowed} --tune-key {} --state {}", key.display(), journal.display())
}

fn words(host: &Host, script: &str) -> String {
    let output = host.command("sh").args(["-c", script]).output().expect("a shell");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A client that can send anything.
struct Client {
    socket: TcpStream,
    side: ClientSide,
    /// All that it has sent.
    sent: Vec<u8>,
}

impl Client {
    fn connect(link: &Link) -> TcpStream {
        let to = SocketAddr::from((link.far.ipv4(), session::DEFAULT_PORT));
        let connect = || TcpStream::connect(to).expect("the server listens");
        let socket = link.near.run(connect).expect("a namespace");
        socket.set_read_timeout(Some(Duration::from_secs(8))).expect("set");
        socket
    }

    /// None: the server ends the connection.
    fn open(link: &Link, key: &str) -> Option<Self> {
        let key = SharedKey::parse(key).expect("a key");
        let socket = Self::connect(link);
        let mut client = Self { socket, side: ClientSide::new(&key, [7; 32]), sent: Vec::new() };
        client.flush();
        while !client.side.is_open() {
            client.hear()?;
        }
        Some(client)
    }

    fn flush(&mut self) {
        let bytes = self.side.take_output();
        self.sent.extend_from_slice(&bytes);
        self.socket.write_all(&bytes).expect("the server reads");
    }

    /// None: the server has ended the connection.
    fn hear(&mut self) -> Option<Vec<Answer>> {
        let mut buffer = [0; 4096];
        let length = self.socket.read(&mut buffer).ok().filter(|length| *length > 0)?;
        let answers = self.side.receive(&buffer[..length]).expect("from the server");
        self.flush();
        Some(answers)
    }

    fn ask(&mut self, request: &Request) -> Option<Answer> {
        assert!(self.side.request(request));
        self.flush();
        loop {
            if let Some(answer) = self.hear()?.pop() {
                return Some(answer);
            }
        }
    }

    fn set(&mut self, command: &str) -> Option<Answer> {
        self.ask(&Request::Set(vec![setting(command)]))
    }
}

fn setting(command: &str) -> Setting {
    command.parse().expect("a command")
}

/// Whether the server ends a connection on which `bytes` came.
fn is_ended(mut socket: &TcpStream, bytes: &[u8]) -> bool {
    // It may have ended it before all was sent.
    _ = socket.write_all(bytes);
    let mut buffer = [0; 4096];
    loop {
        match socket.read(&mut buffer) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

#[test]
fn a_setting_is_made_for_a_client_with_the_key_and_undone_at_its_end_unless_kept() {
    let Some(bed) = Bed::new("other-set", "--allow-tune") else { return };
    let before = bed.queue();
    let mut client = bed.client();
    let outlook = client.ask(&Request::Look(setting(LONGER)));
    assert!(matches!(outlook, Some(Answer::Outlook { is_in_effect: false, .. })), "{outlook:?}");
    let made = client.set(LONGER);
    assert!(matches!(&made, Some(Answer::Set(read)) if read[0].value == "777"), "{made:?}");
    assert_eq!(bed.queue(), "qlen 777");
    // Another client has to wait; the first one is not disturbed.
    let busy = bed.client().set(LONGER);
    assert!(matches!(&busy, Some(Answer::Refused(why)) if why.contains("another")), "{busy:?}");
    assert_eq!(bed.queue(), "qlen 777");
    drop(client);
    eventually("undone change", || bed.queue() == before);
    bed.server.line_with("makes ip link set dev far0 txqueuelen 777: it is 777");
    bed.server.line_with("undoes ip link set dev far0 txqueuelen 777");
    let mut client = bed.client();
    assert!(matches!(client.set(LONGER), Some(Answer::Set(_))));
    assert_eq!(client.ask(&Request::Keep), Some(Answer::Kept));
    drop(client);
    bed.server.line_with("it ended the connection");
    assert_eq!(bed.queue(), "qlen 777");
    assert!(
        fs::read_dir(bed.state.file("served"))
            .expect("a folder")
            .flatten()
            .all(|file| { file.file_name() == "tuning.lock" })
    );
}

#[test]
fn what_is_forged_replayed_too_long_or_without_the_key_is_refused_and_logged() {
    let Some(bed) = Bed::new("other-forged", "--allow-tune=queue-length") else { return };
    let before = bed.queue();
    assert!(Client::open(&bed.link, &"another key".replace(' ', "-").repeat(4)).is_none());
    bed.server.line_with("refused: its key is another one");
    // One bit of a request, wherever it is.
    for place in [2, 40, 60] {
        let mut client = bed.client();
        assert!(client.side.request(&Request::Set(vec![setting(LONGER)])));
        let mut bytes = client.side.take_output();
        bytes[place] ^= 1;
        assert!(is_ended(&client.socket, &bytes));
        bed.server.line_with("refused: a message is forged or replayed");
    }
    let mut client = bed.client();
    let made = client.set("ip link set dev far0 txqueuelen 888");
    assert!(matches!(made, Some(Answer::Set(_))), "{made:?}");
    let recorded = std::mem::take(&mut client.sent);
    drop(client);
    eventually("undone change", || bed.queue() == before);
    assert!(is_ended(&Client::connect(&bed.link), &recorded));
    bed.server.line_with("refused: its key is another one");
    // The request again, on the connection on which it was sent.
    let mut client = bed.client();
    let start = client.sent.len();
    assert!(matches!(client.set(LONGER), Some(Answer::Set(_))));
    let again = client.sent[start..].to_vec();
    assert!(is_ended(&client.socket, &again));
    bed.server.line_with("refused: a message is forged or replayed");
    eventually("undone change", || bed.queue() == before);
    let client = bed.client();
    assert!(is_ended(&client.socket, &[0xff; 2]));
    bed.server.line_with("refused: a message has more than 16384 bytes");
    let mut client = bed.client();
    for other in ["sysctl -w net.ipv4.tcp_sack=0", "ip link set dev far0 mtu 1400"] {
        let told = client.set(other);
        assert!(matches!(&told, Some(Answer::Refused(why)) if why.contains("--allow-tune")));
        bed.server.line_with("refused: it does not allow");
    }
    let path = client.set("ip link set dev ../../x txqueuelen 5");
    assert!(matches!(path, Some(Answer::Refused(_))), "{path:?}");
    assert_eq!(bed.queue(), before);
    assert_eq!(words(bed.far(), "sysctl -n net.ipv4.tcp_sack"), "1");
    let log = bed.server.running.lines_from(0);
    assert!(log.iter().all(|line| !line.text.contains(KEY.trim())), "the key is in the log");
    // Nobody is kept from testing by all that.
    let test = format!("test {} --tcp --send -t 200ms", bed.far().ipv4());
    run(linerate_on(&bed.link.near, &test)).assert_ran_to_its_end();
}

#[test]
fn a_server_that_does_not_allow_it_is_not_tuned() {
    let Some(link) = link() else { return };
    let server = Server::start_on(&link.far, "");
    assert!(is_ended(&Client::connect(&link), &linerate_greeting()));
    server.line_with("not served");
    let state = Directory::new("other-none");
    write_key(&state);
    let key = state.file("key");
    let command = format!(
        "tune {} -q --yes --state {} --tune-key {}",
        link.far.ipv4(),
        state.file("journal").display(),
        key.display()
    );
    let words = ["it lets nobody tune it", "--allow-tune"];
    run(linerate_on(&link.near, &command)).assert_refusal(1, &words);
}

fn linerate_greeting() -> Vec<u8> {
    ClientSide::new(&SharedKey::parse(KEY).expect("a key"), [0; 32]).take_output()
}

#[test]
fn whoever_is_killed_at_any_instant_all_is_restored_within_5_seconds() {
    let Some(link) = link() else { return };
    let state = Directory::new("other-kill");
    write_key(&state);
    let queue = || words(&link.far, QUEUE);
    let (before, journal) = (queue(), state.file("served").join("tuning.journal"));
    for round in 0..KILLS {
        let server = Server::start_on(&link.far, &options(&state, "--allow-tune"));
        let victims = [helper(&server), server.running.id()];
        let victim = victims[usize::try_from(round).expect("small") % victims.len()];
        let mut client = Client::open(&link, KEY).expect("the key is right");
        let killed = std::thread::scope(|scope| {
            let killer = scope.spawn(|| {
                std::thread::sleep(Duration::from_micros(u64::from(round) * 79_190 % 700_000));
                assert!(shell(&link.near, &format!("kill -9 {victim}")));
                Instant::now()
            });
            // Until the server is gone, the setting is made and taken back.
            let none = Request::Set(Vec::new());
            while let Some(made) = client.set(LONGER) {
                assert!(matches!(made, Answer::Set(_)), "{made:?}");
                if client.ask(&none).is_none() {
                    break;
                }
            }
            killer.join().expect("it kills")
        });
        eventually("undone change", || queue() == before && !journal.exists());
        assert!(killed.elapsed() < Duration::from_secs(5), "round {round}");
    }
}

#[test]
fn a_client_that_is_killed_or_stopped_leaves_nothing_changed() {
    let Some(path) = far_apart() else { return };
    if !shell(&path.far, SMALL_BUFFER) {
        return;
    }
    let state = Directory::new("other-client");
    write_key(&state);
    let _server = Server::start_first_on(&path.far, &options(&state, "--allow-tune"));
    let is_mended = || !words(&path.far, BUFFER).ends_with("16384");
    for (signal, within) in [("KILL", 5), ("STOP", 6)] {
        let options = "--yes -C reno -t 500ms --pairs 60";
        let running = Running::start(before_others(tune(&path.near, &path.far, &state, options)));
        eventually("change", is_mended);
        running.signal(signal);
        let since = Instant::now();
        eventually("undone change", || !is_mended());
        assert!(since.elapsed() < Duration::from_secs(within), "{signal} {:?}", since.elapsed());
    }
}

#[test]
fn after_a_kill_of_all_processes_undo_restores_and_so_does_the_next_server() {
    let Some(link) = link() else { return };
    let state = Directory::new("other-undo");
    write_key(&state);
    let queue = || words(&link.far, QUEUE);
    let before = queue();
    let start = || Server::start_on(&link.far, &options(&state, "--allow-tune"));
    for by_next in [false, true] {
        let server = start();
        let mut client = Client::open(&link, KEY).expect("the key is right");
        assert!(matches!(client.set(LONGER), Some(Answer::Set(_))));
        let helper = helper(&server);
        let watchdog = child(helper).expect("a watchdog");
        let all = format!("kill -9 {watchdog} {helper} {}", server.running.id());
        assert!(shell(&link.near, &all));
        drop(server);
        assert_eq!(queue(), "qlen 777");
        if by_next {
            let _next = start();
            assert_eq!(queue(), before);
        } else {
            let undo = format!("undo --state {}", state.file("served").display());
            run(linerate_on(&link.far, &undo)).assert_success();
            assert_eq!(queue(), before);
        }
    }
}

#[test]
fn the_process_that_changes_settings_can_do_nothing_else() {
    let allowed = "--allow-tune=default,other-sysctl";
    let Some(bed) = Bed::new("other-sealed", allowed) else { return };
    let status = fs::read_to_string(format!("/proc/{}/status", helper(&bed.server)));
    let status = status.expect("the process");
    // SECCOMP_MODE_FILTER (proc(5)), and CAP_NET_ADMIN alone (capabilities(7)).
    assert!(status.contains("Seccomp:\t2\n") && status.contains("NoNewPrivs:\t1\n"), "{status}");
    assert!(status.contains("CapEff:\t0000000000001000\n"), "{status}");
    let mut client = bed.client();
    let all = [
        LONGER,
        "sysctl -w net.ipv4.tcp_slow_start_after_idle=0",
        "sysctl -w net.ipv4.ip_default_ttl=63",
        "ethtool -K far0 tso off",
        "ethtool -L far0 rx 1",
        "ip link set dev far0 mtu 1400",
        "tc qdisc replace dev far0 root fq",
        "echo 1 > /sys/class/net/far0/queues/rx-0/rps_cpus",
        "echo 1 > /sys/class/net/far0/threaded",
    ];
    let is_about_itself = |why: &str| ["not permitted", "denied"].iter().any(|no| why.contains(no));
    for command in all {
        match client.set(command) {
            Some(Answer::Set(_)) => {}
            // Not every device and kernel has each of them.
            Some(Answer::Refused(why)) => assert!(!is_about_itself(&why), "{command}: {why}"),
            other => panic!("{command}: {other:?}"),
        }
    }
}

/// The process of a server that changes settings.
fn helper(server: &Server) -> u32 {
    child(server.running.id()).expect("a child")
}

#[test]
fn a_change_that_cuts_the_link_is_back_within_5_seconds() {
    let Some(bed) = Bed::new("other-cut", "--allow-tune") else { return };
    let before = words(bed.far(), "tc qdisc show dev far0");
    let mut client = bed.client();
    let since = Instant::now();
    // It drops all that is sent (sch_blackhole).
    let cut = setting("tc qdisc replace dev far0 root blackhole");
    assert!(client.side.request(&Request::Set(vec![cut])));
    client.flush();
    eventually("cut", || words(bed.far(), "tc qdisc show dev far0").contains("blackhole"));
    eventually("undone change", || words(bed.far(), "tc qdisc show dev far0") == before);
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    bed.server.line_with("nothing was heard of it in time");
    let test = format!("test {} --tcp --send -t 200ms", bed.far().ipv4());
    run(linerate_on(&bed.link.near, &test)).assert_ran_to_its_end();
}

#[test]
fn the_remedy_of_the_server_is_found_made_and_kept_there() {
    let Some(path) = far_apart() else { return };
    if !shell(&path.far, SMALL_BUFFER) {
        return;
    }
    let state = Directory::new("other-tune");
    write_key(&state);
    let _server = Server::start_first_on(&path.far, &options(&state, "--allow-tune"));
    let options = "--yes -C reno -t 500ms --pairs 6 --json";
    let finished = Running::start(tune(&path.near, &path.far, &state, options)).finish_within(LONG);
    finished.assert_ran_to_its_end();
    let record = finished.json();
    let kept = list(&record["kept"]);
    let [change] = kept else { panic!("one change: {record:#}") };
    assert_eq!(change["host"], "peer", "{change:#}");
    let effective = change["effective"].as_str().expect("a value");
    assert_eq!(words(&path.far, BUFFER).replace('\t', " "), effective);
    assert!(!effective.ends_with("16384"), "{change:#}");
}

#[test]
fn a_dry_run_has_a_script_for_each_host() {
    let Some(bed) = Bed::new("other-dry", "--allow-tune") else { return };
    if !shell(bed.far(), "ethtool -K far0 tso off gso off >/dev/null") {
        return;
    }
    let features = || words(bed.far(), "ethtool -k far0");
    let before = features();
    let finished = bed.tune("--dry-run -R -t 500ms");
    finished.assert_success();
    assert_eq!(features(), before);
    let script = bed.state.file("tune.sh");
    fs::write(&script, &finished.stdout).expect("a file");
    assert!(shell(&bed.link.near, &format!("sh {} >&2", script.display())), "{finished:?}");
    assert_eq!(features(), before, "nothing of it is for this host: {finished:?}");
    let name = bed.far().ipv4();
    let there = |word: &str| {
        let part = format!("sed '1,/^#### {name}$/d' {}", script.display());
        shell(bed.far(), &format!("{part} | sh -s {word} >&2"))
    };
    assert!(there("") && features().contains("tcp-segmentation-offload: on"), "{finished:?}");
    assert!(there("undo"), "{finished:?}");
    assert_eq!(features(), before, "{finished:?}");
}

/// The router has a shaper, whose parameters no program could restore.
#[test]
fn a_router_on_the_path_is_asked_for_its_changes() {
    if let Access::Forbidden { reason } = lab::prepare() {
        skip::<()>(&format!("no link can be made: {reason}"));
        return;
    }
    let shape = Rate::from_bits_per_second(100_000_000).map(Shape::with_rate);
    let spec = LinkSpec { shape, ..LinkSpec::default() };
    let routed = Routed::create(&spec).expect("a router");
    let state = Directory::new("other-router");
    write_key(&state);
    let _server = Server::start_on(&routed.far, "");
    let watched = Server::start_on(
        &routed.router_near,
        &format!("--observe {}", options(&state, "--allow-tune")),
    );
    let name = routed.router_near.ipv4();
    let line = format!(
        "tune {} -q --yes -t 2s --pairs 4 --json --tune-key {} --state {} --on {name}",
        routed.far.ipv4(),
        state.file("key").display(),
        state.file("journal").display()
    );
    let finished = Running::start(linerate_on(&routed.near, &line)).finish_within(LONG);
    finished.assert_ran_to_its_end();
    let record = finished.json();
    let of_router = |one: &&serde_json::Value| {
        list(&one["changes"]).iter().any(|change| change["host"]["observed"] == name.to_string())
    };
    let attempt = list(&record["attempts"]).iter().find(of_router);
    let attempt = attempt.unwrap_or_else(|| panic!("{record:#}"));
    assert_eq!(attempt["outcome"], "not-tried", "{attempt:#}");
    let reason = attempt["reason"].as_str().unwrap_or_default();
    assert!(reason.contains(&format!("{name}: ")) && !reason.contains("run linerate tune"));
    watched.line_with("looks at tc qdisc del dev right0 root: refused");
}

#[test]
fn a_key_is_needed_and_nobody_else_may_read_it() {
    let state = Directory::new("other-key");
    let refused = |options: &str, code, words: &str| {
        run(linerate(&format!("serve --port 0 {options}"))).assert_refusal(code, &[words]);
    };
    refused("--allow-tune", 2, "--tune-key FILE");
    refused(&options(&state, "--allow-tune"), 1, "cannot read the key");
    write_key(&state);
    fs::set_permissions(state.file("key"), fs::Permissions::from_mode(0o644)).expect("set");
    refused(&options(&state, "--allow-tune"), 1, "chmod 600");
    refused("--allow-tune=all", 2, "is no kind of setting");
    run(linerate("tune 127.0.0.1:1 -q --yes --on 127.0.0.1")).assert_complaint(2, &["--tune-key"]);
}

impl Bed {
    fn tune(&self, options: &str) -> Finished {
        Running::start(self.command(options)).finish_within(LONG)
    }

    fn command(&self, options: &str) -> Command {
        tune(&self.link.near, &self.link.far, &self.state, options)
    }
}

/// A tuning of `far` by `near`, which has the key.
fn tune(near: &Host, far: &Host, state: &Directory, options: &str) -> Command {
    let (key, state) = (state.file("key"), state.file("journal"));
    let line = format!(
        "tune {} -q --tune-key {} --state {} {options}",
        far.ipv4(),
        key.display(),
        state.display()
    );
    linerate_on(near, &line)
}

/// A receiver with room for a fraction of what the path holds.
const SMALL_BUFFER: &str = "sysctl -qw net.ipv4.tcp_rmem='4096 8192 16384'";
const BUFFER: &str = "sysctl -n net.ipv4.tcp_rmem";
const KEY: &str = "c2VjcmV0IGtleSBvZiB0aGUgdGVzdHMsIDMyIGI=\n";
const QUEUE: &str = "ip link show far0 | grep -o 'qlen [0-9]*'";
const LONGER: &str = "ip link set dev far0 txqueuelen 777";
/// The server and its helper in turn.
const KILLS: u32 = 12;
/// Longer than a tuning of a few attempts takes on a busy machine.
const LONG: Duration = Duration::from_secs(180);
