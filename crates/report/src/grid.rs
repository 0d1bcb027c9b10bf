//! Tables of quantities ([`Grid`]) as text, JSON and CSV: the same rows in each. Pure: nothing is
//! computed, and no column is left out of what programs read.

use std::borrow::Cow;
use std::io::{self, Write};

use measurement::units::group_thousands;
use measurement::{BitRate, ByteSize, PerSecond};
use serde_json::{Map, Value as Json};

use crate::columns::{Cell, Columns, Emphasis};
use crate::width::Width;

/// A table whose cells are quantities with units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    columns: Vec<Column>,
    /// How many columns, from the first, say which row it is.
    identity: usize,
    rows: Vec<Vec<Value>>,
}

/// A column of a [`Grid`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its title for people, e.g. `lost`.
    pub title: &'static str,
    /// Its key in JSON and in the first line of CSV, which ends in its unit, e.g. `lost_ratio`.
    pub key: &'static str,
}

/// A quantity in a cell. Programs read it as a number in the base unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// Not known, or not applicable.
    #[default]
    Missing,
    /// A name.
    Text(String),
    /// A number of things.
    Count(u64),
    /// A size in bytes, which is shown with all digits.
    Bytes(ByteSize),
    /// A size in bytes, which is shown with a binary prefix if that takes no digits off it or any
    /// other size of its column.
    Size(ByteSize),
    /// A rate in bit/s.
    Rate(BitRate),
    /// Events in a second.
    PerSecond(PerSecond),
    /// A share, 0 to 1, which is shown in percent.
    Share(f64),
    /// A time in seconds.
    Seconds(f64),
    /// A number of another unit, or without one.
    Number(f64),
}

impl Grid {
    /// A table of these columns, without rows.
    pub const fn new(columns: Vec<Column>) -> Self {
        Self { columns, identity: 0, rows: Vec::new() }
    }

    /// The table, of which so many columns, from the first, say which row it is: labels in metrics.
    #[must_use]
    pub const fn identified_by(mut self, columns: usize) -> Self {
        self.identity = columns;
        self
    }

    /// Adds a row with a value for each column, in their order.
    pub fn push(&mut self, row: Vec<Value>) {
        self.rows.push(row);
    }

    /// Writes the table for people, each line after `indent` spaces. A column without any value is
    /// left out.
    ///
    /// # Errors
    /// An error of writing to `out`.
    pub fn write_text(&self, out: &mut dyn Write, indent: usize) -> io::Result<()> {
        self.columns().write(out, indent, Width::UNKNOWN)
    }

    /// Writes the same in lines that fit the `width`.
    ///
    /// # Errors
    /// An error of writing to `out`.
    pub fn write_within(&self, out: &mut dyn Write, width: Width) -> io::Result<()> {
        self.columns().write(out, 0, width)
    }

    fn columns(&self) -> Columns {
        let mut table = Columns::default();
        let title = |column: &Column| Cell::new(column.title, Emphasis::Faint);
        table.push(self.columns.iter().map(title).collect());
        let units: Vec<_> = (0..self.columns.len()).map(|column| self.unit(column)).collect();
        for row in &self.rows {
            let cells = row.iter().zip(&units);
            table.push(cells.map(|(value, unit)| Cell::from(value.shown(*unit))).collect());
        }
        table
    }

    /// The largest unit that takes no digits off any size of a column, as its place in [`UNITS`].
    fn unit(&self, column: usize) -> usize {
        let sizes = self.rows.iter().filter_map(|row| match row.get(column) {
            Some(Value::Size(size)) if size.bytes() > 0 => Some(unit(*size)),
            _ => None,
        });
        sizes.min().unwrap_or_default()
    }

