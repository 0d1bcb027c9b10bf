//! Runs a small test, the companion, beside the test that counts.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use linux::event::StopSignals;
use measurement::{Peer, TestPlan, TestRecord, Timestamp};
use session::client::Request;
use session::{Observer, SessionError};

/// A small test that runs beside another one.
pub(super) struct Companion<'a> {
    /// The small test; it ends when the other one has ended.
    pub(super) request: &'a Request,
    /// How long it runs alone before.
    pub(super) before: Duration,
    /// How long it runs alone afterwards.
    pub(super) after: Duration,
    /// Turns the error with which it could not begin into that of the whole.
    pub(super) refused: &'a dyn Fn(SessionError) -> SessionError,
}

/// The results of both tests.
pub(super) struct Together {
    /// The record of the test that counts.
    pub(super) record: TestRecord,
    /// The record of the companion, or why it failed.
    pub(super) beside: Result<TestRecord, SessionError>,
    /// When the test that counts was asked for.
    pub(super) asked: Timestamp,
}

/// Runs `test` with a companion.
///
/// # Errors
/// Why the companion could not begin, or why the test could not.
pub(super) fn run(
    companion: &Companion<'_>,
    interrupts: Option<&StopSignals>,
    test: impl FnOnce() -> Result<TestRecord, SessionError>,
) -> Result<Together, SessionError> {
    let notice = StopSignals::manual().map_err(refused("an eventfd"))?;
    std::thread::scope(|scope| {
        let (tell, begun) = channel();
        let (request, notice) = (companion.request, &notice);
        // It is dropped with the thread, so that the end of the thread is noticed too.
        let mut starting = Starting(tell);
        let small = move || session::client::run(request, &mut starting, Some(notice));
        let thread = std::thread::Builder::new().name("probe".to_owned());
        let thread = thread.spawn_scoped(scope, small).map_err(refused("a thread"))?;
        let ready = await_start(&begun, interrupts).and_then(|is_there| {
            if is_there { pause(companion.before, interrupts).map(|()| true) } else { Ok(false) }
        });
        let asked = now();
        let outcome = match ready {
            Ok(true) => Some(test()),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        };
        if outcome.as_ref().is_some_and(Result::is_ok) {
            // An interruption of this pause is seen by what comes next.
            _ = pause(companion.after, None);
        }
        notice.notify();
        let beside = thread.join().unwrap_or(Err(SessionError::Interrupted));
        match outcome {
            // It ended before it began, and says why.
            None => Err(beside.err().map_or(SessionError::Interrupted, companion.refused)),
            Some(outcome) => outcome.map(|record| Together { record, beside, asked }),
        }
    })
}

/// Sends a message when the companion runs.
struct Starting(Sender<()>);

impl Observer for Starting {
    fn started(&mut self, _: &Peer, _: &TestPlan) {
        // The receiver is gone after an interruption.
        _ = self.0.send(());
    }
}

/// Whether the companion runs; otherwise it has ended.
fn await_start(
    begun: &Receiver<()>,
    interrupts: Option<&StopSignals>,
) -> Result<bool, SessionError> {
    loop {
        match begun.recv_timeout(LOOK) {
            Ok(()) => return Ok(true),
            Err(RecvTimeoutError::Disconnected) => return Ok(false),
            Err(RecvTimeoutError::Timeout) => check(interrupts)?,
        }
    }
}

fn pause(span: Duration, interrupts: Option<&StopSignals>) -> Result<(), SessionError> {
    let end = now().after(span);
    while now() < end {
        check(interrupts)?;
        std::thread::sleep(LOOK.min(end.since(now())));
    }
    Ok(())
}

fn check(interrupts: Option<&StopSignals>) -> Result<(), SessionError> {
    if interrupts.is_some_and(StopSignals::arrived) {
        Err(SessionError::Interrupted)
    } else {
        Ok(())
    }
}

fn refused(what: &'static str) -> impl Fn(std::io::Error) -> SessionError {
    move |error| SessionError::System { what, error }
}

fn now() -> Timestamp {
    Timestamp::default().after(linux::clock::monotonic())
}

const LOOK: Duration = Duration::from_millis(20);
