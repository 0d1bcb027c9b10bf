//! A deserializer that reads structs from objects and from nothing else ([`Objects`]). By itself JSON
//! is read so that a list stands for a struct too, field by field: that is a second reader of each
//! struct, which takes room in the file and which nobody writes for.

use std::fmt::{self, Formatter};

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor,
};

/// A deserializer, as are those of everything within its value.
pub(super) struct Objects<D>(pub(super) D);

/// Hands what may contain values of any type to [`Nested`].
macro_rules! hand_on {
    ($($method:ident($($argument:ident: $kind:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(
            self,
            $($argument: $kind,)*
            visitor: V,
        ) -> Result<V::Value, D::Error> {
            self.0.$method($($argument,)* Nested(visitor))
        })*
    };
}

/// What contains no other value.
macro_rules! pass {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.0.$method(visitor)
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Objects<D> {
    type Error = D::Error;

    pass! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_u128 deserialize_f32 deserialize_f64 deserialize_char deserialize_str
        deserialize_string deserialize_bytes deserialize_byte_buf deserialize_unit
        deserialize_identifier deserialize_ignored_any
    }

    hand_on! {
        deserialize_any()
        deserialize_option()
        deserialize_seq()
        deserialize_map()
        deserialize_tuple(length: usize)
        deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str)
        deserialize_tuple_struct(name: &'static str, length: usize)
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.deserialize_map(visitor)
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

/// A visitor that visits what is within a value by [`Objects`].
struct Nested<V>(V);

macro_rules! visit {
    ($($method:ident($kind:ty))*) => {
        $(fn $method<E: Error>(self, value: $kind) -> Result<V::Value, E> {
            self.0.$method(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Nested<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    visit! {
        visit_bool(bool) visit_i64(i64) visit_i128(i128) visit_u64(u64) visit_u128(u128)
        visit_f64(f64) visit_str(&str) visit_borrowed_str(&'de str) visit_string(String)
        visit_bytes(&[u8]) visit_borrowed_bytes(&'de [u8]) visit_byte_buf(Vec<u8>)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Objects(value))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Objects(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Nested(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Nested(entries))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(Nested(variant))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Nested<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Objects(value))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Nested<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Nested(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Nested<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Nested(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Nested<A> {
    type Error = A::Error;
    type Variant = Nested<A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let (name, content) = self.0.variant_seed(seed)?;
        Ok((name, Nested(content)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Nested<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.0.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.0.newtype_variant_seed(Nested(seed))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.tuple_variant(length, Nested(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.newtype_variant_seed(Fields(visitor))
    }
}

/// Reads the fields of a variant from an object.
struct Fields<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Fields<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        Objects(value).deserialize_map(self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::value::RawValue;

    use crate::json::read;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Whole<'a> {
        number: Option<f64>,
        #[serde(borrow)]
        text: Cow<'a, str>,
        pairs: Vec<(u8, bool)>,
        map: BTreeMap<u32, Part>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    enum Part {
        Unit,
        New(Vec<Part>),
        Tuple(i64, Option<()>),
        Struct { one: char },
    }

    const TEXT: &str = r#"{ "number": -1.5, "text": "a\n", "pairs": [[1, true]], "map": { "7": "Unit",
        "8": { "Tuple": [-3, null] }, "9": { "Struct": { "one": "x" } }, "10": { "New":
        ["Unit"] } } }"#;

    #[test]
    fn values_of_all_kinds_are_read_as_serde_json_reads_them() {
        let ours = read::<Whole>(TEXT).expect("it is one");
        assert_eq!(ours, serde_json::from_str(TEXT).expect("it is one"));
        assert_eq!(ours.map.len(), 4);
        let raw = read::<Vec<&RawValue>>("[ {\"a\": 1}, 2 ]").expect("a list");
        assert_eq!(raw.iter().map(|one| one.get()).collect::<Vec<_>>(), ["{\"a\": 1}", "2"]);
        let value = read::<serde_json::Value>(TEXT).expect("JSON");
        assert_eq!(value, serde_json::from_str::<serde_json::Value>(TEXT).expect("JSON"));
    }

    #[test]
    fn a_list_is_no_struct_and_what_follows_is_an_error() {
        for text in [r#"[1, "a", [], {}]"#, &TEXT.replace(r#"{ "one": "x" }"#, r#"["x"]"#)] {
            let error = read::<Whole>(text).expect_err(text);
            assert!(error.to_string().contains("invalid type: sequence"), "{error}");
        }
        let error = read::<Whole>(&format!("{TEXT} x")).expect_err("there is more");
        assert!(error.to_string().starts_with("trailing characters at line 3"), "{error}");
    }
}
