//! A third host that is watched while a test runs: a router on the way, say.
//!
//! A linerate there answers a request a second, which is nothing, and tells at the end what
//! its host counted.

use std::time::Duration;

use linux::event::StopSignals;
use measurement::plan::{MAX_TIME, PlanDraft};
use measurement::{Direction, End, Exchange, HostEvidence, Role, TestPlan, TestRecord, Transport};
use session::SessionError;
use session::client::{Request, Watching};

use crate::beside::{self, Companion, Together};

/// A host that is watched.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Its name or address, as it stands in the record.
    pub host: String,
    /// Port of the linerate there.
    pub port: u16,
}

/// Runs `test`, which `request` describes, while a linerate at `observed` watches its host;
/// what it saw goes into the record.
///
/// # Errors
/// Why the other host could not be asked, or why the test could not begin.
pub fn run_observed(
    observed: &Observed,
    request: &Request,
    interrupts: Option<&StopSignals>,
    test: impl FnOnce() -> Result<TestRecord, SessionError>,
) -> Result<TestRecord, SessionError> {
    let request = watching(observed, request);
    let refused = |error| unobserved(&observed.host, error);
    let companion = Companion {
        request: &request,
        before: Duration::ZERO,
        after: Duration::ZERO,
        refused: &refused,
    };
    let Together { mut record, beside, .. } = beside::run(&companion, interrupts, test)?;
    let seen = beside.map(|record| record.hosts.into_iter().find(|host| host.role == Role::Peer));
    let name = &observed.host;
    match seen {
        Ok(Some(host)) => {
            record.hosts.push(HostEvidence { role: Role::Observed(name.clone()), ..host });
        }
        Ok(None) => record.outcome.notes.push(format!(
            "{name} tells nothing of itself; does \"linerate serve --observe\" run there?"
        )),
        Err(error) => {
            record.outcome.notes.push(format!("{name} could not be observed: {error}"));
        }
    }
    Ok(record)
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

/// What is asked of the linerate there.
fn watching(observed: &Observed, test: &Request) -> Request {
    let mut request = Request {
        host: observed.host.clone(),
        port: observed.port,
        plan: plan(&test.plan),
        ..test.clone()
    };
    request.options.watching = Watching::Peer;
    request
}

/// A request a second for as long as `test` may take.
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
