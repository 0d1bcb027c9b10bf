//! Files as they are packed: the same bytes, modes and times wherever and whenever that is.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

use crate::command;

/// Files below a folder.
#[derive(Default)]
pub(super) struct Tree {
    files: Vec<Entry>,
}

struct Entry {
    path: String,
    bytes: Vec<u8>,
    mode: u32,
    is_compressed: bool,
}

impl Tree {
    /// Adds a text.
    pub(super) fn text(&mut self, path: impl Into<String>, text: impl Into<Vec<u8>>) {
        self.add(path, text, 0o644, false);
    }

    /// Adds a text that is compressed: `.gz` is put behind its name.
    pub(super) fn compressed(&mut self, path: impl Into<String>, text: impl Into<Vec<u8>>) {
        self.add(path, text, 0o644, true);
    }

    /// Adds what can be run.
    pub(super) fn program(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.add(path, bytes, 0o755, false);
    }

    fn add(
        &mut self,
        path: impl Into<String>,
        bytes: impl Into<Vec<u8>>,
        mode: u32,
        is_compressed: bool,
    ) {
        self.files.push(Entry { path: path.into(), bytes: bytes.into(), mode, is_compressed });
    }

    /// Writes all of them below a folder, which it makes; `seconds` since the epoch is their time.
    pub(super) fn write(&self, folder: &Path, seconds: u64) -> Result<()> {
        for entry in &self.files {
            entry.write(folder).with_context(|| format!("cannot write {}", entry.path))?;
        }
        settle(folder, SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
    }
}

impl Entry {
    fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(&self.path);
        fs::create_dir_all(path.parent().context("it has no folder")?)?;
        fs::write(&path, &self.bytes)?;
        fs::set_permissions(&path, Permissions::from_mode(self.mode))?;
        if self.is_compressed {
            // Without name and time.
            command::output(Command::new("gzip").args(["-9", "--no-name"]).arg(&path))?;
        }
        Ok(())
    }
}

/// Sets the time of all that is in a folder, and of the folder, whatever the umask was.
fn settle(folder: &Path, time: SystemTime) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            settle(&path, time)?;
        } else {
            File::open(&path)?.set_modified(time)?;
        }
    }
    fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    Ok(File::open(folder)?.set_modified(time)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_modes_and_the_time_that_were_given() {
        let folder = std::env::temp_dir().join(format!("linerate-tree-{}", std::process::id()));
        let mut tree = Tree::default();
        tree.text("a/one", "1");
        tree.program("two", "2");
        tree.compressed("a/three", "3");
        tree.write(&folder, 1_000_000_000).expect("a folder");
        let mut seen = Vec::new();
        for path in ["a", "a/one", "two", "a/three.gz"] {
            let metadata = fs::metadata(folder.join(path)).expect(path);
            let time = metadata.modified().expect("a time");
            let seconds = time.duration_since(SystemTime::UNIX_EPOCH).expect("later").as_secs();
            seen.push((metadata.permissions().mode() & 0o777, seconds));
        }
        fs::remove_dir_all(&folder).expect("its own folder");
        let time = 1_000_000_000;
        assert_eq!(seen, [(0o755, time), (0o644, time), (0o755, time), (0o644, time)]);
    }
}