    /// The rows as JSON: an array with an object for each. A value that is missing is left out.
    pub fn to_json(&self) -> Json {
        let row = |row: &Vec<Value>| {
            let members = self.columns.iter().zip(row);
            let known = members.filter_map(|(column, value)| Some((column.key, value.to_json()?)));
            Json::Object(known.map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
        };
        Json::Array(self.rows.iter().map(row).collect())
    }

    /// Writes the rows as CSV (RFC 4180) with lines that end as on this system: first the keys, then
    /// a line for each row. A value that is missing is empty.
    ///
    /// # Errors
    /// An error of writing to `out`.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let keys: Vec<_> = self.columns.iter().map(|column| quoted(column.key)).collect();
        writeln!(out, "{}", keys.join(","))?;
        for row in &self.rows {
            let cells: Vec<_> = row.iter().map(Value::to_csv).collect();
            writeln!(out, "{}", cells.join(","))?;
        }
        Ok(())
    }
}

/// Writers of the rows of a grid for other programs.
impl Grid {
    /// Writes the rows as a table of Markdown, as GitHub shows it. A column without any value is left out.
    ///
    /// # Errors
    /// An error of writing to `out`.
    pub fn write_markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        let is_used = |at: &usize| self.rows.iter().any(|row| row[*at] != Value::Missing);
        let used: Vec<_> = (0..self.columns.len()).filter(is_used).collect();
        let mut line = |cells: Vec<String>| writeln!(out, "| {} |", cells.join(" | "));
        line(used.iter().map(|at| self.columns[*at].title.to_owned()).collect())?;
        let is_text = |at: usize| self.rows.iter().any(|row| matches!(row[at], Value::Text(_)));
        line(used.iter().map(|at| if is_text(*at) { "---" } else { "--:" }.to_owned()).collect())?;
        for row in &self.rows {
            let cell = |at: &usize| row[*at].shown(self.unit(*at)).replace('|', "\\|");
            line(used.iter().map(|at| cell(at).replace('\n', " ")).collect())?;
        }
        Ok(())
    }

    /// Writes the numbers of the rows as gauges of OpenMetrics 1.0, whose names begin with
    /// `linerate_NAME_`; the columns that identify a row are their labels.
    ///
    /// # Errors
    /// An error of writing to `out`.
    pub fn write_open_metrics(&self, name: &str, out: &mut dyn Write) -> io::Result<()> {
        for (at, column) in self.columns.iter().enumerate().skip(self.identity) {
            let known = self.rows.iter().filter_map(|row| Some((row, row[at].number()?)));
            let samples: Vec<_> = known.collect();
            if samples.is_empty() {
                continue;
            }
            let family = format!("linerate_{name}_{}", column.key);
            writeln!(out, "# TYPE {family} gauge\n# HELP {family} {}.", column.title)?;
            for (row, number) in samples {
                writeln!(out, "{family}{{{}}} {number}", self.labels(row).join(","))?;
            }
        }
        writeln!(out, "# EOF")
    }

    /// `layer="TCP, one stream"`, for each column that identifies a row.
    fn labels(&self, row: &[Value]) -> Vec<String> {
        let known = self.columns.iter().zip(row).take(self.identity);
        let known = known.filter_map(|(column, value)| Some((column.key, value.plain()?)));
        let escaped =
            |text: String| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        known.map(|(key, text)| format!("{key}=\"{}\"", escaped(text))).collect()
    }
}

