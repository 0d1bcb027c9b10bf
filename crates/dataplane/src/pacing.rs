//! Keeps a rate in the worker threads: when the next blocks are due, and how many go at once.
//! The time is an argument, and nothing here waits: the worker does.
//!
//! A batch that was late by more than a part of its time delays those after it. They follow a
//! little closer than the rate has it until the average is right again, and never in one burst. A
//! sender whose CPU is taken from it again and again owes more and more: from a quarter of what it
//! may owe on batches follow the closer the more is owed.
//!
//! Each decision on keeping a rate is made in one place:
//!
//! | decision | place |
//! |---|---|
//! | whether the kernel paces (`SO_MAX_PACING_RATE`) or a worker does | `session::sockets::pacing` |
//! | whether many datagrams go as one packet (GSO) at this rate | `session::batches` |
//! | the length of a block at this rate | `session::blocks` |
//! | when each block is due if none is ever late | `schedule.rs` here |
//! | how many blocks go back to back | `burst_size.rs` here |
//! | what a sender that was late makes up for, and how fast | this file |
//! | sleeping and spinning until a block is due | `mars`, asked for by [`crate::Step`] |

use std::time::Duration;

use measurement::{BitRate, Pacing, Timestamp};

mod burst_size;
mod schedule;
mod statistics;

pub use statistics::{PacingStatistics, pacing_report};

use burst_size::BurstSize;
use schedule::Schedule;

/// Spaces the blocks or datagrams of one stream so that they keep a rate. It does not send: it
/// tells the sender how many may go now.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    schedule: Schedule,
    pacing: Pacing,
    /// The length of a block in bytes.
    block: u64,
    /// The number of blocks that go back to back.
    batch: BurstSize,
    limits: &'static Limits,
    /// Blocks of the current batch that have not gone.
    left: usize,
    /// Blocks of the current batch that have gone.
    gone: usize,
    /// The time when the next batch is due.
    due: Option<Timestamp>,
    /// The time that the first batch waits.
    lead: Duration,
    /// The time when the last batch began.
    began: Option<Timestamp>,
    /// The time from which the next batch keeps its distance: the beginning of this one, less
    /// the part of its lateness that is excused.
    anchor: Timestamp,
    /// The sender had to wait for this batch: it was not too slow.
    waited: bool,
    /// [`Self::allowance`] was not called since the last block of the batch went.
    fresh: bool,
    /// The lateness of the next batch that is due to an interruption of this one.
    held_up: Duration,
    begun: Option<Batch>,
}

/// The limits within which a pacer makes up for lateness.
#[derive(Debug)]
struct Limits {
    /// A batch that is later than this was stalled.
    stall: Duration,
    /// A sender that is farther behind than this is too slow; the excess is given up.
    debt: Duration,
    /// The rate at which it catches up, in percent of the rate asked: where up to a quarter of
    /// [`Self::debt`] is owed, and from half of it on.
    catch_up_percent: (u64, u64),
    /// A batch that takes so much longer to send than it may was interrupted: what is left of
    /// it goes at its end, so that the next one has to keep away from there. None: it is
    /// the network that takes its time.
    interruption: Option<Duration>,
}

/// The wait of a sender whose next block is not due yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacingWait {
    /// The sender sleeps until about this time.
    Until(Timestamp),
    /// The sender sleeps until shortly before this time, and spins for the rest.
    Exactly(Timestamp),
}

/// A batch of blocks that a [`Pacer`] has let begin: how late it was, for [`PacingStatistics`]. A
/// batch is a number of blocks, or datagrams, that are sent back to back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// How much later than its scheduled time the batch began.
    pub lateness: Duration,
    /// The lateness if it was a stall, else zero. It is made up for by [`Pacing::Repay`]
    /// and [`Pacing::Average`] only.
    pub stalled: Duration,
    /// Time whose blocks were given up because the sender is too slow for the rate.
    pub forgone: Duration,
    /// The previous batch, which has ended. None: this is the first.
    pub before: Option<EndedBatch>,
}

