//! Third phase: payload moves. It ends when both ends have exchanged their results, or with
//! the reason why they cannot.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use measurement::{TestPlan, Timestamp, Transport};
use protocol::iperf3::{ClientEvent, ClientPhase, Results};

use super::ended::{Cut, Ended};
use super::link::{About, Link};
use crate::error::SessionError;
use crate::iperf3::results::{results, sent_by_peer};
use crate::observer::Observer;
use crate::spec::Sent;
use crate::trial::Trial;

/// A client whose streams run, or have run.
pub(super) struct Running {
    about: About,
    trial: Trial,
    /// What the server reported as sent; none: it has not, or cannot.
    sent: Option<Vec<Sent>>,
    /// The server's results; none: they have not come.
    results: Option<Box<Results>>,
    cut: Option<Cut>,
    /// When what has moved was last shown.
    glimpsed: Option<Timestamp>,
}

impl Running {
    pub(super) fn new(about: About, trial: Trial) -> Self {
        Self { about, trial, sent: None, results: None, cut: None, glimpsed: None }
    }

    /// Runs the test to its end, in order or not.
    pub(super) fn finish(mut self, link: &mut Link<'_>) -> Ended {
        let ending = self.run(link);
        if ending.is_err() {
            link.control.machine.terminate();
        }
        self.trial.finish(self.sent.as_deref(), &*link.clock);
        let measured = self.trial.close();
        Ended { about: self.about, measured, results: self.results, cut: self.cut, ending }
    }

    fn run(&mut self, link: &mut Link<'_>) -> Result<(), SessionError> {
        loop {
            link.control.pump();
            while let Some(event) = link.control.machine.poll_event() {
                match event {
                    ClientEvent::FinalStreams(streams) => self.sent = Some(sent_by_peer(&streams)),
                    ClientEvent::ResultsWanted => self.answer(link),
                    ClientEvent::Results(results) => self.take_results(results, link),
                    ClientEvent::Done => return Ok(()),
                    ClientEvent::Failed(error) => return Err(link.failure(error)),
                    // Nothing else comes after the start.
                    _ => {}
                }
            }
            self.mind_the_trial(link)?;
            self.wait(link)?;
            if link.is_interrupted() {
                self.interrupt(link)?;
            }
        }
    }

    /// Ends a running test early but in order, so that the receiver's numbers come too;
    /// a second signal, or one after the streams have stopped, breaks off.
    fn interrupt(&mut self, link: &Link<'_>) -> Result<(), SessionError> {
        let is_second = self.cut == Some(Cut::Signal);
        if is_second || link.phase() != ClientPhase::Running {
            return Err(SessionError::Interrupted);
        }
        self.cut = Some(Cut::Signal);
        self.trial.stop(&*link.clock);
        Ok(())
    }

    /// Takes samples when they are due and ends the test when it is time.
    fn mind_the_trial(&mut self, link: &mut Link<'_>) -> Result<(), SessionError> {
        if link.phase() != ClientPhase::Running {
            return Ok(());
        }
        let (trial, clock) = (&mut self.trial, &*link.clock);
        let now = clock.now();
        if trial.tick(now) {
            link.observer.sampled(&trial.course());
        }
        if next_glimpse(trial, self.glimpsed, &*link.observer).is_some_and(|next| now >= next) {
            self.glimpsed = Some(now);
            trial.glimpse(now).into_iter().for_each(|glimpse| link.observer.glimpsed(&glimpse));
        }
        trial.clear_progress();
        let patience = link.request.options.receive_timeout;
        if trial.received_nothing_for(now) > patience {
            return Err(SessionError::NothingReceived { peer: link.server, patience });
        }
        let time_is_up = trial.time_is_up_at().is_some_and(|end| now >= end);
        if time_is_up || trial.has_moved_all(now) {
            trial.stop(clock);
        }
        if let Some(why) = trial.breakdown(clock.now()) {
            self.cut.get_or_insert(Cut::Breakdown(why));
            trial.stop(clock);
        }
        let grace = grace(link, &self.about);
        if self.trial.stopped_at().is_some_and(|stop| clock.now() >= stop.after(grace)) {
            link.control.machine.end_test(link.clock.now());
        }
        Ok(())
    }

    fn wait(&self, link: &mut Link<'_>) -> Result<(), SessionError> {
        let trial = &self.trial;
        if link.phase() != ClientPhase::Running {
            return link.wait(&[], None);
        }
        if let Some(stop) = trial.stopped_at() {
            let until = stop.after(grace(link, &self.about));
            return link.wait(&[], Some(until));
        }
        let patience = link.request.options.receive_timeout;
        let received = trial.received_last().map(|last| last.after(patience));
        let look = next_look(trial, link.clock.now());
        let glimpse = next_glimpse(trial, self.glimpsed, &*link.observer);
        let due = [trial.next_tick(), trial.time_is_up_at(), look, received, glimpse];
        let progress: Vec<BorrowedFd<'_>> = trial.progress();
        link.wait(&progress, due.into_iter().flatten().min())
    }

    fn answer(&mut self, link: &mut Link<'_>) {
        self.trial.finish(self.sent.as_deref(), &*link.clock);
        link.observer.sampled(&self.trial.course());
        let results = results(&self.trial, self.sent.as_deref());
        link.control.machine.send_results(&results, link.clock.now());
    }

    fn take_results(&mut self, results: Results, link: &mut Link<'_>) {
        if let Some(output) = &results.server_output {
            link.observer.answered(output);
        }
        self.results = Some(Box::new(results));
    }
}

/// How long after the last byte the server hears of the end. A linerate waits for what is on
/// its way; an iperf3 throws it away (clause 10.2).
fn grace(link: &Link<'_>, about: &About) -> Duration {
    let plan: &TestPlan = &link.request.plan;
    let has_a_tail = plan.transport == Transport::Udp || plan.end.is_amount();
    if about.announcement.is_none() && plan.direction.sends() && has_a_tail {
        (2 * link.rtt).max(GRACE)
    } else {
        Duration::ZERO
    }
}

/// When the observer is to see what has moved; none: it does not look, or nothing moves any more.
fn next_glimpse(
    trial: &Trial,
    last: Option<Timestamp>,
    observer: &dyn Observer,
) -> Option<Timestamp> {
    let every = observer.glimpses_every().filter(|_| trial.stopped_at().is_none())?;
    let last = last.or_else(|| trial.began())?;
    Some(last.after(every.max(trial.pause())))
}

/// When to look whether the last bytes are acknowledged: nothing reports that.
fn next_look(trial: &Trial, now: Timestamp) -> Option<Timestamp> {
    trial.awaits_the_last().then(|| {
        let pause = if trial.progress().is_empty() { LOOK_OFTEN } else { LOOK_SELDOM };
        now.after(pause.max(trial.pause() / 20))
    })
}

/// Beside two round trips, for the last datagrams to be read by an iperf3.
const GRACE: Duration = Duration::from_millis(5);
const LOOK_OFTEN: Duration = Duration::from_millis(1);
const LOOK_SELDOM: Duration = Duration::from_millis(100);
