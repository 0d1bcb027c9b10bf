//! A [`Duration`] as a JSON number of seconds.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// Writes a duration as a number of seconds.
pub(crate) fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(span.as_secs_f64())
}

/// Reads a number of seconds; negative and infinite numbers are an error.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    Duration::try_from_secs_f64(seconds).map_err(D::Error::custom)
}

/// Serialization of an optional [`Duration`] as a JSON number of seconds, or null.
pub(crate) mod optional {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Seconds(#[serde(with = "super")] Duration);

    /// Writes a duration as a number of seconds, or null.
    #[expect(clippy::ref_option, reason = "serde hands in a reference")]
    pub(crate) fn serialize<S: Serializer>(
        span: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        span.map(Seconds).serialize(serializer)
    }

    /// Reads a number of seconds, or null.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<Seconds>::deserialize(deserializer)?.map(|seconds| seconds.0))
    }
}
