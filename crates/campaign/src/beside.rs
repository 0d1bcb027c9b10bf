//! Runs a small test beside one that counts.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use linux::event::StopSignals;
use measurement::{Peer, TestPlan, TestRecord, Timestamp};
use session::client::Request;
use session::{Observer, SessionError};

/// What goes beside a test.
pub(crate) struct Companion<'a> {
    /// The small test; it ends when the other one has.
    pub(crate) request: &'a Request,
    /// How long it goes alone before.
    pub(crate) before: Duration,
    /// And after.
    pub(crate) after: Duration,
    /// What it means that it cannot begin.
    pub(crate) refused: &'a dyn Fn(SessionError) -> SessionError,
}

/// What came of both.
pub(crate) struct Together {
    pub(crate) record: TestRecord,
    /// Of the small one.
    pub(crate) beside: Result<TestRecord, SessionError>,
    /// When the other one was asked for.
    pub(crate) asked: Timestamp,
}

/// Runs `test` with a companion.
///
/// # Errors
/// Why the companion could not begin, or why the test could not.
pub(crate) fn run(
    companion: &Companion<'_>,
    interrupts: Option<&StopSignals>,
    test: impl FnOnce() -> Result<TestRecord, SessionError>,
) -> Result<Together, SessionError> {
    let notice = StopSignals::manual().map_err(refused("an eventfd"))?;
    std::thread::scope(|scope| {
        let (tell, begun) = channel();
        let (request, notice) = (companion.request, &notice);
        // It goes with the thread, so that its end is heard too.
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
            // Who interrupts this is heard by what comes next.
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

/// Tells when the companion goes.
struct Starting(Sender<()>);

impl Observer for Starting {
    fn started(&mut self, _: &Peer, _: &TestPlan) {
        // Nobody listens any more who was interrupted.
        _ = self.0.send(());
    }
}

/// Whether the companion goes; else it has ended.
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
