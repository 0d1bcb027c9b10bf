//! The agent of a mesh on one host: answers the tests of others, and runs those that the coordinator
//! tells it to run, over its standard input and output or over a connection. It ends when its input
//! does.

mod links;

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use campaign::mesh::message::{Answer, LONGEST_LINE, Order};
use campaign::search::Repeat;
use campaign::{PlannedRow, Runner};
use linux::clock;
use linux::seccomp::Work;
use measurement::host::Role;
use measurement::outcome::Ending;
use measurement::plan::PlanDraft;
use measurement::{
    Conclusion, Direction, End, MeshLimit, MeshReading, Peer, TestPlan, TestRecord, Transport,
};
use session::client::{ClientOptions, Request};
use session::server::{
    AccessList, Gate, Log, OneOff, Refusal, Served, ServerOptions, SessionOptions, TotalRates,
};
use session::{Family, OptionalParameters, Server, Token};

use crate::exit;

/// Answers to the coordinator, from several threads.
type Out = Arc<Mutex<Box<dyn Write + Send>>>;

/// Runs until the coordinator is gone.
pub(crate) fn run() -> ExitCode {
    serve(io::stdin().lock(), Box::new(io::stdout()))
}

/// Runs likewise, over a connection.
pub(crate) fn run_over(input: impl BufRead, output: impl Write + Send + 'static) -> ExitCode {
    serve(input, Box::new(output))
}

fn serve(mut input: impl BufRead, output: Box<dyn Write + Send>) -> ExitCode {
    let out: Out = Arc::new(Mutex::new(output));
    let Some(Order::Begin { key }) = next(&mut input) else {
        return ExitCode::from(exit::USAGE);
    };
    let server = match Server::bind(options(key.clone())) {
        Ok(server) => server,
        Err(error) => {
            say(&out, &Answer::Unable { error: error.to_string().into() });
            return ExitCode::from(exit::FAILED);
        }
    };
    // Threads have what the one has that starts them. A kernel without seccomp is no reason to test less.
    _ = linux::seccomp::allow_only(Work::Test);
    let (port, linerate) = (server.address().port(), env!("CARGO_PKG_VERSION").into());
    thread::spawn(move || server.run(Arc::new(Silent), None));
    say(&out, &Answer::Ready { port, linerate });
    let (orders, ordered) = mpsc::channel();
    let of_tests = Arc::clone(&out);
    thread::spawn(move || {
        for order in ordered {
            carry_out(&order, &key, &of_tests);
        }
    });
    // The end of the input ends this process, and all that it does.
    while let Some(order) = next(&mut input) {
        match order {
            Order::Clock { id } => say(&out, &Answer::Clock { id, seconds: now() }),
            order => _ = orders.send(order),
        }
    }
    ExitCode::SUCCESS
}

/// The next order; none: there are no more.
fn next(input: &mut impl BufRead) -> Option<Order> {
    let mut line = Vec::new();
    input.take(LONGEST_LINE).read_until(b'\n', &mut line).ok()?;
    serde_json::from_slice(&line).ok()
}

/// Of a server that tests with the hosts of this mesh alone.
fn options(key: String) -> ServerOptions {
    ServerOptions {
        bind: None,
        port: 0,
        only: None,
        family: Family::Any,
        one_off: OneOff::No,
        source: None,
        idle_limit: None,
        stop_timeout: Duration::ZERO,
        order: session::server::Order {
            running: MOST_TESTS,
            waiting: 0,
            per_address: MOST_TESTS,
            starts: 100,
            memory: linux::host::available_memory().map_or(MEMORY, |bytes| bytes / 2),
            yielding: None,
        },
        access: AccessList::default(),
        rates: TotalRates::default(),
        key: None,
        tuning: None,
        session: SessionOptions {
            gate: Some(Arc::new(Key(key))),
            stall: Some(STALL),
            ..SessionOptions::default()
        },
    }
}

/// The key of a mesh: no other client is served.
struct Key(String);

impl Gate for Key {
    fn admit(&self, token: Option<&Token>) -> Result<(), String> {
        let shown = token.map(|token| token.0.as_bytes()).unwrap_or_default();
        let key = self.0.as_bytes();
        // In a time that does not depend on how much of it is right.
        let differ = key.iter().zip(shown).fold(0, |differ, (one, other)| differ | (one ^ other));
        let is_right = key.len() == shown.len() && differ == 0;
        if is_right { Ok(()) } else { Err("the client is not of this mesh".to_owned()) }
    }
}

fn now() -> f64 {
    clock::monotonic().as_secs_f64()
}

fn say(out: &Out, answer: &Answer) {
    let line = serde_json::to_string(answer).unwrap_or_default() + "\n";
    let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
    // A coordinator that is gone closes the input, too.
    _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}

