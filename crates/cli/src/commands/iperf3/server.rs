//! The server: one test after another.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use linux::event::Interrupts;
use measurement::outcome::Ending;
use measurement::{Course, Peer, StreamRecord, TestPlan};
use report::iperf3::{Role, Text};
use session::server::{Limits, Log, RateLimit, Served, Server, ServerOptions, SessionOptions};
use session::{Introduction, Observer, ServerOutput, SessionError};

use super::json::JsonReport;
use super::printer::Printer;
use super::text::TextReport;
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
    let log = Arc::new(Iperf3Log {
        flags: flags.clone(),
        printer: frame.printer.clone(),
        interrupts: Arc::clone(&frame.interrupts),
        tests: AtomicU64::new(0),
        signal_told: Arc::default(),
    });
    let run = server.run(Arc::clone(&log) as Arc<dyn Log>, Some(&frame.interrupts));
    run.map_err(|error| Failure::Run(words::of_session(&error)))?;
    log.take_leave();
    Ok(ExitCode::SUCCESS)
}

fn options(flags: &Iperf3Flags) -> Result<ServerOptions, Failure> {
    let (bind, device) = plan::bind_address(flags)?;
    let seconds = |number: u64| Duration::from_secs(number);
    let idle = flags.idle_timeout.map(|time| seconds(time.0));
    Ok(ServerOptions {
        bind,
        port: flags.port,
        family: plan::family(flags),
        one_off: flags.one_off,
        // Without --one-off an idle iperf3 starts anew; here there is nothing to mend.
        idle_limit: idle.filter(|_| flags.one_off),
        session: SessionOptions {
            cpus: flags.affinity.map(|affinity| affinity.own).into_iter().collect(),
            interval: Some(Duration::from_secs_f64(flags.interval.unwrap_or(1.0))),
            limits: Limits {
                duration: flags.server_max_duration.map(|t| seconds(t.0)).filter(|t| !t.is_zero()),
                rate: flags
                    .server_bitrate_limit
                    .filter(|limit| limit.rate.bits_per_second() > 0)
                    .map(|limit| RateLimit { most: limit.rate, window: limit.window }),
            },
            gate: secrets::gate(flags)?,
            receive_timeout: plan::receive_timeout(flags)?,
            keepalive: plan::control_keepalive(flags),
            send_timeout: plan::send_timeout(flags),
            device,
            file: flags.file.clone(),
        },
    })
}

/// Prints what an iperf3 server prints.
struct Iperf3Log {
    flags: Iperf3Flags,
    printer: Printer,
    interrupts: Arc<Interrupts>,
    /// How many tests were announced.
    tests: AtomicU64,
    /// Some test has told of the signal that ended it.
    signal_told: Arc<AtomicBool>,
}

impl Iperf3Log {
    fn announce(&self) {
        let number = self.tests.fetch_add(1, SeqCst) + 1;
        if !self.is_json() {
            self.printer.lines(&Text::listening(self.flags.port, number));
        }
    }

    const fn is_json(&self) -> bool {
        self.flags.json || self.flags.json_stream
    }

    /// Tells of the signal that ended an idle server.
    fn take_leave(&self) {
        let told = self.signal_told.load(SeqCst);
        if let Some(signal) = self.interrupts.last().filter(|_| !told) {
            self.report().end(Some(&words::of_signal("server", signal)));
        }
    }

    fn report(&self) -> Box<dyn Report> {
        let printer = self.printer.clone();
        if self.is_json() {
            Box::new(JsonReport::new(Role::Server, &self.flags, printer))
        } else {
            Box::new(TextReport::new(Role::Server, &self.flags, printer))
        }
    }
}

impl Log for Iperf3Log {
    fn listening(&self, _address: SocketAddr) {
        if !self.is_json() {
            let unit = self.flags.format.unwrap_or_default();
            let text = Text::new(Role::Server, self.flags.verbose, unit);
            self.printer.lines(&text.version(&words::system()));
        }
        self.announce();
    }

    fn began(&self, _peer: &Peer, _plan: &TestPlan) {}

    fn ended(&self, _served: &Served) {
        if !self.flags.one_off {
            self.announce();
        }
    }

    fn refused(&self, _client: SocketAddr, _why: &str) {}

    fn observer(&self) -> Box<dyn Observer> {
        Box::new(Guest {
            report: self.report(),
            interrupts: Arc::clone(&self.interrupts),
            signal_told: Arc::clone(&self.signal_told),
            failure: None,
        })
    }
}

/// A report that a server ends.
pub(super) trait Report: Observer {
    /// The test has ended, with the reason if it failed.
    fn end(&mut self, why: Option<&str>);
}

/// One client's test.
struct Guest {
    report: Box<dyn Report>,
    interrupts: Arc<Interrupts>,
    signal_told: Arc<AtomicBool>,
    /// Why the test broke off.
    failure: Option<String>,
}

impl Guest {
    /// Why the test did not end as planned.
    fn reason(&self, ending: &Ending) -> Option<String> {
        match (ending, self.interrupts.last()) {
            (Ending::Completed, _) => None,
            (_, Some(signal)) => {
                self.signal_told.store(true, SeqCst);
                Some(words::of_signal("server", signal))
            }
            (Ending::Interrupted, _) => Some("the client has terminated".to_owned()),
            (Ending::Failed { error }, _) => {
                Some(self.failure.clone().unwrap_or_else(|| format!("error - {error}")))
            }
        }
    }
}

impl Observer for Guest {
    fn introduced(&mut self, introduction: &Introduction<'_>) {
        self.report.introduced(introduction);
    }

    fn opened(&mut self, streams: &[StreamRecord]) {
        self.report.opened(streams);
    }

    fn started(&mut self, peer: &Peer, plan: &TestPlan) {
        self.report.started(peer, plan);
    }

    fn sampled(&mut self, course: &Course<'_>) {
        self.report.sampled(course);
    }

    fn concluded(&mut self, course: &Course<'_>) -> Option<ServerOutput> {
        self.report.concluded(course)
    }

    fn failed(&mut self, error: &SessionError) {
        self.failure = Some(words::of_client(error));
    }

    fn ended(&mut self, ending: &Ending) {
        self.report.end(self.reason(ending).as_deref());
    }
}
