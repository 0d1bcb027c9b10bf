//! The server: receives from clients, and prints each test when it has ended.

use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use linux::event::StopSignals;
use linux::seccomp::Work;
use measurement::outcome::Ending;
use measurement::plan::IPERF3_STREAMS;
use measurement::{BitRate, Peer, StreamRecord, TestPlan, Transport};
use portable_atomic::{AtomicU64, Ordering::SeqCst};
use report::iperf2::{Carried, Form, Text};
use session::server::{
    AccessList, Limits, Log, OneOff, Order, Refusal, Served, ServerOptions, SessionOptions,
    TotalRates, Yielding,
};
use session::{Family, Server};

use super::arguments::Arguments;
use super::words::{date, say};
use super::{plan, words};

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let (bind, device) = match plan::bind(arguments) {
        Ok((bind, _, device)) => (bind, device),
        Err(wrong) => return words::refuse(&wrong),
    };
    for option in arguments.ignored_by_a_server() {
        words::complain(&format!("WARNING: {option} is an option of a client"));
    }
    linux::host::raise_file_limit();
    let interrupts = match StopSignals::open() {
        Ok(interrupts) => interrupts,
        Err(error) => return words::fail(&format!("cannot handle signals: {error}")),
    };
    let log = Arc::new(Iperf2Log::new(arguments, 0, None));
    let options = options(arguments, arguments.port, bind, device);
    let served = Server::bind(options).and_then(|server| {
        // As far as the kernel can; clients notice nothing.
        _ = linux::seccomp::allow_only(Work::Serve);
        server.run(log as Arc<dyn Log>, Some(&interrupts))
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => words::fail(&error.to_string()),
    }
}

/// A server at `port`.
pub(super) fn options(
    arguments: &Arguments,
    port: u16,
    bind: Option<IpAddr>,
    device: Option<String>,
) -> ServerOptions {
    // -t of a client is the time for which it sends.
    let time = arguments.time.filter(|time| arguments.server && !time.is_zero());
    let limits = Limits { streams_each_way: Some(IPERF3_STREAMS), ..Limits::default() };
    ServerOptions {
        bind,
        port,
        only: Some(if arguments.udp { Transport::Udp } else { Transport::Tcp }),
        family: if arguments.ipv6 { Family::Any } else { Family::V4 },
        one_off: arguments.served_streams().map_or(OneOff::No, OneOff::Streams),
        source: arguments.socket.source,
        idle_limit: time,
        stop_timeout: Duration::ZERO,
        // Its clients cannot be told to wait.
        order: Order {
            running: AT_ONCE,
            memory: linux::host::available_memory().map_or(MEMORY, |bytes| bytes / 2),
            yielding: Some(Yielding { below: LEAST_RATE, after: None }),
            ..Order::ONE
        },
        access: AccessList::default(),
        rates: TotalRates::default(),
        key: None,
        tuning: None,
        session: SessionOptions {
            limits,
            ends_after: time,
            device,
            connects_back: true,
            ..SessionOptions::default()
        },
    }
}

/// Prints what a server has received and sent.
pub(super) struct Iperf2Log {
    arguments: Arguments,
    /// Streams that were printed.
    streams: AtomicU64,
    /// Hears how each test ended.
    ended: Option<Mutex<Sender<Ending>>>,
}

impl Iperf2Log {
    /// A log that has printed so many `streams` before.
    pub(super) fn new(arguments: &Arguments, streams: u64, ended: Option<Sender<Ending>>) -> Self {
        let (arguments, streams) = (arguments.clone(), AtomicU64::new(streams));
        Self { arguments, streams, ended: ended.map(Mutex::new) }
    }
}

impl Log for Iperf2Log {
    fn listening(&self, _address: SocketAddr) {
        let transport = if self.arguments.udp { Transport::Udp } else { Transport::Tcp };
        if self.arguments.form == Form::Text {
            say(&Text::listening(transport, self.arguments.port));
        }
    }

    fn began(&self, _peer: &Peer, _plan: &TestPlan) {}

    fn ended(&self, served: &Served) {
        let Arguments { form, unit, .. } = self.arguments;
        for direction in &served.directions {
            let is_sender = direction.direction.receives();
            let moved = if is_sender { direction.offered } else { direction.delivered };
            // A connection of requests has both directions.
            let is_exchange = served.answered.is_some();
            let is_of = |stream: &StreamRecord| is_exchange || stream.sender == is_sender;
            let streams: Vec<_> = served.streams.iter().filter(|one| is_of(one)).cloned().collect();
            let each = served.streams.iter().zip(&served.carried).filter(|_| !is_exchange);
            let each: Vec<_> =
                each.filter(|(one, _)| is_of(one)).map(|(_, bytes)| *bytes).collect();
            let Some(moved) = moved.filter(|_| !streams.is_empty()) else { continue };
            let carried = Carried {
                first: self.streams.fetch_add(streams.len() as u64, SeqCst) + 1,
                streams: &streams,
                moved,
                each: &each,
                datagrams: direction.datagrams.zip(direction.jitter_seconds),
            };
            say(&carried.text(form, unit, &date(form)));
        }
        if let Ending::Failed { error } = &served.ending {
            words::complain(&format!("the test with {}: {error}", served.peer.address));
        }
        if let Some(ended) = &self.ended {
            let ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
            // Nobody may wait any more.
            _ = ended.send(served.ending.clone());
        }
    }

    fn refused(&self, client: SocketAddr, why: Refusal) {
        words::complain(&format!("refused {client}: {why}"));
    }
}

/// Least rate at which a test keeps its place when another client needs one, as for `linerate serve`.
const LEAST_RATE: BitRate = BitRate::from_bits_per_second(10_000);
/// Tests at the same time.
const AT_ONCE: usize = 64;
/// Memory of all tests, if the kernel does not report how much is free.
const MEMORY: u64 = 1 << 30;
