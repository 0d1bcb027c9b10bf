//! Lenient access to the keys of a peer's JSON.
//!
//! Like iperf3, a key of the wrong type counts as absent (clause 5.6), and
//! numbers may come as integers or as floats (clause 5.5).

use measurement::is_shown;
use serde_json::{Map, Value};

mod members;

pub(super) use members::{Members, count, list, most_values};

/// Parses an object; the error says why it is none. The value may take a hundred times the memory
/// of the text, so this is for short texts only.
pub(super) fn parse_object(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    match measurement::json::read(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("it is no JSON object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// A number that is not negative; fractions are cut off.
pub(super) fn unsigned(object: &Map<String, Value>, key: &str) -> Option<u64> {
    let value = object.get(key)?;
    value.as_u64().or_else(|| value.as_f64().and_then(whole)).filter(|number| *number <= MOST)
}

/// The largest number that is accepted: up to it JSON's doubles are exact, and sums over all
/// streams of a test cannot overflow.
pub(super) const MOST: u64 = 1 << 53;

/// A number of either sign; fractions are cut off. iperf3 3.12 and 3.13 write -1 as
/// 2^64 - 1, so the upper half of 64 bits stands for negative numbers.
pub(super) fn signed(object: &Map<String, Value>, key: &str) -> Option<i64> {
    let value = object.get(key)?;
    value
        .as_i64()
        .or_else(|| value.as_u64().map(u64::cast_signed))
        .or_else(|| value.as_f64().and_then(whole_signed))
}

/// A finite number.
pub(super) fn float(object: &Map<String, Value>, key: &str) -> Option<f64> {
    object.get(key)?.as_f64().filter(|number| number.is_finite())
}

/// A string value.
pub(super) fn text(object: &Map<String, Value>, key: &str) -> Option<String> {
    object.get(key)?.as_str().map(str::to_owned)
}

/// The printable part of a text: at most 32 characters of ASCII.
pub(super) fn plain(text: &str) -> String {
    printable(text, 32)
}

/// The printable part of a version: at most 32 characters, without spaces or punctuation that would
/// continue a sentence.
pub(super) fn version(text: &str) -> String {
    let belongs = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-' | '_');
    text.chars().filter(belongs).take(32).collect()
}

/// Lines without characters that move the cursor or change the direction of text, but for line ends
/// and tabs.
pub(super) fn printable_lines(mut text: String) -> String {
    text.retain(|c| is_shown(c) || matches!(c, '\n' | '\t'));
    text
}

/// The first `most` characters of a text, without control characters.
pub(super) fn printable(text: &str, most: usize) -> String {
    text.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').take(most).collect()
}

/// A flag or a switch (clause 6.2): `true`, or a number other than zero.
pub(super) fn flag(object: &Map<String, Value>, key: &str) -> bool {
    object.get(key).is_some_and(|value| {
        value.as_bool().unwrap_or_else(|| value.as_f64().is_some_and(|number| number != 0.0))
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked before the cast"
)]
fn whole(number: f64) -> Option<u64> {
    // 2^63: above, no count that a peer can mean.
    (0.0..9_223_372_036_854_775_808.0).contains(&number).then_some(number as u64)
}

fn whole_signed(number: f64) -> Option<i64> {
    let magnitude = i64::try_from(whole(number.abs())?).ok()?;
    Some(if number < 0.0 { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Map<String, Value> {
        parse_object(text.as_bytes()).expect("an object")
    }

    #[test]
    fn numbers_come_in_many_shapes() {
        let json = object(r#"{"a":18446744073709551615,"b":-1,"c":1e3,"d":-2.5,"e":"7","f":1e40}"#);
        assert_eq!(signed(&json, "a"), Some(-1));
        assert_eq!(signed(&json, "b"), Some(-1));
        assert_eq!(signed(&json, "c"), Some(1000));
        assert_eq!(signed(&json, "d"), Some(-2));
        assert_eq!(signed(&json, "e"), None);
        assert_eq!(signed(&json, "f"), None);
        assert_eq!(unsigned(&json, "b"), None);
        assert_eq!(unsigned(&json, "c"), Some(1000));
    }

    #[test]
    fn a_peers_text_cannot_reach_the_terminal_raw() {
        assert_eq!(plain("3.21"), "3.21");
        assert_eq!(plain("\x1b[2J\n1.2.3.4: done\u{7f}"), "[2J1.2.3.4: done");
        assert_eq!(plain(&"x".repeat(3_000)).len(), 32);
        assert_eq!(version("3.16+"), "3.16+");
        assert_eq!(version("3.12, TCP send: done"), "3.12TCPsenddone");
        assert_eq!(printable_lines("a\n\tb\x1b[2J\r\0\u{9b}".to_owned()), "a\n\tb[2J");
        assert_eq!(
            printable_lines("a\u{202e}b\u{2028}c".to_owned()),
            "abc",
            "no order but its own"
        );
    }

    #[test]
    fn flags_are_true_or_not_zero() {
        let json = object(r#"{"a":true,"b":1,"c":0,"d":false,"e":null}"#);
        let on: Vec<_> =
            ["a", "b", "c", "d", "e", "f"].into_iter().filter(|k| flag(&json, k)).collect();
        assert_eq!(on, ["a", "b"]);
    }
}
