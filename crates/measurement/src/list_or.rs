//! A list of objects, or the shorter form that a record has in its place.

use std::fmt::{self, Formatter};
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A list of `T`, or an object in its place. To read it takes no buffer, as an untagged enum of
/// serde does.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum ListOr<T, Object> {
    /// An object for each.
    List(Vec<T>),
    /// A list of values for each field.
    Object(Object),
}

impl<'de, T: Deserialize<'de>, Object: Deserialize<'de>> Deserialize<'de> for ListOr<T, Object> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either(PhantomData))
    }
}

struct Either<T, Object>(PhantomData<(T, Object)>);

impl<'de, T: Deserialize<'de>, Object: Deserialize<'de>> Visitor<'de> for Either<T, Object> {
    type Value = ListOr<T, Object>;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a list or an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(ListOr::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Object::deserialize(MapAccessDeserializer::new(map)).map(ListOr::Object)
    }
}
