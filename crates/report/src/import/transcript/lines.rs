//! The lines of a text, without what mail, terminals and editors add to them. A statement that was
//! wrapped is put together again.

use std::borrow::Cow;

use super::super::plain::without_escapes;
use super::ends::Tool;
use super::said::{STARTING, Said, begins, said};

/// A text, line by line; each line has its number, from 1.
pub(super) struct Lines<'a> {
    pub(super) text: &'a [u8],
    /// Where the next line begins.
    pub(super) at: usize,
    /// Number of the last line that was taken.
    pub(super) number: usize,
}

impl<'a> Lines<'a> {
    pub(super) const fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, number: 0 }
    }

    /// Takes the next line.
    pub(super) fn next(&mut self) -> Option<Cow<'a, str>> {
        let (line, end) = self.ahead()?;
        (self.at, self.number) = (end, self.number + 1);
        Some(clean(line))
    }

    pub(super) const fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Takes lines until the text goes on at `end`.
    pub(super) fn skip_to(&mut self, end: usize) {
        while self.at < end {
            let Some((_, next)) = self.ahead() else { return };
            (self.at, self.number) = (next, self.number + 1);
        }
    }

    /// Puts the following lines behind `line` as long as they can only be the rest of it.
    pub(super) fn unwrap(&mut self, mut line: Cow<'a, str>) -> Cow<'a, str> {
        for _ in 0..MOST_WRAPS {
            let Some((next, end)) = self.ahead() else { break };
            if next.len() > LONGEST_REST || next.contains(&b'[') {
                break;
            }
            let next = clean(next);
            if is_cut(&line, &next) {
                line = Cow::Owned(format!("{}{}", line.trim_end_matches('\r'), next.trim_end()));
                (self.at, self.number) = (end, self.number + 1);
                continue;
            }
            let rest = next.trim_matches(|one: char| one.is_whitespace() || one == '>');
            if rest.is_empty() || !is_rest(&line, rest) {
                break;
            }
            line = Cow::Owned(format!("{} {rest}", line.trim_end()));
            (self.at, self.number) = (end, self.number + 1);
        }
        line
    }

    fn ahead(&self) -> Option<(&'a [u8], usize)> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let length = rest.iter().position(|byte| *byte == b'\n');
        let line = &rest[..length.unwrap_or(rest.len())];
        Some((line, self.at + length.map_or(rest.len(), |length| length + 1)))
    }
}

/// Whether a line was cut within a word of a row, as terminals do at their width.
fn is_cut(line: &str, next: &str) -> bool {
    let line = line.trim_end_matches('\r');
    if line.len() < LEAST_WIDTH || line.ends_with(' ') || next.starts_with(char::is_whitespace) {
        return false;
    }
    let word = |line: &str| line.rsplit(' ').next().unwrap_or("").to_owned();
    let whole = word(line) + next.split_whitespace().next().unwrap_or("");
    let is_word = is_strong(&whole) && whole.bytes().all(|byte| !byte.is_ascii_digit());
    is_word
        && !is_strong(&word(line))
        && matches!(last_said(line), Some(Said::Row(_) | Said::Broken))
}

/// What the last statement of a line says.
fn last_said(line: &str) -> Option<Said<'_>> {
    begins(line).pop().map(|from| said(&line[from..]))
}

/// Whether `rest` can only be the rest of the statement with which `line` ends.
fn is_rest(line: &str, rest: &str) -> bool {
    if line.contains(STARTING) {
        return !line.contains(", tos ");
    }
    let Some(from) = begins(line).pop() else { return false };
    let words = || rest.split_whitespace();
    match said(&line[from..]) {
        Said::Broken => words().all(is_of_statement),
        Said::Row(row) => {
            row.tail.whose.is_none() && words().all(is_of_statement) && words().any(is_strong)
        }
        Said::Head(_) => words().all(|word| COLUMNS.contains(&word)),
        // `(reverse) (icwnd/mss/irtt=14/1448/41)` of iperf 2.
        Said::Connected(Tool::Iperf2, _) => rest.starts_with('('),
        _ => false,
    }
}

/// A word that only the rest of a row has.
fn is_strong(word: &str) -> bool {
    let is_word = ["sender", "receiver", "ms", "us", "pps", "pkts", "(omitted)"].contains(&word);
    is_word || word.ends_with("%)") || word.contains("K/") || is_unit(word)
}

