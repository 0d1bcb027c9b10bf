//! The types of this crate as JSON. Every other crate that reads or writes them is built upon this
//! one: the code for [`RecordSet`] and all that it contains is compiled here, once, for the one
//! reader ([`read`]) and the one writer ([`write()`]). A further one, e.g. a `serde_json::to_value` or
//! `from_slice` of a record, would be a second copy of it.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{RecordSet, SearchRecord, TestRecord};

mod objects;

use objects::Objects;

/// Reads a set of records.
///
/// # Errors
/// The error of serde_json, with line and column, for text that is no set of records.
pub fn records(text: &str) -> serde_json::Result<RecordSet> {
    read(text)
}

/// Reads a record.
///
/// # Errors
/// The error of serde_json, with line and column, for text that is no record.
pub fn record(text: &str) -> serde_json::Result<TestRecord> {
    read(text)
}

/// Reads the record of a search for throughput.
///
/// # Errors
/// The error of serde_json, with line and column, for text that is no such record.
pub fn search(text: &str) -> serde_json::Result<SearchRecord> {
    read(text)
}

/// Reads a value of any type. A struct is an object: a list of its fields is not taken for it.
///
/// # Errors
/// The error of serde_json, with line and column, for text that is no such value.
pub fn read<'a, T: Deserialize<'a>>(text: &'a str) -> serde_json::Result<T> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = T::deserialize(Objects(&mut json))?;
    json.end().map(|()| value)
}

/// Writes a set of records on one line, without a newline at the end.
///
/// # Errors
/// An error of writing to `out`.
pub fn write_records(records: &RecordSet, out: &mut dyn Write) -> io::Result<()> {
    write(records, out)
}

/// Writes a value on one line, without a newline at the end.
///
/// # Errors
/// An error of writing to `out`; a map whose keys are no strings.
pub fn write(value: &(impl Serialize + ?Sized), out: &mut dyn Write) -> io::Result<()> {
    Ok(serde_json::to_writer(out, value)?)
}

/// A value as the text of its JSON; empty if it cannot be written, as a map whose keys are no
/// strings.
pub fn text(value: &(impl Serialize + ?Sized)) -> Vec<u8> {
    let mut text = Vec::new();
    write(value, &mut text).map(|()| text).unwrap_or_default()
}

/// A value as a tree of JSON; null if it cannot be written, as a map whose keys are no strings.
pub fn value(value: &(impl Serialize + ?Sized)) -> Value {
    let text = text(value);
    std::str::from_utf8(&text).ok().and_then(|text| read(text).ok()).unwrap_or_default()
}

/// Writes a value as JSON that is indented by two blanks, and a newline. A list that begins with a
/// number, or with true, false or null, stays on its line.
///
/// # Errors
/// An error of writing to `out`.
pub fn write_indented(value: &(impl Serialize + ?Sized), out: &mut dyn Write) -> io::Result<()> {
    let mut indented =
        Indented { out, text: Vec::new(), depth: 0, flat: None, place: Place::Between };
    write(value, &mut indented)?;
    indented.text.push(b'\n');
    indented.pass_on()
}

/// Indents JSON without blanks that is written to it.
struct Indented<'a> {
    out: &'a mut dyn Write,
    /// What is not passed on yet.
    text: Vec<u8>,
    depth: usize,
    /// Depth within the list that stays on its line; none: there is none.
    flat: Option<usize>,
    place: Place,
}

/// Where the next byte stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Outside of strings.
    Between,
    /// Behind the brace or bracket that begins something.
    Opened,
    /// In a string.
    String,
    /// In a string, behind a backslash.
    Escaped,
}

impl Indented<'_> {
    fn push(&mut self, byte: u8) {
        if matches!(self.place, Place::String | Place::Escaped) {
            self.place = match (self.place, byte) {
                (Place::String, b'\\') => Place::Escaped,
                (Place::String, b'"') => Place::Between,
                _ => Place::String,
            };
            return self.text.push(byte);
        }
        let is_first = self.place == Place::Opened;
        self.place = match byte {
            b'{' | b'[' => Place::Opened,
            b'"' => Place::String,
            _ => Place::Between,
        };
        let ends = matches!(byte, b'}' | b']');
        // Keys begin with a quotation mark.
        if is_first && (byte == b'-' || byte.is_ascii_alphanumeric()) {
            self.flat.get_or_insert(self.depth);
        }
        self.depth -= usize::from(ends);
        // What is empty stays on its line.
        if is_first != ends {
            self.break_line();
        }
        self.text.push(byte);
        if self.flat.is_some_and(|depth| depth > self.depth) {
            self.flat = None;
        }
        match byte {
            b'{' | b'[' => self.depth += 1,
            b',' => self.break_line(),
            b':' => self.text.push(b' '),
            _ => {}
        }
    }

    fn break_line(&mut self) {
        if self.flat.is_some() {
            return;
        }
        self.text.push(b'\n');
        self.text.extend(std::iter::repeat_n(b' ', 2 * self.depth));
    }

    fn pass_on(&mut self) -> io::Result<()> {
        self.out.write_all(&self.text)?;
        self.text.clear();
        Ok(())
    }
}

impl Write for Indented<'_> {
    fn write(&mut self, json: &[u8]) -> io::Result<usize> {
        for byte in json {
            self.push(*byte);
        }
        if self.text.len() >= BUFFER {
            self.pass_on()?;
        }
        Ok(json.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pass_on()?;
        self.out.flush()
    }
}

/// The serializer writes a few bytes at a time.
const BUFFER: usize = 8192;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn indented(value: &Value) -> String {
        let mut out = Vec::new();
        write_indented(value, &mut out).expect("a vector takes all");
        String::from_utf8(out).expect("JSON is UTF-8")
    }

    #[test]
    fn what_is_empty_stays_on_its_line() {
        let value = json!({ "a": [], "b": {}, "c": [{}, ["x", 1]], "d{,:\"\\": "e[\\" });
        let pretty = serde_json::to_string_pretty(&value).expect("JSON");
        assert_eq!(indented(&value), format!("{pretty}\n"));
        assert_eq!(super::value(&value), value);
    }

    #[test]
    fn a_list_of_numbers_stays_on_its_line() {
        let value = json!({ "a": [1, -2, [3, {"b": ["x"]}], null], "c": [[true], "d"], "e": [-5] });
        let expected = "{\n  \"a\": [1,-2,[3,{\"b\": [\"x\"]}],null],\n  \"c\": [\n    [true],\n    \
                        \"d\"\n  ],\n  \"e\": [-5]\n}\n";
        assert_eq!(indented(&value), expected);
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            let map = prop::collection::btree_map(".*", inner.clone(), 0..4);
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(behind_a_text),
                map.prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    /// A list that does not stay on its line.
    fn behind_a_text(mut list: Vec<Value>) -> Value {
        if list.first().is_some_and(|first| !first.is_string()) {
            list.insert(0, Value::from(""));
        }
        list.into()
    }

    proptest! {
        #[test]
        fn it_is_indented_as_serde_json_does(value in values()) {
            let pretty = serde_json::to_string_pretty(&value).expect("JSON");
            prop_assert_eq!(indented(&value), format!("{pretty}\n"));
        }

        #[test]
        fn it_is_the_same_value(list in prop::collection::vec(values(), 0..4), first: i64) {
            let value = json!([[first, list], list, { "a": [first, list] }]);
            let read: Value = serde_json::from_str(&indented(&value)).expect("JSON");
            prop_assert_eq!(read, value);
        }
    }
}
