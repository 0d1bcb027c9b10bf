//! Options of streams from end to end: one server, one client, one loopback.

#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "a test measures time")]

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use linerate_session::client::{self, ClientOptions, Request};
use linerate_session::server::{
    AccessList, Log, OneOff, Order, Refusal, Served, ServerOptions, SessionOptions, TotalRates,
};
use linerate_session::{Family, Server, SessionError};
use measurement::outcome::Ending;
use measurement::plan::PlanDraft;
use measurement::{
    BitRate, ByteSize, Direction, End, Pacing, PacingWay, Peer, TestPlan, TestRecord, Transport,
};

#[test]
fn the_engines_that_were_asked_run_at_both_ends() {
    let mut draft = draft(Transport::Tcp, Direction::Both);
    assert_eq!(engines(&draft), [["write", "read"], ["read", "write"]]);
    draft.options.zero_copy = true;
    draft.options.skip_receive_copy = true;
    draft.options.repeating_payload = true;
    let expected = [["sendfile", "msg-trunc"], ["msg-trunc", "sendfile"]];
    assert_eq!(engines(&draft), expected);
}

#[test]
fn datagrams_go_and_come_in_pieces_at_both_ends() {
    let mut draft = draft(Transport::Udp, Direction::Both);
    draft.options.block = Some(ByteSize::from_bytes(1_000));
    draft.options.rate = Some(BitRate::from_bits_per_second(100_000_000));
    let (sends, takes) = ("sendmmsg", "recvmmsg");
    assert_eq!(engines(&draft), [[sends, takes], [takes, sends]]);
    draft.options.segmentation_offload = true;
    let (sends, takes) = ("gso", "gro");
    assert_eq!(engines(&draft), [[sends, takes], [takes, sends]]);
    // A piece would hold but one.
    draft.options.block = Some(ByteSize::from_bytes(65_507));
    let [here, _] = engines(&draft);
    assert_eq!(here, ["sendmmsg", "gro"]);
}

#[test]
fn datagrams_without_a_rate_go_in_pieces_unless_an_engine_is_named() {
    let mut draft = draft(Transport::Udp, Direction::Send);
    draft.options.block = Some(ByteSize::from_bytes(1_000));
    draft.end = End::Time(Duration::from_millis(200));
    let (record, _) = Bench::default().run(&draft);
    let outcome = &record.outcome.directions[0];
    let (sent, received) = (outcome.engines.send.as_ref(), outcome.engines.receive.as_ref());
    for (engine, name) in [(sent, "gso"), (received, "gro")] {
        let engine = engine.expect("told");
        assert_eq!(
            (engine.name.as_str(), engine.because.as_deref()),
            (name, Some("no rate was set"))
        );
    }
    assert_eq!((outcome.jitter_seconds, outcome.ipdv), (None, None), "pieces have one time");
    assert!(record.plan.options.engines.is_empty(), "nobody asked for them");
    draft.options.engines = vec!["recvmmsg".into()];
    let (record, _) = Bench::default().run(&draft);
    let outcome = &record.outcome.directions[0];
    let sent = outcome.engines.send.as_ref().expect("told");
    assert_eq!((sent.name.as_str(), sent.because.as_deref()), ("sendmmsg", None));
    assert!(outcome.jitter_seconds.is_some());
    let (ipdv, datagrams) = (outcome.ipdv.expect("told"), outcome.datagrams.expect("told"));
    assert!((1..datagrams.received).contains(&ipdv.pairs), "{ipdv:?} of {datagrams:?}");
    assert!(ipdv.nanos.max > 0, "{ipdv:?}");
}

#[test]
fn pieces_of_datagrams_keep_the_rate_and_lose_none() {
    let mut draft = draft(Transport::Udp, Direction::Send);
    draft.options.block = Some(ByteSize::from_bytes(1_000));
    draft.options.rate = Some(BitRate::from_bits_per_second(80_000_000));
    draft.options.segmentation_offload = true;
    draft.end = End::Blocks(1_001);
    let (record, served) = Bench::default().run(&draft);
    let delivered = record.outcome.directions[0].delivered.expect("told").bytes;
    assert_eq!(delivered, 1_001_000);
    assert_eq!(served.ending, Ending::Completed);
    // A tenth of a second, less a burst.
    assert!(ran_for(&record) >= Duration::from_millis(80));
}

