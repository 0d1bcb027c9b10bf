//! One direction of a TCP test in which something is missing, as rules of TCP look at it.

use std::time::Duration;

use measurement::host::{Counter, counter};
use measurement::judgement::{TcpAccount, TimeShares};
use measurement::units::show_time;
use measurement::{Bound, Order, Role, Sample, TcpSample, TestRecord};

use super::Case;
use super::response::{Control, at_least};
use crate::accounts::Flow;
use crate::evidence::{HostView, receivers, senders};
use crate::steady;
use crate::words::{percent, share};

/// One direction.
pub(super) struct Transfer<'a> {
    pub(super) flow: &'a Flow<'a>,
    pub(super) account: &'a TcpAccount,
    /// What its senders said at the end.
    pub(super) senders: Vec<TcpSample>,
    /// Payload bytes a second that arrived, over all streams.
    pub(super) rate: f64,
    /// Segments that arrived after newer ones, by their timestamps: they were late, and not lost.
    late: u64,
}

/// Segments without data that go back to the senders.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledgements {
    /// Segments that the receivers sent.
    pub(super) sent: u64,
    /// Segments that reached the senders.
    pub(super) arrived: u64,
    /// Payload bytes that they acknowledged.
    pub(super) data: u64,
}

/// Directions of a TCP test that could be faster.
pub(super) fn wanting<'a>(case: &'a Case<'_>) -> Vec<Transfer<'a>> {
    let Some(test) = case.test.filter(|_| case.is_tcp()) else { return Vec::new() };
    let reported = case.wanting().filter_map(|flow| {
        let account = flow.account.tcp.as_ref()?;
        let senders = senders(test.record, flow.outcome.direction);
        let senders = senders.into_iter().filter_map(|(one, _)| one.tcp).collect();
        let headline = flow.outcome.headline()?;
        let rate = headline.bytes as f64 / headline.span.as_secs_f64().max(f64::MIN_POSITIVE);
        let late = grown(case.host(&flow.receiver()), &[counter::TCP_PAWS]);
        let late = late.first().map_or(0, |(_, segments)| *segments);
        Some(Transfer { flow, account, senders, rate, late })
    });
    reported.collect()
}

