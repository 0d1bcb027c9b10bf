//! What a client may ask of a server.

use std::collections::VecDeque;
use std::time::Duration;

use measurement::units::show_time;
use measurement::{BitRate, ByteSize, End, TestPlan, Timestamp, Way};

use protocol::iperf3::TestLimits;

use super::cost::{Cost, Need};
use super::metrics::Refusal;
use crate::preflight::{Shortage, stream_bytes};
use crate::spec::RunSpec;

/// Limits of a server for each single test: duration, rate, payload bytes, and number of streams.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Longest duration, including the omitted start; none: no limit.
    pub duration: Option<Duration>,
    /// Highest rate of all streams together, both directions; none: no limit.
    pub rate: Option<RateLimit>,
    /// Most payload bytes of all streams together, both directions; none: no limit.
    pub bytes: Option<ByteSize>,
    /// Most streams, both directions together; none: no limit.
    pub streams: Option<u32>,
    /// Most streams in each direction; none: no limit.
    pub streams_each_way: Option<u32>,
    /// Whether what exceeds them is refused or ended, as by an iperf3, and no client hears of them
    /// beforehand.
    pub are_strict: bool,
}

/// A limit of the average rate of a test, over a window of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Highest average rate.
    pub most: BitRate,
    /// Time over which the rate is averaged.
    pub window: Duration,
}

/// What a client hears that asked for too much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excess {
    pub(crate) why: Refusal,
    /// The reason with the limit, for clients that take words.
    pub(crate) words: String,
}

impl Excess {
    /// More than `most`, which the client asks for with `flag`.
    fn new(why: Refusal, most: &str, flag: &str) -> Self {
        let words = format!("{why}: at most {most}; ask for less with {flag}");
        Self { why, words }
    }

    fn streams(most: u32) -> Self {
        let most = format!("{most}, both directions together");
        Self::new(Refusal::Streams, &most, "-P")
    }

    fn streams_each_way(most: u32) -> Self {
        let most = format!("{most} in each direction");
        Self::new(Refusal::Streams, &most, "-P")
    }

    /// Others have taken what the test needs.
    pub(crate) fn left(why: Refusal) -> Self {
        Self { why, words: why.to_string() }
    }

    /// This host has too little of something.
    pub(crate) fn shortage(shortage: Shortage) -> Self {
        let words = format!("at the server {shortage}");
        Self { why: Refusal::Memory, words }
    }

    pub(crate) fn rate(most: BitRate) -> Self {
        let most = format!("{most}, all streams together");
        Self::new(Refusal::Rate, &most, "-b")
    }

    fn duration(most: Duration) -> Self {
        let most = show_time(most);
        Self::new(Refusal::Duration, &most, "-t")
    }

    /// The client may not use this server; it hears no more than that (section 15).
    pub(crate) fn unknown_user(why: &str) -> Self {
        let why = format!("{}: {why}", Refusal::Authentication);
        Self { why: Refusal::Authentication, words: why }
    }

    /// What was asked cannot be done here, for the reason in `words`.
    pub(crate) const fn impossible(words: String) -> Self {
        Self { why: Refusal::Parameters, words }
    }

    /// This server watches its host for others, and runs no tests.
    pub(crate) fn only_watched() -> Self {
        let words = "this linerate only observes its host; start it without --observe for tests";
        Self { why: Refusal::Parameters, words: words.to_owned() }
    }

    /// iperf3 has no number of its own for that.
    fn bytes(most: ByteSize) -> Self {
        let most = most.expanded();
        Self::new(Refusal::Bytes, &most, "-n")
    }
}

impl Limits {
    /// What a client hears of them that keeps to them by itself: rate and duration.
    pub(crate) fn told(&self) -> TestLimits {
        TestLimits::new(self.rate.map(|limit| limit.most), self.duration)
    }

