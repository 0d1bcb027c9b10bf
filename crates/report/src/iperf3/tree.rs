//! JSON values whose keys keep their order, printed as iperf3's JSON library (cJSON) prints them.

use serde_json::Value;

use super::number::general;

/// A JSON value (RFC 8259) whose objects keep the order of their members.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// The value `null`.
    Null,
    /// The value `true` or `false`.
    Bool(bool),
    /// A number that is an integer, exact.
    Whole(i128),
    /// A floating-point number.
    Number(f64),
    /// A string.
    Text(String),
    /// An array of values.
    List(Vec<Tree>),
    /// An object: members in the order in which they were added.
    Object(Vec<(String, Tree)>),
}

impl Tree {
    /// A JSON object with `members`, in their order.
    pub fn object<K: Into<String>>(members: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Object(members.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// Adds a member at the end of an object. On any other kind of value it has no effect.
    pub fn push(&mut self, key: &str, value: impl Into<Self>) {
        if let Self::Object(members) = self {
            members.push((key.to_owned(), value.into()));
        }
    }

    /// The member with the name `key`. None: it is missing, or the value is not an object.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }
}

impl From<bool> for Tree {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<f64> for Tree {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<i64> for Tree {
    fn from(value: i64) -> Self {
        Self::Whole(value.into())
    }
}

impl From<u64> for Tree {
    fn from(value: u64) -> Self {
        Self::Whole(value.into())
    }
}

impl From<u32> for Tree {
    fn from(value: u32) -> Self {
        Self::Whole(value.into())
    }
}

impl From<&str> for Tree {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<&Value> for Tree {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => number
                .as_i128()
                .map_or_else(|| Self::Number(number.as_f64().unwrap_or(f64::NAN)), Self::Whole),
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(values) => Self::List(values.iter().map(Self::from).collect()),
            Value::Object(members) => {
                Self::object(members.iter().map(|(key, value)| (key, Self::from(value))))
            }
        }
    }
}

impl From<&Tree> for Value {
    /// Converts a value; the order of the keys is lost where `serde_json` sorts them.
    fn from(tree: &Tree) -> Self {
        match tree {
            Tree::Null => Self::Null,
            Tree::Bool(value) => (*value).into(),
            Tree::Whole(number) => serde_json::Number::from_i128(*number).into(),
            Tree::Number(number) => (*number).into(),
            Tree::Text(text) => text.as_str().into(),
            Tree::List(values) => values.iter().map(Self::from).collect(),
            Tree::Object(members) => {
                members.iter().map(|(key, value)| (key.clone(), Self::from(value))).collect()
            }
        }
    }
}

/// Makes an event of `--json-stream`: the object `{"event":…,"data":…}`.
pub fn event(name: &str, data: &Tree) -> Tree {
    Tree::object([("event", name.into()), ("data", data.clone())])
}

/// Prints `tree` on one line, without spaces and without a newline at the end.
pub fn line(tree: &Tree) -> String {
    let mut out = String::new();
    Printer { out: &mut out, layout: Layout::Line }.value(tree, 0);
    out
}

/// Prints `tree` indented by tabs, a member on each line, without a newline at the end.
pub fn pretty(tree: &Tree) -> String {
    let mut out = String::new();
    Printer { out: &mut out, layout: Layout::Pretty }.value(tree, 0);
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Line,
    Pretty,
}

struct Printer<'a> {
    out: &'a mut String,
    layout: Layout,
}

impl Printer<'_> {
    fn value(&mut self, tree: &Tree, depth: usize) {
        match tree {
            Tree::Null => self.out.push_str("null"),
            Tree::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            Tree::Whole(number) => self.out.push_str(&number.to_string()),
            Tree::Number(number) => self.out.push_str(&double(*number)),
            Tree::Text(text) => self.text(text),
            Tree::List(values) => self.list(values, depth + 1),
            Tree::Object(members) => self.object(members, depth + 1),
        }
    }

    /// A list takes no lines of its own, but its members are one step further in.
    fn list(&mut self, values: &[Tree], depth: usize) {
        self.out.push('[');
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
                self.only_pretty(" ");
            }
            self.value(value, depth);
        }
        self.out.push(']');
    }

    fn object(&mut self, members: &[(String, Tree)], depth: usize) {
        self.out.push('{');
        self.only_pretty("\n");
        for (index, (key, value)) in members.iter().enumerate() {
            self.only_pretty(&"\t".repeat(depth));
            self.text(key);
            self.out.push(':');
            self.only_pretty("\t");
            self.value(value, depth);
            if index + 1 < members.len() {
                self.out.push(',');
            }
            self.only_pretty("\n");
        }
        self.only_pretty(&"\t".repeat(depth - 1));
        self.out.push('}');
    }

    fn only_pretty(&mut self, text: &str) {
        if self.layout == Layout::Pretty {
            self.out.push_str(text);
        }
    }

    /// Escaped as RFC 8259 (7) demands, and no more.
    fn text(&mut self, text: &str) {
        self.out.push('"');
        for character in text.chars() {
            match escape(character) {
                Some(escape) => self.out.push_str(&escape),
                None => self.out.push(character),
            }
        }
        self.out.push('"');
    }
}

