//! `linerate serve`.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use host::PerfAccess;
use linux::event::StopSignals;
use measurement::{BitRate, ByteSize};
use session::Server;
use session::server::{
    Evidence, Limits, Log, OneOff, Order, RateLimit, ServerOptions, SessionOptions, Yielding,
};

use crate::flags::{ServeAction, ServeFlags};
use crate::http::Listener;
use crate::lines::Lines;

mod confinement;
mod log;
mod metrics;
mod readiness;
mod status;
mod tuned;
mod tuning;

use confinement::Confinement;
use log::{Announced, Notices};
use readiness::Readiness;
use status::StatusSocket;
use tuning::Helper;

pub(crate) use tuning::helper as tune_helper;

pub(crate) fn run(flags: &ServeFlags) -> anyhow::Result<ExitCode> {
    if let Some(ServeAction::Status(flags)) = &flags.action {
        return status::run(flags);
    }
    let interrupts = StopSignals::open().context("cannot handle signals")?;
    let ready_file = flags.service.ready_file.as_deref();
    let confinement = Confinement::plan(flags.service.user.as_deref(), ready_file)?;
    linux::host::raise_file_limit_to(WANTED_FILES);
    linux::heap::fix_mmap_threshold();
    let mut options = options(flags);
    // Before privileges are given up: it alone keeps what takes them.
    let helper = Helper::start(&flags.tuning)?.map(|(helper, relay)| {
        options.tuning = Some(relay);
        helper
    });
    let server = Server::bind(options)?;
    let status = StatusSocket::bind(server.address());
    let bind = |on| Listener::bind(on, "metrics", "--metrics");
    let metrics = flags.service.metrics.map(bind).transpose()?;
    // Threads have what the one has that starts them.
    let own_user = confinement.give_up(server.address().port())?;
    let readiness = Readiness::announce(ready_file, server.address())?;
    let seal = confinement::seal(own_user, ready_file, flags.access.connect_back);
    let (lines, written) = Lines::start().context("cannot start the log's thread")?;
    let notices = Notices { metrics: metrics.as_ref().map(Listener::address), seal };
    let log: Box<dyn Log> = match (flags.log.quiet, flags.log.json) {
        (true, _) => Box::new(log::Silent),
        (_, true) => Box::new(log::Json::new(lines, flags.log.verbose, notices)),
        _ => Box::new(log::Text::new(lines, flags.log.verbose, notices)),
    };
    let metrics = metrics.map(|listener| metrics::start(listener, server.metrics())).transpose()?;
    if let Some(socket) = status {
        socket.start(server.status()).context("cannot start the thread of the status")?;
    }
    server.run(Arc::new(Announced { log, readiness }), Some(&interrupts))?;
    drop(metrics);
    // What clients have changed is undone before the server ends.
    drop(helper);
    written.wait();
    Ok(ExitCode::SUCCESS)
}

fn options(flags: &ServeFlags) -> ServerOptions {
    let limits = &flags.limits;
    ServerOptions {
        bind: flags.bind,
        port: flags.port,
        only: None,
        family: flags.family.into(),
        one_off: if flags.order.one_off { OneOff::Test } else { OneOff::No },
        source: None,
        idle_limit: None,
        stop_timeout: flags.service.stop_timeout,
        order: order(flags),
        access: flags.access.list(),
        key: flags.access.key(),
        rates: flags.access.rates(),
        tuning: None,
        session: SessionOptions {
            cpus: flags.cpus.as_ref().map(|cpus| cpus.0.clone()).unwrap_or_default(),
            limits: Limits {
                duration: limits.time.filter(|most| !most.is_zero()),
                rate: limits
                    .rate
                    .or_else(|| flags.order.observe.then_some(OF_AN_OBSERVER))
                    .filter(|most| most.bits_per_second() > 0)
                    .map(|most| RateLimit { most, window: RATE_WINDOW }),
                bytes: limits.bytes.filter(|most| most.bytes() > 0),
                streams: limits.streams,
                streams_each_way: None,
                are_strict: false,
            },
            stall: Some(STALL),
            grace: STALL,
            hide_peers: flags.order.hide_peers,
            connects_back: flags.access.connect_back,
            evidence: evidence(flags),
            perf: perf_access(flags),
            ..SessionOptions::default()
        },
    }
}

const fn evidence(flags: &ServeFlags) -> Evidence {
    match (flags.order.no_evidence, flags.order.observe) {
        (true, _) => Evidence::Withheld,
        (_, true) => Evidence::Whole,
        _ => Evidence::Given,
    }
}

/// Taken before the powers are given up that it takes.
fn perf_access(flags: &ServeFlags) -> Option<Arc<PerfAccess>> {
    if flags.order.no_evidence { None } else { flags.order.profile.access() }
}

fn order(flags: &ServeFlags) -> Order {
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let at_once = if flags.order.queue { 1 } else { MOST_SESSIONS };
    let running = flags.order.max_sessions.unwrap_or(at_once);
    let alone = flags.order.one_at_a_time || flags.order.one_off;
    Order {
        running: count(if alone { 1 } else { running }),
        waiting: if flags.order.queue && !alone { MOST_WAITING } else { 0 },
        per_address: count(flags.limits.per_address),
        starts: flags.limits.starts,
        memory: flags
            .limits
            .memory
            .filter(|most| most.bytes() > 0)
            .map_or_else(default_memory, ByteSize::bytes),
        // With --one-off the one test is whose came first.
        yielding: (!flags.order.one_off).then_some(Yielding {
            below: flags.order.yield_below,
            after: Some(flags.order.yield_after).filter(|after| !after.is_zero()),
        }),
    }
}

/// Traffic of a host that runs no test.
const OF_AN_OBSERVER: BitRate = BitRate::from_bits_per_second(1_000_000);

/// Half of what is free.
fn default_memory() -> u64 {
    linux::host::available_memory().map_or(DEFAULT_MEMORY, |bytes| bytes / 2)
}

/// For two clients with 10,000 streams each way, if this process may have them.
const WANTED_FILES: usize = 65_536;
const MOST_SESSIONS: u32 = 256;
const MOST_WAITING: usize = 256;
/// If the kernel does not report how much is free.
const DEFAULT_MEMORY: u64 = 256 * 1024 * 1024;
/// As iperf3's `--server-bitrate-limit` averages.
const RATE_WINDOW: Duration = Duration::from_secs(5);
/// A client that vanished is noticed earlier, by the kernel's keepalive.
const STALL: Duration = Duration::from_secs(10);
