//! Text in columns whose width follows their content.

use std::io::{self, Write};

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
    #[cfg(feature = "html")]
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

    /// Writes the table to `out`, each line after `indent` spaces.
    ///
    /// # Errors
    /// An error of writing to `out`.
    pub fn write(&self, out: &mut dyn Write, indent: usize) -> io::Result<()> {
        let widths = self.widths();
        for row in &self.rows {
            let mut line = " ".repeat(indent);
            for (column, width) in widths.iter().enumerate().filter(|(_, width)| **width > 0) {
                let cell = row.get(column).cloned().unwrap_or_default();
                push_cell(&mut line, &cell, *width, column == 0);
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
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

fn push_cell(line: &mut String, cell: &Cell, width: usize, left: bool) {
    let padding = " ".repeat(width - cell.width());
    let text = cell.shown();
    if left {
        line.push_str(&text);
        line.push_str(&padding);
    } else {
        line.push_str("   ");
        line.push_str(&padding);
        line.push_str(&text);
    }
}

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
        columns.write(&mut out, 2).expect("a Vec takes everything");
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
    fn emphasis_does_not_shift_the_columns() {
        let mut columns = Columns::default();
        columns.push(vec!["a".into(), Cell::new("1", Emphasis::Strong)]);
        columns.push(vec!["b".into(), "22".into()]);
        assert_eq!(text(&columns), "  a    \x1b[1m1\x1b[0m\n  b   22\n");
    }
}
