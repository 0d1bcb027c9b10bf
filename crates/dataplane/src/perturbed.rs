//! A stream that an experiment disturbs by a schedule: its steps take more CPU time, or the kernel
//! paces its socket.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use linux::clock::thread_cpu;
use linux::epoll::Interest;
use linux::packets::set_max_pacing_rate;
use measurement::{Experiment, Hand, Timestamp};

use crate::counters::Counters;
use crate::scratch::Scratch;
use crate::stream::{Step, Stream};

/// A stream whose end uses its hands of an experiment.
pub struct Perturbed {
    engine: Box<dyn Stream>,
    counters: Arc<Counters>,
    experiment: Experiment,
    sends: bool,
    /// The first step.
    start: Option<Timestamp>,
    /// The hand in use.
    hand: Option<Hand>,
    /// When the hand was taken or put away, and the bytes that had moved then.
    since: (Timestamp, u64),
    /// Bytes that moved in slots without a hand, and their time.
    plain: (u64, Duration),
}

impl Perturbed {
    /// The stream of `engine`, which counts by `counters`, at the end that `sends` or receives.
    pub fn new(
        engine: Box<dyn Stream>,
        counters: Arc<Counters>,
        experiment: Experiment,
        sends: bool,
    ) -> Self {
        let (since, plain) = ((Timestamp::default(), 0), (0, Duration::ZERO));
        Self { engine, counters, experiment, sends, start: None, hand: None, since, plain }
    }

    /// Takes the hand of the slot at a time, if this end has it.
    fn take_hand(&mut self, now: Timestamp) {
        let start = *self.start.get_or_insert_with(|| {
            self.since.0 = now;
            now
        });
        let wanted = self.experiment.hand_at(now.since(start));
        let wanted = wanted.filter(|hand| hand.is_of_sender() == self.sends);
        if wanted == self.hand {
            return;
        }
        let bytes = self.counters.bytes();
        if self.hand.is_none() {
            self.plain.0 += bytes - self.since.1;
            self.plain.1 += now.since(self.since.0);
        }
        if self.hand == Some(Hand::Pacing) {
            self.pace(f64::MAX);
        }
        if let Some(hand @ Hand::Pacing) = wanted {
            let rate = self.plain.0 as f64 / self.plain.1.as_secs_f64();
            self.pace(rate * hand.rest());
        }
        (self.hand, self.since) = (wanted, (now, bytes));
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    fn pace(&self, bytes_per_second: f64) {
        // A socket that is not paced shows that nothing follows.
        _ = set_max_pacing_rate(&self.engine.interest().0, bytes_per_second as u64);
    }
}

impl Stream for Perturbed {
    fn interest(&self) -> (BorrowedFd<'_>, Interest) {
        self.engine.interest()
    }

    fn use_blocking_calls(&mut self) -> bool {
        self.engine.use_blocking_calls()
    }

    fn new_descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.engine.new_descriptor()
    }

    fn step(&mut self, now: Timestamp, scratch: &mut Scratch) -> Step {
        self.take_hand(now);
        let Some(hand @ (Hand::SenderCpu | Hand::ReceiverCpu)) = self.hand else {
            return self.engine.step(now, scratch);
        };
        let before = thread_cpu();
        let step = self.engine.step(now, scratch);
        let used = thread_cpu();
        let until = used + used.saturating_sub(before).mul_f64(1.0 / hand.rest() - 1.0);
        while thread_cpu() < until {
            std::hint::spin_loop();
        }
        step
    }

    fn continues_in_kernel(&self) -> bool {
        self.engine.continues_in_kernel()
    }

    fn halt(&mut self) {
        self.engine.halt();
    }
}
