//! Where files are read: below `/`, below the root of a captured tree, or in its archive.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

mod archive;
mod recording;

pub use archive::Archive;
pub use recording::Entry;

use measurement::host::is_shown;

use recording::{MOST_FILE_BYTES, Recording};

/// The files of a host.
#[derive(Clone, Debug)]
pub struct Tree {
    place: Place,
    recording: Option<Arc<Recording>>,
}

/// Where they are.
#[derive(Clone, Debug)]
enum Place {
    /// Below `/`.
    Live,
    /// Below this folder, whose path has no links. A link in it leads nowhere else.
    Folder(PathBuf),
    /// In memory.
    Archive(Arc<Archive>),
}

impl Tree {
    /// The files of this host, as the calling thread sees them.
    pub fn live() -> Self {
        Self { place: Place::Live, recording: None }
    }

    /// The files of this host, as the calling thread sees them. What is read is kept and
    /// can be captured ([`Self::recorded`]).
    pub fn recording() -> Self {
        Self { recording: Some(Arc::default()), ..Self::live() }
    }

    /// The files of a host that were captured below the folder `root`.
    pub fn captured(root: &Path) -> Self {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        Self { place: Place::Folder(root), recording: None }
    }

    /// The files of a host that were captured to an archive.
    pub fn archived(archive: Archive) -> Self {
        Self { place: Place::Archive(Arc::new(archive)), recording: None }
    }

    /// Whether it is this host: what no file tells may be asked of its kernel.
    pub fn is_live(&self) -> bool {
        matches!(self.place, Place::Live)
    }

    /// The text of a file, by its path below the root: `proc/stat`. What belongs to a network
    /// namespace, below `proc/net`, is that of the calling thread's.
    ///
    /// # Errors
    /// What reading it reports.
    pub fn text(&self, path: &str) -> io::Result<String> {
        let text = String::from_utf8_lossy(&self.bytes(path)?).into_owned();
        let is_text = |letter| is_shown(letter) || matches!(letter, '\n' | '\t' | '\0');
        if text.chars().all(is_text) {
            return Ok(text);
        }
        // A captured tree may be made to do things to the terminal that it is shown on.
        Ok(text.chars().map(|letter| if is_text(letter) { letter } else { '?' }).collect())
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// What reading it reports.
    pub fn bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        let bytes = match &self.place {
            Place::Live => fs::read(live(path))?,
            Place::Folder(root) => read_some(&inside(root, path)?)?,
            Place::Archive(archive) => archive.bytes(path)?.to_vec(),
        };
        if let Some(recording) = &self.recording {
            recording.file(path, &bytes);
        }
        Ok(bytes)
    }

    /// Opens a file, to read it again and again.
    ///
    /// # Errors
    /// What opening it reports; `Unsupported` if it is in an archive.
    pub fn open(&self, path: &str) -> io::Result<fs::File> {
        if self.recording.is_some() {
            self.bytes(path)?;
        }
        match &self.place {
            Place::Live => fs::File::open(live(path)),
            Place::Folder(root) => fs::File::open(inside(root, path)?),
            Place::Archive(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// The text of a file without the space around it; none if there is none, or no file.
    pub fn value(&self, path: &str) -> Option<String> {
        let text = self.text(path).ok()?;
        let text = text.trim_matches(|letter: char| letter.is_whitespace() || letter == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The number in a file; none if there is none, or no file.
    pub fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.value(path)?.parse().ok()
    }

    /// The names in a folder, in order.
    ///
    /// # Errors
    /// What reading it reports.
    pub fn names(&self, path: &str) -> io::Result<Vec<String>> {
        let mut names = match &self.place {
            Place::Live => names(&live(path))?,
            Place::Folder(root) => names(&inside(root, path)?)?,
            Place::Archive(archive) => archive.names(path)?,
        };
        names.sort();
        if let Some(recording) = &self.recording {
            recording.folder(path, &names);
        }
        Ok(names)
    }

    /// The last part of where a link leads: of `sys/class/net/eth0/device/driver`, `r8169`.
    pub fn link(&self, path: &str) -> Option<String> {
        let target = match &self.place {
            Place::Live => fs::read_link(live(path)).ok()?,
            Place::Folder(root) => {
                let (folder, name) = path.rsplit_once('/')?;
                fs::read_link(inside(root, folder).ok()?.join(name)).ok()?
            }
            Place::Archive(archive) => PathBuf::from(archive.link(path)?),
        };
        if let Some(recording) = &self.recording {
            recording.link(path, &target);
        }
        Some(target.file_name()?.to_str()?.to_owned())
    }

    /// What was read of it so far, if it is recorded: paths in order.
    pub fn recorded(&self) -> Vec<(String, Entry)> {
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
