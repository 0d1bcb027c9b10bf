//! The JSON Schema of the file format.

use crate::record::{RecordSet, TestRecord};

/// The JSON Schema of [`TestRecord`].
pub fn record() -> serde_json::Value {
    schemars::schema_for!(TestRecord).to_value()
}

/// The JSON Schema of [`RecordSet`].
pub fn record_set() -> serde_json::Value {
    schemars::schema_for!(RecordSet).to_value()
}
