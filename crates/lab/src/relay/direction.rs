//! The frames of one direction of a relay. Sockets and clocks are the caller's.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use fastrand::Rng;

use super::{Impairment, RelayCounters};

/// Frames on their way, each with the time at which it leaves.
#[derive(Debug)]
pub(super) struct Direction {
    impairment: Impairment,
    /// Seeded, so that the same seed makes the same decisions.
    random: Rng,
    /// By time of departure, then in order of arrival.
    waiting: BTreeMap<(Duration, u64), Vec<u8>>,
    accepted: u64,
    /// When the last frame leaves the rate limit.
    free_at: Duration,
    /// When the last datagram leaves the device.
    served_at: Duration,
    load: Load,
    counters: RelayCounters,
}

impl Direction {
    pub(super) const fn new(impairment: Impairment, seed: u64) -> Self {
        Self {
            impairment,
            random: Rng::with_seed(seed),
            waiting: BTreeMap::new(),
            accepted: 0,
            free_at: Duration::ZERO,
            served_at: Duration::ZERO,
            load: Load::new(),
            counters: RelayCounters { forwarded: 0, lost: 0, queue_drops: 0, undelivered: 0 },
        }
    }

    /// Takes a frame. Its `virtio_net_hdr` takes no time on the wire.
    pub(super) fn accept(&mut self, now: Duration, frame: &[u8]) {
        if self.random.f64() < self.impairment.loss {
            self.counters.lost += 1;
            return;
        }
        let bytes = frame.len().saturating_sub(VIRTUAL_HEADER);
        let Some(served) = self.served(now, frame) else {
            self.counters.undelivered += 1;
            return;
        };
        let Some(sent) = self.transmitted(served, bytes) else {
            self.counters.queue_drops += 1;
            return;
        };
        let mut due = sent + self.impairment.delay;
        if self.random.f64() < self.impairment.reorder {
            due += self.impairment.reorder_delay;
        }
        self.put(due, frame.to_vec());
        if self.random.f64() < self.impairment.duplicate {
            self.put(due, frame.to_vec());
        }
    }

    /// Removes the next frame that leaves by `now`.
    pub(super) fn due(&mut self, now: Duration) -> Option<Vec<u8>> {
        let first = self.waiting.first_entry()?;
        if first.key().0 > now {
            return None;
        }
        self.counters.forwarded += 1;
        Some(first.remove())
    }

    /// When the next frame leaves.
    pub(super) fn next(&self) -> Option<Duration> {
        self.waiting.first_key_value().map(|((due, _), _)| *due)
    }

    /// Counters of all frames so far.
    pub(super) const fn counters(&self) -> RelayCounters {
        self.counters
    }

    /// When a frame leaves the device, which serves datagrams at a rate that depends on what it is
    /// offered now; `None` if its queue is full.
    fn served(&mut self, now: Duration, frame: &[u8]) -> Option<Duration> {
        let Some(curve) = self.impairment.delivery.filter(|_| is_datagram(frame)) else {
            return Some(now);
        };
        let bytes = frame.len().saturating_sub(VIRTUAL_HEADER);
        let service = curve.service(self.load.add(now, bytes));
        let start = self.served_at.max(now);
        if start.saturating_sub(now) > self.impairment.queue_limit {
            return None;
        }
        self.served_at = start + Duration::from_secs_f64(bytes as f64 * 8.0 / service.max(1.0));
        Some(self.served_at)
    }

    /// When the last bit of `bytes` has left; `None` if the queue is full.
    fn transmitted(&mut self, now: Duration, bytes: usize) -> Option<Duration> {
        let Some(rate) = self.impairment.rate else { return Some(now) };
        let start = self.free_at.max(now);
        if start.saturating_sub(now) > self.impairment.queue_limit {
            return None;
        }
        let seconds = bytes as f64 * 8.0 / rate.bits_per_second() as f64;
        self.free_at = start + Duration::from_secs_f64(seconds);
        Some(self.free_at)
    }

    fn put(&mut self, due: Duration, frame: Vec<u8>) {
        self.waiting.insert((due, self.accepted), frame);
        self.accepted += 1;
    }
}

/// The datagrams that a device was offered lately.
#[derive(Debug)]
struct Load {
    /// When each came, and its bytes.
    frames: VecDeque<(Duration, usize)>,
    bytes: usize,
}

impl Load {
    const fn new() -> Self {
        Self { frames: VecDeque::new(), bytes: 0 }
    }

    /// Adds a frame; the rate in bit/s with it, over the last [`WINDOW`].
    fn add(&mut self, now: Duration, bytes: usize) -> f64 {
        self.frames.push_back((now, bytes));
        self.bytes += bytes;
        while let Some(&(_, bytes)) = self.frames.front().filter(|(at, _)| *at + WINDOW <= now) {
            self.frames.pop_front();
            self.bytes -= bytes;
        }
        self.bytes as f64 * 8.0 / WINDOW.as_secs_f64()
    }
}

/// Whether a frame has UDP over IPv4 (IEEE 802.3 EtherType, RFC 791 protocol).
fn is_datagram(frame: &[u8]) -> bool {
    let ethernet = frame.get(VIRTUAL_HEADER..).unwrap_or_default();
    ethernet.get(12..14) == Some(&[0x08, 0x00]) && ethernet.get(23) == Some(&UDP)
}

