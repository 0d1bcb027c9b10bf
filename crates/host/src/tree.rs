//! The root below which files are read: `/`, a captured tree, or its archive in memory.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

mod archive;
mod recording;

pub use archive::Archive;
pub use recording::TreeEntry;

use measurement::is_shown;

use measurement::Order;
use recording::{MOST_FILE_BYTES, Recording};

/// Access to the files of a host below `/proc` and `/sys`: those of the running host, or captured
/// ones.
#[derive(Clone, Debug)]
pub struct Tree {
    root: Root,
    recording: Option<Arc<Recording>>,
}

/// Where the files are.
#[derive(Clone, Debug)]
enum Root {
    /// The root directory of the running host.
    Live,
    /// A directory with captured files, whose path has no symbolic links. Links that lead out
    /// of it are not followed.
    Folder(PathBuf),
    /// An archive in memory.
    Archive(Arc<Archive>),
}

impl Tree {
    /// Access to the files of the running host, as the calling thread sees them.
    pub fn live() -> Self {
        Self { root: Root::Live, recording: None }
    }

    /// Access to the files of the running host, as the calling thread sees them. All that is read
    /// is recorded, for [`Self::recorded`].
    pub fn recording() -> Self {
        Self { recording: Some(Arc::default()), ..Self::live() }
    }

    /// Access to the files of a host that were captured below the directory `root`.
    pub fn captured(root: &Path) -> Self {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        Self { root: Root::Folder(root), recording: None }
    }

    /// Access to the files of a host that were captured to an archive.
    pub fn archived(archive: Archive) -> Self {
        Self { root: Root::Archive(Arc::new(archive)), recording: None }
    }

    /// Whether this is the running host, whose kernel can be queried too, and not a capture.
    pub fn is_live(&self) -> bool {
        matches!(self.root, Root::Live)
    }

    /// Whether what is read is recorded, for a capture.
    pub(crate) fn is_recorded(&self) -> bool {
        self.recording.is_some()
    }

    /// The text of a file, by its path below the root, e.g. `proc/stat`. Bytes that are not UTF-8
    /// and characters that a terminal does not show are replaced. Files below `proc/net` are those
    /// of the calling thread's network namespace.
    ///
    /// # Errors
    /// `NotFound` if there is no such file or its path leads out of the tree,
    /// `PermissionDenied`, `InvalidInput` if it is not a regular file of a captured tree, else
    /// the error of read(2).
    pub fn text(&self, path: &str) -> io::Result<String> {
        let text = String::from_utf8_lossy(&self.bytes(path)?).into_owned();
        let is_text = |letter| is_shown(letter) || matches!(letter, '\n' | '\t' | '\0');
        if text.chars().all(is_text) {
            return Ok(text);
        }
        // A captured tree may be made to do things to the terminal that it is shown on.
        Ok(text.chars().map(|letter| if is_text(letter) { letter } else { '?' }).collect())
    }

    /// The bytes of a file, by its path below the root, e.g. `proc/stat`; of a captured tree at
    /// most 1 MiB.
    ///
    /// # Errors
    /// `NotFound` if there is no such file or its path leads out of the tree,
    /// `PermissionDenied`, `InvalidInput` if it is not a regular file of a captured tree, else
    /// the error of read(2).
    pub fn bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        let bytes = match &self.root {
            Root::Live => fs::read(live(path))?,
            Root::Folder(root) => read_some(&inside(root, path)?)?,
            Root::Archive(archive) => archive.bytes(path)?.to_vec(),
        };
        if let Some(recording) = &self.recording {
            recording.file(path, &bytes);
        }
        Ok(bytes)
    }

    /// Opens a file for repeated reading, by its path below the root, e.g. `proc/stat`.
    ///
    /// # Errors
    /// `Unsupported` if the tree is an archive, `NotFound` if there is no such file or its path
    /// leads out of the tree, else the error of open(2).
    pub fn open(&self, path: &str) -> io::Result<fs::File> {
        if self.recording.is_some() {
            self.bytes(path)?;
        }
        match &self.root {
            Root::Live => fs::File::open(live(path)),
            Root::Folder(root) => fs::File::open(inside(root, path)?),
            Root::Archive(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// The text of a file without the white space around it. `None` if it is empty or cannot be
    /// read.
    pub fn value(&self, path: &str) -> Option<String> {
        let text = self.text(path).ok()?;
        let text = text.trim_matches(|letter: char| letter.is_whitespace() || letter == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The number in a file. `None` if the file has no number or cannot be read.
    pub fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.value(path)?.parse().ok()
    }

    /// Sorted names of the entries of a directory, by its path below the root, e.g.
    /// `sys/class/net`.
    ///
    /// # Errors
    /// `NotFound` if there is no such directory or its path leads out of the tree,
    /// `PermissionDenied`, else the error of getdents(2).
    pub fn names(&self, path: &str) -> io::Result<Vec<String>> {
        let mut names = match &self.root {
            Root::Live => names(&live(path))?,
            Root::Folder(root) => names(&inside(root, path)?)?,
            Root::Archive(archive) => archive.names(path)?,
        };
        names.order();
        if let Some(recording) = &self.recording {
            recording.folder(path, &names);
        }
        Ok(names)
    }

    /// The last component of the target of a symbolic link, e.g. `r8169` for
    /// `sys/class/net/eth0/device/driver`. `None`: there is no such link.
    pub fn link(&self, path: &str) -> Option<String> {
        let target = match &self.root {
            Root::Live => fs::read_link(live(path)).ok()?,
            Root::Folder(root) => {
                let (folder, name) = path.rsplit_once('/')?;
                fs::read_link(inside(root, folder).ok()?.join(name)).ok()?
            }
            Root::Archive(archive) => PathBuf::from(archive.link(path)?),
        };
        if let Some(recording) = &self.recording {
            recording.link(path, &target);
        }
        Some(target.file_name()?.to_str()?.to_owned())
    }

    /// All files, links and directories that were read so far, sorted by path. Empty unless the
    /// tree was made by [`Self::recording`].
    pub fn recorded(&self) -> Vec<(String, TreeEntry)> {
        self.recording.as_ref().map(|recording| recording.entries()).unwrap_or_default()
    }
}

fn live(path: &str) -> PathBuf {
    match path.strip_prefix("proc/net/") {
        // `/proc/net` is that of the process's first thread (proc(5)).
        Some(rest) => Path::new("/proc/thread-self/net").join(rest),
        None => Path::new("/").join(path),
    }
}

/// The place of a path without links; one that leads out of the tree is not there.
fn inside(root: &Path, path: &str) -> io::Result<PathBuf> {
    let place = root.join(path).canonicalize()?;
    if place.starts_with(root) { Ok(place) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// A captured tree comes from anywhere: what is longer than files of the kernel is no file
/// of it, and neither is what is no file.
fn read_some(place: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(place)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    fs::File::open(place)?.take(MOST_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn names(place: &Path) -> io::Result<Vec<String>> {
    let name = |entry: io::Result<fs::DirEntry>| entry.ok()?.file_name().into_string().ok();
    Ok(fs::read_dir(place)?.filter_map(name).collect())
}
