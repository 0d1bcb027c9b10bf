//! What the lines around the rows of a table are.

use super::row::{PerfRow, is_marked};

/// A line of a text with tables.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    Row(PerfRow<'a>),
    /// What perf prints above the rows, without marks of a comment.
    Header(&'a str),
    /// What people write above a table.
    Heading(&'a str),
    /// What people write between rules above the tables that belong together.
    Section(&'a str),
    /// A command, behind the prompt of a shell.
    Prompt(&'a str),
    /// Another comment of perf.
    Comment,
    /// A chain of calls below its row.
    Chain,
    /// Nothing, or what only separates.
    Blank,
    /// A line with a share or the mark of a row that is no row.
    Broken,
    /// Any other text.
    Prose(&'a str),
}

impl<'a> Line<'a> {
    /// A line of the text; below a row (`in_table`) it may be a chain of calls.
    pub(super) fn parse(line: &'a str, in_table: bool) -> Self {
        if let Some(row) = PerfRow::parse(line) {
            return Self::Row(row);
        }
        let text = line.trim();
        if text.chars().all(|letter| SEPARATORS.contains(letter) || letter.is_whitespace()) {
            Self::Blank
        } else if let Some(header) = header(text) {
            Self::Header(header)
        } else if let Some(comment) = text.strip_prefix('#') {
            Self::of_comment(comment.trim_start_matches('#').trim())
        } else if let Some(section) = section(text) {
            Self::Section(section)
        } else if in_table && is_chain(line) {
            Self::Chain
        } else if text.contains('%') || is_marked(line) {
            Self::Broken
        } else {
            Self::of_text(text)
        }
    }

    fn of_comment(comment: &'a str) -> Self {
        let is_perfs = comment.contains(" : ")
            || COMMENTS.iter().any(|begin| comment.starts_with(begin))
            || comment.chars().all(|letter| matches!(letter, '.' | '=' | ' '));
        if is_perfs { Self::Comment } else { Self::Heading(comment) }
    }

    fn of_text(text: &'a str) -> Self {
        if text.contains("$ ") || text.contains("# perf ") {
            Self::Prompt(text)
        } else if text.ends_with(':') {
            Self::Heading(text)
        } else {
            Self::Prose(text)
        }
    }
}

/// `# Samples: 1K of event 'cycles'`, as the file or the screen has it.
fn header(text: &str) -> Option<&str> {
    let bare = text.trim_start_matches(['#', '|', '-', ' ']);
    let is_comment = text.starts_with('#');
    let begins = |words: &[&str]| words.iter().any(|word| bare.starts_with(word));
    let is_header = begins(&["PerfTop:"])
        || (begins(&["Samples:"]) && (is_comment || bare.contains("of event")))
        || (begins(&["Overhead", "Children"]) && (is_comment || bare.contains("Symbol")))
        || (is_comment && begins(&["To display the perf.data header", "Total Lost Samples:"]));
    is_header.then_some(bare)
}

/// `TCP recv` of `--- TCP recv ---`.
fn section(text: &str) -> Option<&str> {
    let between = |rule: &str| text.strip_prefix(rule)?.strip_suffix(rule);
    let between = between("--").or_else(|| between("=="))?;
    let name = between.trim_matches(['-', '=', ' ']);
    (name.chars().any(char::is_alphabetic) && !name.contains('%')).then_some(name)
}

/// perf-report(1), `--call-graph`, as text and on the screen.
fn is_chain(line: &str) -> bool {
    let text = line.trim_start();
    let is_drawn = text.starts_with('|') || text.starts_with("--");
    let is_folded = text.starts_with("- ") || text.starts_with("+ ");
    let indent = line.len() - text.len();
    let is_indented = indent >= LEAST_INDENT && !text.contains('%');
    !is_marked(line) && (is_drawn || is_folded || is_indented)
}

/// Lines of them alone separate: rules, fences and the head of a Markdown table.
const SEPARATORS: &str = "#-=_~`|:*+";
/// What perf prints besides headers and rows.
const COMMENTS: [&str; 7] =
    ["Event count", "(", "Baseline", "captured on", "contains ", "Core ID", "Time of "];
/// Of functions below a row.
const LEAST_INDENT: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_known_as_comments_and_from_the_screen() {
        for (line, bare) in [
            ("# To display the perf.data header info, please use --header", None),
            ("# Overhead  Symbol", Some("Overhead  Symbol")),
            ("  Overhead  Shared Object  Symbol", Some("Overhead  Shared Object  Symbol")),
            ("| Children | Self | Symbol |", Some("Children | Self | Symbol |")),
            ("Samples: 1K of event 'cycles', 4000 Hz", None),
            ("   PerfTop:    1962 irqs/sec  kernel:95.0%", None),
        ] {
            let Line::Header(header) = Line::parse(line, true) else { panic!("{line}") };
            assert!(bare.is_none_or(|bare| bare == header), "{header}");
        }
        let prose = "Overhead of copies is what I see";
        assert_eq!(Line::parse(prose, true), Line::Prose(prose));
    }

    #[test]
    fn people_write_headings_and_prompts() {
        assert_eq!(Line::parse("## Before", false), Line::Heading("Before"));
        assert_eq!(Line::parse("after the patch:", false), Line::Heading("after the patch:"));
        let prompt = "root@board:~# perf report --stdio";
        assert_eq!(Line::parse(prompt, false), Line::Prompt(prompt));
        for line in ["# (Tip: use -g)", "# hostname : board", "# ....  ....", "#"] {
            let parsed = Line::parse(line, false);
            assert!(matches!(parsed, Line::Comment | Line::Blank), "{line} {parsed:?}");
        }
    }

    #[test]
    fn a_name_between_rules_is_a_section() {
        for (line, name) in [("--- TCP recv ---", "TCP recv"), (" == after ==", "after")] {
            assert_eq!(Line::parse(line, true), Line::Section(name), "{line}");
        }
        for line in ["--- a/drivers/net.c", "------", "--40.40%--memcpy--"] {
            let parsed = Line::parse(line, true);
            assert!(!matches!(parsed, Line::Section(_)), "{line} {parsed:?}");
        }
    }

    #[test]
    fn chains_are_found_below_rows_and_not_elsewhere() {
        for line in [
            "            |--40.40%--memcpy",
            "            ---do_syscall_64",
            "               stmmac_rx",
            "   - 40,40% do_syscall_64",
        ] {
            assert_eq!(Line::parse(line, true), Line::Chain, "{line}");
            assert_ne!(Line::parse(line, false), Line::Chain, "{line}");
        }
    }

    #[test]
    fn a_damaged_row_is_no_prose() {
        for line in ["4O.40%  [kernel]  [k] memcpy", "  <none>  [kernel]  [k] memcpy", "50 %"] {
            assert_eq!(Line::parse(line, true), Line::Broken, "{line}");
        }
    }
}
