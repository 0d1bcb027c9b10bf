//! Records as JSON: the file format itself.

use std::io::{self, Write};

use measurement::host::is_shown;
use measurement::{RecordSet, TestRecord};

/// Writes one object: the record itself if there is just one, else the set.
///
/// # Errors
/// What the writer reports.
pub fn write(records: &RecordSet, out: &mut dyn Write) -> io::Result<()> {
    match &records.records[..] {
        [record] => serde_json::to_writer_pretty(&mut *out, record)?,
        _ => serde_json::to_writer_pretty(&mut *out, records)?,
    }
    writeln!(out)
}

/// Reads what [`write()`] writes: one record, or a set of them. It may come from anybody: what
/// would not show as itself on a terminal becomes a space.
///
/// # Errors
/// What is wrong with the text.
pub fn read(text: &[u8]) -> serde_json::Result<RecordSet> {
    let text = printable(&String::from_utf8_lossy(text));
    let as_set = match serde_json::from_str(&text) {
        Ok(set) => return Ok(set),
        Err(error) => error,
    };
    let one = serde_json::from_str::<TestRecord>(&text);
    // What it is not fails at its first key; what it is, and is broken, further on.
    let place = |error: &serde_json::Error| (error.line(), error.column());
    one.map(|record| RecordSet::new(vec![record]))
        .map_err(|as_one| if place(&as_set) > place(&as_one) { as_set } else { as_one })
}

/// A JSON text in which every letter shows as itself, be it escaped or not.
fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|letter| letter == '\\' || !is_plain(letter)) {
        let (before, from) = rest.split_at(at);
        printable.push_str(before);
        let (shown, length) =
            if from.starts_with('\\') { escape(from) } else { (" ", first(from)) };
        printable.push_str(shown);
        rest = &from[length..];
    }
    printable + rest
}

/// What stands for the escape with which a text begins, and how long that is.
fn escape(text: &str) -> (&str, usize) {
    let letter = text.get(2..6).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    match text.as_bytes().get(1) {
        Some(b'b' | b'f' | b'n' | b'r' | b't') => (" ", 2),
        // Half of a pair (RFC 8259, section 7) is no letter.
        Some(b'u') if letter.is_some_and(|l| char::from_u32(l).is_some_and(|l| !is_shown(l))) => {
            (" ", 6)
        }
        Some(b'"' | b'\\' | b'/' | b'u') => (&text[..2], 2),
        _ => (&text[..1], 1),
    }
}

fn is_plain(letter: char) -> bool {
    is_shown(letter) || letter.is_ascii_whitespace()
}

/// How long the first letter is.
fn first(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_record_moves_the_cursor() {
        let read = |text: &str| {
            serde_json::from_str::<String>(&printable(text)).map_err(|error| error.to_string())
        };
        assert_eq!(read(r#""\u001b[31mred\u0007\n\u202E""#).as_deref(), Ok(" [31mred   "));
        assert_eq!(read("\"\u{202e}a\u{1f600}\"").as_deref(), Ok(" a\u{1f600}"));
        assert_eq!(read(r#""\ud83d\ude00 \\u001b \"""#).as_deref(), Ok("\u{1f600} \\u001b \""));
        assert!(
            read(r#""\"#).is_err() && read("\"\\\u{fc}\"").is_err() && read(r#""\u00"#).is_err()
        );
        assert_eq!(printable("{\n\t\"a\": 1}"), "{\n\t\"a\": 1}");
    }
}
