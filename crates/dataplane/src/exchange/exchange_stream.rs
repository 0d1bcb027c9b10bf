//! What the streams on one open socket have in common ([`ExchangeStream`]). They differ in what they
//! do in a turn ([`Turn`]).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use linux::epoll::Interest;
use measurement::{StreamCounters, Timestamp};

use super::Parameters;
use crate::counters::Counters;
use crate::scratch::Scratch;
use crate::stream::{Step, Stream};

/// A stream that exchanges requests and responses over one socket, in the role of `R`.
pub(super) struct ExchangeStream<S, R> {
    pub(super) socket: Arc<S>,
    pub(super) parameters: Parameters,
    pub(super) count: StreamCounters,
    pub(super) published: Arc<Counters>,
    pub(super) role: R,
}

/// A turn of a stream.
pub(super) trait Turn {
    /// Events of the socket that the stream waits for.
    const INTEREST: Interest;
    /// Which turns follow each other in one step where system calls wait.
    const FURTHER: Further;

    /// Receives and sends what can be received and sent, and returns what is waited for then.
    fn turn(&mut self, now: Timestamp, scratch: &mut Scratch) -> io::Result<Step>;
}

/// The turns that follow each other in one step.
pub(super) enum Further {
    /// A turn after each one that had a response, for [`LONGEST_STEP`]; it begins when that arrived.
    AfterResponses,
    /// [`MAX_TURNS`] at the most.
    Few,
}

impl<S, R> Stream for ExchangeStream<S, R>
where
    S: AsFd + Send + Sync,
    R: Send,
    Self: Turn,
{
    fn interest(&self) -> (BorrowedFd<'_>, Interest) {
        (self.socket.as_fd(), Self::INTEREST)
    }

    fn use_blocking_calls(&mut self) -> bool {
        self.parameters.use_blocking_calls(&*self.socket)
    }

    /// Requests that wait at the end had no time for a response, and do not count as lost.
    fn halt(&mut self) {
        self.published.finish(None);
    }

    fn step(&mut self, now: Timestamp, scratch: &mut Scratch) -> Step {
        let (mut at, mut turns) = (now, 0);
        loop {
            let before = self.count.blocks;
            let result = self.turn(at, scratch);
            turns += 1;
            let goes_on = match Self::FURTHER {
                Further::AfterResponses => {
                    at = self.count.last;
                    self.count.blocks > before && at.since(now) < LONGEST_STEP
                }
                Further::Few => turns < MAX_TURNS,
            };
            // Where system calls wait, turns follow each other without a return to the runtime.
            if !self.parameters.blocking_calls || !goes_on || !matches!(result, Ok(Step::Again)) {
                return self.parameters.conclude(result, &self.published);
            }
        }
    }
}

/// The longest time that a step may continue from one response to the next request.
const LONGEST_STEP: Duration = Duration::from_millis(1);
/// Requests that are answered in one step where system calls wait for the next one.
const MAX_TURNS: u32 = 8;
