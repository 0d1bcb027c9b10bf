//! Users, passwords and keys: between two linerates, and with a program iperf3.

use std::fs;
use std::process::Command;
use std::time::Duration;

use authentication::{Credentials, Padding, PublicKey};
use serde_json::Value;

use crate::peer::{ByHand, CREATE_STREAMS, SERVER_ERROR, ask, plain_test};
use crate::support::{
    Directory, Finished, Running, Server, await_words, client, free_port, iperf3, plain_iperf3,
    run, skip, until,
};

#[test]
fn a_known_user_with_the_right_password_may_test() {
    let door = Door::new("right");
    let server = Server::start(&door.server_options(""));
    run(alice(server.port, "secret", "-n 1M")).assert_success();
    run(alice(server.port, "secret", "-n 1M -u -b 50M")).assert_success();
    let json = run(alice(server.port, "secret", "-n 1M -J")).json();
    assert!(json["error"].is_null(), "{json:#}");
    assert_eq!(json["end"]["sum_received"]["bytes"], 1 << 20);
}

#[test]
fn all_others_are_denied_and_the_server_serves_on() {
    let door = Door::new("others");
    let server = Server::start(&door.server_options(""));
    let bob = || with_password(client(server.port, &user("bob")), "secret");
    for denied in [
        run(alice(server.port, "wrong", "-n 1M")),
        run(bob()),
        run(client(server.port, "-n 1M")),
        run(alice(server.port, "secret", "-n 1M --use-pkcs1-padding")),
    ] {
        denied.assert_relayed("test authorization failed");
    }
    let finished = run(alice(server.port, "wrong", "-n 1M -J"));
    assert_eq!((finished.code, &finished.json()["error"]), (Some(1), &DENIED.into()));
    run(alice(server.port, "secret", "-n 1M")).assert_success();
}

#[test]
fn a_token_opens_the_door_once() {
    let door = Door::new("once");
    let server = Server::start(&door.server_options(""));
    let request = request_with_token();
    let (first, answer) = ask(server.port, &request);
    assert_eq!(answer, Some(CREATE_STREAMS));
    drop(first);
    await_words(&server.running, "(test #2)");
    assert_eq!(ask(server.port, &request).1, Some(SERVER_ERROR));
    run(alice(server.port, "secret", "-n 1M")).assert_success();
}

#[test]
fn an_old_token_opens_nothing() {
    let door = Door::new("old");
    let server = Server::start(&door.server_options("--time-skew-threshold 300"));
    assert_eq!(ask(server.port, &request_with(&token(HOUR))).1, Some(SERVER_ERROR));
    run(alice(server.port, "secret", "-n 1M")).assert_success();
}

#[test]
fn a_threshold_lets_clocks_differ() {
    let door = Door::new("threshold");
    let server = Server::start(&door.server_options("--time-skew-threshold 4000"));
    assert_eq!(ask(server.port, &request_with(&token(HOUR))).1, Some(CREATE_STREAMS));
}

#[test]
fn the_old_padding_is_spoken_if_asked() {
    let door = Door::new("padding");
    let server = Server::start(&door.server_options("--use-pkcs1-padding"));
    run(alice(server.port, "secret", "-n 1M --use-pkcs1-padding")).assert_success();
    run(alice(server.port, "secret", "-n 1M")).assert_relayed("test authorization failed");
}

#[test]
fn a_plain_iperf3_may_test_with_its_password() {
    if !speaks_the_old_padding() {
        return;
    }
    let door = Door::new("program-client");
    let server = Server::start(&door.server_options("--use-pkcs1-padding"));
    let test = |password: &str| {
        let options = format!("-c 127.0.0.1 -n 1M -p {} {}", server.port, user("alice"));
        run(with_password(plain_iperf3(&options).expect("it was there"), password))
    };
    assert_eq!(test("secret").code, Some(0));
    assert_eq!(test("wrong").code, Some(1));
    assert_eq!(test("secret").code, Some(0));
}

#[test]
fn a_plain_iperf3_lets_the_right_password_test() {
    if !speaks_the_old_padding() {
        return;
    }
    let door = Door::new("program-server");
    let port = free_port();
    let command = plain_iperf3(&format!("-s -p {port} {}", door.server_options("")));
    let server = Server::at(port, command.expect("it was there"));
    let options = "-n 1M --use-pkcs1-padding";
    // It listens anew after each test, and what comes before that is refused.
    let settled = |password: &str| {
        until("a server that listens", || {
            let finished = run(alice(server.port, password, options));
            Some(finished).filter(|finished| !finished.stderr.contains("refused"))
        })
    };
    assert_eq!(settled("secret").code, Some(0));
    let denied: Finished = settled("wrong");
    // Whether it says so, or closes, depends on the version.
    assert_eq!(denied.code, Some(1), "{denied:?}");
    assert!(denied.stderr.contains("authorization failed"), "{denied:?}");
    assert_eq!(settled("secret").code, Some(0));
}

