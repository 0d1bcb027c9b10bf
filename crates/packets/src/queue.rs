//! By how much a queue between the ports grew in a trial, other than by a few interruptions.

use std::time::Duration;

use measurement::Order;

use crate::frame::nanos;

/// The shortest time on the way, in equal parts of a trial. Times are those of a payload.
#[derive(Clone, Debug)]
pub(crate) struct QueueWatch {
    /// Length of a part.
    part: u32,
    /// When the first frame that arrived was sent.
    first: Option<u32>,
    least: [u32; PARTS],
}

impl QueueWatch {
    /// A watch of a trial of this duration.
    pub(crate) fn new(duration: Duration) -> Self {
        let part = duration.as_nanos() / PARTS as u128 / u128::from(nanos(1));
        Self { part: u32::try_from(part).unwrap_or(u32::MAX), first: None, least: [NONE; PARTS] }
    }

    /// Notes a frame: when it was sent, and how long it was on the way.
    pub(crate) fn arrived(&mut self, sent: u32, took: u32) {
        let first = *self.first.get_or_insert(sent);
        let Some(part) = sent.wrapping_sub(first).checked_div(self.part) else { return };
        let part = (part as usize).min(PARTS - 1);
        self.least[part] = self.least[part].min(took);
    }

    /// The time on the way at the begin, and what a queue that grew all the time added until the end.
    /// A CPU of the device that is late makes a queue in one part, which is short again soon, and one
    /// of the sender lets a queue become shorter in one part: neither the largest steps count nor the
    /// smallest. None: a part had no frame.
    pub(crate) fn lasting(&self) -> Option<Duration> {
        if self.least.contains(&NONE) {
            return None;
        }
        let mut steps: Vec<_> =
            self.least.windows(2).map(|pair| i64::from(pair[1]) - i64::from(pair[0])).collect();
        steps.order();
        let rest = &steps[EXCEPTIONS..steps.len() - EXCEPTIONS];
        let mean = rest.iter().map(|step| *step as f64).sum::<f64>() / rest.len() as f64;
        let growth = (mean * PARTS as f64).max(0.0);
        let least = Duration::from_nanos(nanos(self.least[0]));
        Some(least + Duration::from_nanos(nanos(1)).mul_f64(growth))
    }
}

/// Enough that the steps which are left out are few.
const PARTS: usize = 16;
/// Steps that do not count, at either end of their order.
const EXCEPTIONS: usize = 4;
/// No frame.
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    /// The time on the way, in microseconds, of a frame sent after so many.
    fn lasting(way: impl Fn(u64) -> u64) -> Option<u64> {
        let mut watch = QueueWatch::new(Duration::from_secs(1));
        let units = |micros: u64| u32::try_from(micros * 1_000 / nanos(1)).expect("it is short");
        for sent in (0..1_000_000).step_by(1_000) {
            watch.arrived(units(sent).wrapping_sub(7), units(way(sent)));
        }
        watch.lasting().map(|lasting| u64::try_from(lasting.as_micros()).expect("it is short"))
    }

    #[test]
    fn a_queue_that_grows_all_the_time_is_seen() {
        let seen = lasting(|sent| 100 + sent / 100).expect("each part has frames");
        assert!((9_900..=10_200).contains(&seen), "{seen}");
        assert_eq!(lasting(|_| 100), Some(100));
    }

    #[test]
    fn an_interruption_of_the_device_is_no_growth() {
        let late =
            |sent: u64| 100 + if sent >= 900_000 { 6_000 - (sent - 900_000) / 20 } else { 0 };
        assert_eq!(lasting(late), Some(100));
    }

    #[test]
    fn an_interruption_of_the_sender_does_not_hide_growth() {
        let grown = |sent: u64| 6_000 + sent / 100;
        let seen = lasting(|sent| grown(sent) - if sent >= 500_000 { 5_000 } else { 0 });
        assert!(seen.is_some_and(|seen| (15_900..=16_200).contains(&seen)), "{seen:?}");
    }

    #[test]
    fn too_few_frames_tell_nothing() {
        let mut watch = QueueWatch::new(Duration::from_secs(1));
        watch.arrived(0, 10);
        assert_eq!(watch.lasting(), None);
        let mut no_time = QueueWatch::new(Duration::ZERO);
        no_time.arrived(0, 10);
        assert_eq!(no_time.lasting(), None);
    }
}