fn is_of_statement(word: &str) -> bool {
    let is_figure = word.bytes().all(|byte| b"0123456789.-/()%e+K:=".contains(&byte));
    let is_word = ["sec", "port", "connected", "to", "with", "local"].contains(&word);
    let is_address = word.parse::<std::net::IpAddr>().is_ok();
    let is_remark = word.starts_with('(') || word.ends_with(')');
    is_figure || is_word || is_remark || is_strong(word) || is_address
}

fn is_unit(word: &str) -> bool {
    let base = word.strip_suffix("/sec").unwrap_or(word).trim_start_matches(['K', 'M', 'G', 'T']);
    matches!(base, "Bytes" | "bits")
}

/// A line as it was printed.
fn clean(line: &[u8]) -> Cow<'_, str> {
    let line = &line[..line.len().min(LONGEST_LINE)];
    let text = String::from_utf8_lossy(line);
    let (has_escapes, has_entities) = (line.contains(&0x1b), line.contains(&b'&'));
    if text.is_ascii() && !has_escapes && !has_entities {
        return text;
    }
    let text = if has_escapes { Cow::Owned(without_escapes(&text)) } else { text };
    let text = if has_entities { Cow::Owned(without_entities(&text)) } else { text };
    Cow::Owned(text.chars().filter_map(usual).collect())
}

/// Letters that editors and web pages set in place of those that were printed; none: they are not
/// shown.
const fn usual(letter: char) -> Option<char> {
    match letter {
        '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}' | '\u{3000}' | '\u{feff}' => Some(' '),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some('-'),
        // Widths and directions of writing (Unicode, default ignorable).
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' => None,
        other => Some(other),
    }
}

/// With the letters that character references of HTML stand for.
fn without_entities(line: &str) -> String {
    let mut parts = line.split('&');
    let first = parts.next().unwrap_or("").to_owned();
    parts.fold(first, |text, part| {
        let named = part.split_once(';').and_then(|(name, rest)| Some((named(name)?, rest)));
        match named {
            Some((letter, rest)) => format!("{text}{letter}{rest}"),
            None => format!("{text}&{part}"),
        }
    })
}

/// The letter with this name in HTML: `gt`, `#37` or `#x25`.
fn named(name: &str) -> Option<char> {
    let number = |name: &str| match name.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => name.parse().ok(),
    };
    match name.strip_prefix('#') {
        Some(name) => char::from_u32(number(name)?).filter(|letter| !letter.is_control()),
        None => ENTITIES.iter().find(|(known, _)| *known == name).map(|(_, letter)| *letter),
    }
}

/// Bytes; the rest of a longer one is no statement.
const LONGEST_LINE: usize = 4_096;
/// Bytes of a line that is the rest of another.
const LONGEST_REST: usize = 120;
const MOST_WRAPS: usize = 3;
/// Columns of the narrowest terminal that cuts lines.
const LEAST_WIDTH: usize = 60;
/// Names of letters in HTML.
const ENTITIES: [(&str, char); 8] = [
    ("nbsp", ' '),
    ("gt", '>'),
    ("lt", '<'),
    ("amp", '&'),
    ("quot", '"'),
    ("apos", '\''),
    ("ndash", '-'),
    ("minus", '-'),
];
/// Names of columns that stand at the end of a head.
const COLUMNS: [&str; 12] = [
    "Interval",
    "Transfer",
    "Bitrate",
    "Bandwidth",
    "Retr",
    "Cwnd",
    "Total",
    "Datagrams",
    "Jitter",
    "Lost/Total",
    "Write/Err",
    "Rtry",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn unwrapped(text: &str) -> String {
        let mut lines = Lines::new(text.as_bytes());
        let line = lines.next().expect("a line");
        lines.unwrap(line).into_owned()
    }

    #[test]
    fn rows_that_mail_wrapped_are_whole_again() {
        let whole = "[  5]   0.00-1.00   sec  15.1 MBytes   124 Mbits/sec    0    148 KBytes";
        for at in [20, 32, 40, 45, 50, 60] {
            let at = at + whole[at..].find(' ').expect("spaces");
            let wrapped = format!("> {}\r\n> {}\r\nprose 12\r\n", &whole[..at], &whole[at + 1..]);
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&unwrapped(&wrapped))[1..], words(whole), "{wrapped}");
        }
    }

    #[test]
    fn what_follows_by_itself_is_left_alone() {
        let row = "[  5]   0.00-1.00   sec  15.1 MBytes   124 Mbits/sec    0    148 KBytes";
        for next in ["12", "and 127 Mbits/sec", "", "[  5] 1.00"] {
            assert_eq!(unwrapped(&format!("{row}\n{next}\n")), row, "{next}");
        }
    }
}
