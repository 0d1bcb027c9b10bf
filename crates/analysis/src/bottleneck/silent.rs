//! One direction of a TCP test whose sender tells nothing, as its receiver, this host, sees it.

use std::time::Duration;

use measurement::host::{Counter, counter};
use measurement::{Bound, Order, Role, StreamSample, TcpSample, TestRecord};

use super::Case;
use super::load;
use super::response::{Control, at_least};
use super::transfer;
use crate::accounts::Flow;
use crate::evidence::receivers;
use crate::words::{count, percent, share};

/// One direction.
pub(super) struct Arrivals<'a> {
    pub(super) flow: &'a Flow<'a>,
    record: &'a TestRecord,
    /// `TCP_INFO` of each receiving socket at the end of the test.
    pub(super) receivers: Vec<TcpSample>,
    /// Payload bytes a second that arrived, over all streams.
    pub(super) rate: f64,
}

/// Directions of a TCP test that could be faster, and whose senders tell nothing.
pub(super) fn wanting<'a>(case: &'a Case<'_>) -> Vec<Arrivals<'a>> {
    let Some(test) = case.test.filter(|_| case.is_tcp()) else { return Vec::new() };
    let silent = case.wanting().filter_map(|flow| {
        let is_silent = flow.account.tcp.is_none() && flow.receiver() == Role::Here;
        let rate = flow.arrived().filter(|_| is_silent)?.rate.bits_per_second() as f64 / 8.0;
        let receivers = receivers(test.record, flow.outcome.direction);
        let receivers: Vec<_> = receivers.into_iter().filter_map(|one| one.tcp).collect();
        let record = test.record;
        (!receivers.is_empty()).then_some(Arrivals { flow, record, receivers, rate })
    });
    silent.collect()
}

