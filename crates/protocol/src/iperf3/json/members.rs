//! A peer's JSON piece by piece: what is asked for is read from where it stands, so that a
//! text never becomes a tree, which can be a hundred times as large.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Members of a JSON object, each as unparsed text.
pub(in super::super) struct Members<'a> {
    names: &'static [&'static str],
    texts: Vec<Option<&'a RawValue>>,
}

impl<'a> Members<'a> {
    /// The members of the object in `text` that `names` lists; of a repeated name the last. Other
    /// members are skipped. The error says why it is no object.
    pub(in super::super) fn select(
        text: &'a [u8],
        names: &'static [&'static str],
    ) -> Result<Self, String> {
        if text.trim_ascii_start().first() != Some(&b'{') {
            return Err("it is no JSON object".to_owned());
        }
        let mut reader = serde_json::Deserializer::from_slice(text);
        let texts = reader.deserialize_map(Pick(names)).map_err(|error| error.to_string())?;
        reader.end().map_err(|error| error.to_string())?;
        Ok(Self { names, texts })
    }

    /// Text of a member.
    pub(in super::super) fn text(&self, name: &str) -> Option<&'a str> {
        let place = self.names.iter().position(|known| *known == name)?;
        Some(self.texts[place]?.get())
    }

    /// Text of a member that is an array.
    pub(in super::super) fn list(&self, name: &str) -> Option<&'a str> {
        self.text(name).filter(|text| text.starts_with('['))
    }

    /// Text of a member that is an object.
    pub(in super::super) fn object(&self, name: &str) -> Option<&'a str> {
        self.text(name).filter(|text| text.starts_with('{'))
    }

    /// Parses a member; none if it is missing or has the wrong type.
    pub(in super::super) fn read<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        measurement::json::read(self.text(name)?).ok()
    }

    /// The members with these `names` that are neither arrays nor objects, parsed.
    pub(in super::super) fn scalars(&self, names: &[&str]) -> Map<String, Value> {
        let scalar = |name: &&str| {
            let text = self.text(name).filter(|text| !text.starts_with(['[', '{']))?;
            Some(((*name).to_owned(), measurement::json::read(text).ok()?))
        };
        names.iter().filter_map(scalar).collect()
    }
}

/// Number of elements of the array in `text`.
pub(in super::super) fn count(text: &str) -> usize {
    // Elements without a size take no memory.
    measurement::json::read::<Vec<IgnoredAny>>(text).map_or(0, |elements| elements.len())
}

/// Parses the first `most` elements of the array in `text`, each by itself. None if one of them has
/// the wrong type.
pub(in super::super) fn list<T>(
    text: &str,
    most: usize,
    mut read: impl FnMut(&str) -> Option<T>,
) -> Option<Vec<T>> {
    // A list that grew would be there twice, and with room to spare.
    let elements = Vec::with_capacity(count(text).min(most));
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.deserialize_seq(Elements { room: elements, most, read: &mut read }).ok()
}

/// The most values that a valid text can have: one after each comma and bracket.
pub(in super::super) fn most_values(text: &str) -> usize {
    let (mut in_string, mut is_escaped) = (false, false);
    let mut opens = |byte: &u8| {
        match byte {
            _ if std::mem::take(&mut is_escaped) => {}
            b'\\' => is_escaped = true,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' => return !in_string,
            _ => {}
        }
        false
    };
    1 + text.as_bytes().iter().filter(|byte| opens(byte)).count()
}

/// Picks the members with these names.
struct Pick(&'static [&'static str]);

impl<'a> Visitor<'a> for Pick {
    type Value = Vec<Option<&'a RawValue>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut texts = vec![None; self.0.len()];
        while let Some(place) = map.next_key_seed(Name(self.0))? {
            match place {
                Some(place) => texts[place] = Some(map.next_value()?),
                None => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(texts)
    }
}

/// The place of a name among these.
struct Name(&'static [&'static str]);

impl<'a> DeserializeSeed<'a> for Name {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'a>>(self, name: D) -> Result<Self::Value, D::Error> {
        name.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Name {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|known| *known == name))
    }
}

/// Reads elements into the room that there is for them.
struct Elements<'r, T, F> {
    room: Vec<T>,
    most: usize,
    read: &'r mut F,
}

impl<'a, T, F: FnMut(&str) -> Option<T>> Visitor<'a> for Elements<'_, T, F> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'a>>(mut self, mut list: A) -> Result<Self::Value, A::Error> {
        while self.room.len() < self.most {
            let Some(text) = list.next_element::<&RawValue>()? else { return Ok(self.room) };
            let element = (self.read)(text.get());
            self.room.push(element.ok_or_else(|| A::Error::custom("an element"))?);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(self.room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_picked_and_the_rest_is_passed_over() {
        let text = br#" {"a":[1, {"b":2}],"c":7,"\u0062":{"a":0},"c":"x\"y","d":null} "#;
        let members = Members::select(text, &["a", "b", "c", "d", "e"]).expect("an object");
        assert_eq!(members.list("a"), Some(r#"[1, {"b":2}]"#));
        assert_eq!((members.object("a"), members.object("b")), (None, Some(r#"{"a":0}"#)));
        assert_eq!(members.read::<String>("c").as_deref(), Some("x\"y"));
        assert_eq!((members.text("d"), members.text("e")), (Some("null"), None));
        let scalars: Vec<_> = members.scalars(&["a", "b", "c", "d", "e"]).into_iter().collect();
        assert_eq!(scalars, [("c".to_owned(), "x\"y".into()), ("d".to_owned(), Value::Null)]);
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["", "7", "[]", "{", "{}}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "\"{}\""] {
            assert!(Members::select(text.as_bytes(), &["a"]).is_err(), "{text}");
        }
    }

    #[test]
    fn a_list_is_read_as_far_as_it_is_wanted() {
        let numbers = |text, most| list::<u64>(text, most, |text| text.parse().ok());
        assert_eq!(numbers("[1, 2,3]", 5), Some(vec![1, 2, 3]));
        assert_eq!(numbers("[1, 2,[]]", 2), Some(vec![1, 2]));
        assert_eq!(numbers("[1,[],3]", 5), None);
        assert_eq!((count("[1,[2,3],{}]"), count("[]"), count("{}")), (3, 0, 0));
    }

    #[test]
    fn values_are_counted_where_they_can_stand() {
        assert_eq!(most_values("7"), 1);
        assert_eq!(most_values(r#"{"a,[{":[1,"\",\\",{"b":3}]}"#), 6);
    }
}
