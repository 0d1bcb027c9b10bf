//! JSON Schema of the file format, generated from its types. Only with the feature `schema`, which
//! no program needs that measures.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::alternation::AbRecord;
use crate::copies::CopyRecord;
use crate::dut::DutRecord;
use crate::engine::EngineName;
use crate::ladder::LadderRecord;
use crate::mesh::{MeshEvent, MeshRecord};
use crate::packets::PacketsRecord;
use crate::record::{RecordSet, TestRecord};
use crate::remedy::Setting;
use crate::rule::RuleId;
use crate::run_event::RunEvent;
use crate::search::{SearchEvent, SearchRecord};
use crate::tune::TuneRecord;

/// JSON Schema of [`TestRecord`].
pub fn record() -> serde_json::Value {
    schemars::schema_for!(TestRecord).to_value()
}

/// JSON Schema of [`RecordSet`].
pub fn record_set() -> serde_json::Value {
    schemars::schema_for!(RecordSet).to_value()
}

/// JSON Schema of [`RunEvent`], a line of the output format `json-stream`.
pub fn run_event() -> serde_json::Value {
    schemars::schema_for!(RunEvent<'_>).to_value()
}

/// JSON Schema of [`AbRecord`].
pub fn ab() -> serde_json::Value {
    schemars::schema_for!(AbRecord).to_value()
}

/// JSON Schema of [`CopyRecord`].
pub fn copy() -> serde_json::Value {
    schemars::schema_for!(CopyRecord).to_value()
}

/// JSON Schema of [`DutRecord`].
pub fn dut() -> serde_json::Value {
    schemars::schema_for!(DutRecord).to_value()
}

/// JSON Schema of [`PacketsRecord`].
pub fn packets() -> serde_json::Value {
    schemars::schema_for!(PacketsRecord).to_value()
}

/// JSON Schema of [`LadderRecord`].
pub fn ladder() -> serde_json::Value {
    schemars::schema_for!(LadderRecord).to_value()
}

/// JSON Schema of [`MeshRecord`].
pub fn mesh() -> serde_json::Value {
    schemars::schema_for!(MeshRecord).to_value()
}

/// JSON Schema of [`MeshEvent`], a line of the result file of a mesh.
pub fn mesh_event() -> serde_json::Value {
    schemars::schema_for!(MeshEvent).to_value()
}

/// JSON Schema of [`SearchRecord`].
pub fn search() -> serde_json::Value {
    schemars::schema_for!(SearchRecord).to_value()
}

/// JSON Schema of [`SearchEvent`], a line of the output format `json-stream` of a search.
pub fn search_event() -> serde_json::Value {
    schemars::schema_for!(SearchEvent<'_>).to_value()
}

/// JSON Schema of [`TuneRecord`].
pub fn tune() -> serde_json::Value {
    schemars::schema_for!(TuneRecord).to_value()
}

/// Types that are strings in JSON: a list of all rules, engines or settings in the schema would
/// change the file format with each new one.
macro_rules! strings {
    ($($type:ty),+) => {
        $(
            impl JsonSchema for $type {
                fn inline_schema() -> bool {
                    true
                }

                fn schema_name() -> Cow<'static, str> {
                    String::schema_name()
                }

                fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                    String::json_schema(generator)
                }
            }
        )+
    };
}

strings!(EngineName, RuleId, Setting);
