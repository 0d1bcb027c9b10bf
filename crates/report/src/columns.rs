//! Text in columns whose width follows their content.

use std::io::{self, Write};

use crate::width::Width;

/// Emphasis of a cell on a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Emphasis {
    /// Normal text.
    #[default]
    None,
    /// Bold, for the main result.
    Strong,
    /// Faint, for what is less important than the rest.
    Faint,
    /// Yellow, for a value that may be wrong or that shows a problem.
    Warning,
    /// Red, for what is wrong.
    Bad,
    /// Green, for what is as it should be.
    Good,
}

impl Emphasis {
    /// Escape sequence that starts the emphasis (ECMA-48, SGR).
    const fn begin(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Strong => "\x1b[1m",
            Self::Faint => "\x1b[2m",
            Self::Warning => "\x1b[33m",
            Self::Bad => "\x1b[31m",
            Self::Good => "\x1b[32m",
        }
    }

    const fn end(self) -> &'static str {
        if matches!(self, Self::None) { "" } else { "\x1b[0m" }
    }
}

/// A cell of a table: text, and its emphasis on a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    text: String,
    emphasis: Emphasis,
}

impl Cell {
    /// Makes a cell with this text and emphasis; an empty text has no emphasis.
    pub fn new(text: impl Into<String>, emphasis: Emphasis) -> Self {
        let text = text.into();
        // Nothing cannot stand out.
        let emphasis = if text.is_empty() { Emphasis::None } else { emphasis };
        Self { text, emphasis }
    }

    /// The text between the escape sequences of its emphasis.
    pub(crate) fn shown(&self) -> String {
        format!("{}{}{}", self.emphasis.begin(), self.text, self.emphasis.end())
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text, Emphasis::None)
    }
}

/// A text with its emphasis.
pub(crate) fn paint(text: &str, emphasis: Emphasis) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!("{}{text}{}", emphasis.begin(), emphasis.end())
}

/// A line of a table whose columns have fixed widths: a name at the left, the others at the right.
/// What is wider than its column takes the room, after a space.
pub(crate) fn line(
    indent: usize,
    (name, width): (Cell, usize),
    cells: impl Iterator<Item = (Cell, usize)>,
) -> String {
    let padding = |cell: &Cell, width: usize| " ".repeat(width.saturating_sub(cell.width()));
    let mut line = " ".repeat(indent) + &paint(&name.text, name.emphasis) + &padding(&name, width);
    for (cell, width) in cells {
        let padding = padding(&cell, width);
        line.push_str(if padding.is_empty() { " " } else { &padding });
        line.push_str(&paint(&cell.text, cell.emphasis));
    }
    line.trim_end().to_owned()
}

/// A table of text; the first column is aligned to the left, the others to the right.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    rows: Vec<Vec<Cell>>,
}

impl Columns {
    /// Adds a row; the first one is the head. A column whose cells below the head are all empty is
    /// not printed.
    pub fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// The texts of the rows, the head first, without columns that are not printed.
    #[cfg(feature = "full")]
    pub(crate) fn texts(&self) -> impl Iterator<Item = Vec<String>> {
        let is_used = |column: usize| {
            let mut cells = self.rows.iter().skip(1).filter_map(|row| row.get(column));
            cells.any(|cell| !cell.text.is_empty())
        };
        let used: Vec<_> =
            (0..self.rows.first().map_or(0, Vec::len)).filter(|one| is_used(*one)).collect();
        let text = |row: &Vec<Cell>, column: usize| {
            row.get(column).map_or_else(String::new, |cell| cell.text.clone())
        };
        self.rows.iter().map(move |row| used.iter().map(|column| text(row, *column)).collect())
    }

    /// Whether the table has rows besides the head.
    pub const fn has_rows(&self) -> bool {
        self.rows.len() > 1
    }

    /// Leaves out columns, in the order of `least`, until the table has at most the `width` after
    /// `indent` spaces. Returns the heads of those that are left out.
    pub(crate) fn narrow(&mut self, indent: usize, width: Width, least: &[usize]) -> Vec<String> {
        let mut left_out = Vec::new();
        for column in least {
            if indent + self.width(NARROW_GAP) <= width.most() {
                break;
            }
            let is_shown = self.shown().any(|(shown, _)| shown == *column);
            let head = self.rows.first().and_then(|row| row.get(*column));
            left_out.extend(head.filter(|_| is_shown).map(|cell| cell.text.clone()));
            let cells = self.rows.iter_mut().skip(1).filter_map(|row| row.get_mut(*column));
            cells.for_each(|cell| *cell = Cell::default());
        }
        left_out
    }