/// Of the rate that a device is offered: long enough that what a late CPU held up is a small peak.
const WINDOW: Duration = Duration::from_millis(100);
/// Protocol number (IANA).
const UDP: u8 = 17;
/// `struct virtio_net_hdr` of `linux/virtio_net.h`.
const VIRTUAL_HEADER: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delivery, DeliveryCurve, Rate};

    const MILLI: Duration = Duration::from_millis(1);

    fn frame(name: u8) -> Vec<u8> {
        vec![name; VIRTUAL_HEADER + 1_000]
    }

    fn names(direction: &mut Direction, now: Duration) -> Vec<u8> {
        std::iter::from_fn(|| direction.due(now)).map(|frame| frame[0]).collect()
    }

    fn direction(impairment: Impairment) -> Direction {
        Direction::new(impairment, 1)
    }

    #[test]
    fn a_frame_leaves_after_the_delay_and_not_before() {
        let mut direction = direction(Impairment { delay: 10 * MILLI, ..Impairment::default() });
        direction.accept(MILLI, &frame(1));
        direction.accept(2 * MILLI, &frame(2));
        assert_eq!(names(&mut direction, 10 * MILLI), []);
        assert_eq!(direction.next(), Some(11 * MILLI));
        assert_eq!(names(&mut direction, 12 * MILLI), [1, 2]);
        assert_eq!(direction.next(), None);
    }

    #[test]
    fn what_is_held_back_is_overtaken() {
        let reorder_delay =
            Impairment { reorder: 1.0, reorder_delay: 5 * MILLI, ..Impairment::default() };
        let mut direction = direction(reorder_delay);
        direction.accept(MILLI, &frame(1));
        direction.impairment.reorder = 0.0;
        direction.accept(2 * MILLI, &frame(2));
        assert_eq!(names(&mut direction, 9 * MILLI), [2, 1]);
    }

    #[test]
    fn a_rate_spaces_frames_and_its_queue_is_finite() {
        let rate = Rate::from_bits_per_second(8_000_000);
        let mut direction =
            direction(Impairment { rate, queue_limit: 2 * MILLI, ..Impairment::default() });
        for name in 1..=9 {
            direction.accept(MILLI, &frame(name));
        }
        // A thousand bytes take a millisecond: one is sent, three wait, no longer than 2 ms.
        assert_eq!(names(&mut direction, 2 * MILLI), [1]);
        assert_eq!(names(&mut direction, 99 * MILLI), [2, 3]);
        let counters = RelayCounters { forwarded: 3, queue_drops: 6, ..RelayCounters::default() };
        assert_eq!(direction.counters(), counters);
    }

    #[test]
    fn a_device_delivers_of_each_rate_what_its_curve_says() {
        let rate = |bits| Rate::from_bits_per_second(bits).expect("not zero");
        let point = |(offered, delivered)| Delivery { offered, delivered };
        let points = [(8_000_000, 8_000_000), (16_000_000, 4_000_000)];
        let points = points.map(|(one, other)| point((rate(one), rate(other))));
        let delivery = DeliveryCurve::new(&points);
        // Frames of 1,000 bytes in 200 ms, of which the second half tells.
        let delivered = |frames: u32, kind: u8| {
            let queue_limit = 20 * MILLI;
            let mut direction =
                direction(Impairment { queue_limit, delivery, ..Impairment::default() });
            let mut frame = frame(kind);
            frame[VIRTUAL_HEADER + 12..VIRTUAL_HEADER + 14].copy_from_slice(&[0x08, 0x00]);
            frame[VIRTUAL_HEADER + 23] = kind;
            for number in 0..frames {
                direction.accept(200 * MILLI * number / frames, &frame);
            }
            names(&mut direction, 99 * MILLI);
            names(&mut direction, 199 * MILLI).len()
        };
        assert_eq!(delivered(200, UDP), 100);
        assert!((48..=55).contains(&delivered(400, UDP)), "{}", delivered(400, UDP));
        // Segments of TCP pass.
        assert!(delivered(400, 6) >= 200);
    }

    #[test]
    fn a_device_queues_what_comes_at_once_and_drops_what_is_too_much() {
        let rate = |bits| Rate::from_bits_per_second(bits).expect("not zero");
        let knee = Delivery { offered: rate(8_000_000), delivered: rate(8_000_000) };
        let (delivery, queue_limit) = (DeliveryCurve::new(&[knee]), 5 * MILLI);
        let mut direction =
            direction(Impairment { queue_limit, delivery, ..Impairment::default() });
        let mut datagram = frame(UDP);
        datagram[VIRTUAL_HEADER + 12..VIRTUAL_HEADER + 14].copy_from_slice(&[0x08, 0x00]);
        // A thousand bytes take a millisecond: one is served, and five wait for 5 ms at most.
        (0..9).for_each(|_| direction.accept(MILLI, &datagram));
        assert_eq!(direction.counters().undelivered, 3);
        assert_eq!(names(&mut direction, 3 * MILLI).len(), 2);
        assert_eq!(names(&mut direction, 7 * MILLI).len(), 4);
    }

    #[test]
    fn the_same_seed_loses_the_same_frames() {
        let lossy = Impairment { loss: 0.3, duplicate: 0.1, ..Impairment::default() };
        let survivors = || {
            let mut direction = direction(lossy);
            (0..=u8::MAX).for_each(|name| direction.accept(MILLI, &frame(name)));
            names(&mut direction, MILLI)
        };
        assert_eq!(survivors(), survivors());
        assert!((150..256).contains(&survivors().len()));
    }
}
