//! The line of a row that runs: what arrives, over the time that has passed and that is left.

use std::time::Duration;

use measurement::BitRate;

use crate::rates::{UnitFormat, show};

/// What moved in a step of a running row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// It is known to have arrived.
    Arriving,
    /// It was sent: what arrives is not known before the end.
    Sending,
}

/// The course of a row.
#[derive(Clone, Debug)]
pub struct Course {
    name: String,
    /// The whole of it; none: it ends when an amount has moved.
    whole: Option<Duration>,
    moved: Moved,
    /// Bytes by the end of each step.
    steps: Vec<(Duration, u64)>,
    unit: UnitFormat,
}

impl Course {
    /// One that has not begun.
    pub const fn new(
        name: String,
        whole: Option<Duration>,
        moved: Moved,
        unit: UnitFormat,
    ) -> Self {
        Self { name, whole, moved, steps: Vec::new(), unit }
    }

    /// So many bytes had moved after that time.
    pub fn step(&mut self, at: Duration, bytes: u64) {
        self.steps.push((at, bytes));
    }

    /// The line: name, picture of the rate, rate, time left, `place` among the rows.
    pub fn line(&self, width: usize, place: &str, unicode: bool) -> String {
        let rate = show(self.unit, self.rate());
        let what = match self.moved {
            Moved::Arriving => "arriving",
            Moved::Sending => "sent",
        };
        let left = self.whole.map_or_else(String::new, |whole| {
            let left = whole.saturating_sub(self.passed());
            format!("{:.1} s left", left.as_secs_f64())
        });
        let text = format!("{rate} {what}");
        let fixed = 2 + NAME + 2 + RATE + left.chars().count() + 3 + place.chars().count() + 2;
        let room = width.saturating_sub(fixed).clamp(LEAST_PICTURE, MOST_PICTURE);
        let picture = self.picture(room, unicode);
        format!("  {:<NAME$}{picture}  {text:<RATE$}{left}  {place}", self.name)
    }

    /// Bytes after so many seconds, between two steps in proportion.
    fn moved_by(&self, seconds: f64) -> f64 {
        let after = self.steps.partition_point(|(at, _)| at.as_secs_f64() <= seconds);
        let step = |index: usize| {
            let (at, bytes) = self.steps[index];
            (at.as_secs_f64(), bytes as f64)
        };
        let (from, before) = after.checked_sub(1).map_or((0.0, 0.0), step);
        if after == self.steps.len() {
            return before;
        }
        let (to, then) = step(after);
        before + (then - before) * (seconds - from) / (to - from).max(f64::MIN_POSITIVE)
    }

    fn passed(&self) -> Duration {
        self.steps.last().map_or(Duration::ZERO, |(at, _)| *at)
    }

    /// Over the last half second or so.
    fn rate(&self) -> BitRate {
        let Some((at, bytes)) = self.steps.last() else { return BitRate::from_bits_per_second(0) };
        let since = self.steps.iter().rev().find(|(then, _)| *at >= *then + RECENT);
        let (then, before) = since.copied().unwrap_or((Duration::ZERO, 0));
        BitRate::average(bytes.saturating_sub(before), at.saturating_sub(then))
    }

    /// A cell for each part of the time: how high it is filled is the rate then, against the
    /// highest.
    fn picture(&self, cells: usize, unicode: bool) -> String {
        let whole = self.whole.unwrap_or_else(|| self.passed().max(Duration::from_secs(1)));
        let each = whole.as_secs_f64() / cells as f64;
        let moved = |until: f64| self.moved_by(until);
        let passed = self.passed().as_secs_f64();
        let ended = (0..cells).take_while(|cell| (*cell + 1) as f64 * each <= passed + each / 2.0);
        let rates: Vec<_> =
            ended.map(|cell| moved((cell + 1) as f64 * each) - moved(cell as f64 * each)).collect();
        let most = rates.iter().copied().fold(1.0, f64::max);
        let filled: String = rates.iter().map(|rate| level(rate / most, unicode)).collect();
        let empty = if unicode { '░' } else { '.' };
        filled + &empty.to_string().repeat(cells - rates.len())
    }
}

/// The character for a share of the highest rate, 0 to 1; a little is not nothing.
fn level(share: f64, unicode: bool) -> char {
    let levels: &[char] = if unicode { &UNICODE } else { &ASCII };
    let last = (levels.len() - 1) as f64;
    let above = (0..levels.len()).find(|level| *level as f64 >= share * last - SLACK);
    levels[above.unwrap_or(levels.len() - 1)]
}

const UNICODE: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 5] = [' ', '.', '-', '=', '#'];
const NAME: usize = 15;
const RATE: usize = 24;
const LEAST_PICTURE: usize = 8;
const MOST_PICTURE: usize = 30;
/// Over which the rate is taken.
const RECENT: Duration = Duration::from_millis(500);
/// Of a level: rates differ a little.
const SLACK: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    fn course() -> Course {
        let whole = Some(Duration::from_secs(4));
        let unit = UnitFormat::Adaptive;
        let mut course = Course::new("TCP send".to_owned(), whole, Moved::Arriving, unit);
        for step in 1..=10_u32 {
            let bytes =
                if step <= 5 { step * 12_500_000 } else { 62_500_000 + (step - 5) * 1_250_000 };
            course.step(step * Duration::from_millis(200), bytes.into());
        }
        course
    }

    #[test]
    fn the_line_shows_the_rate_over_time_and_what_is_left() {
        let line = course().line(80, "[1/4]", true);
        assert_eq!(
            line,
            "  TCP send       ████▃▁▁▁▁░░░░░░░░  50.00 Mbit/s arriving   2.0 s left  [1/4]"
        );
    }
}
