//! Files as they are packed: the same bytes, modes and times wherever and whenever that is.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

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
}

impl Tree {
    /// Adds a text.
    pub(super) fn text(&mut self, path: impl Into<String>, text: impl Into<Vec<u8>>) {
        self.files.push(Entry { path: path.into(), bytes: text.into(), mode: 0o644 });
    }

    /// Adds what can be run.
    pub(super) fn program(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.files.push(Entry { path: path.into(), bytes: bytes.into(), mode: 0o755 });
    }

    /// Writes all of them below a folder, which it makes.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        for entry in &self.files {
            entry.write(folder).with_context(|| format!("cannot write {}", entry.path))?;
        }
        Ok(())
    }
}

impl Entry {
    fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(&self.path);
        fs::create_dir_all(path.parent().context("it has no folder")?)?;
        fs::write(&path, &self.bytes)?;
        Ok(fs::set_permissions(&path, Permissions::from_mode(self.mode))?)
    }
}

/// Packs what has these names in a folder, as long names need it, without the times of access and of
/// packing, and whatever the umask was; `seconds` since the epoch is the time of all.
pub(super) fn archive(folder: &Path, names: &[&str], file: &Path, seconds: u64) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--format=gnu", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.args(["--mode=go+u,go-w", &format!("--mtime=@{seconds}"), "--create", "--file"]);
    command::output(tar.arg(file).arg("--directory").arg(folder).args(names))?;
    Ok(())
}

/// Compresses files, or all that is in folders, without their names and times.
pub(super) fn compress<P: AsRef<Path>>(folder: &Path, paths: &[P]) -> Result<()> {
    let mut gzip = Command::new("gzip");
    gzip.args(["-9", "--no-name", "--recursive", "--force"]);
    command::output(gzip.args(paths.iter().map(AsRef::as_ref)).current_dir(folder))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_modes_and_the_time_that_were_given() {
        let folder = std::env::temp_dir().join(format!("linerate-tree-{}", std::process::id()));
        let mut tree = Tree::default();
        tree.text("a/one", "1");
        tree.program("a/two", "2");
        tree.text("a/three", "3");
        tree.write(&folder).expect("a folder");
        fs::set_permissions(folder.join("a"), Permissions::from_mode(0o700)).expect("a mode");
        compress(&folder, &["a/three"]).expect("gzip");
        let file = folder.join("archive.tar");
        archive(&folder, &["a"], &file, 1_000_000_000).expect("tar");
        let mut list = Command::new("tar");
        list.args(["--list", "--verbose", "--full-time", "--utc", "--file"]).arg(&file);
        let listed = command::output(&mut list).expect("an archive");
        fs::remove_dir_all(&folder).expect("its own folder");
        let seen: Vec<Vec<_>> =
            listed.lines().map(|line| line.split_whitespace().collect()).collect();
        let seen: Vec<_> = seen.iter().map(|words| (words[0], words[1], words[5])).collect();
        let is_of_then = |line: &str| line.contains(" 2001-09-09 01:46:40 ");
        assert!(listed.lines().all(is_of_then), "{listed}");
        let expected = [
            ("drwxr-xr-x", "0/0", "a/"),
            ("-rw-r--r--", "0/0", "a/one"),
            ("-rw-r--r--", "0/0", "a/three.gz"),
            ("-rwxr-xr-x", "0/0", "a/two"),
        ];
        assert_eq!(seen, expected);
    }
}
