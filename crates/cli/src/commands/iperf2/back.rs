//! The server's part of a test in both directions (`-d`, `-r`): it connects to this host and sends.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use linux::clock;
use linux::event::StopSignals;
use measurement::outcome::Ending;
use measurement::{End, TestPlan};
use session::Server;
use session::client::{ConnectBack, Request};
use session::server::{AccessList, Log, ServerMetrics};

use super::arguments::{Arguments, Dual};
use super::server::{Iperf2Log, options};
use super::{plan, words};

/// This end, to which a server connects.
pub(super) struct Listener {
    /// How each of its connections ended.
    ended: Receiver<Ending>,
    metrics: Arc<ServerMetrics>,
    asked: ConnectBack,
}

impl Listener {
    /// Listens for the server of `request`, and for nobody else.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub(super) fn open(
        arguments: &Arguments,
        dual: Dual,
        request: &Request,
    ) -> Result<Self, String> {
        let (bind, _, device) = plan::bind(arguments)?;
        let port = arguments.listen_port.unwrap_or(arguments.port);
        let mut options = options(arguments, port, bind, device);
        let host = &request.host;
        let address = session::resolve_ip(host, request.family)
            .map_err(|error| format!("cannot resolve {host}: {error}"))?;
        let prefix = address.to_string().parse().map_err(|error| format!("{address}: {error}"))?;
        // This end sends by itself.
        options.session.connects_back = false;
        options.access = AccessList { allow: vec![prefix], ..AccessList::default() };
        let other = |error: &dyn std::fmt::Display| {
            format!("{error}; -L chooses the port for what the server sends")
        };
        if arguments.udp {
            // Servers of UDP share a port: one of this host would no longer hear its clients.
            let any = if address.is_ipv6() { ANY_V6 } else { ANY_V4 };
            let alone = linux::udp::bind((bind.unwrap_or(any), port).into(), false, false);
            alone
                .map_err(|error| other(&format!("UDP port {port}: {}", session::reason(&error))))?;
        }
        let server = Server::bind(options).map_err(|error| other(&error))?;
        let metrics = server.metrics();
        let (said, ended) = mpsc::channel();
        let log = Arc::new(Iperf2Log::new(arguments, arguments.streams().into(), Some(said)));
        let run = move || server.run(log as Arc<dyn Log>, None);
        let thread = thread::Builder::new().spawn(run);
        thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(Self { ended, metrics, asked: ConnectBack { port, at_once: dual == Dual::AtOnce } })
    }

    /// Port and time of the connections that the server is asked for.
    pub(super) const fn asked(&self) -> ConnectBack {
        self.asked
    }

    /// Waits until the server has sent on as many connections as the test has.
    pub(super) fn finish(self, plan: &TestPlan, interrupts: &StopSignals) -> ExitCode {
        let time = match plan.end {
            End::Time(time) if !self.asked.at_once => time,
            _ => Duration::ZERO,
        };
        let mut deadline = clock::monotonic() + time + MORE;
        let mut left = plan.streams;
        let mut code = ExitCode::SUCCESS;
        while left > 0 {
            if interrupts.arrived() {
                return ExitCode::from(crate::exit::INTERRUPTED);
            }
            match self.ended.recv_timeout(LOOK) {
                Ok(Ending::Failed { .. }) => {
                    code = ExitCode::from(crate::exit::FAILED);
                    left -= 1;
                }
                Ok(_) => left -= 1,
                Err(RecvTimeoutError::Timeout) if self.metrics.snapshot().running > 0 => {
                    deadline = clock::monotonic() + MORE;
                }
                Err(RecvTimeoutError::Timeout) if clock::monotonic() < deadline => {}
                Err(_) => {
                    let (transport, port) = (plan.transport, self.asked.port);
                    return words::fail(&format!(
                        "the server did not send: it cannot reach {transport} port {port} of this \
                         host, or does not do that; start linerate serve with --connect-back, or use \
                         --full-duplex"
                    ));
                }
            }
        }
        code
    }
}

const ANY_V4: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
const ANY_V6: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
const LOOK: Duration = Duration::from_millis(50);
/// Within which a server may connect, and what is on its way comes.
const MORE: Duration = Duration::from_secs(10);
