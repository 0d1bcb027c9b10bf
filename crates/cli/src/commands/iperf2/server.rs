//! The server: receives from clients, and prints each test when it has ended.

use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use linux::event::StopSignals;
use measurement::plan::IPERF3_STREAMS;
use measurement::{Peer, TestPlan, Transport};
use portable_atomic::{AtomicU64, Ordering::SeqCst};
use report::iperf2::{Form, Received, Text};
use session::server::{
    AccessList, Limits, Log, OneOff, Order, Refusal, Served, ServerOptions, SessionOptions,
    TotalRates,
};
use session::{Family, Server};

use super::arguments::Arguments;
use super::client::{date, say};
use super::{plan, words};

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let (bind, device) = match plan::bind(arguments) {
        Ok((bind, _, device)) => (bind, device),
        Err(wrong) => return words::refuse(&wrong),
    };
    linux::host::raise_file_limit();
    let interrupts = match StopSignals::open() {
        Ok(interrupts) => interrupts,
        Err(error) => return words::fail(&format!("cannot handle signals: {error}")),
    };
    let log = Arc::new(Iperf2Log { arguments: arguments.clone(), streams: AtomicU64::new(0) });
    let served = Server::bind(options(arguments, bind, device))
        .and_then(|server| server.run(log as Arc<dyn Log>, Some(&interrupts)));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => words::fail(&error.to_string()),
    }
}

fn options(arguments: &Arguments, bind: Option<IpAddr>, device: Option<String>) -> ServerOptions {
    let limits = Limits { streams_each_way: Some(IPERF3_STREAMS), ..Limits::default() };
    ServerOptions {
        bind,
        port: arguments.port,
        family: if arguments.ipv6 { Family::Any } else { Family::V4 },
        one_off: OneOff::No,
        idle_limit: None,
        stop_timeout: Duration::ZERO,
        // Its clients cannot be told to wait.
        order: Order {
            running: AT_ONCE,
            memory: linux::host::available_memory().map_or(MEMORY, |bytes| bytes / 2),
            ..Order::ONE
        },
        access: AccessList::default(),
        rates: TotalRates::default(),
        key: None,
        tuning: None,
        session: SessionOptions { limits, device, ..SessionOptions::default() },
    }
}

struct Iperf2Log {
    arguments: Arguments,
    /// Streams that were printed.
    streams: AtomicU64,
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
        let direction = served.directions.first();
        let count = served.streams.len() as u64;
        let Some(direction) = direction.filter(|_| count > 0) else { return };
        let Some(delivered) = direction.delivered else { return };
        let received = Received {
            first: self.streams.fetch_add(count, SeqCst) + 1,
            streams: &served.streams,
            delivered,
            datagrams: direction.datagrams.zip(direction.jitter_seconds),
        };
        let Arguments { form, unit, .. } = self.arguments;
        say(&received.text(form, unit, &date(form)));
    }

    fn refused(&self, client: SocketAddr, why: Refusal) {
        words::complain(&format!("refused {client}: {why}"));
    }
}

/// Tests at the same time.
const AT_ONCE: usize = 64;
/// Memory of all tests, if the kernel does not report how much is free.
const MEMORY: u64 = 1 << 30;