#[test]
fn a_burst_does_not_change_the_rate() {
    let mut draft = draft(Transport::Tcp, Direction::Send);
    draft.options.block = Some(ByteSize::from_bytes(1_000));
    draft.options.rate = Some(BitRate::from_bits_per_second(8_000_000));
    draft.options.burst = Some(100);
    draft.end = End::Bytes(ByteSize::from_bytes(300_000));
    let (record, _) = Bench::default().run(&draft);
    assert!(ran_for(&record) >= Duration::from_millis(200));
}

#[test]
fn each_end_that_sends_tells_how_it_kept_its_rate() {
    let cases = [
        (Transport::Udp, Pacing::Smooth, PacingWay::Timer),
        (Transport::Udp, Pacing::Even, PacingWay::TimerAndSpin),
        (Transport::Udp, Pacing::Repay, PacingWay::Timer),
        (Transport::Tcp, Pacing::Repay, PacingWay::Kernel),
    ];
    for (transport, pacing, way) in cases {
        let mut draft = draft(transport, Direction::Both);
        draft.options.block = Some(ByteSize::from_bytes(1_000));
        draft.options.rate = Some(BitRate::from_bits_per_second(8_000_000));
        draft.options.pacing = pacing;
        let (record, _) = Bench::default().run(&draft);
        for outcome in &record.outcome.directions {
            let report = outcome.pacing.as_ref().expect("both ends sent at a rate");
            assert_eq!((report.pacing, report.way), (pacing, way), "{}", outcome.direction);
            assert_eq!(Some(report.asked), outcome.asked);
            assert!(report.achieved.bits_per_second() > 0 && !report.lateness.is_empty());
        }
    }
}

#[test]
fn who_was_asked_for_no_rate_tells_of_none() {
    let (record, _) = Bench::default().run(&draft(Transport::Tcp, Direction::Both));
    assert!(record.outcome.directions.iter().all(|outcome| outcome.pacing.is_none()));
}

#[test]
fn streams_are_sent_from_consecutive_ports() {
    for transport in [Transport::Tcp, Transport::Udp] {
        let mut draft = draft(transport, Direction::Both);
        draft.streams = 2;
        draft.options.rate = Some(BitRate::from_bits_per_second(1_000_000));
        let first = free_ports(4);
        let options = ClientOptions { client_port: Some(first), ..ClientOptions::default() };
        let (record, _) = Bench { options, ..Bench::default() }.run(&draft);
        let ports: Vec<_> =
            record.streams.iter().map(|stream| stream.local.expect("read back").port()).collect();
        assert_eq!(ports, [first, first + 1, first + 2, first + 3]);
        assert!(!ports.contains(&record.peer.as_ref().expect("it answered").local_address.port()));
    }
}

#[test]
fn options_of_packets_do_not_disturb_a_test() {
    for (ip, transport) in [
        (IpAddr::from(Ipv4Addr::LOCALHOST), Transport::Tcp),
        (Ipv4Addr::LOCALHOST.into(), Transport::Udp),
        (Ipv6Addr::LOCALHOST.into(), Transport::Tcp),
        (Ipv6Addr::LOCALHOST.into(), Transport::Udp),
    ] {
        let mut draft = draft(transport, Direction::Both);
        draft.options.rate = Some(BitRate::from_bits_per_second(10_000_000));
        draft.options.socket_rate = Some(BitRate::from_bits_per_second(1_000_000_000));
        draft.options.type_of_service = 0x20;
        draft.options.hop_limit = Some(3);
        draft.options.dont_fragment = true;
        draft.options.flow_label = ip.is_ipv6().then_some(0x1234);
        let device = Some("lo".to_owned());
        let send_timeout = Some(Duration::from_secs(5));
        let options =
            ClientOptions { device: device.clone(), send_timeout, ..ClientOptions::default() };
        let session = SessionOptions { device, send_timeout, ..SessionOptions::default() };
        let (record, served) = Bench { ip, options, session }.run(&draft);
        assert_eq!(served.ending, Ending::Completed, "{ip} {transport}");
        for direction in &record.outcome.directions {
            assert!(direction.delivered.is_some_and(|delivered| delivered.bytes > 10_000));
        }
    }
}

#[test]
fn a_flow_label_over_ipv4_is_one_sentence() {
    let mut draft = draft(Transport::Tcp, Direction::Send);
    draft.options.flow_label = Some(1);
    assert_eq!(
        Bench::default().fail(&draft).to_string(),
        "cannot open stream 1: a flow label needs IPv6, and the server's address is IPv4; \
         check the options of the stream, such as --mss"
    );
}