impl Value {
    /// A value that may not be known.
    pub fn known<T>(value: Option<T>, kind: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Missing, kind)
    }

    /// As text; a size in the unit of its column.
    fn shown(&self, unit: usize) -> String {
        match self {
            Self::Missing => String::new(),
            Self::Text(text) => text.clone(),
            Self::Count(count) => group_thousands(*count),
            Self::Bytes(size) => format!("{} B", group_thousands(size.bytes())),
            Self::Size(size) => in_unit(*size, unit),
            Self::Rate(rate) => rate.to_string(),
            Self::PerSecond(events) => events.to_string(),
            Self::Share(share) => percent(*share),
            Self::Seconds(seconds) => time(*seconds),
            Self::Number(number) => format!("{number:.3}"),
        }
    }

    fn to_json(&self) -> Option<Json> {
        Some(match self {
            Self::Missing => return None,
            Self::Text(text) => text.clone().into(),
            Self::Count(count) => (*count).into(),
            Self::Bytes(size) | Self::Size(size) => size.bytes().into(),
            Self::Rate(rate) => rate.bits_per_second().into(),
            Self::PerSecond(events) => events.get().into(),
            Self::Share(number) | Self::Seconds(number) | Self::Number(number) => (*number).into(),
        })
    }

    /// The number of a quantity. None: it is a text, or missing.
    fn number(&self) -> Option<serde_json::Number> {
        match self.to_json()? {
            Json::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The text, or the number in the base unit. None: it is missing.
    fn plain(&self) -> Option<String> {
        Some(match self.to_json()? {
            Json::String(text) => text,
            number => number.to_string(),
        })
    }

    fn to_csv(&self) -> String {
        match self.to_json() {
            None => String::new(),
            Some(Json::String(text)) => quoted(&inert(&text)),
            Some(number) => number.to_string(),
        }
    }
}

/// A size with all of its digits: `64 KiB`, `1,448 B`.
pub(crate) fn exact(size: ByteSize) -> String {
    in_unit(size, unit(size))
}

/// The largest unit that takes no digits off a size, as its place in [`UNITS`].
fn unit(size: ByteSize) -> usize {
    let takes_none = |unit: &usize| size.bytes().is_multiple_of(1 << (10 * unit));
    (0..UNITS.len()).rev().find(takes_none).filter(|_| size.bytes() > 0).unwrap_or_default()
}

fn in_unit(size: ByteSize, unit: usize) -> String {
    let name = UNITS.get(unit).unwrap_or(&"B");
    format!("{} {name}", group_thousands(size.bytes() >> (10 * unit)))
}

/// Units of sizes, each 1024 times the one before.
const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

/// Text that a spreadsheet does not take for a formula: an apostrophe precedes what it would calculate.
fn inert(text: &str) -> Cow<'_, str> {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if is_formula { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

/// A field of CSV: in quotes where it has a character that separates (RFC 4180, section 2).
fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}

/// `0 %`, `<0.001 %`, `0.015 %`, `2.30 %`, `97.5 %`, `100 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        percent if percent <= 0.0 => "0 %".to_owned(),
        percent if percent < 0.001 => "<0.001 %".to_owned(),
        percent if percent < 0.1 => format!("{percent:.3} %"),
        percent if percent < 10.0 => format!("{percent:.2} %"),
        percent if percent < 99.95 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// `30.5 ns`, `12.3 us`, `1.23 ms`, `4.56 s`.
