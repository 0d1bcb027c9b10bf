//! Dots and marks in the cells of a terminal: two by four dots in a braille pattern, or one above
//! another in ASCII.

use crate::Glyphs;

/// A canvas of cells, with places from 0 to 1: from left to right, and from below.
#[derive(Clone, Debug)]
pub(super) struct Canvas {
    columns: usize,
    rows: usize,
    glyphs: Glyphs,
    /// Dots of each cell, row by row from above: bits of a braille pattern, or in ASCII 1 for the
    /// upper dot and 2 for the lower one.
    dots: Vec<u8>,
    marks: Vec<Option<char>>,
}

impl Canvas {
    /// An empty canvas of at least one cell.
    pub(super) fn new(columns: usize, rows: usize, glyphs: Glyphs) -> Self {
        let (columns, rows) = (columns.max(1), rows.max(1));
        let cells = columns * rows;
        Self { columns, rows, glyphs, dots: vec![0; cells], marks: vec![None; cells] }
    }

    pub(super) const fn columns(&self) -> usize {
        self.columns
    }

    /// Draws a line between two places, with dots without a gap.
    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64)) {
        let (a, b) = (self.dot(from), self.dot(to));
        let steps = a.0.abs_diff(b.0).max(a.1.abs_diff(b.1)).max(1);
        for step in 0..=steps {
            let part = step as f64 / steps as f64;
            let between =
                |a: usize, b: usize| nearest((b as f64 - a as f64).mul_add(part, a as f64));
            self.set(between(a.0, b.0), between(a.1, b.1));
        }
    }

    /// Puts a character over the cell of a place: [`SEVERAL`] where there is another one.
    pub(super) fn mark(&mut self, place: (f64, f64), mark: char) {
        let (x, y) = self.dot(place);
        let (wide, high) = dots(self.glyphs);
        let cell = &mut self.marks[y / high * self.columns + x / wide];
        *cell = Some(if cell.is_some_and(|there| there != mark) { SEVERAL } else { mark });
    }

    /// Whether marks of several curves share a cell.
    pub(super) fn has_several(&self) -> bool {
        self.marks.contains(&Some(SEVERAL))
    }

    /// The rows as text, from above.
    pub(super) fn rows(&self) -> impl Iterator<Item = String> {
        let cells = self.dots.iter().zip(&self.marks);
        let cells: Vec<char> =
            cells.map(|(dots, mark)| mark.unwrap_or_else(|| self.glyph(*dots))).collect();
        let rows: Vec<_> = cells.chunks(self.columns).map(|row| row.iter().collect()).collect();
        rows.into_iter()
    }

    /// Column and row of the dot of a place, from the left and from above.
    fn dot(&self, (x, y): (f64, f64)) -> (usize, usize) {
        let (wide, high) = dots(self.glyphs);
        (place(x, self.columns * wide), place(1.0 - y, self.rows * high))
    }

    fn set(&mut self, x: usize, y: usize) {
        let (wide, high) = dots(self.glyphs);
        let bit = match self.glyphs {
            Glyphs::Ascii => 1 << (y % high),
            Glyphs::Braille => BRAILLE[x % wide][y % high],
        };
        self.dots[y / high * self.columns + x / wide] |= bit;
    }

    fn glyph(&self, dots: u8) -> char {
        match self.glyphs {
            Glyphs::Ascii => [' ', '\'', '.', ':'][usize::from(dots) % 4],
            Glyphs::Braille if dots == 0 => ' ',
            // The dots of a pattern are bits above U+2800 (Unicode, chapter 21.1).
            Glyphs::Braille => char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' '),
        }
    }
}

/// The row of cells, from above, of a place from below.
pub(super) fn cell_from_above(at: f64, rows: usize, glyphs: Glyphs) -> usize {
    let (_, high) = dots(glyphs);
    place(1.0 - at, rows * high) / high
}

/// The column of cells of a place.
pub(super) fn cell_from_left(at: f64, columns: usize, glyphs: Glyphs) -> usize {
    let (wide, _) = dots(glyphs);
    place(at, columns * wide) / wide
}

/// Which of `count` dots is at a place from 0 to 1.
fn place(at: f64, count: usize) -> usize {
    nearest(at.clamp(0.0, 1.0) * (count - 1) as f64)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
fn nearest(number: f64) -> usize {
    number.round() as usize
}

/// Dots of a cell: beside each other, and one above another.
const fn dots(glyphs: Glyphs) -> (usize, usize) {
    match glyphs {
        Glyphs::Ascii => (1, 2),
        Glyphs::Braille => (2, 4),
    }
}

/// Stands for marks of several curves in one cell.
pub(super) const SEVERAL: char = '&';
/// Bits of the dots of a pattern, by column and by row from above.
const BRAILLE: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(glyphs: Glyphs) -> Vec<String> {
        let mut canvas = Canvas::new(4, 2, glyphs);
        canvas.line((0.0, 0.0), (1.0, 1.0));
        canvas.mark((1.0, 0.0), 'o');
        canvas.rows().collect()
    }

    #[test]
    fn a_line_goes_from_corner_to_corner() {
        assert_eq!(drawn(Glyphs::Ascii), ["  .'", ".' o"]);
        assert_eq!(drawn(Glyphs::Braille), ["  \u{2860}\u{280a}", "\u{2860}\u{280a} o"]);
    }

    #[test]
    fn no_mark_hides_that_of_another_curve() {
        let mut canvas = Canvas::new(3, 1, Glyphs::Ascii);
        canvas.mark((0.0, 0.0), 'o');
        canvas.mark((0.0, 0.0), 'o');
        assert!(!canvas.has_several());
        canvas.mark((1.0, 0.0), 'o');
        canvas.mark((1.0, 0.0), 'x');
        assert_eq!(canvas.rows().collect::<Vec<_>>(), ["o &"]);
        assert!(canvas.has_several());
    }

    #[test]
    fn places_beyond_the_canvas_are_at_its_edge() {
        let mut canvas = Canvas::new(1, 1, Glyphs::Ascii);
        canvas.line((-1.0, 2.0), (f64::MAX, -3.0));
        assert_eq!(canvas.rows().collect::<Vec<_>>(), [":"]);
        assert_eq!(cell_from_above(0.0, 5, Glyphs::Braille), 4);
        assert_eq!(cell_from_left(1.0, 5, Glyphs::Ascii), 4);
    }
}
