//! `schema`: the JSON Schemas of the file format, from the types that define it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::output::say;
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
        for file in &FILES {
            write(&root.join(file.path), &file.text())?;
            say(format!("wrote {}", file.path));
        }
        Ok(format!("schema: {} files written", FILES.len()))
    }
}

/// Fails if a schema on disk is not that of the types.
pub(crate) fn check(root: &Path) -> Result<()> {
    let current = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let differ: Vec<&str> = FILES
        .iter()
        .filter(|file| current(file.path) != file.text())
        .map(|file| file.path)
        .collect();
    if differ.is_empty() {
        return Ok(());
    }
    bail!("{} differ from crates/measurement; run `cargo xtask schema`", differ.join(", "))
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// A generated file.
struct File {
    path: &'static str,
    schema: fn() -> Value,
}

impl File {
    /// Pretty, keys sorted, a newline at the end.
    fn text(&self) -> String {
        let mut schema = (self.schema)();
        // Another crate's features may make serde_json keep the order of insertion.
        schema.sort_all_objects();
        format!("{schema:#}\n")
    }
}

const FILES: [File; 2] = [
    File { path: "docs/schema/record.json", schema: measurement::schema::of_record },
    File { path: "docs/schema/records.json", schema: measurement::schema::of_record_set },
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_a_text_file() {
        let file = File { path: "a.json", schema: || json!({"a": [1]}) };
        assert_eq!(file.text(), "{\n  \"a\": [\n    1\n  ]\n}\n");
    }

    #[test]
    fn each_schema_names_its_type() {
        let titles = FILES.map(|file| (file.schema)()["title"].clone());
        assert_eq!(titles, ["TestRecord", "RecordSet"]);
    }

    #[test]
    fn a_missing_file_says_what_to_do() {
        let error = check(Path::new("/nowhere")).expect_err("nothing is there");
        assert!(error.to_string().ends_with("run `cargo xtask schema`"), "{error}");
    }
}
