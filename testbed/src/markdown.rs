//! Tables in Markdown.

use std::fmt;

/// A table in Markdown, which [`Display`](std::fmt::Display) writes.
#[derive(Clone, Debug)]
pub struct Table {
    head: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

/// The alignment of a column: left for words, right for numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

impl Table {
    /// A table without rows, with the names and alignments of its columns.
    pub fn new<H: Into<String>>(head: impl IntoIterator<Item = (H, Align)>) -> Self {
        let head = head.into_iter().map(|(name, align)| (name.into(), align)).collect();
        Self { head, rows: Vec::new() }
    }

    /// Adds a row of cells to the table. A row with fewer cells than columns is written as it is.
    pub fn push<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.head.iter().map(|(name, _)| name.as_str()).collect();
        writeln!(f, "| {} |", names.join(" | "))?;
        for (_, align) in &self.head {
            f.write_str(match align {
                Align::Left => "|---",
                Align::Right => "|--:",
            })?;
        }
        writeln!(f, "|")?;
        self.rows.iter().try_for_each(|row| writeln!(f, "| {} |", row.join(" | ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_head_and_lines() {
        let mut table = Table::new([("program", Align::Left), ("Gbit/s", Align::Right)]);
        table.push(["linerate", "9.40"]);
        table.push(["not run: no"]);
        let lines = "| program | Gbit/s |\n|---|--:|\n| linerate | 9.40 |\n| not run: no |\n";
        assert_eq!(table.to_string(), lines);
    }
}
