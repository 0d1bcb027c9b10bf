//! After the last message: gives up the place and reports what the test came to.

use measurement::Course;
use measurement::outcome::Ending;
use protocol::iperf3::{ProtocolError, Server};

use super::running::{Conclusion, Length, Running};
use super::{Conversation, Stage};
use crate::control::Control;
use crate::error::SessionError;
use crate::server::concurrent_tests::Presence;
use crate::server::log::Served;
use crate::server::metrics::Refusal;
use crate::server::sums::Sums;

/// Why a test ended before its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Breakdown {
    /// One of the ends was told to end it.
    Asked,
    /// Something went wrong.
    Error,
}

impl Breakdown {
    const fn of(result: &Result<(), ProtocolError>) -> Self {
        use ProtocolError::{ClientTerminated, ServerTerminated};
        match result {
            Ok(()) | Err(ClientTerminated | ServerTerminated) => Self::Asked,
            Err(_) => Self::Error,
        }
    }
}

impl Conversation<'_> {
    /// Gives up the place before the connection closes: the client may come back at
    /// once when it sees that.
    pub(super) fn close(mut self, result: Result<(), ProtocolError>) -> Control<Server> {
        let breakdown = Breakdown::of(&result);
        let ending = self.ending(result);
        let was_let_in = !matches!(self.stage, Stage::Waiting(_));
        let (sums, shared) = match std::mem::replace(&mut self.stage, Stage::Closed) {
            Stage::Running(mut running) => {
                let presence = running.minded.presence.take();
                let shared = presence.as_ref().map(Presence::shared).unwrap_or_default();
                drop(presence);
                (self.sums(running, breakdown), shared)
            }
            Stage::Opening(_) if breakdown == Breakdown::Asked => {
                let nothing = Course::before_the_start(&self.parameters.plan);
                _ = self.observer.concluded(&nothing);
                (Sums::default(), Vec::new())
            }
            _ => (Sums::default(), Vec::new()),
        };
        // Whoever reads the log's line may have the place.
        self.grant = None;
        self.status = None;
        self.ticket.leave();
        self.observer.ended(&ending);
        let refusal = self.refusal.as_ref().map(|(why, _)| *why);
        let test = Served::of((self.peer, self.parameters.plan), ending, sums);
        let test = Served { refusal, shared, ..test };
        test.count(&self.server.metrics, was_let_in);
        self.log.ended(&test);
        drop(self.ticket);
        // Clause 11.9.
        if !matches!(self.refusal, Some((Refusal::Authentication, _))) {
            self.server.registry.note_try();
        }
        self.control
    }

    fn ending(&mut self, result: Result<(), ProtocolError>) -> Ending {
        // Only a linerate ends a test in order that it was told to end; an iperf3 breaks it off.
        let is_cut = self.parameters.announcement.is_some()
            && matches!(&self.stage, Stage::Running(test) if test.length == Length::CutShort);
        match result {
            Ok(()) if is_cut => Ending::Interrupted,
            Ok(()) => Ending::Completed,
            // iperf3's observers have words for them.
            Err(error @ (ProtocolError::ClientTerminated | ProtocolError::ClientFailed)) => {
                self.observer.failed(&SessionError::Protocol { peer: self.peer.address, error });
                Ending::Interrupted
            }
            Err(error) => {
                let words = self.refusal.as_ref().map(|(_, words)| words.clone());
                let text = words.unwrap_or_else(|| error.to_string());
                self.observer.failed(&SessionError::Protocol { peer: self.peer.address, error });
                Ending::Failed { error: text }
            }
        }
    }

    fn sums(&mut self, running: Running, breakdown: Breakdown) -> Sums {
        let Running { minded, peer_streams, conclusion, .. } = running;
        let mut trial = minded.trial;
        trial.finish(None, &*self.server.clock);
        match (conclusion, breakdown) {
            (Conclusion::Shown, _) => {}
            // No client waits for what it has to show of a test that broke off.
            (Conclusion::Pending, Breakdown::Asked) => {
                _ = self.observer.concluded(&trial.course());
            }
            (Conclusion::Pending, Breakdown::Error) => self.observer.broke_off(&trial.course()),
        }
        Sums::new(trial.moved_each_way(), trial.close(), &peer_streams)
    }
}
