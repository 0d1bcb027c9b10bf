//! Last stage: minds a test that runs, and exchanges results with its client.

use std::time::Duration;

use measurement::record::PeerStream;
use protocol::iperf3::{ErrorCode, PeerEvidence, Results};

use super::running::{Conclusion, Length, OVERTIME};
use super::{Conversation, Stage};
use crate::iperf3::results::{final_streams, peer_evidence, results};
use crate::iperf3::server::request_cost::error_code;
use crate::server::concurrent_tests::Presence;
use crate::server::minded::Failure;
use crate::server::stay::GRACE;
use crate::spec::Sent;

impl Conversation<'_> {
    /// Ends what the client should have ended: the sending a second after its time, so
    /// that no client is flooded for longer than asked, and the test after a grace.
    pub(super) fn mind_the_trial(&mut self) {
        let Stage::Running(running) = &mut self.stage else { return };
        let clock = &*self.server.clock;
        let now = clock.now();
        if running.minded.trial.tick(now) {
            self.observer.sampled(&running.minded.trial.course());
        }
        running.minded.look_at_pace(now, self.ticket.stay());
        let failure = running.minded.failure(now, &self.server.options);
        if running.minded.trial.time_is_up_at().is_some_and(|end| now >= end.after(OVERTIME)) {
            running.minded.trial.stop(clock);
        }
        let machine = &mut self.control.machine;
        match failure {
            None => {}
            Some(Failure::Excess(excess)) => {
                machine.refuse_because(error_code(excess.why), &excess.words);
                self.refusal = Some((excess.why, excess.words));
            }
            Some(Failure::NothingReceived) => machine.refuse(ErrorCode::NOTHING_RECEIVED, 0),
            Some(Failure::TimeIsUp) => machine.refuse(ErrorCode::TIME_IS_UP, 0),
        }
    }

    /// The client ended the test: stops the streams and says what this end sent.
    pub(super) fn end(&mut self) {
        let Stage::Running(running) = &mut self.stage else { return };
        let clock = &*self.server.clock;
        let now = clock.now();
        let trial = &mut running.minded.trial;
        // A linerate's time is rounded up to whole seconds on the wire (clause 6.2).
        let is_linerate = self.parameters.announcement.is_some();
        let early = EARLY + Duration::from_secs(u64::from(is_linerate));
        if trial.time_is_up_at().is_some_and(|end| now.after(early) < end) {
            running.length = Length::CutShort;
        }
        trial.stop(clock);
        trial.end_streams();
        // What is left to do does not take long.
        self.ticket.stay().be_busy_until(clock.now().after(GRACE));
        let sent = final_streams(trial.sent());
        self.control.machine.request_results(sent, clock.now());
    }

    /// The client's results came: drains the streams and sends this end's.
    pub(super) fn answer(&mut self, peer: Results) {
        let Stage::Running(running) = &mut self.stage else { return };
        let (clock, options) = (&*self.server.clock, &self.server.options);
        let sent = peer.streams.iter().map(|stream| Sent {
            id: stream.id,
            bytes: stream.bytes,
            datagrams: stream.packets,
        });
        let sent: Vec<_> = sent.collect();
        let trial = &mut running.minded.trial;
        trial.finish(Some(&sent), clock);
        let mut own = results(trial, Some(&sent));
        let output = self.observer.concluded(&trial.course());
        own.server_output = output.filter(|_| self.parameters.optional.server_output);
        own.shared = running.minded.presence.as_ref().map(Presence::shared).unwrap_or_default();
        if options.hide_peers {
            own.shared.iter_mut().for_each(|other| other.address = None);
        }
        let reading = Some(self.control.machine.clock(clock.now()));
        own.evidence = peer_evidence(trial, options.evidence)
            .map(|evidence| Box::new(PeerEvidence { clock: reading, ..evidence }));
        running.conclusion = Conclusion::Shown;
        running.peer_streams = peer.streams.into_iter().map(PeerStream::from).collect();
        self.control.machine.send_results(&own, clock.now());
    }
}

/// So long before its time no test ends by itself.
const EARLY: Duration = Duration::from_millis(500);