    /// In what a test asks for too much; none: it does not.
    pub(crate) fn excess(&self, spec: &RunSpec) -> Option<Excess> {
        let plan = &spec.plan;
        let streams = plan.streams_in_all();
        if let Some(most) = self.streams.filter(|most| streams > *most) {
            return Some(Excess::streams(most));
        }
        if let Some(most) = self.streams_each_way.filter(|most| plan.streams > *most) {
            return Some(Excess::streams_each_way(most));
        }
        let is_too_long = |longest: &Duration| match plan.end {
            End::Time(time) => plan.omit + time > *longest,
            End::Bytes(_) | End::Blocks(_) | End::Open => true,
        };
        if let Some(longest) = self.duration.filter(is_too_long) {
            return Some(Excess::duration(longest));
        }
        let asked = [plan.options.rate, plan.options.socket_rate].into_iter().flatten();
        let mut asked = asked.map(|rate| rate.times(u64::from(streams)));
        if let Some(limit) = self.rate.filter(|limit| asked.any(|rate| rate > limit.most)) {
            return Some(Excess::rate(limit.most));
        }
        let bytes = match plan.end {
            End::Bytes(bytes) => bytes.bytes(),
            End::Blocks(count) => count.saturating_mul(spec.block.bytes()),
            End::Time(_) | End::Open => 0,
        };
        self.bytes.filter(|most| bytes > most.bytes()).map(Excess::bytes)
    }
}

/// What a test takes of the server, with so many `extra_ports`, and `results` bytes of memory for
/// the peer's results.
pub(crate) fn need(spec: &RunSpec, extra_ports: usize, results: u64) -> Need {
    let cpus = linux::host::allowed_cpus().map_or(1, |cpus| cpus.len()) as u64;
    let streams = u64::from(spec.plan.streams_in_all());
    let workers = cpus.min(streams);
    let calls = calls(&spec.plan);
    // One block to send and one to receive, or batches of datagrams of about that size.
    let payload = 2 * spec.block.bytes().max(LEAST_PAYLOAD);
    Need {
        base: Cost {
            memory: SESSION_BYTES,
            // A port for the connections that bear one request each.
            descriptors: SESSION_DESCRIPTORS + extra_ports as u64 + u64::from(calls > 0),
            threads: 1,
        },
        each: Cost {
            // The results have a row for each.
            memory: stream_bytes(spec.plan.transport) + results.div_ceil(streams.max(1)),
            descriptors: 1 + calls,
            threads: 0,
        },
        streams: spec.plan.streams_in_all(),
        workers: Cost {
            memory: workers * (payload + WORKER_BYTES),
            descriptors: workers * WORKER_DESCRIPTORS,
            threads: workers,
        },
    }
}

/// Descriptors of one stream for connections that bear one request each.
fn calls(plan: &TestPlan) -> u64 {
    let calls = plan.exchange.is_some_and(|exchange| exchange.way == Way::Connection);
    // One more for a moment, between two.
    if calls { dataplane::MAX_PENDING_CONNECTIONS as u64 + 1 } else { 0 }
}

/// Watches whether a running test keeps to the limits.
pub(crate) struct Watch {
    duration: Option<Duration>,
    rate: Option<RateWatch>,
    bytes: Option<ByteSize>,
    began: Option<Timestamp>,
    next_look: Option<Timestamp>,
}

impl Watch {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            duration: limits.duration,
            rate: limits.rate.map(RateWatch::new),
            bytes: limits.bytes,
            began: None,
            next_look: None,
        }
    }

    /// When to look next; none: the test has no limits that a running one could exceed.
    pub(crate) const fn next_look(&self) -> Option<Timestamp> {
        self.next_look
    }

    /// Takes note of what has `moved`, which is looked up if it is time for it, and not
    /// sooner than after `least` again; in what that was too much.
    pub(crate) fn excess(
        &mut self,
        now: Timestamp,
        least: Duration,
        moved: impl FnOnce() -> u64,
    ) -> Option<Excess> {
        let is_first = self.began.is_none();
        let began = *self.began.get_or_insert(now);
        let is_due = is_first || self.next_look.is_some_and(|next| now >= next);
        if !is_due {
            return None;
        }
        let bytes = moved();
        let pause = match (self.bytes, &self.rate, self.duration) {
            (Some(_), ..) => Some(BYTES_PAUSE),
            (None, Some(_), _) => Some(RATE_PAUSE),
            (None, None, duration) => duration.map(|_| DURATION_PAUSE),
        };
        self.next_look = pause.map(|pause| now.after(pause.max(least)));
        let too_long = |most: &Duration| now.since(began) > *most + SLACK;
        if let Some(most) = self.duration.filter(too_long) {
            return Some(Excess::duration(most));
        }
        if let Some(most) = self.bytes.filter(|most| bytes > most.bytes()) {
            return Some(Excess::bytes(most));
        }
        let watch = self.rate.as_mut()?;
        watch.is_exceeded(now, bytes).then(|| Excess::rate(watch.limit.most))
    }
}

/// Compares what a test moves with its limit.
struct RateWatch {
    limit: RateLimit,
    /// When how many bytes had moved, a window's worth.
    marks: VecDeque<(Timestamp, u64)>,
}

