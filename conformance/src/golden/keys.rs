//! The tree of the keys of a JSON output: every path with the types found there.
//!
//! It is read without an intermediate value, since the order of keys counts, and whether
//! a number has a needless fraction.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::Context;
use report::import::iperf3_json::without_nan;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::difference::{Change, What};
use super::shape::Shaper;
use super::text::Text;

/// All paths of a JSON output; the elements of an array share one path.
#[derive(Debug)]
pub(crate) struct Tree {
    kinds: BTreeMap<String, BTreeSet<String>>,
    /// The keys of the objects of a path, as they first occur.
    order: BTreeMap<String, Vec<String>>,
    /// Strings of several lines.
    texts: BTreeMap<String, String>,
    shaper: Shaper,
}

impl Tree {
    /// Reads one document. iperf3 prints some numbers that are none, and in some cases a
    /// second document; both is noted, so that it can be excused.
    pub(crate) fn of_document(text: &str, shaper: &Shaper) -> anyhow::Result<Self> {
        let mut tree = Self::new(shaper);
        tree.note(STYLE, style(text, STYLE_OF_DOCUMENT));
        match tree.read(text) {
            Ok(()) => Ok(tree),
            Err(error) => Self::of_document_with_nan(text, shaper).map_err(|_| error),
        }
    }

    fn of_document_with_nan(text: &str, shaper: &Shaper) -> anyhow::Result<Self> {
        let mut tree = Self::new(shaper);
        tree.note(STYLE, style(text, STYLE_OF_DOCUMENT));
        tree.note(NAN, "there".to_owned());
        tree.read(&without_nan(text))?;
        Ok(tree)
    }

    /// Reads one object a line, each an event. The paths begin with the event's name.
    pub(crate) fn of_events<'a>(
        lines: impl Iterator<Item = &'a str>,
        shaper: &Shaper,
    ) -> anyhow::Result<Self> {
        let mut tree = Self::new(shaper);
        let mut events = Vec::new();
        for line in lines {
            let name = event(line)?;
            tree.note(STYLE, style(line, STYLE_OF_EVENT));
            tree.read_at(&name, &mut serde_json::Deserializer::from_str(line))?;
            events.push(name);
        }
        tree.texts.insert(EVENTS.to_owned(), events.join("\n"));
        Ok(tree)
    }

    /// How `ours` differs from this.
    pub(crate) fn differences(&self, ours: &Self) -> Vec<What> {
        let mut found = self.key_differences(ours);
        found.extend(self.order_differences(ours));
        for (path, theirs) in &self.texts {
            let text = |text, tree: &Self| Text::parse(text, &tree.shaper);
            let Some(other) = ours.texts.get(path) else { continue };
            found.extend(text(theirs, self).differences(&text(other, ours)));
        }
        found
    }

    fn key_differences(&self, ours: &Self) -> Vec<What> {
        let mut found = Vec::new();
        for (path, kinds) in &self.kinds {
            match ours.kinds.get(path) {
                None => found.push(What::KeyMissing(path.clone())),
                Some(other) if other != kinds => {
                    let change = Change::new(&list(kinds), &list(other));
                    found.push(What::KeyChanged(path.clone(), change));
                }
                Some(_) => {}
            }
        }
        let added = ours.kinds.keys().filter(|path| !self.kinds.contains_key(*path));
        found.extend(added.map(|path| What::KeyAdded(path.clone())));
        topmost(found)
    }

    fn order_differences(&self, ours: &Self) -> Vec<What> {
        let mut found = Vec::new();
        for (path, keys) in &self.order {
            let Some(other) = ours.order.get(path) else { continue };
            let theirs: Vec<_> = keys.iter().filter(|key| other.contains(*key)).collect();
            let ours: Vec<_> = other.iter().filter(|key| keys.contains(*key)).collect();
            if theirs != ours {
                let change = Change::new(&format!("{theirs:?}"), &format!("{ours:?}"));
                found.push(What::KeyOrder(path.clone(), change));
            }
        }
        found
    }

    fn new(shaper: &Shaper) -> Self {
        let shaper = shaper.clone();
        Self { kinds: BTreeMap::new(), order: BTreeMap::new(), texts: BTreeMap::new(), shaper }
    }

    fn read(&mut self, text: &str) -> anyhow::Result<()> {
        let mut reader = serde_json::Deserializer::from_str(text);
        self.read_at("", &mut reader)?;
        let mut documents = 1;
        while reader.end().is_err() {
            self.read_at("", &mut reader)?;
            documents += 1;
        }
        self.note(DOCUMENTS, documents.to_string());
        Ok(())
    }

    fn read_at<'de>(
        &mut self,
        path: &str,
        reader: &mut serde_json::Deserializer<impl serde_json::de::Read<'de>>,
    ) -> anyhow::Result<()> {
        let walk = Walk { path: path.to_owned(), tree: self };
        walk.deserialize(reader).context("not all of it is JSON")
    }

    fn note(&mut self, path: &str, kind: String) {
        self.kinds.entry(path.to_owned()).or_default().insert(kind);
    }

    /// Of a key that is there twice, the later counts, as it does for most readers.
    fn note_order(&mut self, path: &str, key: &str, is_first: bool) {
        let order = self.order.entry(path.to_owned()).or_default();
        if !is_first {
            order.retain(|other| other != key);
        }
        if !order.iter().any(|other| other == key) {
            order.push(key.to_owned());
        }
    }
}

