//! Texts without what mail, terminals and editors add to the lines that perf printed. Each line
//! keeps its number.

use std::borrow::Cow;

/// The text of a file without escape sequences, quote marks and ends of lines of other systems.
pub(super) fn plain(bytes: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(bytes);
    let is_plain = !text.contains([ESCAPE, '\u{feff}']) && !text.lines().any(is_quoted);
    if is_plain { text } else { Cow::Owned(text.lines().map(line).collect()) }
}

fn is_quoted(line: &str) -> bool {
    line.starts_with(QUOTE)
}

fn line(line: &str) -> String {
    let mut shown = without_escapes(line.trim_start_matches('\u{feff}'));
    let quoted = shown.len() - unquoted(&shown).len();
    shown.drain(..quoted);
    shown.push('\n');
    shown
}

/// Without the marks of quoted lines (RFC 3676, section 4.5), each with the space behind it.
fn unquoted(mut line: &str) -> &str {
    while let Some(rest) = line.strip_prefix(QUOTE) {
        line = rest.strip_prefix(' ').unwrap_or(rest);
    }
    line
}

/// Without escape sequences (ECMA-48).
pub(super) fn without_escapes(line: &str) -> String {
    let mut parts = line.split(ESCAPE);
    let first = parts.next().unwrap_or("");
    parts.fold(first.to_owned(), |text, part| text + behind_sequence(part))
}

/// What follows an escape sequence (ECMA-48): a control sequence (`[31m`), a string that a bell
/// ends (`]0;title`), or a single letter.
fn behind_sequence(part: &str) -> &str {
    let after = |end: Option<usize>| end.map_or("", |end| &part[end + 1..]);
    match part.bytes().next() {
        Some(b'[') => after(part[1..].find(|end| matches!(end, '@'..='~')).map(|end| end + 1)),
        Some(b']') => after(part.find('\u{7}')),
        Some(b'(' | b')') => part.get(2..).unwrap_or(""),
        Some(first) if first.is_ascii() => &part[1..],
        _ => part,
    }
}

const ESCAPE: char = '\u{1b}';
const QUOTE: char = '>';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quote_marks_and_escape_sequences_are_left_out() {
        let quoted = "> > \u{1b}[31m40.40%\u{1b}[m  [k] memcpy\r\n>>b\nc \u{1b}]0;title\u{7}d\n";
        assert_eq!(plain(quoted.as_bytes()), "40.40%  [k] memcpy\nb\nc d\n");
        assert_eq!(plain(b"\xef\xbb\xbfa\n"), "a\n");
    }

    #[test]
    fn lines_keep_their_numbers_and_their_indent() {
        let text = ">\n> iperf3 1\n> \tffff memcpy\n\n";
        assert_eq!(plain(text.as_bytes()), "\niperf3 1\n\tffff memcpy\n\n");
    }

    #[test]
    fn a_plain_text_stays_as_it_is() {
        assert!(matches!(plain(b"a > b\r\n"), Cow::Borrowed("a > b\r\n")));
        assert_eq!(plain(b"\x1b"), "\n");
        assert_eq!(plain("\u{1b}[\u{1b}]\u{1b}(\u{1b}\u{e4}".as_bytes()), "\u{e4}\n");
    }
}
