//! Rows of a benchmark as tables: what stands in a column is data.

use crate::candidate::Part;
use crate::figures::Metric;
use crate::markdown::{Align, Table};
use crate::rounds::{Entry, JobRow};
use crate::spread::Spread;

/// A column of a results table: its head, and which median it shows.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its head.
    pub head: &'static str,
    /// What stands in it.
    pub cell: Cell,
}

/// Which median of a program a column shows, and how it is written.
#[derive(Clone, Copy, Debug)]
pub enum Cell {
    /// A median, times the scale, with so many digits.
    Number(Metric, f64, usize),
    /// Two of them, with a plus between them.
    Pair(Metric, Metric, f64, usize),
    /// A median in percent, with so many digits.
    Percent(Metric, usize),
    /// A median in percent with its sign, with so many digits.
    Deviation(Metric, usize),
}

/// How the rows of a benchmark are written as tables: the columns that name the job.
pub struct Layout<'a, J> {
    /// The first columns, which name the job.
    pub keys: &'a [(&'static str, Align)],
    /// What stands in them.
    pub key: fn(&J) -> Vec<String>,
    /// What stands for a number that there is not.
    pub missing: &'static str,
}

impl Cell {
    /// The text of the cell for a program. It is `missing` if the program does not have the number.
    pub fn text(self, entry: &Entry, missing: &str) -> String {
        let number = |metric, scale: f64, digits: usize| {
            let median = entry.median(metric);
            median.map(|median| format!("{:.digits$}", median * scale))
        };
        let text = match self {
            Self::Number(metric, scale, digits) => number(metric, scale, digits),
            Self::Percent(metric, digits) => number(metric, 1.0, digits).map(|one| one + " %"),
            Self::Deviation(metric, digits) => {
                entry.median(metric).map(|median| format!("{median:+.digits$} %"))
            }
            Self::Pair(one, other, scale, digits) => {
                let pair = [one, other].map(|metric| number(metric, scale, digits));
                if missing.is_empty() && pair[0].is_none() {
                    None
                } else {
                    Some(pair.map(|one| one.unwrap_or_else(|| missing.to_owned())).join(" + "))
                }
            }
        };
        text.unwrap_or_else(|| missing.to_owned())
    }
}

impl<J> Layout<'_, J> {
    /// A table of medians with a line for each program of each row. A program that did not run has
    /// the reason instead.
    pub fn values(&self, rows: &[JobRow<J>], columns: &[Column]) -> Table {
        let heads = columns.iter().map(|column| (column.head, Align::Right));
        let mut table = self.table("program", heads);
        for row in rows {
            for entry in &row.entries {
                let cell = |column: &Column| column.cell.text(entry, self.missing);
                let cells = match &entry.outcome {
                    Err(reason) => vec![format!("not run: {reason}")],
                    Ok(_) => columns.iter().map(cell).collect(),
                };
                table.push(self.line(row, entry, cells));
            }
        }
        table
    }

    /// A table of the ratios of the judged linerate to each of the programs that `others` selects
    /// of a row. `head` is the head of the column with their names; `columns` are heads and
    /// metrics.
    pub fn ratios<'r>(
        &self,
        head: &'static str,
        others: fn(&'r JobRow<J>) -> Vec<&'r Entry>,
        rows: &'r [JobRow<J>],
        columns: &[(&'static str, Metric)],
    ) -> Table {
        let mut table = self.table(head, columns.iter().map(|(head, _)| (*head, Align::Right)));
        for row in rows {
            let Some(ours) = row.entry(Part::Ours) else { continue };
            for theirs in others(row) {
                let cells = columns.iter().map(|(_, metric)| {
                    let ratio = ours.over(theirs, *metric);
                    ratio.map_or_else(|| self.missing.to_owned(), |ratio| range(&ratio))
                });
                table.push(self.line(row, theirs, cells.collect()));
            }
        }
        table
    }

    fn table(
        &self,
        program: &'static str,
        heads: impl Iterator<Item = (&'static str, Align)>,
    ) -> Table {
        let keys = self.keys.iter().copied();
        let heads = keys.chain([(program, Align::Left)]).chain(heads);
        Table::new(heads.map(|(head, align)| (head.to_owned(), align)))
    }

    fn line(&self, row: &JobRow<J>, entry: &Entry, cells: Vec<String>) -> Vec<String> {
        let program = entry.program.clone();
        (self.key)(&row.job).into_iter().chain([program]).chain(cells).collect()
    }
}

/// A ratio or value as text: `median (minimum..maximum)`, with two decimals.
pub fn range(spread: &Spread) -> String {
    format!("{:.2} ({:.2}..{:.2})", spread.median, spread.least, spread.most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Figures;

    fn entry(program: &str, part: Part, rates: &[f64]) -> Entry {
        let figures = |rate: &f64| {
            Figures::from_iter([(Metric::Rate, *rate), (Metric::Excess, -0.5), (Metric::Wall, 0.5)])
        };
        Entry { outcome: Ok(rates.iter().map(figures).collect()), ..Entry::new(program, part) }
    }

    fn row() -> JobRow<&'static str> {
        let mut refused = entry("iperf 3", Part::Peer, &[]);
        refused.outcome = Err("too many".to_owned());
        let entries = vec![
            entry("linerate 1", Part::Ours, &[4e9, 6e9]),
            entry("loop", Part::Reference, &[2e9, 2e9]),
            refused,
        ];
        JobRow { job: "veth", entries }
    }

    fn layout(missing: &'static str) -> Layout<'static, &'static str> {
        let key = |job: &&str| vec![(*job).to_owned()];
        Layout { keys: &[("over", Align::Left)], key, missing }
    }

    #[test]
    fn values_and_refusals_are_lines() {
        let columns = [
            Column { head: "Gbit/s", cell: Cell::Number(Metric::Rate, 1e-9, 2) },
            Column { head: "off", cell: Cell::Deviation(Metric::Excess, 2) },
            Column { head: "others", cell: Cell::Percent(Metric::Others, 0) },
            Column { head: "skew", cell: Cell::Pair(Metric::Wall, Metric::StopSkew, 1e3, 1) },
        ];
        let expected = "\
| over | program | Gbit/s | off | others | skew |
|---|---|--:|--:|--:|--:|
| veth | linerate 1 | 5.00 | -0.50 % | - | 500.0 + - |
| veth | loop | 2.00 | -0.50 % | - | 500.0 + - |
| veth | iperf 3 | not run: too many |
";
        assert_eq!(layout("-").values(&[row()], &columns).to_string(), expected);
        let blank = [Column { head: "x", cell: Cell::Pair(Metric::P50, Metric::P99, 1.0, 1) }];
        let table = layout("").values(&[row()], &blank).to_string();
        assert!(table.contains("\n| veth | loop |  |\n"), "{table}");
    }

    #[test]
    fn ratios_are_of_ours_to_each_other() {
        let columns = [("Gbit/s", Metric::Rate), ("CPU", Metric::Cpu)];
        let expected = "\
| over | ours over | Gbit/s | CPU |
|---|---|--:|--:|
| veth | loop | 2.50 (2.00..3.00) | - |
| veth | iperf 3 | - | - |
";
        assert_eq!(
            layout("-").ratios("ours over", JobRow::others, &[row()], &columns).to_string(),
            expected
        );
    }
}
