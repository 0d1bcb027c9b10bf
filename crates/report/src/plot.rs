//! Pictures of curves in a terminal: points with lines between them, on one or two axes with units
//! and round ticks. They need no colour, since each curve has a mark of its own. No table and no CSV:
//! those of the same data are a [`Grid`](crate::grid::Grid).

use std::io::{self, Write};

use crate::Glyphs;

mod axis;
mod bars;
mod canvas;

pub use axis::{Axis, Scale, Unit};
pub use bars::Bars;

use axis::Ruler;
use canvas::Canvas;

/// A picture of curves over one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis at the left.
    pub left: Axis,
    /// The vertical axis at the right; none: all curves are on the left one.
    pub right: Option<Axis>,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// A curve of a [`Plot`].
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its name in the legend; empty: the legend does not have it.
    pub name: String,
    /// Points of both quantities in their base units (bit/s, bytes, a share of 1, seconds), with
    /// lines between neighbours. Those that are not finite are left out.
    pub points: Vec<(f64, f64)>,
    /// The axis of its second quantity.
    pub side: Side,
}

/// A vertical axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// The left one.
    #[default]
    Left,
    /// The right one.
    Right,
}

impl Plot {
    /// The part of the picture between two places of the horizontal axis, drawn anew.
    #[must_use]
    pub fn between(&self, from: f64, to: f64) -> Self {
        let part = |curve: &Curve| {
            let points = curve.points.iter().copied().filter(|(x, _)| (from..=to).contains(x));
            Curve { points: points.collect(), ..curve.clone() }
        };
        Self { curves: self.curves.iter().map(part).collect(), ..self.clone() }
    }

    /// Writes the picture in `width` columns, at least 40, and about a seventh of that in lines.
    /// Nothing: no curve has a point.
    ///
    /// # Errors
    /// An error of writing to `out`.
    pub fn write(&self, width: usize, glyphs: Glyphs, out: &mut dyn Write) -> io::Result<()> {
        for line in self.lines(width, glyphs) {
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    fn lines(&self, width: usize, glyphs: Glyphs) -> Vec<String> {
        let width = width.max(NARROWEST);
        let rows = (width / 8 + 2).min(MOST_ROWS);
        let Some(left) = self.ruler(&self.left, Side::Left, rows) else { return Vec::new() };
        let right = self.right.as_ref().and_then(|axis| self.ruler(axis, Side::Right, rows));
        let margin = left.widest();
        let beside = right.as_ref().map_or(0, |right| right.widest() + 2);
        let columns = width.saturating_sub(margin + 2 + beside).max(1);
        let places = self.curves.iter().flat_map(|curve| curve.points.iter().map(|(x, _)| *x));
        let Some(x) = Ruler::of_data(&self.x, places, columns / 8) else { return Vec::new() };
        let canvas = self.draw(Canvas::new(columns, rows, glyphs), &x, &left, right.as_ref());
        let has_several = canvas.has_several();
        let frame = Frame { margin, columns, x: &x, left: &left, right: right.as_ref(), glyphs };
        let mut lines = vec![frame.head(width)];
        lines.extend(canvas.rows().enumerate().map(|(row, cells)| frame.row(row, rows, &cells)));
        lines.extend(frame.foot());
        let legend = self.legend(width.saturating_sub(margin + 2), has_several);
        lines.extend(legend.into_iter().map(|legend| " ".repeat(margin + 2) + &legend));
        lines
    }

    /// The ruler of the curves on one side.
    fn ruler(&self, axis: &Axis, side: Side, rows: usize) -> Option<Ruler> {
        let curves = self.curves.iter().filter(|curve| curve.side == side);
        let values = curves.flat_map(|curve| curve.points.iter().map(|(_, y)| *y));
        Ruler::with_round_ends(axis, values, rows / 3)
    }

    /// Draws the lines first: no line covers a mark.
    fn draw(&self, mut canvas: Canvas, x: &Ruler, left: &Ruler, right: Option<&Ruler>) -> Canvas {
        let placed = |curve: &Curve| -> Vec<(f64, f64)> {
            let y = if curve.side == Side::Right { right.unwrap_or(left) } else { left };
            let points = curve.points.iter();
            points.filter_map(|(at, value)| Some((x.place(*at)?, y.place(*value)?))).collect()
        };
        for curve in &self.curves {
            let points = placed(curve);
            for pair in points.windows(2) {
                canvas.line(pair[0], pair[1]);
            }
            if let [only] = points[..] {
                canvas.line(only, only);
            }
        }
        for (curve, mark) in self.curves.iter().zip(MARKS.chars()) {
            if curve.has_marks(canvas.columns()) {
                for point in placed(curve) {
                    canvas.mark(point, mark);
                }
            }
        }
        canvas
    }

    /// `o delivered   x lost` in lines of at most `width`; none: no curve has a name.
    fn legend(&self, width: usize, has_several: bool) -> Vec<String> {
        let marked = self.curves.iter().zip(MARKS.chars());
        let marked = marked.filter(|(curve, _)| !curve.name.is_empty());
        let mut entries: Vec<_> =
            marked.map(|(curve, mark)| format!("{mark} {}", curve.name)).collect();
        let unmarked = self.curves.len().saturating_sub(MARKS.chars().count());
        entries.extend((unmarked > 0).then(|| format!("{unmarked} more without marks")));
        entries.extend(has_several.then(|| format!("{} several", canvas::SEVERAL)));
        let mut lines: Vec<String> = Vec::new();
        for entry in entries {
            let has_room =
                |line: &&mut String| line.chars().count() + 3 + entry.chars().count() <= width;
            match lines.last_mut().filter(has_room) {
                Some(line) => {
                    line.push_str("   ");
                    line.push_str(&entry);
                }
                None => lines.push(entry),
            }
        }
        lines
    }
}

impl Curve {
    /// Points that are close to each other have none: the line tells them.
    const fn has_marks(&self, columns: usize) -> bool {
        self.points.len() <= columns
    }
}

/// What stands around the curves.
struct Frame<'a> {
    /// Columns of the labels at the left.
    margin: usize,
    columns: usize,
    x: &'a Ruler,
    left: &'a Ruler,
    right: Option<&'a Ruler>,
    glyphs: Glyphs,
}

impl Frame<'_> {
    /// The titles of the vertical axes.
    fn head(&self, width: usize) -> String {
        let (left, right) = (self.left.title(), self.right.map(Ruler::title).unwrap_or_default());
        let room = width.saturating_sub(left.chars().count());
        format!("{left}{right:>room$}")
    }