#[test]
fn no_secret_is_printed() {
    let door = Door::new("secrets");
    let server = Server::start(&door.server_options("-d"));
    let finished = run(alice(server.port, "secret", "-n 1M -d"));
    assert_eq!(finished.code, Some(0));
    let of_the_server = server.stop();
    for text in [&finished.stdout, &finished.stderr, &of_the_server.stdout, &of_the_server.stderr] {
        assert!(!text.contains("secret"), "{text}");
    }
    assert!(of_the_server.stdout.contains(r#""authtoken": "(hidden)""#), "{of_the_server:?}");
    assert!(finished.stdout.contains(r#""authtoken": "(hidden)""#), "{finished:?}");
}

#[test]
fn what_authentication_needs_must_be_there() {
    let door = Door::new("needs");
    let public = fixture("test-only-public.pem");
    run(client(1, "--username alice")).assert_usage("username, password, and path");
    run(client(1, &format!("--rsa-public-key-path {public}"))).assert_usage("username");
    let missing = with_password(client(1, "--username a --rsa-public-key-path /none"), "x");
    run(missing).assert_usage("/none");
    let private = fixture("test-only-private.pem");
    let serve = |options: &str| run(iperf3(&format!("-s -p {} {options}", free_port())));
    serve(&format!("--rsa-private-key-path {private}")).assert_usage("private key and a user");
    serve(&format!("--authorized-users-path {}", door.users())).assert_usage("private key");
    serve(&door.server_options("--time-skew-threshold 0")).assert_usage("skew threshold");
}

/// A file of users for a server.
struct Door(Directory);

impl Door {
    fn new(name: &str) -> Self {
        let door = Self(Directory::new(&format!("users-{name}")));
        fs::write(door.users(), format!("# name, hash\nalice,{HASH_OF_ALICE}\n")).expect("a file");
        door
    }

    fn users(&self) -> String {
        self.0.file("users").display().to_string()
    }

    fn server_options(&self, more: &str) -> String {
        let key = fixture("test-only-private.pem");
        format!("--rsa-private-key-path {key} --authorized-users-path {} {more}", self.users())
    }
}

/// A client of the user that the server knows.
fn alice(port: u16, password: &str, options: &str) -> Command {
    with_password(client(port, &format!("{} {options}", user("alice"))), password)
}

fn user(name: &str) -> String {
    format!("--username {name} --rsa-public-key-path {}", fixture("test-only-public.pem"))
}

fn with_password(mut command: Command, password: &str) -> Command {
    command.env("IPERF3_PASSWORD", password);
    command
}

/// What a client of that user asks, as it would of a server.
fn request_with_token() -> Value {
    let server = ByHand::listen();
    let _client = Running::start(alice(server.port(), "secret", "-t 1"));
    let token = server.greet().1["authtoken"].take();
    request_with(token.as_str().expect("a token"))
}

fn request_with(token: &str) -> Value {
    let mut request = plain_test();
    request["authtoken"] = token.into();
    request
}

/// A token of alice, made by a client at a time that lies `age` back.
fn token(age: Duration) -> String {
    let key = fs::read_to_string(fixture("test-only-public.pem")).expect("a key");
    let key = PublicKey::from_pem(&key).expect("a key");
    let alice = Credentials::new("alice", "secret".to_owned()).expect("a name");
    let then = linux::clock::realtime().saturating_sub(age).as_secs();
    key.token(&alice, then, Padding::Oaep).expect("it is short")
}

fn fixture(name: &str) -> String {
    format!("{}/../authentication/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Whether this system has an iperf3 with authentication that speaks the old padding, which only
/// versions before 3.17 do.
fn speaks_the_old_padding() -> bool {
    let Some(command) = plain_iperf3("-v") else { return false };
    let version = run(command).stdout;
    let minor =
        version.strip_prefix("iperf 3.").and_then(|rest| rest.split([' ', '+', '.']).next());
    let is_old = minor.and_then(|minor| minor.parse::<u32>().ok()).is_some_and(|minor| minor < 17);
    let speaks = is_old && version.contains("authentication");
    speaks || skip::<()>(&format!("no iperf3 before 3.17 with authentication: {version}")).is_some()
}

const HOUR: Duration = Duration::from_secs(3_600);
const DENIED: &str = "test authorization failed";
/// SHA-256 of `{alice}secret` (docs/protocol/iperf3.md, 15.3).
const HASH_OF_ALICE: &str = "27b307f21eb6137ab56a3c80a93a5db840e79a697f80f3381c87edaa79a83f6f";
