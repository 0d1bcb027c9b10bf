//! What a consumer understood of an output.

use std::collections::BTreeSet;

use serde_json::Value;

/// A tree of values; null is what was not understood.
#[derive(Debug)]
pub(super) struct Understood(Value);

impl Understood {
    pub(super) const fn from_json(value: Value) -> Self {
        Self(value)
    }

    /// What was understood of this and not of the other.
    pub(super) fn more_than(&self, other: &Self) -> Vec<String> {
        self.fields().difference(&other.fields()).cloned().collect()
    }

    /// Where it is not what the document says.
    pub(super) fn unlike_values(&self, document: &Value, pairs: &[(&str, &str)]) -> Vec<String> {
        let differs = |(field, path): &&(&str, &str)| {
            let understood = self.0.pointer(field).filter(|value| !value.is_null());
            understood
                .is_some_and(|value| !document.pointer(path).is_some_and(|it| same(value, it)))
        };
        let wrong = pairs.iter().filter(differs);
        wrong.map(|(field, path)| format!("{field} is not the {path} of the document")).collect()
    }

    /// The paths of all that is not null, elements of arrays under one.
    fn fields(&self) -> BTreeSet<String> {
        let mut fields = BTreeSet::new();
        gather(&self.0, "", &mut fields);
        fields
    }
}

fn gather(value: &Value, path: &str, fields: &mut BTreeSet<String>) {
    match value {
        Value::Null => {}
        Value::Array(elements) => {
            for element in elements {
                gather(element, &format!("{path}[]"), fields);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                gather(member, &format!("{path}.{key}"), fields);
            }
        }
        _ => {
            fields.insert(path.to_owned());
        }
    }
}

/// Equal, numbers as doubles.
fn same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(a), Some(b)) => (a - b).abs() <= PRECISION * a.abs().max(b.abs()),
        _ => one == other,
    }
}

/// What printing and reading a double may cost.
const PRECISION: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_is_not_understood() {
        let theirs = Understood::from_json(json!({"a": [{"b": 1}, {"b": null}], "c": 2}));
        let ours = Understood::from_json(json!({"a": [{"b": null}], "c": 3, "d": 4}));
        assert_eq!(theirs.more_than(&ours), [".a[].b"]);
        assert_eq!(ours.more_than(&theirs), [".d"]);
        assert!(theirs.more_than(&theirs).is_empty());
    }

    #[test]
    fn another_value_is_found() {
        let understood = Understood::from_json(json!({"bytes": 7, "rate": 1.5, "error": null}));
        let pairs = [("/bytes", "/end/bytes"), ("/rate", "/end/rate"), ("/error", "/error")];
        let right = json!({"end": {"bytes": 7.0, "rate": 1.5}});
        assert!(understood.unlike_values(&right, &pairs).is_empty());
        let wrong = json!({"end": {"bytes": 8, "rate": 1.5}});
        assert_eq!(understood.unlike_values(&wrong, &pairs).len(), 1);
    }
}
