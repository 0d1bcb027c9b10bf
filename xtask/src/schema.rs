//! `schema`: the JSON Schemas of the file format, from the types that define it.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use serde_json::Value;

use crate::generated::{self, File};
use crate::workspace::Workspace;

/// Writes docs/schema/*.json, the JSON Schemas of records
#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// Write nothing; fail if a file is not what would be written
    #[arg(long)]
    check: bool,
}

impl Schema {
    pub(crate) fn run(self) -> Result<String> {
        let root = Workspace::find()?.root;
        if self.check {
            check(&root)?;
            return Ok("schema: up to date".to_owned());
        }
        generated::write(&root, &files())?;
        Ok(format!("schema: {} files written", files().len()))
    }
}

/// Fails if a schema on disk is not that of the types.
pub(crate) fn check(root: &Path) -> Result<()> {
    generated::check(root, &files(), "schema")
}

fn files() -> [File; 13] {
    [
        file("docs/schema/ab.json", measurement::schema::ab()),
        file("docs/schema/copy.json", measurement::schema::copy()),
        file("docs/schema/dut.json", measurement::schema::dut()),
        file("docs/schema/ladder.json", measurement::schema::ladder()),
        file("docs/schema/mesh.json", measurement::schema::mesh()),
        file("docs/schema/mesh-stream.json", measurement::schema::mesh_event()),
        file("docs/schema/packets.json", measurement::schema::packets()),
        file("docs/schema/record.json", measurement::schema::record()),
        file("docs/schema/records.json", measurement::schema::record_set()),
        file("docs/schema/search.json", measurement::schema::search()),
        file("docs/schema/search-stream.json", measurement::schema::search_event()),
        file("docs/schema/stream.json", measurement::schema::run_event()),
        file("docs/schema/tune.json", measurement::schema::tune()),
    ]
}

/// Pretty, keys sorted, a newline at the end.
fn file(path: &str, mut schema: Value) -> File {
    // Another crate's features may make serde_json keep the order of insertion.
    schema.sort_all_objects();
    File { path: path.to_owned(), text: format!("{schema:#}\n") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_a_text_file() {
        let file = file("a.json", json!({"a": [1]}));
        assert_eq!(file.text, "{\n  \"a\": [\n    1\n  ]\n}\n");
    }

    #[test]
    fn each_schema_names_its_type() {
        let titles = files().map(|file| {
            let schema: Value = serde_json::from_str(&file.text).expect("it is JSON");
            schema["title"].clone()
        });
        let names = [
            "AbRecord",
            "CopyRecord",
            "DutRecord",
            "LadderRecord",
            "MeshRecord",
            "MeshEvent",
            "PacketsRecord",
            "TestRecord",
            "RecordSet",
            "SearchRecord",
            "SearchEvent",
            "RunEvent",
            "TuneRecord",
        ];
        assert_eq!(titles, names);
    }
}