/// The name of the event of a line, which has a name and data and nothing else.
fn event(line: &str) -> anyhow::Result<String> {
    let value: Value = serde_json::from_str(line).context("a line is not JSON")?;
    let object = value.as_object().context("a line is not an object")?;
    let name = object.get("event").and_then(Value::as_str).context("a line names no event")?;
    anyhow::ensure!(object.contains_key("data"), "a line has no data");
    anyhow::ensure!(object.len() == 2, "a line has more than event and data");
    Ok(name.to_owned())
}

fn style(text: &str, length: usize) -> String {
    format!("{:?}", text.chars().take(length).collect::<String>())
}

/// Drops what is said of the inside of an object that is itself missing or new.
fn topmost(found: Vec<What>) -> Vec<What> {
    let whole: Vec<String> = found
        .iter()
        .filter(|what| matches!(what, What::KeyMissing(_) | What::KeyAdded(_)))
        .filter_map(|what| what.path().map(str::to_owned))
        .collect();
    let is_inside = |what: &What| {
        let path = what.path().unwrap_or_default();
        whole.iter().any(|outer| is_below(path, outer) && path != outer)
    };
    found.into_iter().filter(|what| !is_inside(what)).collect()
}

/// Whether `path` is `outer` or something in it.
pub(crate) fn is_below(path: &str, outer: &str) -> bool {
    let inner = path.strip_prefix(outer);
    inner.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn list(kinds: &BTreeSet<String>) -> String {
    kinds.iter().map(String::as_str).collect::<Vec<_>>().join(" or ")
}

/// Reads one value into the tree.
struct Walk<'a> {
    path: String,
    tree: &'a mut Tree,
}

impl Walk<'_> {
    fn leaf(self, kind: &str) {
        self.tree.note(&self.path, kind.to_owned());
    }

    fn child<'b>(tree: &'b mut Tree, path: &str, key: &str) -> Walk<'b> {
        let dot = if path.is_empty() { "" } else { "." };
        Walk { path: format!("{path}{dot}{key}"), tree }
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.leaf(if value { "true" } else { "false" });
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.leaf("a number");
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.leaf("a number");
        Ok(())
    }

    /// iperf3 writes a whole number as one, so `1.0` never occurs.
    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        let is_whole = value.fract() == 0.0 && value.abs() < LARGEST_EXACT;
        self.leaf(if is_whole { "a whole number with a fraction" } else { "a number" });
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.leaf("null");
        Ok(())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        if value.trim_end().contains('\n') {
            self.tree.texts.insert(self.path.clone(), value.to_owned());
            self.leaf("a text");
        } else {
            let kind = format!("\"{}\"", self.tree.shaper.shape(value));
            self.leaf(&kind);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let Self { path, tree } = self;
        tree.note(&path, "an array".to_owned());
        let path = format!("{path}[]");
        while elements.next_element_seed(Walk { path: path.clone(), tree })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let Self { path, tree } = self;
        tree.note(&path, "an object".to_owned());
        let mut seen = BTreeSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            let is_first = seen.insert(key.clone());
            tree.note_order(&path, &key, is_first);
            entries.next_value_seed(Walk::child(tree, &path, &key))?;
            if !is_first {
                Walk::child(tree, &path, &key).leaf("there twice");
            }
        }
        Ok(())
    }
}

