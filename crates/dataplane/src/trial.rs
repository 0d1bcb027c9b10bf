//! Whether a way of moving bytes pays on this host and path: for a while without it, for a while
//! with it, once or several times in turn.

use std::time::Duration;

use measurement::Timestamp;

/// How fast bytes moved without something and with it, each for a while.
#[derive(Debug)]
pub(crate) struct SpeedTrial {
    /// The beginning that is not counted, which is slow in any case.
    warm_up: Duration,
    /// How long it is without it, and then with it.
    turn: Duration,
    begun: Option<Timestamp>,
    without: Moved,
    with: Moved,
}

/// Bytes that moved within a time.
#[derive(Debug, Default)]
struct Moved {
    bytes: u64,
    span: Duration,
}

impl SpeedTrial {
    /// A trial that begins so long after the first bytes.
    pub(crate) fn after(warm_up: Duration) -> Self {
        let (without, with) = (Moved::default(), Moved::default());
        Self { warm_up, turn: HALF, begun: None, without, with }
    }

    /// In so many turns of each kind, as long as before in all.
    pub(crate) fn in_turns(self, turns: u32) -> Self {
        Self { turn: HALF / turns, ..self }
    }

    /// Whether it is wanted at this time, as so many bytes have moved within a `span` with it or,
    /// unless it `is_set`, without.
    pub(crate) fn wants(
        &mut self,
        is_set: bool,
        moved: u64,
        span: Duration,
        now: Timestamp,
    ) -> bool {
        let age = now.since(*self.begun.get_or_insert(now));
        let one = if is_set { &mut self.with } else { &mut self.without };
        let Some(tried) = age.checked_sub(self.warm_up) else { return false };
        if tried < HALF * 2 {
            one.bytes += moved;
            one.span += span;
            return tried.as_nanos() / self.turn.as_nanos() % 2 == 1;
        }
        // A stream that began too slowly for it has shown nothing.
        self.with.span.is_zero() || self.with.rate() * FASTER >= self.without.rate()
    }

    /// Whether its first turn, without, is still to come.
    pub(crate) fn is_to_come(&self, now: Timestamp) -> bool {
        self.begun.is_none_or(|begun| now.since(begun) < self.warm_up)
    }
}

impl Moved {
    fn rate(&self) -> f64 {
        self.bytes as f64 / self.span.as_secs_f64().max(1e-9)
    }
}

/// With it, and without.
const HALF: Duration = Duration::from_millis(40);
/// By so much it has to be faster without, since with it there is less work.
const FASTER: f64 = 1.03;

#[cfg(test)]
mod tests {
    use super::*;

    const WARM_UP: Duration = Duration::from_millis(20);

    #[test]
    fn what_is_tried_is_kept_unless_it_is_faster_without() {
        let wants = |without: u64, with: u64| {
            let mut trial = SpeedTrial::after(WARM_UP);
            let (mut now, mut is_set) = (Timestamp::default(), false);
            for _ in 0..200 {
                let moved = if is_set { with } else { without };
                is_set = trial.wants(is_set, moved, Duration::from_millis(1), now);
                now = now.after(Duration::from_millis(1));
            }
            is_set
        };
        assert!(wants(1_000, 1_000) && wants(1_000, 1_300) && wants(1_010, 1_000));
        assert!(!wants(1_100, 1_000));
    }

    #[test]
    fn what_is_tried_in_turns_is_compared_under_the_same_conditions() {
        // The path becomes three times as slow meanwhile.
        let rate = |age: u64| if age < 60 { 3_000 } else { 1_000 };
        let mut trial = SpeedTrial::after(WARM_UP).in_turns(4);
        let mut is_set = false;
        for age in 0..200 {
            let moved = if is_set { rate(age) / 2 } else { rate(age) };
            let now = Timestamp::default().after(Duration::from_millis(age));
            is_set = trial.wants(is_set, moved, Duration::from_millis(1), now);
        }
        assert!(!is_set);
    }

    #[test]
    fn what_was_never_set_has_shown_nothing() {
        let mut slow = SpeedTrial::after(WARM_UP);
        let at = |millis| Timestamp::default().after(Duration::from_millis(millis));
        assert!(slow.is_to_come(at(0)));
        assert!(
            (0..200).fold(false, |_, age| {
                slow.wants(false, 100, Duration::from_millis(1), at(age))
            })
        );
        assert!(slow.is_to_come(at(19)) && !slow.is_to_come(at(20)));
    }
}
