//! Parses linerate's own JSON: a record or a set of records, in any version of the format that this
//! build knows.
//!
//! Files, stores and `explain` read records by [`read`] and [`read_from`]. A record may come from
//! anybody: it is bounded in length, and whatever would not show as itself on a terminal becomes a
//! space.

use std::fmt::{self, Display, Formatter};
use std::io::Read;

use measurement::is_shown;
use measurement::record::{RecordSchema, RecordSetSchema, RunError};
use measurement::{RecordSet, TestRecord, json};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error as SchemaError;

use super::{Content, Import, ImportError, Imported, read_bounded};

/// The record of linerate, as `linerate test --output` writes it.
pub(super) struct Record;

/// Error of parsing a record of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// The format of the record is not known to this version of linerate.
    Version {
        /// Name of the format, e.g. `linerate/record/9`.
        schema: String,
    },
    /// The bytes are not a record, or a damaged one.
    Malformed {
        /// Error of the parser, with the position; at most 300 characters.
        reason: String,
    },
}

/// Reads a record, or a set of records, from `reader`; a single record becomes a set of one.
///
/// # Errors
/// [`ImportError::Read`] if the reader fails, [`ImportError::TooLong`] for more bytes than
/// [`MOST_BYTES`](super::MOST_BYTES), [`ImportError::Record`] if they are not a record.
pub fn read_from(reader: impl Read) -> Result<RecordSet, ImportError> {
    read(&read_bounded(reader)?).map_err(ImportError::Record)
}

/// Parses the JSON of a record, or of a set of records; a single record becomes a set of one.
/// Characters that a terminal would not show become spaces.
///
/// # Errors
/// [`RecordError::Version`] for a format that this version does not know,
/// [`RecordError::Malformed`] for other bytes that are not a record.
pub fn read(bytes: &[u8]) -> Result<RecordSet, RecordError> {
    let text = printable(&String::from_utf8_lossy(bytes));
    if text.starts_with(FIRST_EVENT) {
        return read_events(&text);
    }
    let as_set = match json::records(&text) {
        Ok(set) => return Ok(set),
        Err(error) => error,
    };
    let as_one = match json::record(&text) {
        Ok(record) => return Ok(RecordSet::new(vec![record])),
        Err(error) => error,
    };
    if let Some(schema) = unknown_schema(&text) {
        return Err(RecordError::Version { schema });
    }
    // What it is not fails at its first key; what it is, and is broken, further on.
    let place = |error: &serde_json::Error| (error.line(), error.column());
    let error = if place(&as_set) > place(&as_one) { as_set } else { as_one };
    Err(RecordError::Malformed { reason: shortened(&error.to_string()) })
}

/// The records of the rows in a text of the output format `json-stream`, which may break off.
fn read_events(text: &str) -> Result<RecordSet, RecordError> {
    /// What counts of a line of `measurement::RunEvent`.
    #[derive(Deserialize)]
    struct Line {
        record: Option<TestRecord>,
        error: Option<RunError>,
    }

    let mut set = RecordSet::new(Vec::new());
    for line in text.lines() {
        match measurement::json::read::<Line>(line) {
            Ok(line) => {
                set.records.extend(line.record);
                set.error = line.error.or(set.error);
            }
            Err(_) if !set.records.is_empty() => break,
            Err(error) => {
                return Err(RecordError::Malformed { reason: shortened(&error.to_string()) });
            }
        }
    }
    Ok(set)
}

/// The name of a record's format, if it is of linerate and this build does not know it.
fn unknown_schema(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Header {
        schema: String,
    }
    let Header { schema } = measurement::json::read(text).ok()?;
    let name = || IntoDeserializer::<SchemaError>::into_deserializer(schema.as_str());
    let is_known =
        RecordSchema::deserialize(name()).is_ok() || RecordSetSchema::deserialize(name()).is_ok();
    (schema.starts_with(PREFIX) && !is_known).then(|| shortened(&schema))
}

/// An error may quote what it found.
fn shortened(text: &str) -> String {
    text.chars().take(LONGEST_REASON).collect()
}

impl Import for Record {
    fn name(&self) -> &'static str {
        "record of linerate test --output"
    }

    fn content(&self) -> Content {
        Content::Records
    }

    /// A record is an object; nothing that perf prints begins like one.
    fn recognises(&self, bytes: &[u8]) -> bool {
        bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
    }

    fn read(&self, bytes: &[u8]) -> Result<Imported, ImportError> {
        read(bytes).map(Imported::Records).map_err(ImportError::Record)
    }
}

impl Display for RecordError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version { schema } => write!(
                f,
                "its format is {schema}, which this version cannot read: use the version that \
                 wrote it, or a later one"
            ),
            Self::Malformed { reason } => {
                write!(f, "it is no record of linerate test --output: {reason}")
            }
        }
    }
}

impl std::error::Error for RecordError {}

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

/// The replacement of the escape with which a text begins, and the length of that escape in bytes.
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

/// With which a text of events begins.
const FIRST_EVENT: &str = "{\"event\":";
/// With which the names of all formats of records begin.
const PREFIX: &str = "linerate/record";
/// Letters.
const LONGEST_REASON: usize = 300;

#[cfg(test)]
mod tests {
    use measurement::host::{HostEvidence, MOST_HOSTS};

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

    #[test]
    fn a_record_of_another_version_is_named() {
        let of = |schema: &str| read(format!("{{\"schema\": \"{schema}\"}}").as_bytes());
        let error = of("linerate/record/999").expect_err("no such version");
        assert_eq!(error, RecordError::Version { schema: "linerate/record/999".to_owned() });
        assert!(error.to_string().contains("linerate/record/999"), "{error}");
        for known in ["linerate/record/1", "linerate/records/1", "else"] {
            let error = of(known).expect_err("it has nothing else");
            assert!(matches!(error, RecordError::Malformed { .. }), "{error:?}");
        }
    }

    #[test]
    fn a_reader_gives_what_its_bytes_give() {
        let text = include_bytes!("../../tests/records/four-rows.json");
        let records = read_from(&text[..]).expect("records");
        assert!(records == read(text).expect("records") && records.records.len() == 4);
    }

    #[test]
    fn a_record_of_more_than_a_test_has_is_refused() {
        let text = include_str!("../../tests/records/four-rows.json");
        let set: serde_json::Value = serde_json::from_str(text).expect("JSON");
        let host = serde_json::to_value(HostEvidence::default()).expect("JSON");
        let direction = set["records"][0]["outcome"]["directions"][0].clone();
        for (list, one, most) in
            [("/outcome/directions", direction, 2), ("/hosts", host, MOST_HOSTS)]
        {
            let with = |count| {
                let mut record = set["records"][0].clone();
                record["hosts"] = serde_json::json!([]);
                *record.pointer_mut(list).expect("a list") = vec![one.clone(); count].into();
                read(record.to_string().as_bytes())
            };
            assert!(with(most).is_ok(), "{most} of {list}");
            let error = with(most + 1).expect_err("one more").to_string();
            assert!(error.contains("than a test has"), "{error}");
        }
    }

    #[test]
    fn a_reason_is_short_whatever_it_quotes() {
        let text = format!("{{\"schema\": \"{}\"}}", "x".repeat(10_000));
        let error = read(text.as_bytes()).expect_err("no record").to_string();
        assert!(error.len() < 400, "{}", error.len());
    }
}
