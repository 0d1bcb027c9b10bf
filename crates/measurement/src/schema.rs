//! The names and the JSON Schema of the file format.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{RecordSet, TestRecord};

/// Name and version of one record's JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RecordSchema {
    /// The first version.
    #[serde(rename = "linerate/record/1")]
    V1,
}

/// Name and version of the JSON of several records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RecordSetSchema {
    /// The first version.
    #[serde(rename = "linerate/records/1")]
    V1,
}

/// JSON Schema of [`TestRecord`].
pub fn of_record() -> serde_json::Value {
    schemars::schema_for!(TestRecord).to_value()
}

/// JSON Schema of [`RecordSet`].
pub fn of_record_set() -> serde_json::Value {
    schemars::schema_for!(RecordSet).to_value()
}

/// A [`std::time::Duration`] as a JSON number of seconds.
pub mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Writes seconds.
    pub fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(span.as_secs_f64())
    }

    /// Reads seconds; negative or endless ones are refused.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Duration::try_from_secs_f64(seconds).map_err(D::Error::custom)
    }
}