impl Transfer<'_> {
    /// Where the sender's time went; nothing in all places if it does not tell.
    pub(super) fn shares(&self) -> TimeShares {
        self.account.shares.unwrap_or_default()
    }

    pub(super) fn sender(&self) -> Role {
        self.flow.sender()
    }

    pub(super) fn receiver(&self) -> Role {
        self.flow.receiver()
    }

    /// The least round trip of its streams; none: not told.
    pub(super) fn least_round_trip(&self) -> Option<Duration> {
        self.account.min_rtt_micros.map(|micros| Duration::from_micros(micros.into()))
    }

    /// The median of the smoothed round trips that this end saw during the result, over all
    /// streams; of a sender at the other end that at the end. None: not told.
    pub(super) fn typical_round_trip(&self) -> Option<Duration> {
        self.account.rtt_micros.map(|micros| Duration::from_micros(micros.into()))
    }

    /// The median of the congestion windows, in bytes of one stream; none: not told.
    pub(super) fn typical_congestion_window(&self, case: &Case<'_>) -> Option<f64> {
        self.typical(case, |tcp| tcp.congestion_window).map(|bytes| bytes as f64)
    }

    /// The median of what samples of the senders say during the result, zeros left out.
    fn typical(&self, case: &Case<'_>, of: impl Fn(&TcpSample) -> u64) -> Option<u64> {
        let mut values: Vec<_> = self.seen(case).iter().map(of).filter(|one| *one > 0).collect();
        values.order();
        values.get(values.len() / 2).copied()
    }

    /// What the senders said again and again; where they are at the other end, at the end.
    fn seen(&self, case: &Case<'_>) -> Vec<TcpSample> {
        let record = case.test.map(|test| test.record).filter(|_| self.sender() == Role::Here);
        let Some(record) = record else { return self.senders.clone() };
        let samples = record.samples.get(record.base + 1..).unwrap_or_default();
        let each = samples.iter().flat_map(|sample| sample.streams.iter().zip(&record.streams));
        each.filter(|(_, stream)| stream.sender).filter_map(|(one, _)| one.tcp).collect()
    }

    /// What the receivers sent, and what of it reached the senders; none: not told.
    pub(super) fn acknowledgements(&self, case: &Case<'_>) -> Option<Acknowledgements> {
        let record = case.test?.record;
        let receivers = receivers(record, self.flow.outcome.direction).into_iter();
        let sum = |all: &mut dyn Iterator<Item = u32>| all.map(u64::from).sum::<u64>();
        let sent = sum(&mut receivers.filter_map(|one| one.tcp).map(|tcp| tcp.segments_out));
        let arrived = sum(&mut self.senders.iter().map(|tcp| tcp.segments_in));
        let data = self.account.acknowledged;
        (sent > 0 && arrived > 0).then_some(Acknowledgements { sent, arrived, data })
    }

    /// The congestion control that ran at the sender.
    pub(super) fn control(&self, case: &Case<'_>) -> Control {
        let record = case.test.map(|test| test.record);
        let name = record.and_then(|record| match self.sender() {
            Role::Here => record.streams.iter().find_map(|stream| stream.congestion.as_deref()),
            _ => record.reported.congestion.as_deref(),
        });
        name.map_or(Control::Reno, Control::named)
    }

    /// Payload bytes of its largest segment; none: not told.
    pub(super) fn segment(&self) -> Option<u32> {
        self.senders.iter().map(|tcp| tcp.segment).max().filter(|bytes| *bytes > 0)
    }

    /// What the sender's congestion control reaches with the loss that it saw, with the queues of
    /// the path and without; none: it is not decided by loss, or not told.
    pub(super) fn bound_by_loss(&self, case: &Case<'_>) -> Option<Bound> {
        let (trip, least) = self.typical_round_trip().zip(self.least_round_trip())?;
        let (control, segment) = (self.control(case), self.segment()?);
        let streams = self.senders.len().max(1) as f64;
        let lost = self.sent_again() * (1.0 - self.spurious());
        let least_rate = control.rate_with_time_outs(segment, trip, lost)?;
        let times = self.account.retransmitted_segments as f64 * (1.0 - self.spurious());
        let most = control.rate(segment, least, at_least(lost, times))?;
        let (name, each) = (control.name(), shown(least));
        let arithmetic = format!("{name} with {} of loss each {each}", percent(lost));
        Some(Bound::between(8.0 * streams * least_rate, 8.0 * streams * most, arithmetic))
    }

    /// Whether segments that were sent again were late, and not lost: they changed their order,
    /// and more arrives than such loss would let through.
    pub(super) fn are_late(&self, case: &Case<'_>) -> bool {
        let changed = self.account.reorderings > self.account.retransmitted_segments / 2
            || self.changes_order_later(case);
        let again = self.sent_again();
        let bears_loss = self.control(case) == Control::Bbr && (MUCH..BORNE).contains(&again);
        changed && (bears_loss || self.refutes_its_loss(case))
    }

    /// Whether the order changed more often than half of the segments that were sent again.
    pub(super) fn changes_order(&self) -> bool {
        is_reordered(self.account.reorderings, self.account.retransmitted_segments)
    }

    /// The same after the first sample: slow start may have filled a queue until it overflowed,
    /// and what that lost is most of what the whole test lost.
    pub(super) fn changes_order_later(&self, case: &Case<'_>) -> bool {
        let of = |sample: &Sample, record: &TestRecord| {
            let each = sample.streams.iter().zip(&record.streams);
            let own = each.filter(|(_, stream)| stream.sender).filter_map(|(one, _)| one.tcp);
            own.fold((0, 0), |(order, again): (u64, u64), tcp| {
                let order = order.saturating_add(tcp.reorderings.into());
                (order, again.saturating_add(tcp.retransmits))
            })
        };
        let record = case.test.map(|test| test.record).filter(|_| self.sender() == Role::Here);
        let later = record.and_then(|record| {
            let samples = record.samples.get(record.base + 1..)?;
            let (first, last) = samples.first().zip(samples.last())?;
            let (first, last) = (of(first, record), of(last, record));
            Some((last.0.checked_sub(first.0)?, last.1.checked_sub(first.1)?))
        });
        later.is_some_and(|(order, again)| is_reordered(order, again))
    }

    /// Whether far more arrives than the congestion control reaches with the share of loss that was
    /// seen: it came at once, and is not what bounds the whole.
    pub(super) fn refutes_its_loss(&self, case: &Case<'_>) -> bool {
        let bound = self.bound_by_loss(case);
        bound.is_some_and(|most| (most.to.bits_per_second() as f64) < 8.0 * self.rate / REFUTED)
    }

    /// Whether the congestion control goes on as if it had not seen the loss.
    pub(super) fn bears_its_loss(&self, case: &Case<'_>) -> bool {
        self.control(case) == Control::Bbr && self.sent_again() < BORNE
    }

    /// Whether the sender tells that it waited for its congestion window, which loss makes small, for
    /// a small part of the time.
    pub(super) fn hardly_waits(&self) -> bool {
        self.account.shares.is_some_and(|shares| shares.congestion_window < SELDOM)
    }

    /// Whether so much is lost as a policer takes of what exceeds its rate.
    pub(super) fn loses_much(&self) -> bool {
        self.sent_again() >= POLICED
    }

    /// The delay that a queue adds under load, where it stands: the typical round trip is far
    /// above the least.
    pub(super) fn standing_queue(&self) -> Option<Duration> {
        let (trip, least) = self.typical_round_trip().zip(self.least_round_trip())?;
        let waited = trip.saturating_sub(least);
        (trip >= MANY_TIMES * least && waited >= LONG).then_some(waited)
    }

    /// Whether a queue stands that drains at an even rate: what makes the rate does not pause, as
    /// threads do.
    pub(super) fn is_settled(&self, case: &Case<'_>) -> bool {
        self.standing_queue().is_some() && self.is_even(case)
    }

    /// Whether about as much arrived in most steps.
    pub(super) fn is_even(&self, case: &Case<'_>) -> bool {
        let record = case.test.map(|test| test.record);
        record.is_some_and(|record| steady::is_even(record, self.flow.outcome.direction))
    }

    /// Whether round trips are longer than the least one.
    pub(super) fn has_queue(&self) -> bool {
        let trips = self.typical_round_trip().zip(self.least_round_trip());
        trips.is_some_and(|(trip, least)| trip >= least.mul_f64(QUEUED))
    }

    /// Bytes that must be under way to keep the link of that rate full: rate times least round
    /// trip, for one stream.
    pub(super) fn on_the_way(&self) -> Option<f64> {
        let streams = self.senders.len().max(1) as f64;
        Some(self.rate / streams * self.least_round_trip()?.as_secs_f64())
    }

    /// Bytes sent again, of those sent.
    pub(super) fn sent_again(&self) -> f64 {
        let account = self.account;
        share(account.retransmitted, account.acknowledged.saturating_add(account.retransmitted))
    }

    /// Segments that had arrived when they were sent again, of those sent again.
    pub(super) fn spurious(&self) -> f64 {
        let arrived = self.account.spurious_segments.max(self.late);
        share(arrived, self.account.retransmitted_segments).min(1.0)
    }

    /// Whether the sender waited for the path at least half of the time: for its congestion window,
    /// or for a send buffer that is full as a queue of the path is. A kernel that keeps no times may
    /// have.
    pub(super) fn may_wait_for_the_path(&self) -> bool {
        let queues = self.standing_queue().is_some();
        self.account.shares.is_none_or(|shares| {
            shares.congestion_window + if queues { shares.send_buffer } else { 0.0 } >= 0.5
        })
    }
}

