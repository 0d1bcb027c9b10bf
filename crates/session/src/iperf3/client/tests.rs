//! The first phase of a client, against a server that is played byte by byte.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use measurement::plan::PlanDraft;
use measurement::{Direction, Timestamp, Transport};
use protocol::iperf3::{Cookie, ProtocolError, State};
use testbed::wait::eventually;

use crate::clock::{Clock, ScriptedClock, SystemClock};
use crate::error::SessionError;
use crate::observer::{Introduction, Observer};
use crate::request::{ClientOptions, Request};
use crate::resolve::Family;

/// What the observer heard.
#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

impl Observer for Diary {
    fn introduced(&mut self, introduction: &Introduction<'_>) {
        let known = format!("introduced to {}", introduction.peer.software);
        self.0.lock().expect("no panic").push(known);
    }
}

fn request(server: SocketAddr) -> Request {
    Request {
        host: server.ip().to_string(),
        port: server.port(),
        family: Family::Any,
        bind: None,
        further_binds: Vec::new(),
        connect_timeout: Duration::from_secs(5),
        cpus: Vec::new(),
        tags: BTreeMap::new(),
        plan: PlanDraft::new(Transport::Tcp, Direction::Send).check().expect("a plan"),
        options: ClientOptions::default(),
    }
}

/// A server that reads the cookie and then does what `play` says.
fn server(play: impl FnOnce(&mut TcpStream) + Send + 'static) -> (SocketAddr, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bound");
    let address = listener.local_addr().expect("bound");
    let thread = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("accepted");
        let mut cookie = vec![0; Cookie::LENGTH];
        // A client that gave up before has closed.
        if socket.read_exact(&mut cookie).is_ok() {
            play(&mut socket);
        }
        let mut rest = Vec::new();
        _ = socket.read_to_end(&mut rest);
        rest
    });
    (address, thread)
}

/// Why a client cannot begin, and what the server heard after the cookie.
fn fail(
    play: impl FnOnce(&mut TcpStream) + Send + 'static,
    clock: Arc<dyn Clock>,
) -> (SessionError, Vec<u8>, Vec<String>) {
    let (address, thread) = server(play);
    let mut diary = Diary::default();
    let error = super::run(&request(address), &mut diary, None, clock).expect_err("cannot begin");
    let heard = thread.join().expect("no panic");
    let noted = diary.0.lock().expect("no panic").clone();
    (error, heard, noted)
}

fn protocol_error(error: SessionError) -> ProtocolError {
    match error {
        SessionError::Protocol { error, .. } => error,
        other => panic!("{other}"),
    }
}

#[test]
fn a_busy_server_is_reported_as_such() {
    let deny = |socket: &mut TcpStream| {
        socket.write_all(&[State::AccessDenied.byte()]).expect("sent");
    };
    let (error, _, noted) = fail(deny, Arc::new(SystemClock));
    assert!(matches!(protocol_error(error), ProtocolError::Busy));
    assert!(noted.is_empty(), "no server was introduced");
}

#[test]
fn a_connect_that_takes_too_long_is_given_up_by_the_clock() {
    /// A clock that is ten seconds later each time it is read.
    #[derive(Default)]
    struct Leaping(AtomicU64);
    impl Clock for Leaping {
        fn now(&self) -> Timestamp {
            let reads = self.0.fetch_add(1, SeqCst);
            Timestamp::from_nanos(1).after(Duration::from_secs(10 * reads))
        }
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bound");
    let request = request(listener.local_addr().expect("bound"));
    let error = super::run(&request, &mut (), None, Arc::new(Leaping::default()));
    let Err(SessionError::Connect { error, .. }) = error else { panic!("it cannot begin") };
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
}

#[test]
fn a_server_that_closes_before_the_streams_is_an_error_and_no_record() {
    let (error, ..) = fail(|socket| _ = socket.shutdown(std::net::Shutdown::Write), clock());
    assert!(matches!(protocol_error(error), ProtocolError::Closed(_)));
}

#[test]
fn an_unknown_state_is_answered_by_the_end_of_the_test() {
    let (error, ..) = fail(|socket| socket.write_all(&[77]).expect("sent"), clock());
    assert!(matches!(protocol_error(error), ProtocolError::UnknownState { byte: 77, .. }));
}

#[test]
fn the_server_is_introduced_when_it_asks_for_the_parameters() {
    let diary = Diary::default();
    let noted = diary.clone();
    let play = move |socket: &mut TcpStream| {
        socket.write_all(&[State::ParamExchange.byte()]).expect("sent");
        let mut length = [0; 4];
        socket.read_exact(&mut length).expect("a length");
        let mut text = vec![0; u32::from_be_bytes(length) as usize];
        socket.read_exact(&mut text).expect("parameters");
        assert!(String::from_utf8_lossy(&text).contains("\"parallel\":1"));
        eventually("a note", || !noted.0.lock().expect("no panic").is_empty());
        socket.write_all(&[State::AccessDenied.byte()]).expect("sent");
    };
    let (address, thread) = server(play);
    let mut observer = diary.clone();
    let run = super::run(&request(address), &mut observer, None, Arc::new(SystemClock));
    run.expect_err("cannot begin");
    thread.join().expect("no panic");
    assert_eq!(*diary.0.lock().expect("no panic"), ["introduced to iperf3"]);
}

#[test]
fn a_server_that_refuses_at_once_is_introduced_too() {
    let refuse = |socket: &mut TcpStream| {
        let mut bytes = vec![State::ParamExchange.byte(), State::ServerError.byte()];
        bytes.extend([27_i32.to_be_bytes(), 0_i32.to_be_bytes()].concat());
        socket.write_all(&bytes).expect("sent");
    };
    let (error, _, noted) = fail(refuse, clock());
    assert!(matches!(protocol_error(error), ProtocolError::ServerError { .. }));
    assert_eq!(noted, ["introduced to iperf3"]);
}

#[test]
fn a_port_where_nothing_listens_is_named() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bound");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let error = super::run(&request(address), &mut (), None, clock()).expect_err("refused");
    assert!(matches!(error, SessionError::Connect { to, .. } if to == address), "{error}");
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(ScriptedClock::at(dataplane::now()))
}
