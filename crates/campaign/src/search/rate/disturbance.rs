//! Trials of the rate search that say little about the path: an end had too little CPU time, or a
//! token bucket let more pass at first.

use std::time::Duration;

use measurement::sample::StreamSample;
use measurement::{Direction, TestRecord};

/// How much a trial of the rate search was disturbed by a lack of CPU time at an end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Disturbance {
    /// Share of the time in which the sender should have sent and did not, or of the datagrams that
    /// the socket of the receiver dropped: the greater one.
    pub(super) share: f64,
    /// The longest time that the sender was late.
    pub(super) late: Duration,
    of_sender: bool,
}

impl Disturbance {
    /// Whether another trial may tell more.
    pub(super) fn is_grave(&self) -> bool {
        self.share >= GRAVE
    }

    /// Whether the sender was late for lack of time of its CPU.
    pub(super) const fn is_of_the_sender(&self) -> bool {
        self.of_sender
    }
}

/// The disturbance of a trial; the greater one if it ran in both directions.
pub(super) fn of(record: &TestRecord) -> Disturbance {
    let both = record.outcome.directions.iter().map(|outcome| {
        let way = outcome.direction;
        let pacing = outcome.pacing.as_ref().filter(|_| !waits_for_its_socket(record, way));
        let late = pacing.filter(|report| !report.stalled.is_zero());
        let share = late.map_or(0.0, |report| {
            report.stalled.as_secs_f64() / report.sending.as_secs_f64().max(f64::MIN_POSITIVE)
        });
        let late = late.map_or(Duration::ZERO, |report| {
            Duration::from_nanos(report.gap_error_nanos.max).min(LONGEST)
        });
        let of_sender = share >= GRAVE;
        // A sender that keeps its rate is late for moments only.
        let late = if of_sender { late } else { Duration::ZERO };
        let sent = outcome.datagrams.map_or(0, |all| all.sent).max(1);
        let dropped = dropped_by_socket(record, way) as f64 / sent as f64;
        // One in a hundred is grave already, as no path has lost them.
        Disturbance { share: share.max((dropped * HUNDRED * GRAVE).min(1.0)), late, of_sender }
    });
    both.max_by(|one, other| one.share.total_cmp(&other.share)).unwrap_or_default()
}

/// Whether the stalls of the sender are waits for room in its socket: the link takes no more.
fn waits_for_its_socket(record: &TestRecord, way: Direction) -> bool {
    let stalled = record.outcome.directions.iter().find(|one| one.direction == way);
    let stalled = stalled.and_then(|one| one.pacing.as_ref()).map(|report| report.stalled);
    let waited: u64 = ends(record, way).0.map(|one| one.counters.blocked_nanos).sum();
    stalled.is_none_or(|stalled| Duration::from_nanos(waited) * 4 > stalled)
}

/// Whether a sender waited for room in its socket for much of the time: what is behind it takes no more.
pub(super) fn is_blocked(record: &TestRecord) -> bool {
    let length = record.result_span().unwrap_or_default();
    let is_blocked = |way: Direction| {
        let waits = ends(record, way).0.map(|one| Duration::from_nanos(one.counters.blocked_nanos));
        waits.max().is_some_and(|waited| waited * BLOCKED > length)
    };
    record.outcome.directions.iter().any(|outcome| is_blocked(outcome.direction))
}

/// Datagrams that the socket of the receiver dropped, as nobody read it in time.
fn dropped_by_socket(record: &TestRecord, way: Direction) -> u64 {
    ends(record, way).1.filter_map(|one| one.udp).map(|udp| udp.drops).sum()
}

/// The streams as the sender counted them, and as the receiver did.
fn ends(
    record: &TestRecord,
    way: Direction,
) -> (Box<dyn Iterator<Item = &StreamSample> + '_>, Box<dyn Iterator<Item = &StreamSample> + '_>) {
    let ids = move |sends: bool| {
        let streams = record.streams.iter().filter(move |stream| stream.sender == sends);
        streams.map(|stream| stream.id).collect::<Vec<_>>()
    };
    let ids = ids(way == Direction::Send);
    let of = ids.clone();
    let here = record.samples.last().into_iter().flat_map(|sample| &sample.streams);
    let here = here.filter(move |stream| ids.contains(&stream.id));
    let there = record.reported.streams.iter().filter(move |stream| of.contains(&stream.id));
    let there = there.filter_map(|stream| stream.counted.as_ref());
    if way == Direction::Send {
        (Box::new(here), Box::new(there))
    } else {
        (Box::new(there), Box::new(here))
    }
}

/// The rate at which datagrams arrived in the end, in bit/s, if it is far below that at first;
/// `lasts` is for how long they arrived. None: it did not sink, or is not known.
pub(super) fn sank_to(record: &TestRecord, lasts: Duration) -> Option<f64> {
    let pulses = record.pulses.iter().chain(&record.reported.pulses);
    let sunk = pulses.filter(|pulse| !pulse.sender).filter_map(|pulse| {
        let whole = lasts.as_nanos().checked_div(pulse.every.as_nanos())?;
        let whole = &pulse.bytes[..pulse.bytes.len().min(usize::try_from(whole).ok()?)];
        // Of many the last may be cut off.
        let ends = whole.len().saturating_sub(if whole.len() > FEW { 2 } else { 1 });
        let (first, last) = (*whole.first()? as f64, *whole[ends..].iter().max()? as f64);
        let rate = last * 8.0 / pulse.every.as_secs_f64();
        (whole.len() > 1 && last < first * SUNK && last > 0.0).then_some(rate)
    });
    sunk.reduce(f64::min)
}

/// From this share of the time on a trial is repeated: a quarter.
const GRAVE: f64 = 0.25;
/// One part in so many of the time.
const BLOCKED: u32 = 10;
/// One datagram in so many that the socket of the receiver drops is as grave as [`GRAVE`].
const HUNDRED: f64 = 100.0;
/// A bucket ran empty if the rate sank to this share of that of the first interval.
const SUNK: f64 = 0.7;
/// Intervals of which each counts.
const FEW: usize = 3;
/// The longest delay that is put down to a lack of CPU time.
const LONGEST: Duration = Duration::from_millis(200);