/// A batch of blocks that a [`Pacer`] has finished: its size, its duration and the ideal one. A
/// batch is a number of blocks, or datagrams, that are sent back to back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedBatch {
    /// Number of blocks in the batch.
    pub blocks: usize,
    /// Number of bytes in the batch.
    pub bytes: u64,
    /// Time from the beginning of the batch to that of the next one.
    pub took: Duration,
    /// Time that the batch takes at the rate.
    pub ideal: Duration,
}

impl Pacer {
    /// A pacer of datagrams of `length` payload bytes at `rate`. The number of datagrams that are
    /// sent back to back adapts to how late the worker thread wakes.
    pub fn for_datagrams(rate: BitRate, length: u64) -> Self {
        let pacer = Self::new(rate, length, &DATAGRAMS);
        Self { batch: BurstSize::for_datagrams(&pacer.schedule), ..pacer }
    }

    /// A pacer of frames of `length` bytes at `rate`, for a device whose queues are measured: as
    /// [`Self::for_datagrams`], but frames go one by one wherever there is time for it.
    pub fn for_frames(rate: BitRate, length: u64) -> Self {
        let pacer = Self::new(rate, length, &DATAGRAMS);
        Self { batch: BurstSize::for_frames(&pacer.schedule), ..pacer }
    }

    /// A pacer of blocks of `block` bytes of a byte stream at `rate`. Congestion delays such blocks
    /// at times. So the pacer makes up for more lateness than with datagrams, at up to 120 % of the
    /// rate, like the kernel in congestion avoidance (`tcp_pacing_ca_ratio`,
    /// Documentation/networking/ip-sysctl.rst).
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

    /// Sets the kind of pacing. [`Pacing::Even`] also sets the burst length to one block; to send
    /// longer bursts, call [`Self::with_burst`] after this.
    #[must_use]
    pub fn with_pacing(mut self, pacing: Pacing) -> Self {
        self.pacing = pacing;
        if pacing == Pacing::Even {
            self.batch = BurstSize::fixed(1);
        }
        self
    }

    /// Lets `burst` blocks, at least one, go back to back whenever the rate allows the first of
    /// them. The pacer then waits until the average is the rate again.
    #[must_use]
    pub fn with_burst(mut self, burst: usize) -> Self {
        self.batch = BurstSize::fixed(burst);
        self
    }

    /// Delays the first batch by half of the time that a batch takes at the rate, but at most 5 ms.
    /// Without it a test sends one batch more than its rate allows in its time.
    #[must_use]
    pub fn centred(mut self) -> Self {
        self.lead = (self.span_of_batch() / 2).min(LONGEST_LEAD);
        self
    }

    /// Sets the CPU time that the worker needs to sleep until a batch is due. Where it is much, and the
    /// length of a batch is not set, batches grow.
    pub(crate) fn set_wake_cost(&mut self, cost: Duration) {
        self.batch.set_wake_cost(cost);
    }

    /// The kind of pacing, i.e. how the blocks are spaced and whether those of a stall are sent
    /// later.
    pub const fn pacing(&self) -> Pacing {
        self.pacing
    }

    /// How many of `most` blocks may be sent at the time `now`.
    ///
    /// # Errors
    /// No block may be sent yet: the time when the next one is due.
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

    /// How many of `most` blocks may go now. A batch that begins is noted in `statistics`.
    ///
    /// # Errors
    /// The wait until the next block is due.
    pub(crate) fn step(
        &mut self,
        now: Timestamp,
        most: usize,
        statistics: &PacingStatistics,
    ) -> Result<usize, PacingWait> {
        let allowed = self.allowance(now, most).map_err(|due| match self.pacing {
            Pacing::Even => PacingWait::Exactly(due),
            Pacing::Smooth | Pacing::Repay | Pacing::Average => PacingWait::Until(due),
        })?;
        if let Some(batch) = self.take_begun() {
            statistics.note(&batch);
        }
        Ok(allowed)
    }