impl Arrivals<'_> {
    /// The least round trip, that of the handshake; none: not told.
    pub(super) fn least_round_trip(&self) -> Option<Duration> {
        let each = self.receivers.iter().map(|tcp| tcp.min_rtt_micros);
        each.filter(|micros| *micros > 0).min().map(micros)
    }

    /// The median of the round trips that the receivers saw during the result, from an
    /// acknowledgement to data that answers it; none: not told. The sender's time stamps are as
    /// fine as a millisecond (RFC 7323).
    pub(super) fn typical_round_trip(&self) -> Option<Duration> {
        let samples = self.record.samples.get(self.record.base + 1..).unwrap_or_default();
        let streams = samples.iter().flat_map(|sample| &sample.streams);
        let told = |one: &StreamSample| one.tcp.map(|tcp| tcp.receiver_rtt_micros);
        let mut told: Vec<_> = streams.filter_map(told).filter(|micros| *micros > 0).collect();
        told.order();
        told.get(told.len() / 2).copied().map(micros)
    }

    /// The delay that a queue adds, where it stands for as long as data arrives: at an even rate,
    /// with a round trip far above the least; or at one as even as a shaper's, with one that is longer
    /// than a window or a buffer without a queue makes it.
    pub(super) fn standing_queue(&self) -> Option<Duration> {
        let (trip, least) = self.typical_round_trip().zip(self.least_round_trip())?;
        let waited = trip.saturating_sub(least);
        let is_far = self.is_even() && trip >= MANY_TIMES * least && waited >= LONG;
        let is_longer = trip >= least.mul_f64(LONGER) && waited >= SOME_STEPS;
        (is_far || (is_longer && self.is_as_even_as_shaped())).then_some(waited)
    }

    /// Bytes of one stream that arrive in each round trip, where no queue stands and the time
    /// stamps can tell.
    pub(super) fn in_flight(&self) -> Option<f64> {
        let (trip, least) = self.typical_round_trip().zip(self.least_round_trip())?;
        let is_free = least >= FINE && trip < least.mul_f64(FREE);
        is_free.then(|| self.rate / self.receivers.len() as f64 * least.as_secs_f64())
    }

    /// The window that this end advertises for one stream, in bytes.
    pub(super) fn window(&self) -> Option<u32> {
        self.receivers.iter().map(|tcp| tcp.receive_window).max().filter(|bytes| *bytes > 0)
    }

    /// The rate that a window of so many bytes for each stream allows; none: the round trip is not
    /// told.
    pub(super) fn bound_by_window(&self, bytes: u32) -> Option<Bound> {
        let trip = self.least_round_trip()?;
        let most = 8.0 * f64::from(bytes) * self.receivers.len() as f64 / trip.as_secs_f64();
        let (bytes, each) = (count(bytes.into()), transfer::shown(trip));
        Some(Bound::exact(most, format!("a window of {bytes} bytes each {each}")))
    }

    /// Segments that the sender sent again, as it says; none: it does not.
    pub(super) fn sent_again(&self) -> Option<u64> {
        self.flow.outcome.retransmits
    }

    /// Segments that arrived after newer ones, by their timestamps, or twice in a transfer whose order
    /// changes, as a share of the segments that were sent again: the path delays them, and loses none;
    /// none: the sender does not report them.
    pub(super) fn late(&self, case: &Case<'_>) -> Option<f64> {
        let late = grown(case, counter::TCP_PAWS);
        let is_by_order = self.early(case) >= OFTEN;
        let twice = self.needless(case).filter(|_| is_by_order).unwrap_or(0.0);
        Some(share(late, self.sent_again()?).min(1.0).max(twice))
    }

    /// Segments that arrived although an earlier one had, by the duplicate SACKs that this host sent
    /// (RFC 2883), as a share of the segments that were sent again; none: the sender does not report
    /// them, or the path duplicates, so that more arrive twice than were sent again.
    pub(super) fn needless(&self, case: &Case<'_>) -> Option<f64> {
        let twice = share(grown(case, counter::TCP_DSACK_OLD_SENT), self.sent_again()?);
        (twice <= ONCE_EACH).then_some(twice)
    }

    /// Segments that arrived before older ones, of all.
    fn early(&self, case: &Case<'_>) -> f64 {
        let arrived = self.receivers.iter().map(|tcp| u64::from(tcp.segments_in)).sum();
        share(grown(case, counter::TCP_OFO_QUEUE), arrived)
    }

    /// Whether segments that were sent again were late, and not lost: most of them arrived, or some
    /// did and more arrives than such loss would let through.
    pub(super) fn are_late(&self, case: &Case<'_>) -> bool {
        let is_refuted = || {
            let bound = self.bound_by_loss();
            bound.is_some_and(|most| REFUTED * (most.to.bits_per_second() as f64) < 8.0 * self.rate)
        };
        let late = self.late(case).unwrap_or(0.0);
        late >= MOST || (late >= SOME && is_refuted())
    }

    /// Whether segments come out of order so often that no loss explains it: each loss lets no more
    /// arrive before it is repaired than a window holds.
    pub(super) fn have_gaps(&self, case: &Case<'_>) -> bool {
        let early = grown(case, counter::TCP_OFO_QUEUE);
        let each = self.window().zip(self.segment()).map_or(0, |(window, one)| window / one);
        let by_loss = self.sent_again().unwrap_or(0).saturating_mul(each.into());
        early > by_loss && self.early(case) >= OFTEN
    }

    /// Share of the segments that were retransmitted, 0 to 1; none: the sender does not report it.
    pub(super) fn lost(&self) -> Option<f64> {
        let again = self.sent_again()?;
        let arrived = self.flow.arrived()?.bytes / u64::from(self.segment()?);
        Some(share(again, again.saturating_add(arrived)))
    }

    /// The rate that the congestion control reaches with the retransmitted share as its loss; none:
    /// its rate does not depend on loss, or the loss is not known.
    pub(super) fn bound_by_loss(&self) -> Option<Bound> {
        let (lost, least, segment) = (self.lost()?, self.least_round_trip()?, self.segment()?);
        let trip = self.typical_round_trip().map_or(least, |trip| trip.max(least));
        let control = self.control();
        let streams = self.receivers.len() as f64;
        let from = control.rate_with_time_outs(segment, trip, lost)?;
        let to = control.rate(segment, least, at_least(lost, self.sent_again()? as f64))?;
        let (name, each) = (control.name(), transfer::shown(least));
        let arithmetic = format!("{name} with {} of loss each {each}", percent(lost));
        Some(Bound::between(8.0 * streams * from, 8.0 * streams * to, arithmetic))
    }

    /// The congestion control that the sender reports, else the requested one, else CUBIC, the default
    /// of Linux.
    pub(super) fn control(&self) -> Control {
        let asked = &self.record.plan.options.congestion;
        let name = self.record.reported.congestion.as_ref().or(asked.as_ref());
        name.map_or(Control::Cubic, |name| Control::named(name))
    }

    /// Whether neither end, nor this host's window, nor a queue explains the rate.
    pub(super) fn is_only_the_path_left(&self, case: &Case<'_>) -> bool {
        let (here, there) = (self.flow.receiver(), self.flow.sender());
        let has_time = load::has_time(case, &here) == Some(true);
        has_time && load::sends_at_ease(case, &there) && self.standing_queue().is_none()
    }

    fn segment(&self) -> Option<u32> {
        let each = self.receivers.iter().map(|tcp| tcp.segment);
        each.max().filter(|bytes| *bytes > 0)
    }

    /// Whether about as much arrived in each step.
    pub(super) fn is_even(&self) -> bool {
        let steps = self.steps();
        let mean = mean(steps);
        let is_near = |bytes: &&u64| (**bytes as f64 - mean).abs() <= EVEN * mean;
        steps.len() >= FEW && steps.iter().filter(is_near).count() >= steps.len() - 1
    }

    /// Whether as much arrived in each step as a shaper lets through: what a window lets go in each
    /// round trip comes in bursts.
    pub(super) fn is_as_even_as_shaped(&self) -> bool {
        let steps = self.steps();
        let mean = mean(steps);
        let squares = steps.iter().map(|bytes| (*bytes as f64 - mean).powi(2));
        let deviation = (squares.sum::<f64>() / steps.len().max(1) as f64).sqrt();
        steps.len() >= FEW && deviation <= SHAPED * mean
    }

    /// Bytes that arrived in each step of the second half of the result, the last step left out.
    fn steps(&self) -> &[u64] {
        let pulse = self.record.pulses.iter().find(|pulse| !pulse.sender);
        let steps = pulse.map_or(&[][..], |pulse| pulse.bytes.as_slice());
        &steps[steps.len() / 2..steps.len().saturating_sub(1).max(steps.len() / 2)]
    }
}