/// How many documents there are.
const DOCUMENTS: &str = "(documents)";
/// How the text begins: iperf3 indents by tabs, and has one after the colon.
const STYLE: &str = "(style)";
/// As long as the beginning that all documents share, down to the tab after `"start":`.
const STYLE_OF_DOCUMENT: usize = 12;
/// As long as `{"event":`.
const STYLE_OF_EVENT: usize = 9;
/// Whether there are numbers that are none.
const NAN: &str = "(nan)";
const EVENTS: &str = "(events)";
/// 2^53: above it, a double has no fraction to leave out.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::shape::Units;

    fn tree(text: &str) -> Tree {
        Tree::of_document(text, &Shaper::new("program", Units::Free)).expect("is JSON")
    }

    fn differences(theirs: &str, ours: &str) -> Vec<String> {
        let found = tree(theirs).differences(&tree(ours));
        found.into_iter().map(|what| format!("{what:?}")).collect()
    }

    const SMALL: &str = r#"{"start":{"version":"iperf 3.21","n":1},
        "intervals":[{"x":1,"ok":true},{"x":1.5,"ok":true}]}"#;

    #[test]
    fn other_values_are_no_difference() {
        let other = SMALL.replace("3.21", "3.12").replace("1.5", "7");
        assert!(differences(SMALL, &other).is_empty());
    }

    #[test]
    fn a_removed_key_is_found() {
        let other = SMALL.replace(r#","n":1"#, "");
        assert_eq!(differences(SMALL, &other), [r#"KeyMissing("start.n")"#]);
        assert_eq!(differences(&other, SMALL), [r#"KeyAdded("start.n")"#]);
    }

    #[test]
    fn a_changed_type_is_found() {
        for (from, to) in [("1.5", "\"1.5\""), ("1.5", "null"), ("\"n\":1", "\"n\":1.0")] {
            assert_eq!(differences(SMALL, &SMALL.replace(from, to)).len(), 1, "{to}");
        }
        assert_eq!(differences(SMALL, &SMALL.replacen("true", "false", 1)).len(), 1);
        assert_eq!(differences(SMALL, &SMALL.replace("iperf 3", "linerate 3")).len(), 1);
    }

    #[test]
    fn another_order_and_a_key_that_is_there_twice_are_found() {
        let moved = SMALL.replace(r#""x":1,"ok":true"#, r#""ok":true,"x":1"#);
        assert_eq!(differences(SMALL, &moved).len(), 1);
        let twice = SMALL.replace(r#""n":1"#, r#""n":1,"n":1"#);
        assert_eq!(differences(SMALL, &twice).len(), 1);
    }

    #[test]
    fn a_second_document_and_nan_are_found() {
        assert_eq!(differences(SMALL, &format!("{SMALL}\n{SMALL}")).len(), 1);
        let nan = SMALL.replace(":1.5", ":\tnan");
        assert!(differences(SMALL, &nan).iter().any(|one| one.contains("(nan)")));
    }

    #[test]
    fn events_have_a_name_and_data() {
        let shaper = Shaper::new("program", Units::Free);
        let read = |line: &str| Tree::of_events(line.lines(), &shaper);
        assert!(read(r#"{"event":"start","data":{}}"#).is_ok());
        for bad in [r#"{"event":"start"}"#, r#"{"data":1}"#, "x", r#"{"event":"a","data":nan}"#] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