    /// Writes the table to `out`, each line after `indent` spaces. What is wider than `width` has less
    /// space between its columns; if it still is, it is written in parts below each other, each of
    /// which begins with the first column.
    ///
    /// # Errors
    /// An error of writing to `out`.
    pub fn write(&self, out: &mut dyn Write, indent: usize, width: Width) -> io::Result<()> {
        let room = width.most().saturating_sub(indent);
        let gap = if self.width(GAP) <= room { GAP } else { NARROW_GAP };
        for (number, part) in self.parts(room, gap).iter().enumerate() {
            if number > 0 {
                writeln!(out)?;
            }
            for row in &self.rows {
                let mut line = " ".repeat(indent);
                for (column, width) in part {
                    let cell = row.get(*column).cloned().unwrap_or_default();
                    push_cell(
                        &mut line,
                        &cell,
                        *width,
                        if *column == 0 { None } else { Some(gap) },
                    );
                }
                writeln!(out, "{}", line.trim_end())?;
            }
        }
        Ok(())
    }

    /// The columns that stand beside each other, with their widths, in as many parts as needed.
    fn parts(&self, room: usize, gap: usize) -> Vec<Vec<(usize, usize)>> {
        let mut shown = self.shown();
        let Some(first) = shown.next() else { return vec![Vec::new()] };
        let (mut parts, mut taken) = (vec![vec![first]], first.1);
        for (column, width) in shown {
            let is_full = taken + gap + width > room;
            if is_full && parts.last().is_some_and(|part| part.len() > 1) {
                parts.push(vec![first]);
                taken = first.1;
            }
            taken += gap + width;
            parts.last_mut().into_iter().for_each(|part| part.push((column, width)));
        }
        parts
    }

    /// Characters of a line with so many spaces between columns.
    fn width(&self, gap: usize) -> usize {
        self.shown().map(|(_, width)| width + gap).sum::<usize>().saturating_sub(gap)
    }

    /// Columns that are printed, with their widths.
    fn shown(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        self.widths().into_iter().enumerate().filter(|(_, width)| *width > 0)
    }

    /// Width of each column; 0: all of its cells below the head are empty.
    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |row: &Vec<Cell>, column| row.get(column).map_or(0, Cell::width);
        (0..columns)
            .map(|column| {
                let is_empty = self.rows.iter().skip(1).all(|row| width(row, column) == 0);
                if is_empty && column > 0 {
                    return 0;
                }
                self.rows.iter().map(|row| width(row, column)).max().unwrap_or(0)
            })
            .collect()
    }
}

/// A cell at the right of its column, behind a gap; the first one, without a gap, at the left.
fn push_cell(line: &mut String, cell: &Cell, width: usize, gap: Option<usize>) {
    let padding = " ".repeat(width - cell.width());
    let text = cell.shown();
    match gap {
        None => {
            line.push_str(&text);
            line.push_str(&padding);
        }
        Some(gap) => {
            line.push_str(&" ".repeat(gap));
            line.push_str(&padding);
            line.push_str(&text);
        }
    }
}

/// Spaces between two columns.
const GAP: usize = 3;
/// Where there is no room for more.
const NARROW_GAP: usize = 2;

/// The text without the escape sequences of emphasis.
#[cfg(test)]
pub(crate) fn plain(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or(part, |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(columns: &Columns) -> String {
        let mut out = Vec::new();
        columns.write(&mut out, 2, Width::UNKNOWN).expect("a Vec takes everything");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn columns_are_aligned_and_empty_ones_left_out() {
        let mut columns = Columns::default();
        columns.push(vec!["".into(), "rate".into(), "lost".into()]);
        columns.push(vec!["TCP send".into(), "941.4 Mbit/s".into()]);
        columns.push(vec!["x".into(), "1 bit/s".into()]);
        assert_eq!(
            text(&columns),
            "                     rate\n  TCP send   941.4 Mbit/s\n  x               1 bit/s\n"
        );
    }

    #[test]
    fn a_table_without_room_is_written_in_parts_or_with_fewer_columns() {
        let mut columns = Columns::default();
        columns.push(vec!["row".into(), "first".into(), "second".into(), "third".into()]);
        columns.push(vec!["TCP send".into(), "1".into(), "22".into(), "333".into()]);
        let text = |columns: &Columns, width| {
            let mut out = Vec::new();
            columns.write(&mut out, 2, Width::of(width)).expect("a Vec takes everything");
            String::from_utf8(out).expect("text")
        };
        let whole = "  row        first   second   third\n  TCP send       1       22     333\n";
        assert_eq!(text(&columns, 35), whole);
        let narrow = "  row       first  second  third\n  TCP send      1      22    333\n";
        assert_eq!(text(&columns, 34), narrow);
        let parts = "  row       first  second\n  TCP send      1      22\n\n  \
                     row       third\n  TCP send    333\n";
        assert_eq!(text(&columns, 31), parts);
        assert_eq!(columns.narrow(2, Width::of(32), &[2, 1]), [""; 0]);
        assert_eq!(columns.narrow(2, Width::of(31), &[2, 1]), ["second"]);
        assert_eq!(text(&columns, 31), "  row        first   third\n  TCP send       1     333\n");
    }

    #[test]
    fn emphasis_does_not_shift_the_columns() {
        let mut columns = Columns::default();
        columns.push(vec!["a".into(), Cell::new("1", Emphasis::Strong)]);
        columns.push(vec!["b".into(), "22".into()]);
        assert_eq!(text(&columns), "  a    \x1b[1m1\x1b[0m\n  b   22\n");
    }
}
