//! Further hosts that are watched while a test runs, e.g. a router on the path.
//!
//! A linerate there answers one request a second, and reports at the end what its host counted.

use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use linux::event::StopSignals;
use measurement::plan::{MAX_TIME, PlanDraft};
use measurement::{Direction, End, Exchange, HostEvidence, Role, TestPlan, TestRecord, Transport};
use session::SessionError;
use session::client::{Request, Watching};

use super::companion::{self, Companion, Together};

/// A further host whose counters are sampled while a test runs, such as a router on the path. A
/// linerate server runs on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedHost {
    /// Name or address of the host, as the record contains it.
    pub host: String,
    /// Port of the linerate server on the host.
    pub port: u16,
}

impl ObservedHost {
    /// Whether something accepts a connection there within `patience` for each of its addresses.
    pub fn answers(&self, patience: Duration) -> bool {
        let answers = |address| TcpStream::connect_timeout(&address, patience).is_ok();
        let addresses = (self.host.as_str(), self.port).to_socket_addrs();
        addresses.is_ok_and(|mut addresses| addresses.any(answers))
    }
}

/// Runs `test`, which `request` describes, while the linerates at all of `observed` watch their
/// hosts; what these counted goes into the record.
///
/// # Errors
/// [`SessionError::Unobserved`] if one of the hosts could not be asked, or why the test could not
/// begin.
pub(crate) fn run_observed(
    observed: &[ObservedHost],
    request: &Request,
    interrupts: Option<&StopSignals>,
    test: &mut dyn FnMut() -> Result<TestRecord, SessionError>,
) -> Result<TestRecord, SessionError> {
    let [first, others @ ..] = observed else { return test() };
    let asked = watching(first, request);
    let refused = |error| unobserved(&first.host, error);
    let companion = Companion {
        request: &asked,
        before: Duration::ZERO,
        after: Duration::ZERO,
        refused: &refused,
    };
    let inner = || run_observed(others, request, interrupts, test);
    let Together { mut record, beside, .. } = companion::run(&companion, interrupts, inner)?;
    add_evidence(&mut record, &first.host, beside);
    Ok(record)
}

/// Adds to `record` what the host of that `name` counted, or a note why that is missing.
fn add_evidence(record: &mut TestRecord, name: &str, beside: Result<TestRecord, SessionError>) {
    let seen = beside.map(|record| record.hosts.into_iter().find(|host| host.role == Role::Peer));
    match seen {
        Ok(Some(host)) => {
            record.hosts.push(HostEvidence { role: Role::Observed(name.to_owned()), ..host });
        }
        Ok(None) => record.outcome.notes.push(format!(
            "{name} reports no counters; does \"linerate serve --observe\" run there?"
        )),
        Err(error) => {
            record.outcome.notes.push(format!("{name} could not be observed: {error}"));
        }
    }
}

/// Why a host cannot be watched.
fn unobserved(host: &str, error: SessionError) -> SessionError {
    let reason = match error {
        SessionError::Interrupted => return SessionError::Interrupted,
        SessionError::NoAnswers { software, .. } => format!("it runs {software}"),
        SessionError::Protocol { error, .. } => error.to_string(),
        error => error.to_string(),
    };
    SessionError::Unobserved { host: host.to_owned(), reason }
}

/// The request to the linerate there.
fn watching(observed: &ObservedHost, test: &Request) -> Request {
    let mut request = Request {
        host: observed.host.clone(),
        port: observed.port,
        plan: plan(&test.plan),
        ..test.clone()
    };
    request.options.watching = Watching::Peer;
    request
}

/// One request a second for as long as `test` may take.
fn plan(test: &TestPlan) -> TestPlan {
    let mut draft = PlanDraft::new(Transport::Tcp, Direction::Send);
    draft.end = match test.end {
        // Servers may have a limit to the time of a test.
        End::Time(time) => End::Time((test.omit + time + AROUND).min(MAX_TIME)),
        End::Bytes(_) | End::Blocks(_) | End::Open => End::Open,
    };
    draft.interval = Duration::ZERO;
    draft.exchange = Some(Exchange::probe(EVERY));
    draft.check().expect("a request a second can be, for as long as the test can be")
}

const EVERY: Duration = Duration::from_secs(1);
/// For the test to be opened and ended, with a probe of its own before it.
const AROUND: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_test_can_be_watched() {
        for end in [End::Time(Duration::from_secs(86_400)), End::Open] {
            let draft = PlanDraft { end, ..PlanDraft::new(Transport::Udp, Direction::Both) };
            let plan = plan(&draft.check().expect("a plan"));
            assert!(plan.exchange.is_some_and(|exchange| exchange.is_probe()));
        }
    }
}