fn time(seconds: f64) -> String {
    let (number, unit) = match seconds {
        seconds if seconds < 1e-6 => (seconds * 1e9, "ns"),
        seconds if seconds < 1e-3 => (seconds * 1e6, "us"),
        seconds if seconds < 1.0 => (seconds * 1e3, "ms"),
        seconds => (seconds, "s"),
    };
    let decimals = if number < 9.995 { 2 } else { usize::from(number < 99.95) };
    format!("{number:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let column = |(title, key)| Column { title, key };
        let columns = [
            ("path", "path"),
            ("rate", "rate_bits_per_second"),
            ("lost", "lost_ratio"),
            ("-", "x"),
        ];
        let mut grid = Grid::new(columns.map(column).to_vec());
        let rate = Value::Rate(BitRate::from_bits_per_second(941_400_000));
        let name = Value::Text("a \"b\", c".to_owned());
        grid.push(vec![name, rate, Value::Share(0.0015), Value::Missing]);
        grid.push(vec![Value::Text("d".into()), Value::Missing, Value::Share(0.0), Value::Missing]);
        grid
    }

    #[test]
    fn sizes_of_a_column_have_one_unit() {
        let shown = |sizes: &[u64]| {
            let mut grid = Grid::new(vec![Column { title: "buffer", key: "buffer_bytes" }]);
            for size in sizes {
                grid.push(vec![Value::Size(ByteSize::from_bytes(*size))]);
            }
            let mut text = Vec::new();
            grid.write_text(&mut text, 0).expect("a vector takes all");
            let text = String::from_utf8(text).expect("text");
            text.lines().skip(1).map(|line| line.trim().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(shown(&[64 << 10, 4 << 20]), ["64 KiB", "4,096 KiB"]);
        assert_eq!(shown(&[2 << 20, 4 << 20]), ["2 MiB", "4 MiB"]);
        assert_eq!(shown(&[1_448, 4 << 20]), ["1,448 B", "4,194,304 B"]);
        assert_eq!(shown(&[0, 4 << 20]), ["0 MiB", "4 MiB"]);
    }

    #[test]
    fn the_same_rows_are_text_json_and_csv() {
        let mut text = Vec::new();
        grid().write_text(&mut text, 0).expect("a vector takes all");
        let text = String::from_utf8(text).expect("text").replace("\u{1b}[2m", "");
        let text = text.replace("\u{1b}[0m", "");
        let second = format!("d{}0 %", " ".repeat(28));
        let head = "path               rate     lost\na \"b\", c   941.4 Mbit/s   0.15 %";
        assert_eq!(text, format!("{head}\n{second}\n"));
        let json = grid().to_json().to_string();
        let first = r#"{"path":"a \"b\", c","rate_bits_per_second":941400000,"lost_ratio":0.0015}"#;
        assert_eq!(json, format!("[{first},{{\"path\":\"d\",\"lost_ratio\":0.0}}]"));
        let mut csv = Vec::new();
        grid().write_csv(&mut csv).expect("a vector takes all");
        assert_eq!(
            String::from_utf8(csv).expect("text"),
            "path,rate_bits_per_second,lost_ratio,x\n\"a \"\"b\"\", c\",941400000,0.0015,\nd,,0.0,\n"
        );
    }

    #[test]
    fn a_table_of_markdown_escapes_its_bars() {
        let mut rows = grid();
        let name = Value::Text("a|b".into());
        rows.push(vec![name, Value::Missing, Value::Missing, Value::Missing]);
        let mut text = Vec::new();
        rows.write_markdown(&mut text).expect("a vector takes all");
        let expected = "| path | rate | lost |\n| --- | --: | --: |\n\
                        | a \"b\", c | 941.4 Mbit/s | 0.15 % |\n| d |  | 0 % |\n| a\\|b |  |  |\n";
        assert_eq!(String::from_utf8(text).expect("text"), expected);
    }

    #[test]
    fn what_identifies_a_row_is_its_labels() {
        let mut text = Vec::new();
        grid().identified_by(1).write_open_metrics("x", &mut text).expect("a vector takes all");
        let expected = "# TYPE linerate_x_rate_bits_per_second gauge\n\
                        # HELP linerate_x_rate_bits_per_second rate.\n\
                        linerate_x_rate_bits_per_second{path=\"a \\\"b\\\", c\"} 941400000\n\
                        # TYPE linerate_x_lost_ratio gauge\n\
                        # HELP linerate_x_lost_ratio lost.\n\
                        linerate_x_lost_ratio{path=\"a \\\"b\\\", c\"} 0.0015\n\
                        linerate_x_lost_ratio{path=\"d\"} 0.0\n# EOF\n";
        assert_eq!(String::from_utf8(text).expect("text"), expected);
    }

    #[test]
    fn no_spreadsheet_calculates_what_a_text_says() {
        for (text, cell) in [
            ("=1+1", "'=1+1"),
            ("-P 4", "'-P 4"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("=\"a\"", "\"'=\"\"a\"\"\""),
            ("eth0", "eth0"),
            ("a=1", "a=1"),
        ] {
            assert_eq!(Value::Text(text.to_owned()).to_csv(), cell);
        }
        assert_eq!(Value::Share(-0.5).to_csv(), "-0.5");
    }

    #[test]
    fn quantities_have_three_digits() {
        let shown = [0.0, 1e-6, 0.000_15, 0.023, 0.975, 0.9999].map(percent);
        assert_eq!(shown, ["0 %", "<0.001 %", "0.015 %", "2.30 %", "97.5 %", "100 %"]);
        let sizes = [0, 1_448, 65_536, 3 << 20].map(|bytes| exact(ByteSize::from_bytes(bytes)));
        assert_eq!(sizes, ["0 B", "1,448 B", "64 KiB", "3 MiB"]);
        assert_eq!([30.5e-9, 1.234e-3, 56.0].map(time), ["30.5 ns", "1.23 ms", "56.0 s"]);
    }
}
