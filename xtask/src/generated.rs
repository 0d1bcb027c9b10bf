//! Files that are made from the code, and committed.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::output::say;

/// A generated file.
pub(crate) struct File {
    /// From the root of the project.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Writes all of them.
pub(crate) fn write(root: &Path, files: &[File]) -> Result<()> {
    for File { path, text } in files {
        let place = root.join(path);
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        }
        fs::write(&place, text).with_context(|| format!("cannot write {}", place.display()))?;
        say(format!("wrote {path}"));
    }
    Ok(())
}

/// Fails if a file on disk is not what would be written; `task` writes it.
pub(crate) fn check(root: &Path, files: &[File], task: &str) -> Result<()> {
    let current = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let differ: Vec<&str> = files
        .iter()
        .filter(|file| current(&file.path) != file.text)
        .map(|file| file.path.as_str())
        .collect();
    if differ.is_empty() {
        return Ok(());
    }
    bail!("{} differ from the code; run `cargo xtask {task}`", differ.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_says_what_to_do() {
        let file = File { path: "a.json".to_owned(), text: "{}\n".to_owned() };
        let error = check(Path::new("/nowhere"), &[file], "schema").expect_err("nothing is there");
        assert!(error.to_string().ends_with("run `cargo xtask schema`"), "{error}");
    }
}
