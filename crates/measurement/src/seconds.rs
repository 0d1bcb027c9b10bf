//! A [`Duration`] as a JSON number of seconds.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// Writes seconds.
pub(crate) fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(span.as_secs_f64())
}

/// Reads seconds; negative or endless ones are refused.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    Duration::try_from_secs_f64(seconds).map_err(D::Error::custom)
}

/// An optional [`Duration`] as a JSON number of seconds, or null.
pub(crate) mod optional {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Seconds(#[serde(with = "super")] Duration);

    /// Writes seconds, or null.
    #[expect(clippy::ref_option, reason = "serde hands in a reference")]
    pub(crate) fn serialize<S: Serializer>(
        span: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        span.map(Seconds).serialize(serializer)
    }

    /// Reads them.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<Seconds>::deserialize(deserializer)?.map(|seconds| seconds.0))
    }
}
