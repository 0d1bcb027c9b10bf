//! Records what is read of a live tree, as the entries of a captured one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// An entry of a captured tree (a copy of a host's files below `/proc` and `/sys`): file, symbolic
/// link or directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeEntry {
    /// A regular file with its content.
    File(Vec<u8>),
    /// A symbolic link with its target.
    Link(String),
    /// A directory.
    Folder,
}

/// The entries that were read so far.
#[derive(Debug, Default)]
pub(super) struct Recording {
    entries: Mutex<BTreeMap<String, TreeEntry>>,
}

impl Recording {
    pub(super) fn file(&self, path: &str, bytes: &[u8]) {
        if u64::try_from(bytes.len()).is_ok_and(|length| length <= MOST_FILE_BYTES) {
            self.keep(path, TreeEntry::File(bytes.to_vec()));
        }
    }

    pub(super) fn link(&self, path: &str, target: &Path) {
        self.keep(path, TreeEntry::Link(target.to_string_lossy().into_owned()));
    }

    /// Records a folder whose names were listed, so that the captured one lists the same.
    pub(super) fn folder(&self, path: &str, names: &[String]) {
        self.keep(path, TreeEntry::Folder);
        for name in names {
            let path = format!("{path}/{name}");
            let place = Path::new("/").join(&path);
            let Ok(kind) = fs::symlink_metadata(&place).map(|data| data.file_type()) else {
                continue;
            };
            if let (true, Ok(target)) = (kind.is_symlink(), fs::read_link(&place)) {
                self.link(&path, &target);
            } else {
                let empty =
                    if kind.is_dir() { TreeEntry::Folder } else { TreeEntry::File(Vec::new()) };
                self.keep_if_new(&path, empty);
            }
        }
    }

    /// All that was read, by path; a folder before what is in it.
    pub(super) fn entries(&self) -> Vec<(String, TreeEntry)> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().map(|(path, entry)| (path.clone(), entry.clone())).collect()
    }

    fn keep(&self, path: &str, entry: TreeEntry) {
        let path = self.straight(path);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.insert(path, entry);
    }

    fn keep_if_new(&self, path: &str, entry: TreeEntry) {
        let path = self.straight(path);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.entry(path).or_insert(entry);
    }

    /// The path without links between its folders; those that were on it are kept too, so
    /// that the path as it was requested leads there again.
    ///
    /// Links below `/proc` lead to what belongs to the process; there the path stays.
    fn straight(&self, path: &str) -> String {
        if !path.starts_with("sys/") {
            return path.to_owned();
        }
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut at = PathBuf::from("/");
        for part in folders.split('/') {
            if part == ".." {
                at.pop();
                continue;
            }
            let next = at.join(part);
            if let Ok(target) = fs::read_link(&next) {
                self.insert(&next, TreeEntry::Link(target.to_string_lossy().into_owned()));
            }
            at = next.canonicalize().unwrap_or(next);
        }
        relative(&at.join(name))
    }

    fn insert(&self, place: &Path, entry: TreeEntry) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.insert(relative(place), entry);
    }
}

fn relative(place: &Path) -> String {
    place.to_string_lossy().trim_start_matches('/').to_owned()
}

/// A longer file is not kept.
pub(super) const MOST_FILE_BYTES: u64 = 1 << 20;
