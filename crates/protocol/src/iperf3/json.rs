//! Lenient access to the keys of a peer's JSON.
//!
//! Like iperf3, a key of the wrong type counts as absent (clause 5.6), and
//! numbers may come as integers or as floats (clause 5.5).

use serde_json::{Map, Value};

/// The object in `bytes`, or why there is none.
pub(super) fn parse_object(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("it is no JSON object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// A number that is not negative; fractions are cut off.
pub(super) fn unsigned(object: &Map<String, Value>, key: &str) -> Option<u64> {
    let value = object.get(key)?;
    value.as_u64().or_else(|| value.as_f64().and_then(whole))
}

/// A number of either sign; fractions are cut off.
pub(super) fn signed(object: &Map<String, Value>, key: &str) -> Option<i64> {
    let value = object.get(key)?;
    match value.as_i64() {
        Some(number) => Some(number),
        None if value.as_f64()? < 0.0 => {
            whole(-value.as_f64()?).and_then(|n| i64::try_from(n).ok()).map(|n| -n)
        }
        None => unsigned(object, key).and_then(|n| i64::try_from(n).ok()),
    }
}

/// A finite number.
pub(super) fn float(object: &Map<String, Value>, key: &str) -> Option<f64> {
    object.get(key)?.as_f64().filter(|number| number.is_finite())
}

/// A string.
pub(super) fn text(object: &Map<String, Value>, key: &str) -> Option<String> {
    object.get(key)?.as_str().map(str::to_owned)
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