fn carry_out(order: &Order, key: &str, out: &Out) {
    let Order::Test { id, name, peer, to, first_alone, seconds, streams } = order else { return };
    let (id, test) = (*id, Test { seconds: *seconds, streams: *streams, key, names: [name, peer] });
    say(out, &Answer::Began { id, seconds: now() });
    let answer = match links::tested(to, *first_alone, &|to| tested(to, &test)) {
        Ok(readings) => Answer::Tested { id, readings },
        Err(error) => Answer::Failed { id, error: error.into() },
    };
    say(out, &answer);
}

/// What the tests of an order have in common.
struct Test<'a> {
    seconds: f64,
    streams: u32,
    key: &'a str,
    /// Of this host and of the other one.
    names: [&'a String; 2],
}

/// Tests both directions, first from here.
fn tested(to: &str, test: &Test<'_>) -> Result<Vec<MeshReading>, String> {
    let Test { seconds, streams, key, names } = *test;
    let time = Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())?;
    let plan = |direction| plan(direction, time, streams);
    let plans = [plan(Direction::Send)?, plan(Direction::Receive)?];
    let request = request(to, key, plans[0].clone())?;
    let rows = plans.map(PlannedRow::of_plan).to_vec();
    let results = Runner::new(request, None, &mut ()).search(&mut Repeat::once(rows));
    if let Some(error) = results.error {
        return Err(error.to_string());
    }
    results.records.records.iter().map(|record| reading(record, names)).collect()
}

fn plan(direction: Direction, time: Duration, streams: u32) -> Result<TestPlan, String> {
    let draft = PlanDraft::new(Transport::Tcp, direction);
    let draft = PlanDraft { end: End::Time(time), streams, ..draft };
    draft.check().map_err(|error| error.to_string())
}

fn request(to: &str, key: &str, plan: TestPlan) -> Result<Request, String> {
    let (host, port) = to.rsplit_once(':').ok_or("the order has no port")?;
    let port = port.parse().map_err(|_| "the order has no port")?;
    let optional =
        OptionalParameters { token: Some(Token(key.to_owned())), ..OptionalParameters::default() };
    Ok(Request {
        host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
        port,
        family: Family::Any,
        bind: None,
        further_binds: Vec::new(),
        connect_timeout: CONNECT_TIMEOUT,
        cpus: Vec::new(),
        tags: BTreeMap::new(),
        plan,
        options: ClientOptions { optional, ..ClientOptions::default() },
    })
}

/// What a record says of the pair: `names` are those of this host and of the other one.
fn reading(record: &TestRecord, names: [&String; 2]) -> Result<MeshReading, String> {
    if let Ending::Failed { error } = &record.outcome.ending {
        return Err(error.clone());
    }
    let outcome = record.outcome.directions.first().ok_or("the record has no direction")?;
    let rate = record.outcome.rate().ok_or("nothing arrived")?;
    let sent = outcome.offered.or(outcome.delivered).map_or(0, |sent| sent.bytes);
    let segments = (sent as f64 / SEGMENT).max(1.0);
    let retransmitted_ratio = outcome.retransmits.map(|count| count as f64 / segments);
    let judgement = record.judgement.as_ref();
    let stamp = judgement.map(|judgement| judgement.stamp).unwrap_or_default();
    Ok(MeshReading {
        rate,
        retransmitted_ratio,
        stamp,
        limit: limit(record, names),
        links: Vec::new(),
        first_alone: None,
    })
}

fn limit(record: &TestRecord, names: [&String; 2]) -> Option<MeshLimit> {
    let verdict = record.judgement.as_ref()?.verdict.as_ref()?;
    let finding = verdict.findings.first().filter(|_| verdict.conclusion == Conclusion::Limited)?;
    let host = match finding.host {
        Some(Role::Here) => Some(names[0].clone()),
        Some(Role::Peer) => Some(names[1].clone()),
        _ => None,
    };
    Some(MeshLimit { rule: finding.rule.to_string(), host, text: finding.text.clone() })
}

/// Tells nothing: the coordinator hears from who tests.
struct Silent;

impl Log for Silent {
    fn listening(&self, _address: SocketAddr) {}
    fn began(&self, _peer: &Peer, _plan: &TestPlan) {}
    fn ended(&self, _served: &Served) {}
    fn refused(&self, _client: SocketAddr, _why: Refusal) {}
}

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const STALL: Duration = Duration::from_secs(10);
/// Tests at once: one, and others that have not ended yet.
const MOST_TESTS: usize = 16;
/// Bytes for payload, if the kernel does not report how much is free.
const MEMORY: u64 = 256 << 20;
/// Payload of a segment, in bytes, with an MTU of 1500 and timestamps (RFC 7323).
const SEGMENT: f64 = 1448.0;
