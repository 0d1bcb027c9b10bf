//! The name of an engine as it stands in a plan, in a record or in a peer's message.

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Engine;

/// Name of an engine (an implementation of sending or receiving), with the properties of the engine
/// if this version knows it.
///
/// Any other text is kept, since a newer peer may have engines that this version does not know.
#[derive(Clone, PartialEq, Eq)]
pub enum EngineName {
    /// An engine of [`super::ENGINES`].
    Known(&'static Engine),
    /// Name of an engine that this version does not know.
    Unknown(String),
}

impl EngineName {
    /// Name of the engine in records and on the command line, e.g. `sendmmsg`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(engine) => engine.name,
            Self::Unknown(name) => name,
        }
    }

    /// Properties of the engine; none: this version does not know it.
    pub const fn properties(&self) -> Option<&'static Engine> {
        match self {
            Self::Known(engine) => Some(engine),
            Self::Unknown(_) => None,
        }
    }

    /// Whether this is the name of `engine`.
    pub fn is(&self, engine: &Engine) -> bool {
        self.as_str() == engine.name
    }

    /// Whether the engine may handle several datagrams as one packet (GSO, GRO). True for an engine
    /// that this version does not know.
    pub fn may_be_batched(&self) -> bool {
        self.properties().is_none_or(Engine::is_batched)
    }
}

impl Default for EngineName {
    fn default() -> Self {
        Self::Unknown(String::new())
    }
}

impl From<&'static Engine> for EngineName {
    fn from(engine: &'static Engine) -> Self {
        Self::Known(engine)
    }
}

impl From<&str> for EngineName {
    fn from(name: &str) -> Self {
        Engine::named(name).map_or_else(|| Self::Unknown(name.to_owned()), Self::Known)
    }
}

impl From<String> for EngineName {
    fn from(name: String) -> Self {
        Engine::named(&name).map_or(Self::Unknown(name), Self::Known)
    }
}

impl Deref for EngineName {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for EngineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for EngineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl Serialize for EngineName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'a> Deserialize<'a> for EngineName {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::GRO;

    #[test]
    fn a_name_that_is_not_known_stays() {
        let read = |text: &str| serde_json::from_str::<EngineName>(text).expect("a string");
        assert_eq!(read("\"gro\""), EngineName::from(&GRO));
        let newer = read("\"af-xdp\"");
        assert_eq!((newer.as_str(), newer.properties()), ("af-xdp", None));
        assert!(newer.may_be_batched());
    }
}