    fn row(&self, row: usize, rows: usize, cells: &str) -> String {
        let margin = self.margin;
        let place = |at: f64| canvas::cell_from_above(at, rows, self.glyphs);
        let label = |ruler: &Ruler| {
            let mut ticks = ruler.ticks().iter();
            ticks.find(|tick| place(tick.at) == row).map(|tick| tick.label.clone())
        };
        let [plain, tick] = self.glyphs.choose(["|", "+"], ["\u{2502}", "\u{2524}"]);
        let left = label(self.left);
        let edge = if left.is_some() { tick } else { plain };
        let left = left.unwrap_or_default();
        let mut line = format!("{left:>margin$} {edge}{cells}");
        if let Some(right) = self.right {
            let [plain, tick] = self.glyphs.choose(["|", "+"], ["\u{2502}", "\u{251c}"]);
            let label = label(right);
            line.push_str(if label.is_some() { tick } else { plain });
            line.push(' ');
            line.push_str(&label.unwrap_or_default());
        }
        line
    }

    /// The horizontal axis, its labels and its title.
    fn foot(&self) -> [String; 3] {
        let [corner, line, tick] =
            self.glyphs.choose(["+", "-", "+"], ["\u{2514}", "\u{2500}", "\u{252c}"]);
        let indent = " ".repeat(self.margin + 1);
        let mut marks = vec![line; self.columns];
        let mut labels = String::new();
        for one in self.x.ticks() {
            let column = canvas::cell_from_left(one.at, self.columns, self.glyphs);
            let length = one.label.chars().count();
            // Centred below its tick, but within the picture.
            let start = (column + 1).saturating_sub(length / 2);
            let start = start.min((self.columns + 1).saturating_sub(length));
            if labels.is_empty() || start > labels.chars().count() {
                let padding = start - labels.chars().count();
                labels.extend(std::iter::repeat_n(' ', padding));
                labels.push_str(&one.label);
                marks[column] = tick;
            }
        }
        let title = self.x.title();
        let centre = self.columns.saturating_sub(title.chars().count()) / 2;
        let title = indent.clone() + " " + &" ".repeat(centre) + &title;
        [format!("{indent}{corner}{}", marks.concat()), indent + &labels, title]
    }
}

impl Glyphs {
    /// What is drawn in ASCII, or with characters of Unicode.
    const fn choose<T: Copy>(self, ascii: T, unicode: T) -> T {
        match self {
            Self::Ascii => ascii,
            Self::Braille => unicode,
        }
    }
}

/// Of curves in their order.
const MARKS: &str = "ox+*#@%=ABCDEFGHIJKLMNOPQRSTUVWXYZ";
/// Columns below which a picture shows nothing.
const NARROWEST: usize = 40;
/// As many as leave room for the titles on a terminal of 24 lines.
const MOST_ROWS: usize = 16;
