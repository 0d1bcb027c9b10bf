//! Histograms of times as a line of text each, over a logarithmic axis that they share.

use std::time::Duration;

/// The characters with which histograms are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Glyphs {
    /// ASCII, which every terminal and every file shows.
    #[default]
    Ascii,
    /// Braille patterns (Unicode), with two bars in a character.
    Braille,
}

/// A logarithmic axis from one power of ten to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    /// Exponent of ten at the left end, in nanoseconds.
    low: u32,
    /// Exponent of ten at the right end.
    high: u32,
}

impl Axis {
    /// The shortest axis with room for all `histograms`: pairs of a time in nanoseconds and the
    /// number of such times. None: they have no times.
    pub(crate) fn over<'a>(histograms: impl Iterator<Item = &'a [(u64, u64)]>) -> Option<Self> {
        let times = || histograms.flatten().map(|(nanos, _)| (*nanos).max(1));
        let (mut least, mut most) = (u64::MAX, 0);
        times().for_each(|nanos| (least, most) = (least.min(nanos), most.max(nanos)));
        (most > 0).then(|| Self { low: least.ilog10(), high: most.ilog10() + 1 })
    }

    /// The histogram as a line of at most [`WIDTH`] characters; its highest bar is as high as the
    /// line, and no bar that stands for a time is empty.
    pub(crate) fn draw(self, histogram: &[(u64, u64)], glyphs: Glyphs) -> String {
        let per_character = match glyphs {
            Glyphs::Ascii => 1,
            Glyphs::Braille => 2,
        };
        let bars = self.bars(histogram, WIDTH * per_character);
        let line: String = bars.chunks(per_character).map(|bars| glyph(bars, glyphs)).collect();
        line.trim_end().to_owned()
    }

    /// Heights of `count` bars, from 0 to 4.
    fn bars(self, histogram: &[(u64, u64)], count: usize) -> Vec<u64> {
        let mut sums = vec![0_u64; count];
        for (nanos, times) in histogram {
            let sum = &mut sums[self.place(*nanos, count)];
            *sum = sum.saturating_add(*times);
        }
        let most = sums.iter().copied().max().unwrap_or(0).max(1);
        let height = |sum: u64| (u128::from(sum) * u128::from(HEIGHT)).div_ceil(most.into());
        sums.into_iter().map(|sum| u64::try_from(height(sum)).unwrap_or(HEIGHT)).collect()
    }

    /// Which of `count` bars a time belongs to.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
    fn place(self, nanos: u64, count: usize) -> usize {
        let decades = f64::from(self.high - self.low);
        let part = ((nanos.max(1) as f64).log10() - f64::from(self.low)) / decades;
        ((part * count as f64).max(0.0) as usize).min(count - 1)
    }

    /// The powers of ten below a line of [`Self::draw`], each after a mark at its place.
    pub(crate) fn labels(self) -> String {
        let mut line = String::new();
        for power in self.low..=self.high {
            let nanos = 10_u64.saturating_pow(power);
            let label = format!("|{}", label(Duration::from_nanos(nanos)));
            let place = self.place(nanos, WIDTH);
            // That of the right end would stand beyond it, and one over another is none.
            if power < self.high && (line.is_empty() || line.len() < place) {
                line.push_str(&" ".repeat(place - line.len()));
                line.push_str(&label);
            }
        }
        line
    }
}

fn glyph(bars: &[u64], glyphs: Glyphs) -> char {
    let at = |index: usize| bars.get(index).copied().unwrap_or(0).min(HEIGHT) as usize;
    match glyphs {
        Glyphs::Ascii => [' ', '.', ':', '|', '#'][at(0)],
        Glyphs::Braille if at(0) + at(1) == 0 => ' ',
        // The dots of a pattern are bits above U+2800 (Unicode, chapter 21.1).
        Glyphs::Braille => char::from_u32(0x2800 + LEFT[at(0)] + RIGHT[at(1)]).unwrap_or(' '),
    }
}

/// A power of ten with its unit.
fn label(span: Duration) -> String {
    match span.as_nanos() {
        nanos if nanos < 1_000 => format!("{nanos} ns"),
        nanos if nanos < 1_000_000 => format!("{} us", nanos / 1_000),
        nanos if nanos < 1_000_000_000 => format!("{} ms", nanos / 1_000_000),
        nanos => format!("{} s", nanos / 1_000_000_000),
    }
}

/// Characters of a line.
const WIDTH: usize = 40;
/// Dots of a braille pattern, one over another.
const HEIGHT: u64 = 4;
/// Bits of a left bar of 0 to 4 dots: dots 7, 3, 2, 1 from below.
const LEFT: [u32; 5] = [0, 0x40, 0x44, 0x46, 0x47];
/// Those of a right bar: dots 8, 6, 5, 4.
const RIGHT: [u32; 5] = [0, 0x80, 0xa0, 0xb0, 0xb8];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_stand_at_the_logarithm_of_their_times() {
        let times = [(1_000, 100), (10_000, 50), (99_999, 1)];
        let axis = Axis::over([&times[..]].into_iter()).expect("times");
        assert_eq!(axis, Axis { low: 3, high: 5 });
        let line = axis.draw(&times, Glyphs::Ascii);
        assert_eq!(line, format!("#{}:{}.", " ".repeat(19), " ".repeat(18)));
        assert_eq!(axis.labels(), format!("|1 us{}|10 us", " ".repeat(15)));
    }

    #[test]
    fn braille_has_two_bars_in_a_character() {
        let times = [(1_000, 4), (1_040, 2), (9_999, 1)];
        let axis = Axis::over([&times[..]].into_iter()).expect("times");
        let line = axis.draw(&times, Glyphs::Braille);
        assert_eq!(line.chars().count(), WIDTH);
        assert_eq!(line.chars().next(), Some('\u{28e7}'), "four dots, and two beside them: {line}");
        assert_eq!(line.chars().last(), Some('\u{2880}'), "a single time is a dot: {line}");
    }

    #[test]
    fn without_times_there_is_no_axis() {
        assert_eq!(Axis::over(std::iter::empty()), None);
        let one = [(1_u64 << 40, u64::MAX), (u64::MAX, u64::MAX)];
        let axis = Axis::over([&one[..]].into_iter()).expect("times");
        let line = axis.draw(&one, Glyphs::Ascii);
        assert!(line.starts_with('#') && line.ends_with('#') && line.len() <= WIDTH, "{line}");
        assert!(axis.labels().starts_with("|1000 s"), "{}", axis.labels());
    }
}
