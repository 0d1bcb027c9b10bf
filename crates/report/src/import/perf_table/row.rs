//! A row of a table: a share, perhaps the process and its file, `[k]` or `[.]`, and a function.

use measurement::profile::Mode;

/// A row of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PerfRow<'a> {
    /// The first share, by which perf sorts: with chains of calls that of the function and all
    /// that it called.
    pub(super) lead: Share,
    /// The function's own share.
    pub(super) own: Share,
    pub(super) command: &'a str,
    pub(super) file: &'a str,
    pub(super) mode: Mode,
    pub(super) symbol: &'a str,
    /// All behind the shares. perf prints no two rows of a table with the same.
    pub(super) place: &'a str,
}

/// A percentage as printed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Share {
    /// Hundredths of a percent.
    pub(super) hundredths: u64,
    /// What one more in the last digit would be.
    pub(super) unit: u64,
}

impl<'a> PerfRow<'a> {
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        let (lead, rest) = Share::parse(undecorated(line))?;
        // With chains of calls the second share is the function's own.
        let (own, place) = Share::parse(trimmed(rest)).unwrap_or((lead, rest));
        let (before, mode, behind) = at_mark(place)?;
        let (command, file) = before.rsplit_once(is_gap).unwrap_or(("", before));
        let (command, symbol) = (first_column(command), first_column(behind));
        let place = trimmed(place);
        (!symbol.is_empty()).then_some(Self { lead, own, command, file, mode, symbol, place })
    }
}

/// Whether a line has the mark of a row, whatever else.
pub(super) fn is_marked(line: &str) -> bool {
    at_mark(line).is_some()
}

/// The columns before the mark, the mode that it stands for, and those behind it.
fn at_mark(text: &str) -> Option<(&str, Mode, &str)> {
    MARKS.iter().find_map(|(mark, mode)| {
        let (at, _) =
            text.match_indices(mark).find(|(at, _)| text[at + 3..].starts_with(is_gap))?;
        Some((trimmed(&text[..at]), *mode, trimmed(&text[at + 3..])))
    })
}

/// Without what stands before a row: the `+` of one that can be unfolded, bullets of a list, and
/// the bar of a Markdown table.
fn undecorated(line: &str) -> &str {
    let mut line = trimmed(line);
    while let Some(rest) = BULLETS.iter().find_map(|bullet| line.strip_prefix(bullet)) {
        if !rest.starts_with(is_gap) {
            break;
        }
        line = trimmed(rest);
    }
    line
}

/// Further columns stand apart.
fn first_column(text: &str) -> &str {
    let text = text.split("  ").next().unwrap_or("");
    trimmed(text.split(" |").next().unwrap_or(""))
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(is_gap)
}

/// Between columns.
fn is_gap(letter: char) -> bool {
    letter.is_whitespace() || letter == '|'
}

impl Share {
    /// `40.40%` as 4,040, with a point or with the comma of other languages, which may have a
    /// space before the sign. With it what follows.
    fn parse(text: &str) -> Option<(Self, &str)> {
        let is_of_number = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | ',');
        let (number, rest) = text.split_at(text.find(|letter| !is_of_number(letter))?);
        let rest = rest.trim_start().strip_prefix('%')?;
        let is_whole = rest.is_empty() || rest.starts_with(is_gap);
        Some((Self::of_number(number)?, rest)).filter(|_| is_whole)
    }

    fn of_number(number: &str) -> Option<Self> {
        let decimals = number.split_once(['.', ',']).map_or("", |(_, decimals)| decimals);
        // What could be thousands is no share.
        if number.contains(',') && decimals.len() > 2 {
            return None;
        }
        let percent: f64 = number.replace(',', ".").parse().ok()?;
        (0.0..=100.0).contains(&percent).then(|| Self::rounded(percent, decimals.len()))
    }

    fn rounded(percent: f64, decimals: usize) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is between 0 and 10,000"
        )]
        let hundredths = (percent * 100.0).round() as u64;
        let unit = match decimals {
            0 => 100,
            1 => 10,
            _ => 1,
        };
        Self { hundredths, unit }
    }
}

/// perf-report(1), `--sort sym`.
const MARKS: [(&str, Mode); 5] = [
    ("[k]", Mode::Kernel),
    ("[.]", Mode::User),
    ("[g]", Mode::User),
    ("[u]", Mode::User),
    ("[H]", Mode::Kernel),
];
const BULLETS: [&str; 5] = ["+", "-", "*", "<*>", "\u{2022}"];

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(line: &str) -> Option<(u64, &str, &str, &str)> {
        let row = PerfRow::parse(line)?;
        Some((row.own.hundredths, row.command, row.file, row.symbol))
    }

    #[test]
    fn a_share_may_have_a_comma_and_a_space() {
        let kernel = |share| Some((share, "", "[kernel]", "memcpy"));
        for line in ["68,02%  [kernel]  [k] memcpy", "  68,02 %  [kernel]  [k] memcpy"] {
            assert_eq!(parts(line), kernel(6_802), "{line}");
        }
        // The space of French texts does not break lines.
        assert_eq!(parts("7,5\u{a0}% [kernel] [k] memcpy"), kernel(750));
        assert_eq!(parts("1,234% [kernel] [k] memcpy"), None);
    }

    #[test]
    fn marks_of_lists_and_tables_are_no_columns() {
        let row = Some((4_040, "iperf3", "[kernel.kallsyms]", "memcpy"));
        for line in [
            "+   68,02%    40,40%  iperf3  [kernel.kallsyms]  [k] memcpy",
            "-   40.40%  iperf3  [kernel.kallsyms]  [k] memcpy",
            "* 40.40% iperf3 [kernel.kallsyms] [k] memcpy",
            "\u{2022} 40.40% iperf3 [kernel.kallsyms] [k] memcpy",
            "<*> 40.40% iperf3 [kernel.kallsyms] [H] memcpy",
            "| 40.40% | iperf3 | [kernel.kallsyms] | [k] memcpy |",
            "| 40.40% | iperf3 | [kernel.kallsyms] | [k] | memcpy | - |",
        ] {
            assert_eq!(parts(line), row, "{line}");
        }
    }

    #[test]
    fn columns_that_follow_are_no_part_of_the_function() {
        let line = " 5.00%  5.00%  swapper  [kernel]  [k] default_idle      -      -  ";
        assert_eq!(parts(line), Some((500, "swapper", "[kernel]", "default_idle")));
        let line = "1.00%  app  app  [.] operator|(Flags, Flags)";
        assert_eq!(parts(line), Some((100, "app", "app", "operator|(Flags, Flags)")));
    }

    #[test]
    fn what_is_no_share_or_no_function_is_no_row() {
        for line in [
            "-1.0% [kernel] [k] x",
            "+1.23% [kernel] [k] x",
            "1e9% [k] x",
            "40.40 [kernel] [k] x",
            "40.40% copying",
            "40.40% [kernel] [k] ",
            "|--40.40%--memcpy",
            "100.01% [kernel] [k] x",
            "1.2.3% [kernel] [k] x",
            "% [k] x",
        ] {
            assert_eq!(PerfRow::parse(line), None, "{line}");
        }
    }
}
