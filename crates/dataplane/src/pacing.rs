//! When the next blocks are due at a given rate. It is told the time and never waits.
//!
//! A batch that was late by more than a part of its time moves those after it: they follow a
//! little closer than the rate has it until the average is right again, and never in one burst_size.

use std::time::Duration;

use measurement::{BitRate, Pacing, Timestamp};

mod burst_size;
mod schedule;
mod statistics;

pub use statistics::{PacingStatistics, pacing_report};

use burst_size::BurstSize;
use schedule::Schedule;

/// Spaces the blocks of one stream.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    schedule: Schedule,
    pacing: Pacing,
    /// Bytes of a block.
    block: u64,
    /// Blocks that go back to back.
    batch: BurstSize,
    limits: &'static Limits,
    /// What is left of a batch that has begun.
    left: usize,
    /// What has gone of it.
    gone: usize,
    /// When the batch is due.
    due: Option<Timestamp>,
    /// How long the first one waits.
    lead: Duration,
    /// When the last one began.
    began: Option<Timestamp>,
    /// From when the next one keeps its distance: where this one began, less the part of its
    /// lateness that is excused.
    anchor: Timestamp,
    /// Whoever asked for it was told to wait.
    waited: bool,
    /// Nobody has looked since its last block went.
    fresh: bool,
    /// By how much its sending was late already when it ended.
    held_up: Duration,
    begun: Option<Batch>,
}

/// What a pacer makes up for, and how.
#[derive(Debug)]
struct Limits {
    /// A batch that is later than this met a stall.
    stall: Duration,
    /// A sender that is farther behind than this is too slow; the excess is given up.
    debt: Duration,
    /// How fast it catches up, in percent of the rate.
    catch_up_percent: u64,
    /// A batch that takes so much longer to send than it may was interrupted: what is left of
    /// it goes at its end, so that the next one has to keep away from there. None: it is
    /// the network that takes its time.
    interruption: Option<Duration>,
}

/// The wait of a sender whose next block is not due yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacingWait {
    /// It sleeps until about this time.
    Until(Timestamp),
    /// It sleeps until shortly before this time and spins for the rest.
    Exactly(Timestamp),
}

/// A batch that has begun, for the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// How long after its time.
    pub lateness: Duration,
    /// Part of it that is not made up for, or will be by [`Pacing::Repay`].
    pub stalled: Duration,
    /// Time whose blocks were given up since the sender is too slow.
    pub forgone: Duration,
    /// The batch before it, which has ended.
    pub before: Option<EndedBatch>,
}

/// A batch that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedBatch {
    /// How many blocks it had.
    pub blocks: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Time from its beginning to that of the next.
    pub took: Duration,
    /// The time that it should have taken at the rate.
    pub ideal: Duration,
}

impl Pacer {
    /// Datagrams of `length` bytes at `rate`.
    pub fn for_datagrams(rate: BitRate, length: u64) -> Self {
        let pacer = Self::new(rate, length, &DATAGRAMS);
        Self { batch: BurstSize::for_datagrams(&pacer.schedule), ..pacer }
    }

    /// Blocks of `block` bytes of a byte stream at `rate`, whose network delays them now and
    /// then: more is made up for, and as fast as the kernel sends after a loss (120 %,
    /// `tcp_pacing_ca_ratio` in Documentation/networking/ip-sysctl.rst).
    pub fn for_blocks(rate: BitRate, block: u64) -> Self {
        Self::new(rate, block, &BLOCKS)
    }

    fn new(rate: BitRate, block: u64, limits: &'static Limits) -> Self {
        Self {
            schedule: Schedule::new(rate, block),
            pacing: Pacing::Smooth,
            block,
            batch: BurstSize::fixed(1),
            limits,
            left: 0,
            gone: 0,
            due: None,
            lead: Duration::ZERO,
            began: None,
            anchor: Timestamp::default(),
            waited: false,
            fresh: false,
            held_up: Duration::ZERO,
            begun: None,
        }
    }

    /// Spaces them so; a burst that was asked keeps its length.
    #[must_use]
    pub fn with_pacing(mut self, pacing: Pacing) -> Self {
        self.pacing = pacing;
        if pacing == Pacing::Even {
            self.batch = BurstSize::fixed(1);
        }
        self
    }

    /// Lets `burst` blocks go back to back whenever the rate allows the first of them; it
    /// then waits until the average is the rate again. At least one.
    #[must_use]
    pub fn with_burst(mut self, burst: usize) -> Self {
        self.batch = BurstSize::fixed(burst);
        self
    }

    /// Lets the first batch wait for half of its time, though not for long: in any span then
    /// as much goes as the rate has it, and not a batch more.
    #[must_use]
    pub fn centred(mut self) -> Self {
        self.lead = (self.span_of_batch() / 2).min(LONGEST_LEAD);
        self
    }

    /// How its blocks are spaced.
    pub const fn pacing(&self) -> Pacing {
        self.pacing
    }