fn escape(character: char) -> Option<String> {
    Some(match character {
        '"' | '\\' => format!("\\{character}"),
        '\u{8}' => "\\b".to_owned(),
        '\u{c}' => "\\f".to_owned(),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        control if control < ' ' => format!("\\u{:04x}", u32::from(control)),
        _ => return None,
    })
}

/// A whole number without a point, else the fewest of 15 or 17 digits that are enough.
fn double(number: f64) -> String {
    if !number.is_finite() {
        return "null".to_owned();
    }
    if number.fract() == 0.0 && number.abs() < MAX_WHOLE {
        return format!("{:.0}", number + 0.0);
    }
    let short = general(number, 15);
    if short.parse::<f64>().is_ok_and(|short| is_same(short, number)) {
        short
    } else {
        general(number, 17)
    }
}

/// Whether two numbers are equal but for the last bit.
fn is_same(a: f64, b: f64) -> bool {
    (a - b).abs() <= a.abs().max(b.abs()) * f64::EPSILON
}

/// 2^63: beyond it the library has no whole numbers.
const MAX_WHOLE: f64 = 9_223_372_036_854_775_808.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Tree {
        let stream = || Tree::object([("socket", 5_u32.into()), ("omitted", false.into())]);
        Tree::object([
            ("streams", Tree::List(vec![stream(), stream()])),
            ("none", Tree::List(Vec::new())),
            ("end", Tree::Object(Vec::new())),
        ])
    }

    #[test]
    fn lists_take_no_lines_of_their_own() {
        let text = "{\n\t\"streams\":\t[{\n\t\t\t\"socket\":\t5,\n\t\t\t\"omitted\":\tfalse\n\t\t}, \
                    {\n\t\t\t\"socket\":\t5,\n\t\t\t\"omitted\":\tfalse\n\t\t}],\n\t\"none\":\t[],\n\t\
                    \"end\":\t{\n\t}\n}";
        assert_eq!(pretty(&sample()), text);
    }

    #[test]
    fn a_line_has_no_spaces() {
        let text = r#"{"streams":[{"socket":5,"omitted":false},{"socket":5,"omitted":false}],"none":[],"end":{}}"#;
        assert_eq!(line(&sample()), text);
    }

    #[test]
    fn numbers_have_the_digits_that_are_needed() {
        let cases = [
            (1.0, "1"),
            (-0.0, "0"),
            (0.1, "0.1"),
            (2.006_735, "2.006735"),
            (1.003_020_048_141_479_5, "1.0030200481414795"),
            (8_789_881_143.787_88, "8789881143.78788"),
            (1e20, "1e+20"),
            (f64::NAN, "null"),
            (f64::INFINITY, "null"),
        ];
        for (number, text) in cases {
            assert_eq!(line(&number.into()), text);
        }
        assert_eq!(line(&u64::MAX.into()), u64::MAX.to_string());
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(line(&"a\"b\\\n\t\u{1}é/".into()), "\"a\\\"b\\\\\\n\\t\\u0001é/\"");
    }

    #[test]
    fn what_travels_comes_back() {
        let value = serde_json::json!({"a": [1, -2, 0.5, null, true, "x"], "b": {"c": u64::MAX}});
        assert_eq!(Value::from(&Tree::from(&value)), value);
    }
}
