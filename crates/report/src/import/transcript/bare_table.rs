//! Tables of Markdown whose head has a unit of rates, and whose cells have numbers alone, as
//! reviews of devices have them. Each line of them is of no run that is printed.

use measurement::BitRate;

use super::figure::Figure;
use super::name::shortened;

/// The head of a table: for each column the bits per second of its unit; none: it has no unit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Head(Vec<Option<f64>>);

/// A line of a table with rates.
#[derive(Debug, PartialEq)]
pub(super) struct Line {
    /// What its other cells have, e.g. `1500 TCP`.
    pub(super) heading: String,
    /// For each column with a unit its rate; none: the cell has none, or one in parentheses.
    pub(super) rates: Vec<Option<BitRate>>,
    /// Columns with a unit, from 0, whose rates are in parentheses.
    pub(super) doubted: Vec<(usize, BitRate)>,
}

impl Head {
    /// The head that a line is; none: it is something else.
    pub(super) fn of(line: &str) -> Option<Self> {
        let cells = cells(line)?;
        let units: Vec<_> = cells.iter().map(|cell| unit_in(cell)).collect();
        let has_unit = units.iter().any(Option::is_some);
        let has_number =
            cells.iter().any(|cell| cell.starts_with(|one: char| one.is_ascii_digit()));
        (has_unit && !has_number).then_some(Self(units))
    }

    /// The rates of a line below the head; none: it has no number, as the rule and further lines of
    /// the head have none.
    pub(super) fn line(&self, line: &str) -> Option<Line> {
        let (mut rates, mut doubted, mut words) = (Vec::new(), Vec::new(), Vec::new());
        for (cell, unit) in cells(line)?.into_iter().zip(&self.0) {
            let Some(unit) = unit else {
                words.push(cell);
                continue;
            };
            let rate = |text| Some(bits(number(text)?.times(*unit)));
            let inner = cell.strip_prefix('(').and_then(|cell| cell.strip_suffix(')'));
            doubted.extend(inner.and_then(rate).map(|rate| (rates.len(), rate)));
            rates.push(rate(cell));
        }
        let has_rate = !doubted.is_empty() || rates.iter().any(Option::is_some);
        has_rate.then(|| Line { heading: shortened(&words.join(" ")), rates, doubted })
    }
}

/// Whether a line may belong to a table.
pub(super) fn has_cells(line: &str) -> bool {
    line.contains('|')
}

/// The cells of a line, from left to right; none: it has fewer than two, or is too long.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().trim_start_matches('>').trim().trim_matches('|');
    let cells: Vec<_> = inner.split('|').map(str::trim).collect();
    (cells.len() > 1 && line.len() <= LONGEST).then_some(cells)
}

fn number(cell: &str) -> Option<Figure> {
    let is_number = cell.starts_with(|first: char| first.is_ascii_digit());
    Figure::parse(cell).filter(|_| is_number)
}

fn bits(rate: Figure) -> BitRate {
    BitRate::from_bits_per_second(rate.whole())
}

/// Bits per second of the unit that stands in a cell: `Results Mbits/sec`, `(Gbit/s)`.
fn unit_in(cell: &str) -> Option<f64> {
    let mut words = cell.split_whitespace();
    words.find_map(|word| unit(word.trim_matches(|one| "()[],:*".contains(one))))
}

fn unit(word: &str) -> Option<f64> {
    let prefix = UNITS.iter().find_map(|unit| word.strip_suffix(unit))?;
    PREFIXES.iter().find(|(name, _)| *name == prefix).map(|(_, factor)| *factor)
}

/// Bytes of a line; one of a table for people is shorter.
const LONGEST: usize = 400;
const UNITS: [&str; 4] = ["bits/sec", "bits/s", "bit/s", "bps"];
const PREFIXES: [(&str, f64); 5] = [("", 1.0), ("K", 1e3), ("k", 1e3), ("M", 1e6), ("G", 1e9)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_below_a_unit_are_rates() {
        let head = Head::of("| MTU | proto | before Mbits/sec | after (Gbit/s) |").expect("a head");
        assert_eq!(head.line("|-----|-------|---|---|"), None);
        assert_eq!(head.line("|  |  | (default) | (tuned) |"), None);
        let rate = BitRate::from_bits_per_second;
        let line = head.line("| 1500 | TCP\t| 941\t | (1.5) |").expect("a line");
        assert_eq!(line.heading, "1500 TCP");
        assert_eq!(line.rates, [Some(rate(941_000_000)), None]);
        assert_eq!(line.doubted, [(1, rate(1_500_000_000))]);
    }

    #[test]
    fn what_has_no_unit_or_no_cells_is_no_table() {
        for line in ["Mbits/sec", "| a | b |", "| 941 Mbits/sec | 3 |", "| 1 | Mbit/s |", ""] {
            assert_eq!(Head::of(line), None, "{line}");
        }
    }
}