/// By how much a counter of TCP grew at this host.
fn grown(case: &Case<'_>, counter: Counter<'static>) -> u64 {
    transfer::grown(case.host(&Role::Here), &[counter]).first().map_or(0, |(_, by)| *by)
}

fn mean(steps: &[u64]) -> f64 {
    steps.iter().sum::<u64>() as f64 / steps.len().max(1) as f64
}

fn micros(micros: u32) -> Duration {
    Duration::from_micros(micros.into())
}

/// Round trips under load, against that of the handshake, from which on a queue stands.
const MANY_TIMES: u32 = 2;
/// Above the least round trip: some steps of the time stamps.
const LONG: Duration = Duration::from_millis(5);
/// At a rate as even as a shaper's. By planted faults: 1.2 to 2.0 times behind a shaper, and at most
/// 1.05 times with a window or a buffer that limits.
const LONGER: f64 = 1.15;
const SOME_STEPS: Duration = Duration::from_millis(2);
/// Round trips that the time stamps can tell, and those under load without a queue.
const FINE: Duration = Duration::from_millis(4);
const FREE: f64 = 1.5;
/// Shares of the segments that were sent again.
const MOST: f64 = 0.5;
const SOME: f64 = 0.05;
/// Share of the segments.
const OFTEN: f64 = 0.1;
/// Segments that arrived twice for each that was sent again, give or take.
const ONCE_EACH: f64 = 1.2;
/// So many times the greatest rate that a bound allows refute it.
const REFUTED: f64 = 2.0;
/// Largest deviation of a step from the mean, as a share of the mean, at an even rate.
const EVEN: f64 = 0.15;
/// Largest standard deviation of the steps, as a share of their mean, behind a shaper. With a window
/// that limits it was 0.03 to 0.09.
const SHAPED: f64 = 0.025;
/// Least number of steps from which an even rate is told.
const FEW: usize = 5;
