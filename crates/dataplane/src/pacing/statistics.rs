//! Statistics of the pacers of one worker: the worker writes them, any thread reads them.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use measurement::{BitRate, Pacing, PacingReport, PacingWay};
use portable_atomic::AtomicU64;

use super::{Batch, EndedBatch};
use crate::histogram;

/// A histogram with values to within an eighth.
type Histogram = histogram::Histogram<3>;

/// The pacing statistics of one worker thread, on cache lines of their own. Totals only grow.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct PacingStatistics {
    batches: Histogram,
    gap_errors: Histogram,
    lateness: Histogram,
    bytes: AtomicU64,
    stalls: AtomicU64,
    sending: Nanos,
    stalled: Nanos,
    forgone: Nanos,
    spun: Nanos,
}

impl PacingStatistics {
    /// Adds a batch that has begun, and the one that ended before it. Only the worker thread calls
    /// it.
    pub fn note(&self, batch: &Batch) {
        self.lateness.add(nanos(batch.lateness));
        self.stalled.add(batch.stalled);
        self.forgone.add(batch.forgone);
        increase(&self.stalls, u64::from(!batch.stalled.is_zero()));
        if let Some(before) = &batch.before {
            self.note_ended(before);
        }
    }

    fn note_ended(&self, before: &EndedBatch) {
        self.batches.add(before.blocks as u64);
        self.gap_errors.add(nanos(before.took.abs_diff(before.ideal)));
        self.sending.add(before.took);
        increase(&self.bytes, before.bytes);
    }

    /// Adds a time in which the worker spun until a block was due. Only the worker calls it.
    pub(crate) fn spun(&self, span: Duration) {
        self.spun.add(span);
    }
}

/// The report on `streams` paced streams, from the statistics of the `workers` (threads) that ran
/// them. `asked` is the rate of each stream, `pacing` the spacing, `way` its mechanism (kernel or
/// timers). `None`: no stream has sent two batches yet.
pub fn pacing_report(
    workers: &[&PacingStatistics],
    streams: u32,
    asked: BitRate,
    (pacing, way): (Pacing, PacingWay),
) -> Option<PacingReport> {
    let sum = |of: fn(&PacingStatistics) -> &Nanos| -> Duration {
        workers.iter().map(|statistics| of(statistics).read()).sum()
    };
    let total = |of: fn(&PacingStatistics) -> &AtomicU64| -> u64 {
        workers.iter().map(|statistics| of(statistics).load(Relaxed)).sum()
    };
    let reading = |of: fn(&PacingStatistics) -> &Histogram| {
        histogram::Reading::sum(workers.iter().map(|t| of(t)))
    };
    let (bytes, all, stalled) = (total(|t| &t.bytes), sum(|t| &t.sending), sum(|t| &t.stalled));
    if all.is_zero() || streams == 0 {
        return None;
    }
    let rate = |span: Duration| BitRate::average(bytes, span / streams);
    let sending = all / streams;
    // Each worker with a stream of these sends about as long as one of them does.
    let busy = workers.iter().filter(|statistics| !statistics.sending.read().is_zero()).count();
    let spun = sum(|t| &t.spun).as_secs_f64() / (sending.as_secs_f64() * busy as f64);
    Some(PacingReport {
        pacing,
        way,
        asked: asked.times(streams.into()),
        achieved: rate(all),
        achieved_outside_stalls: rate(all.saturating_sub(stalled)),
        sending,
        stalled: stalled / streams,
        stalls: total(|t| &t.stalls),
        forgone: sum(|t| &t.forgone) / streams,
        batches: reading(|t| &t.batches).quantiles(),
        gap_error_nanos: reading(|t| &t.gap_errors).quantiles(),
        lateness: reading(|t| &t.lateness).powers_of_two(),
        spin_share: spun.clamp(0.0, 1.0),
    })
}

/// A sum of times.
#[derive(Debug, Default)]
struct Nanos(AtomicU64);

impl Nanos {
    fn add(&self, span: Duration) {
        increase(&self.0, nanos(span));
    }

    fn read(&self) -> Duration {
        Duration::from_nanos(self.0.load(Relaxed))
    }
}

/// Increases a number that has only one writer.
fn increase(number: &AtomicU64, by: u64) {
    number.store(number.load(Relaxed).saturating_add(by), Relaxed);
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(stalled_millis: u64) -> Batch {
        let stalled = Duration::from_millis(stalled_millis);
        let took = Duration::from_millis(1) + stalled;
        let before = EndedBatch { blocks: 4, bytes: 1_000, took, ideal: Duration::from_millis(1) };
        let forgone = Duration::ZERO;
        Batch { lateness: stalled, stalled, forgone, before: Some(before) }
    }

    #[test]
    fn stalled_time_counts_in_one_rate_and_not_in_the_other() {
        let statistics = PacingStatistics::default();
        (0..90).for_each(|_| statistics.note(&batch(0)));
        statistics.note(&batch(9));
        let asked = BitRate::from_bits_per_second(8_000_000);
        let manner = (Pacing::Smooth, PacingWay::Timer);
        let report = pacing_report(&[&statistics], 1, asked, manner).expect("it sent");
        assert_eq!(report.achieved_outside_stalls, asked);
        assert_eq!(report.achieved.bits_per_second(), 91_000 * 8 * 10);
        assert_eq!((report.stalls, report.stalled), (1, Duration::from_millis(9)));
        assert_eq!(report.batches.max, 4);
        assert_eq!(report.lateness.iter().sum::<u64>(), 91);
    }

    #[test]
    fn two_streams_send_at_once_and_not_one_after_the_other() {
        let (one, two) = (PacingStatistics::default(), PacingStatistics::default());
        let workers = [&one, &two];
        for statistics in workers {
            statistics.note(&batch(3));
        }
        one.spun(Duration::from_micros(500));
        let each = BitRate::from_bits_per_second(8_000_000);
        let manner = (Pacing::Even, PacingWay::TimerAndSpin);
        let report = pacing_report(&workers, 2, each, manner).expect("they sent");
        assert_eq!((report.achieved_outside_stalls, report.asked), (each.times(2), each.times(2)));
        let millis = Duration::from_millis;
        assert_eq!((report.sending, report.stalled), (millis(4), millis(3)));
        assert_eq!(report.stalls, 2);
        assert!((report.spin_share - 0.0625).abs() < 1e-9);
    }

    #[test]
    fn without_batches_there_is_no_report() {
        let (statistics, rate) = (PacingStatistics::default(), BitRate::from_bits_per_second(1));
        let manner = (Pacing::Smooth, PacingWay::Timer);
        assert_eq!(pacing_report(&[&statistics], 1, rate, manner), None);
    }
}