    /// Counts `count` blocks that were sent, after [`Self::allowance`] let them go.
    pub fn sent(&mut self, count: usize) {
        self.gone += count;
        self.left = self.left.saturating_sub(count);
        self.schedule.advance(count);
        if self.left > 0 {
            return;
        }
        // Counted from the beginning of the batch: the time of sending is part of its time.
        let usual = self.anchor.after(self.schedule.span(self.gone));
        let owed = usual.since(self.schedule.next());
        let soonest = self.anchor.after(self.shortest(self.gone, owed));
        self.due = Some(self.schedule.next().max(soonest));
        self.fresh = true;
    }

    /// The batch that has begun since the last call of this function. `None`: none has begun.
    pub const fn take_begun(&mut self) -> Option<Batch> {
        self.begun.take()
    }

    /// The time when the next batch is due, put off if the last one was interrupted.
    fn next_due(&mut self, now: Timestamp) -> Timestamp {
        let due = *self.due.get_or_insert(now.after(self.lead));
        let fresh = std::mem::take(&mut self.fresh);
        let late = now.since(due);
        let keeps_away = fresh && self.pacing != Pacing::Average;
        if !keeps_away || self.limits.interruption.is_none_or(|longest| late <= longest) {
            return due;
        }
        self.held_up = late;
        *self.due.insert(now.after(self.shortest(self.gone, Duration::ZERO)))
    }

    fn begin(&mut self, now: Timestamp, due: Timestamp) {
        let lateness = now.since(due) + std::mem::take(&mut self.held_up);
        if self.began.is_none() {
            self.schedule.start(now);
        }
        let stall = self.limits.stall.max(self.span_of_batch());
        let stalled = if lateness > stall { lateness } else { Duration::ZERO };
        // A sender that did not wait is too slow; it was not woken late.
        if std::mem::take(&mut self.waited) && stalled.is_zero() {
            self.batch.learn(lateness, self.schedule.span(1));
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

    /// The lateness of a batch that does not delay the next ones: a worker always wakes a
    /// little late.
    fn excused(&self) -> Duration {
        match self.pacing {
            Pacing::Even => Duration::ZERO,
            Pacing::Smooth | Pacing::Repay | Pacing::Average => {
                self.span_of_batch() / burst_size::LEEWAY
            }
        }
    }

    /// Delays the schedule by the time that is not to be made up for. Returns the part that is
    /// not due to a stall.
    fn give_up(&mut self, now: Timestamp, stalled: Duration) -> Duration {
        if matches!(self.pacing, Pacing::Repay | Pacing::Average) {
            return Duration::ZERO;
        }
        self.schedule.delay(stalled);
        let longest = self.limits.debt.max(self.span_of_batch());
        let forgone = now.since(self.schedule.next()).saturating_sub(longest);
        self.schedule.delay(forgone);
        forgone
    }

    /// The time that a batch takes at the rate.
    fn span_of_batch(&self) -> Duration {
        self.schedule.span(self.batch.blocks(&self.schedule))
    }

    /// The least time from the beginning of a batch of `count` blocks to the next, of a sender that is
    /// behind by the time `owed`; none where only the mean counts.
    fn shortest(&self, count: usize, owed: Duration) -> Duration {
        if self.pacing == Pacing::Average {
            return Duration::ZERO;
        }
        let (little, much) = self.limits.catch_up_percent;
        let quarter = self.limits.debt / 4;
        let owed = owed.saturating_sub(quarter).min(quarter).as_nanos();
        let more = if self.pacing == Pacing::Smooth { much - little } else { 0 };
        let percent = u128::from(little) + u128::from(more) * owed / quarter.as_nanos();
        let nanos = self.schedule.span(count).as_nanos() * 100 / percent;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

const DATAGRAMS: Limits = Limits {
    stall: Duration::from_millis(1),
    debt: Duration::from_millis(20),
    catch_up_percent: (105, 200),
    interruption: Some(Duration::from_micros(100)),
};
const BLOCKS: Limits = Limits {
    stall: Duration::from_millis(100),
    debt: Duration::from_millis(100),
    catch_up_percent: (120, 120),
    interruption: None,
};
/// Short enough for a test of a tenth of a second.
const LONGEST_LEAD: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests;