#[test]
fn an_interface_that_is_not_there_is_one_sentence() {
    let options = ClientOptions { device: Some("nowhere0".to_owned()), ..ClientOptions::default() };
    let bench = Bench { options, ..Bench::default() };
    let error = bench.fail(&draft(Transport::Tcp, Direction::Send)).to_string();
    let end = "no such device; no interface has that name: see \"ip link\"";
    assert!(error.starts_with("cannot connect to 127.0.0.1:") && error.ends_with(end), "{error}");
}

#[test]
fn an_amount_over_multipath_tcp_arrives_or_the_kernel_has_none() {
    let mut draft = draft(Transport::Tcp, Direction::Both);
    draft.options.multipath = true;
    draft.end = End::Bytes(ByteSize::from_bytes(10_000_000));
    let bench = Bench::default();
    let server = bench.serve();
    match client::run(&bench.request(&draft, server.address), &mut (), None) {
        Ok(record) => {
            assert_eq!(record.outcome.ending, Ending::Completed);
            for direction in &record.outcome.directions {
                assert_eq!(direction.delivered.expect("told").bytes, 10_000_000);
            }
        }
        Err(error) => {
            eprintln!("this kernel has no Multipath TCP");
            assert!(error.to_string().contains("Multipath TCP see /proc"), "{error}");
        }
    }
}

#[test]
fn options_that_multipath_tcp_has_not_are_one_sentence() {
    let mut draft = draft(Transport::Tcp, Direction::Send);
    draft.options.multipath = true;
    draft.options.flow_label = Some(1);
    let ip = Ipv6Addr::LOCALHOST.into();
    let error = Bench { ip, ..Bench::default() }.fail(&draft).to_string();
    assert!(error.starts_with("cannot open stream 1: "), "{error}");
    assert!(error.contains("or cannot combine them"), "{error}");
}

#[test]
fn a_file_arrives_whole_and_ends_the_test_before_its_time() {
    let (source, target) = (Scrap::new("source"), Scrap::new("target"));
    let content = dataplane_bytes(5_000_001);
    std::fs::write(&source.0, &content).expect("written");
    let mut draft = draft(Transport::Tcp, Direction::Send);
    draft.end = End::Time(Duration::from_secs(30));
    let options = ClientOptions { file: Some(source.0.clone()), ..ClientOptions::default() };
    let session = SessionOptions { file: Some(target.0.clone()), ..SessionOptions::default() };
    let began = Instant::now();
    let (record, served) = Bench { options, session, ..Bench::default() }.run(&draft);
    assert!(began.elapsed() < Duration::from_secs(20), "the file does not end the test");
    assert_eq!(names(&record.streams), ["read file, write"]);
    assert_eq!(names(&served.streams), ["read, write file"]);
    assert_eq!(record.outcome.ending, Ending::Completed);
    assert_eq!(record.outcome.directions[0].delivered.expect("told").bytes, 5_000_001);
    assert!(std::fs::read(&target.0).expect("read") == content, "the files differ");
}

#[test]
fn a_file_is_received_by_the_client_too() {
    let (source, target) = (Scrap::new("far"), Scrap::new("near"));
    let content = dataplane_bytes(1_000_003);
    std::fs::write(&source.0, &content).expect("written");
    let options = ClientOptions { file: Some(target.0.clone()), ..ClientOptions::default() };
    let session = SessionOptions { file: Some(source.0.clone()), ..SessionOptions::default() };
    let bench = Bench { options, session, ..Bench::default() };
    let (record, _) = bench.run(&draft(Transport::Tcp, Direction::Receive));
    assert_eq!(record.outcome.ending, Ending::Completed);
    assert!(std::fs::read(&target.0).expect("read") == content, "the files differ");
}

#[test]
fn a_file_that_cannot_be_used_is_one_sentence() {
    let missing = PathBuf::from("/nowhere/at/all");
    let options = ClientOptions { file: Some(missing), ..ClientOptions::default() };
    let send = draft(Transport::Tcp, Direction::Send);
    let error = Bench { options, ..Bench::default() }.fail(&send);
    assert_eq!(
        error.to_string(),
        "cannot read file '/nowhere/at/all': no such file or directory; \
         check its name and its directory"
    );
    let options = ClientOptions { file: Some(std::env::temp_dir()), ..ClientOptions::default() };
    let receive = draft(Transport::Tcp, Direction::Receive);
    for draft in [send, receive] {
        let bench = Bench { options: options.clone(), ..Bench::default() };
        let error = bench.fail(&draft).to_string();
        assert!(error.ends_with("is a directory; name a file in it"), "{error}");
    }
}

