//! When an end stops waiting.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use lab::Host;

use crate::peer::{
    ByHand, CREATE_STREAMS, SERVER_ERROR, TEST_RUNNING, TEST_START, ask, open_stream, plain_test,
};
use crate::support::{Finished, Running, Server, await_words, client, iperf3_on, link, run};

#[test]
fn a_client_that_receives_nothing_gives_up() {
    let server = ByHand::listen();
    let client = Running::start(client(server.port(), "-R -t 30 --rcv-timeout 500"));
    let (mut control, parameters) = server.greet();
    assert_eq!(parameters["reverse"], true, "{parameters}");
    control.write(&[CREATE_STREAMS]);
    let _silent = server.stream();
    control.write(&[TEST_START, TEST_RUNNING]);
    let finished = client.finish();
    assert_gave_up(&finished, Duration::from_millis(500));
    assert!(finished.stderr.contains("idle timeout for receiving data"), "{finished:?}");
}

#[test]
fn a_receive_timeout_needs_a_receiver() {
    run(client(1, "--rcv-timeout 500")).assert_usage("only in receiving mode");
    run(client(1, "-R --rcv-timeout 50")).assert_usage("");
}

#[test]
fn a_server_that_receives_nothing_gives_up() {
    let server = Server::start("--rcv-timeout 500");
    let mut plan = plain_test();
    plan["time"] = 60.into();
    let (mut control, answer) = ask(server.port, &plan);
    assert_eq!(answer, Some(CREATE_STREAMS));
    let _silent = open_stream(server.port);
    let since = Instant::now();
    let states = [control.state(), control.state(), control.state()];
    assert_eq!(states, [TEST_START, TEST_RUNNING, SERVER_ERROR].map(Some));
    assert!(since.elapsed() >= Duration::from_millis(450), "{:?}", since.elapsed());
    run(client(server.port, "-n 1M")).assert_success();
}

#[test]
fn data_that_nobody_acknowledges_ends_a_test() {
    let Some(link) = link() else { return };
    let server = Server::start_on(&link.far, "");
    let to = format!("-c {} -p {}", link.far.ipv4(), server.port);
    let options = format!("{to} -t 29 -i 0.2 -b 50M --snd-timeout 1000");
    let client = Running::start(iperf3_on(&link.near, &options));
    await_words(&client, "0.00-0.");
    cut(&link.far);
    let since = Instant::now();
    let finished = client.finish();
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(since.elapsed() < Duration::from_secs(9), "{finished:?}");
}

/// Takes the cable out.
fn cut(host: &Host) {
    let status = host.command("ip").args(["link", "set", host.interface(), "down"]).status();
    assert!(status.is_ok_and(|status| status.success()));
}

#[test]
fn a_connection_may_take_only_so_long() {
    let deaf = Deaf::listen();
    let finished = run(client(deaf.port, "--connect-timeout 400"));
    assert_gave_up(&finished, Duration::from_millis(400));
}

fn assert_gave_up(finished: &Finished, after: Duration) {
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stderr.starts_with("iperf3: error - "), "{finished:?}");
    assert!(finished.took >= after, "{finished:?}");
    assert!(finished.took < Duration::from_secs(20), "{finished:?}");
}

/// A port that answers no SYN, since its queue is full (listen(2)).
struct Deaf {
    port: u16,
    _listener: TcpListener,
    _queue: Vec<TcpStream>,
}

impl Deaf {
    fn listen() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let connect = |address: &SocketAddr| {
            TcpStream::connect_timeout(address, Duration::from_millis(300)).ok()
        };
        let queue: Vec<_> = std::iter::from_fn(|| connect(&address)).take(10_000).collect();
        Self { port: address.port(), _listener: listener, _queue: queue }
    }
}