const fn is_reordered(times: u64, sent_again: u64) -> bool {
    times >= OFTEN && times > sent_again / 2
}

/// Changes of the order. To be calibrated.
const OFTEN: u64 = 100;
/// Share of the bytes that were sent again from which on that tells.
const MUCH: f64 = 0.001;
/// Share of loss that BBR bears without slowing down (up to a fifth, the first version).
const BORNE: f64 = 0.15;
/// Share of the time.
const SELDOM: f64 = 0.3;
/// Share of the bytes. By planted policers: 3 to 13 %, whatever the congestion control.
const POLICED: f64 = 0.02;
/// So many times the greatest rate that a bound allows refute it.
const REFUTED: f64 = 2.0;
/// Round trips under load, against the least, from which on a queue stands.
const MANY_TIMES: u32 = 5;
/// Round trips under load, against the least, from which on something waits in a queue.
const QUEUED: f64 = 1.5;
/// Above the least round trip: what interrupts and wake-ups add is less.
const LONG: Duration = Duration::from_millis(1);

/// By how much counters of TCP grew at a host, those that did.
pub(super) fn grown<'a>(
    host: Option<&HostView<'_>>,
    counters: &[Counter<'a>],
) -> Vec<(Counter<'a>, u64)> {
    let Some(host) = host else { return Vec::new() };
    let each = counters.iter().filter_map(|counter| {
        let grown = host.growth(*counter).filter(|grown| *grown > 0)?;
        Some((*counter, grown))
    });
    each.collect()
}

/// A time to three digits or so: a microsecond, ten of them from a millisecond on.
pub(super) fn shown(time: Duration) -> String {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let grain = match micros {
        0..1_000 => 1,
        1_000..1_000_000 => 10,
        _ => 10_000,
    };
    show_time(Duration::from_micros(micros / grain * grain))
}

/// `TCPRcvQDrop +12, PruneCalled +3`.
pub(super) fn in_words(grown: &[(Counter<'_>, u64)]) -> String {
    let named = |(counter, by): &(Counter<'_>, u64)| {
        format!("{} +{}", counter.field(), crate::words::count(*by))
    };
    let words = grown.iter().map(named);
    words.collect::<Vec<_>>().join(", ")
}