impl RateWatch {
    const fn new(limit: RateLimit) -> Self {
        Self { limit, marks: VecDeque::new() }
    }

    /// Takes note that `bytes` have moved; whether that was too fast: more than the limit
    /// allows in a whole window, in a whole window or sooner.
    fn is_exceeded(&mut self, now: Timestamp, bytes: u64) -> bool {
        let window = self.limit.window;
        let is_due = |last: &(Timestamp, u64)| now.since(last.0) >= window / STEPS;
        if self.marks.back().is_none_or(is_due) {
            self.marks.push_back((now, bytes));
        }
        let is_old = |mark: &(Timestamp, u64)| now.since(mark.0) >= window;
        while self.marks.get(1).is_some_and(is_old) {
            self.marks.pop_front();
        }
        let Some((since, before)) = self.marks.front().copied() else { return false };
        BitRate::average(bytes - before, now.since(since).max(window)) > self.limit.most
    }
}

/// Parts of a window from which on is counted.
const STEPS: u32 = 5;
const BYTES_PAUSE: Duration = Duration::from_millis(5);
const RATE_PAUSE: Duration = Duration::from_millis(50);
const DURATION_PAUSE: Duration = Duration::from_millis(250);
/// What the end of a test takes beside its time.
const SLACK: Duration = Duration::from_secs(2);
/// Batches of datagrams are not smaller, however small these are.
const LEAST_PAYLOAD: u64 = 256 * 1024;
/// Stacks as far as they are used, parameters, samples.
const SESSION_BYTES: u64 = 256 * 1024;
const WORKER_BYTES: u64 = 64 * 1024;
/// What it waits with: an epoll, an alarm, a wake.
const WORKER_DESCRIPTORS: u64 = 3;
/// What watches this host during a test: a thread, the files that it reads again and again, and
/// what it has read.
pub(crate) const SAMPLER: Cost = Cost { memory: 256 * 1024, descriptors: 20, threads: 1 };
/// Its control connection and what wakes it: streams, hellos and progress.
const SESSION_DESCRIPTORS: u64 = 7;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(1_000_000_000 + millis * 1_000_000)
    }

    #[test]
    fn a_rate_is_judged_over_its_window() {
        let most = BitRate::from_bits_per_second(8_000);
        let mut watch = RateWatch::new(RateLimit { most, window: Duration::from_secs(1) });
        // A burst at first, and then 1000 bytes a second.
        assert!(!watch.is_exceeded(at(0), 0));
        assert!(!watch.is_exceeded(at(200), 900));
        assert!(!watch.is_exceeded(at(1_000), 1_000));
        assert!(!watch.is_exceeded(at(2_000), 2_000));
        assert!(watch.is_exceeded(at(3_000), 3_100));
    }

    #[test]
    fn what_a_window_allows_is_not_exceeded_in_a_part_of_it() {
        let most = BitRate::from_bits_per_second(8_000);
        let mut watch = RateWatch::new(RateLimit { most, window: Duration::from_secs(5) });
        assert!(!watch.is_exceeded(at(0), 0));
        assert!(!watch.is_exceeded(at(50), 5_000));
        assert!(watch.is_exceeded(at(100), 5_001));
    }

    #[test]
    fn the_streams_are_looked_at_when_it_is_time_and_not_each_time() {
        let looks = |limits: &Limits, least| {
            let (mut watch, mut looks) = (Watch::new(limits), 0);
            for millis in 0..1_000 {
                let moved = || {
                    looks += 1;
                    0
                };
                assert_eq!(watch.excess(at(millis), Duration::from_millis(least), moved), None);
            }
            looks
        };
        let most = Some(ByteSize::from_bytes(1));
        assert_eq!(looks(&Limits::default(), 0), 1, "nothing can be exceeded");
        assert_eq!(looks(&Limits { bytes: most, ..Limits::default() }, 0), 200);
        assert_eq!(looks(&Limits { bytes: most, ..Limits::default() }, 100), 10);
    }

    #[test]
    fn a_test_lasts_no_longer_than_it_may() {
        let limits = Limits { duration: Some(Duration::from_secs(3)), ..Limits::default() };
        let mut watch = Watch::new(&limits);
        let mut excess_at = |millis| watch.excess(at(millis), Duration::ZERO, || 0);
        assert_eq!(excess_at(0), None);
        assert_eq!(excess_at(4_900), None);
        let excess = excess_at(5_300).expect("too long");
        assert_eq!(excess.why, Refusal::Duration);
    }
}
