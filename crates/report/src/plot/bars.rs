//! Bars beside names, for quantities over settings that are no numbers.

use std::io::{self, Write};

use super::NARROWEST;
use crate::Glyphs;

/// Bars beside each other, all from zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// Name, quantity in its base unit and how it is shown, from above.
    pub bars: Vec<(String, f64, String)>,
}

impl Bars {
    /// Writes a line for each bar in `width` columns, at least 40. The longest takes the room.
    ///
    /// # Errors
    /// An error of writing to `out`.
    pub fn write(&self, width: usize, glyphs: Glyphs, out: &mut dyn Write) -> io::Result<()> {
        let longest = |of: fn(&(String, f64, String)) -> &str| {
            self.bars.iter().map(|bar| of(bar).chars().count()).max().unwrap_or(0)
        };
        let (names, shown) = (longest(|bar| &bar.0), longest(|bar| &bar.2));
        let room = width.max(NARROWEST).saturating_sub(names + shown + 4).max(1);
        let most = self.bars.iter().map(|bar| bar.1).fold(0.0, f64::max);
        let glyph = glyphs.choose("#", "\u{2588}");
        for (name, value, text) in &self.bars {
            let bar = glyph.repeat(length(*value, most, room));
            writeln!(out, "{name:names$}  {bar:room$}  {text:>shown$}")?;
        }
        Ok(())
    }
}

/// Cells of a bar; what is more than nothing has one.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
fn length(value: f64, most: f64, room: usize) -> usize {
    if value <= 0.0 || most <= 0.0 || !value.is_finite() {
        return 0;
    }
    ((value / most * room as f64).round() as usize).clamp(1, room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_takes_the_room() {
        let bar = |name: &str, value: f64| (name.to_owned(), value, format!("{value}"));
        let bars = Bars {
            bars: vec![bar("cubic", 20.0), bar("bbr", 10.0), bar("x", 0.0), bar("y", 0.01)],
        };
        let mut out = Vec::new();
        bars.write(41, Glyphs::Ascii, &mut out).expect("a vector takes all");
        let out = String::from_utf8(out).expect("text");
        let lines: Vec<_> = out.lines().map(|line| line.matches('#').count()).collect();
        assert_eq!(lines, [28, 14, 0, 1], "{out}");
        assert!(out.lines().all(|line| line.len() == 41), "{out}");
    }
}