    /// How many of `most` blocks may go now; none: when the next one is due.
    pub fn allowance(&mut self, now: Timestamp, most: usize) -> Result<usize, Timestamp> {
        if self.left == 0 {
            let due = self.next_due(now);
            if now < due {
                self.waited = true;
                return Err(due);
            }
            self.begin(now, due);
        }
        Ok(self.left.min(most))
    }

    /// How many of `most` blocks may go now; none: what to wait for. A batch that begins
    /// goes into `statistics`.
    pub(crate) fn step(
        &mut self,
        now: Timestamp,
        most: usize,
        statistics: &PacingStatistics,
    ) -> Result<usize, PacingWait> {
        let allowed = self.allowance(now, most).map_err(|due| match self.pacing {
            Pacing::Even => PacingWait::Exactly(due),
            Pacing::Smooth | Pacing::Repay => PacingWait::Until(due),
        })?;
        if let Some(batch) = self.take_begun() {
            statistics.note(&batch);
        }
        Ok(allowed)
    }

    /// `count` blocks went.
    pub fn sent(&mut self, count: usize) {
        self.gone += count;
        self.left = self.left.saturating_sub(count);
        self.schedule.advance(count);
        if self.left > 0 {
            return;
        }
        // Counted from where the batch began: what it took to send belongs to its time.
        let soonest = self.anchor.after(self.shortest(self.gone));
        self.due = Some(self.schedule.next().max(soonest));
        self.fresh = true;
    }

    /// The batch that has begun since the last call.
    pub const fn take_begun(&mut self) -> Option<Batch> {
        self.begun.take()
    }

    /// When the next batch is due, put off if the last one was interrupted.
    fn next_due(&mut self, now: Timestamp) -> Timestamp {
        let due = *self.due.get_or_insert(now.after(self.lead));
        let fresh = std::mem::take(&mut self.fresh);
        let late = now.since(due);
        if !fresh || self.limits.interruption.is_none_or(|longest| late <= longest) {
            return due;
        }
        self.held_up = late;
        *self.due.insert(now.after(self.shortest(self.gone)))
    }

    fn begin(&mut self, now: Timestamp, due: Timestamp) {
        let lateness = now.since(due) + std::mem::take(&mut self.held_up);
        if self.began.is_none() {
            self.schedule.start(now);
        }
        let stall = self.limits.stall.max(self.span_of_batch());
        let stalled = if lateness > stall { lateness } else { Duration::ZERO };
        // Who never waits is too slow, and not woken late.
        if std::mem::take(&mut self.waited) && stalled.is_zero() {
            self.batch.learn(lateness);
        }
        let forgone = self.give_up(now, stalled);
        let before = self.began.map(|began| EndedBatch {
            blocks: self.gone,
            bytes: self.block.saturating_mul(self.gone as u64),
            took: now.since(began),
            ideal: self.schedule.span(self.gone),
        });
        self.begun = Some(Batch { lateness, stalled, forgone, before });
        self.began = Some(now);
        self.anchor = due.after(now.since(due).saturating_sub(self.excused()));
        (self.left, self.gone) = (self.batch.blocks(&self.schedule), 0);
    }

    /// How late a batch may be and move nothing: a worker always wakes a little late.
    fn excused(&self) -> Duration {
        match self.pacing {
            Pacing::Even => Duration::ZERO,
            Pacing::Smooth | Pacing::Repay => self.span_of_batch() / burst_size::LEEWAY,
        }
    }

    /// Moves the times that lie ahead by what is not to be made up for; how much of it is
    /// more than a stall.
    fn give_up(&mut self, now: Timestamp, stalled: Duration) -> Duration {
        if self.pacing == Pacing::Repay {
            return Duration::ZERO;
        }
        self.schedule.delay(stalled);
        let longest = self.limits.debt.max(self.span_of_batch());
        let forgone = now.since(self.schedule.next()).saturating_sub(longest);
        self.schedule.delay(forgone);
        forgone
    }

    /// What a batch takes at the rate.
    fn span_of_batch(&self) -> Duration {
        self.schedule.span(self.batch.blocks(&self.schedule))
    }

    /// The least time from the beginning of a batch of `count` blocks to the next.
    fn shortest(&self, count: usize) -> Duration {
        let nanos =
            self.schedule.span(count).as_nanos() * 100 / u128::from(self.limits.catch_up_percent);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

const DATAGRAMS: Limits = Limits {
    stall: Duration::from_millis(1),
    debt: Duration::from_millis(20),
    catch_up_percent: 105,
    interruption: Some(Duration::from_micros(100)),
};
const BLOCKS: Limits = Limits {
    stall: Duration::from_millis(100),
    debt: Duration::from_millis(100),
    catch_up_percent: 120,
    interruption: None,
};
/// A test of a tenth of a second still begins at once.
const LONGEST_LEAD: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests;
