//! The server: one test after another.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use linux::seccomp::Work;
use measurement::plan::IPERF3_STREAMS;
use measurement::{Peer, TestPlan};
use portable_atomic::{AtomicU64, Ordering::SeqCst};
use report::iperf3::{Role, Text};
use session::server::{
    AccessList, Limits, Log, OneOff, Order, RateLimit, Refusal, Served, ServerOptions,
    SessionOptions, TotalRates,
};
use session::{Observer, Server};

use super::end::End;
use super::words::{self, Failure};
use super::{Frame, plan, secrets};
use crate::flags::Iperf3Flags;

pub(super) fn run(flags: &Iperf3Flags) -> Result<ExitCode, Failure> {
    let options = options(flags)?;
    // Before anything is promised, and before there are threads.
    let server = Server::bind(options).map_err(|error| Failure::Run(words::of_session(&error)))?;
    if flags.daemon {
        linux::process::become_daemon()
            .map_err(|error| Failure::system("unable to become a daemon", &error))?;
    }
    let frame = Frame::new(flags)?;
    // As far as the kernel can, once the PID file is written; clients notice nothing.
    _ = linux::seccomp::allow_only(Work::Serve);
    let signals = frame.signals.clone();
    let log = Arc::new(Iperf3Log { flags: flags.clone(), frame, tests: AtomicU64::new(0) });
    let run = server.run(Arc::clone(&log) as Arc<dyn Log>, Some(signals.interrupts()));
    run.map_err(|error| Failure::Run(words::of_session(&error)))?;
    log.report_signal();
    Ok(ExitCode::SUCCESS)
}

fn options(flags: &Iperf3Flags) -> Result<ServerOptions, Failure> {
    let (bind, device) = plan::bind_address(flags)?;
    let idle = flags.idle_timeout.map(|time| time.0);
    Ok(ServerOptions {
        bind,
        port: flags.port,
        only: None,
        family: plan::family(flags),
        one_off: if flags.one_off { OneOff::Client } else { OneOff::No },
        // Without --one-off an idle iperf3 starts anew; here there is nothing to mend.
        source: None,
        idle_limit: idle.filter(|_| flags.one_off),
        stop_timeout: Duration::ZERO,
        order: Order::ONE,
        access: AccessList::default(),
        rates: TotalRates::default(),
        key: None,
        tuning: None,
        session: SessionOptions {
            cpus: plan::own_cpu(flags)?,
            interval: Some(Duration::from_secs_f64(flags.interval.unwrap_or(1.0))),
            limits: Limits {
                duration: flags.server_max_duration.map(|time| time.0).filter(|t| !t.is_zero()),
                rate: flags
                    .server_bitrate_limit
                    .filter(|limit| limit.rate.bits_per_second() > 0)
                    .map(|limit| RateLimit { most: limit.rate, window: limit.window }),
                // Its reports have a row for each.
                streams_each_way: Some(IPERF3_STREAMS),
                are_strict: true,
                ..Limits::default()
            },
            gate: secrets::gate(flags)?,
            receive_timeout: flags.rcv_timeout.unwrap_or(plan::RECEIVE_TIMEOUT),
            keepalive: plan::control_keepalive(flags),
            send_timeout: plan::send_timeout(flags),
            device,
            exact_window: true,
            file: flags.file.clone(),
            ..SessionOptions::default()
        },
    })
}

/// Prints what an iperf3 server prints.
struct Iperf3Log {
    flags: Iperf3Flags,
    frame: Frame,
    /// How many tests were announced.
    tests: AtomicU64,
}

impl Iperf3Log {
    fn announce(&self) {
        let number = self.tests.fetch_add(1, SeqCst) + 1;
        if !self.flags.is_json() {
            self.frame.printer.lines(&Text::listening(self.flags.port, number));
        }
    }

    /// Reports the signal that ended an idle server.
    fn report_signal(&self) {
        if let Some(words) = self.frame.signals.message_once(Role::Server) {
            self.frame.report(Role::Server, &self.flags).end(&End::Early(words));
        }
    }
}

impl Log for Iperf3Log {
    fn listening(&self, _address: SocketAddr) {
        if !self.flags.is_json() {
            let unit = self.flags.format.unwrap_or_default();
            let text = Text::new(Role::Server, self.flags.verbose, unit);
            self.frame.printer.lines(&text.version(&words::system()));
        }
        self.announce();
    }

    fn began(&self, _peer: &Peer, _plan: &TestPlan) {}

    fn ended(&self, _served: &Served) {
        let goes_on = !self.flags.one_off && !self.frame.signals.arrived();
        if goes_on {
            self.announce();
        }
    }

    fn refused(&self, _client: SocketAddr, _why: Refusal) {}

    fn observer(&self) -> Box<dyn Observer> {
        self.frame.report(Role::Server, &self.flags)
    }
}