/// A short test.
fn draft(transport: Transport, direction: Direction) -> PlanDraft {
    let mut draft = PlanDraft::new(transport, direction);
    draft.end = End::Time(Duration::from_millis(300));
    draft
}

/// The engines at the client and at the server.
fn engines(draft: &PlanDraft) -> [Vec<String>; 2] {
    let (record, served) = Bench::default().run(draft);
    assert_eq!(record.outcome.ending, Ending::Completed);
    for direction in &record.outcome.directions {
        assert!(direction.delivered.is_some_and(|delivered| delivered.bytes > 0));
    }
    [names(&record.streams), names(&served.streams)]
}

/// From the begin to when this end stopped sending.
fn ran_for(record: &TestRecord) -> Duration {
    let (start, stopped) = record.start.zip(record.stopped).expect("both are known");
    stopped.since(start)
}

fn names(streams: &[measurement::record::StreamRecord]) -> Vec<String> {
    streams.iter().map(|stream| stream.engine.as_ref().expect("it is known").to_string()).collect()
}

fn dataplane_bytes(length: usize) -> Vec<u8> {
    dataplane::PayloadPattern::Random.bytes(length).expect("made").into_vec()
}

/// The first of `count` ports that nobody uses now.
fn free_ports(count: u16) -> u16 {
    let is_free = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    let starts = (20_000..30_000).step_by(usize::from(count));
    let seed = std::process::id() % 1_000;
    starts
        .skip(usize::try_from(seed).expect("small"))
        .find(|first| (*first..first + count).all(is_free))
        .expect("some are free")
}

/// How a test is run.
struct Bench {
    ip: IpAddr,
    options: ClientOptions,
    session: SessionOptions,
}

impl Default for Bench {
    fn default() -> Self {
        let (options, session) = (ClientOptions::default(), SessionOptions::default());
        Self { ip: Ipv4Addr::LOCALHOST.into(), options, session }
    }
}

impl Bench {
    /// What both ends say of the test.
    fn run(&self, draft: &PlanDraft) -> (TestRecord, Served) {
        let server = self.serve();
        let record = client::run(&self.request(draft, server.address), &mut (), None);
        let record = record.expect("the test begins");
        server.thread.join().expect("no panic").expect("serves");
        let noted = server.diary.0.lock().expect("no panic").take();
        (record, noted.expect("the server noted it"))
    }

    /// Why the client cannot begin.
    fn fail(&self, draft: &PlanDraft) -> SessionError {
        let server = self.serve();
        client::run(&self.request(draft, server.address), &mut (), None).expect_err("cannot begin")
    }

    fn serve(&self) -> Running {
        let options = ServerOptions {
            bind: Some(self.ip),
            port: 0,
            only: None,
            family: Family::Any,
            one_off: OneOff::Test,
            source: None,
            idle_limit: Some(Duration::from_secs(60)),
            stop_timeout: Duration::ZERO,
            order: Order::ONE,
            access: AccessList::default(),
            rates: TotalRates::default(),
            key: None,
            tuning: None,
            session: self.session.clone(),
        };
        let server = Server::bind(options).expect("bound");
        let (address, diary) = (server.address(), Arc::new(Diary::default()));
        let log: Arc<dyn Log> = Arc::<Diary>::clone(&diary);
        let thread = std::thread::spawn(move || server.run(log, None));
        Running { address, diary, thread }
    }

    fn request(&self, draft: &PlanDraft, server: SocketAddr) -> Request {
        Request {
            host: server.ip().to_string(),
            port: server.port(),
            family: Family::Any,
            bind: None,
            further_binds: Vec::new(),
            connect_timeout: Duration::from_secs(5),
            cpus: Vec::new(),
            tags: BTreeMap::new(),
            plan: draft.clone().check().expect("a plan"),
            options: self.options.clone(),
        }
    }
}

/// A server of one test.
struct Running {
    address: SocketAddr,
    diary: Arc<Diary>,
    thread: std::thread::JoinHandle<Result<(), SessionError>>,
}

/// Keeps what the server says of its last test.
#[derive(Default)]
struct Diary(Mutex<Option<Served>>);

impl Log for Diary {
    fn listening(&self, _: SocketAddr) {}
    fn began(&self, _: &Peer, _: &TestPlan) {}
    fn ended(&self, served: &Served) {
        *self.0.lock().expect("no panic") = Some(served.clone());
    }
    fn refused(&self, _: SocketAddr, _: Refusal) {}
}

/// A file of its own, gone when dropped.
struct Scrap(PathBuf);

impl Scrap {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("linerate-options-{}-{name}", std::process::id())))
    }
}

impl Drop for Scrap {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}
