//! Files by which changes outlive the next boot: written on request, and taken back. What the files
//! say is in `files`. The values in effect are not changed here.
//!
//! What is written, and what it replaces, is in a register on disk before the first file is.

use std::fmt::{self, Display, Formatter};
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use measurement::json;
use measurement::remedy::Setting;
use serde::{Deserialize, Serialize};

mod files;
mod link_file;
mod shell;
mod udev;

use super::TuningError;
use super::journal::{lock, sync_folder};
use crate::Tree;

pub use files::{Files, files};

/// Program that reads the files at the next boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PersistBy {
    /// sysctl.d(5): sysctls alone.
    Sysctl,
    /// sysctl.d(5), systemd.link(5), and a service for what these have not.
    Systemd,
    /// udev(7): settings of interfaces and of CPUs.
    Udev,
    /// A service of OpenWrt's procd in `/etc/init.d`.
    Openwrt,
    /// A script that whoever starts the host has to run.
    Shell,
}

impl PersistBy {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Sysctl, Self::Systemd, Self::Udev, Self::Openwrt, Self::Shell];

    /// The name on a command line, e.g. `systemd`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sysctl => "sysctl",
            Self::Systemd => "systemd",
            Self::Udev => "udev",
            Self::Openwrt => "openwrt",
            Self::Shell => "shell",
        }
    }
}

/// A change that is to outlive the next boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersistentChange {
    /// The setting with its new value, as its command.
    #[serde(rename = "command")]
    pub setting: Setting,
    /// Shell commands that restore the value before.
    pub undo: Vec<String>,
}

/// A file of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistentFile {
    /// Path, e.g. `/etc/sysctl.d/90-linerate.conf`.
    pub path: String,
    /// Content of the file.
    pub content: Content,
}

/// Content of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// A text.
    Text(String),
    /// A text that can be executed.
    Script(String),
    /// A symbolic link to this path.
    Link(String),
}

impl Display for PersistentFile {
    /// The path as a comment, and the content.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { path, content } = self;
        match content {
            Content::Text(text) | Content::Script(text) => write!(f, "# {path}\n{text}"),
            Content::Link(target) => writeln!(f, "# {path} -> {target}"),
        }
    }
}

/// Record of the files that were written, and of those that they replaced.
#[derive(Debug, Serialize, Deserialize)]
struct Register {
    by: PersistBy,
    /// The directory that the paths are below.
    root: PathBuf,
    changes: Vec<PersistentChange>,
    files: Vec<Written>,
    /// Directories that were made, the outer ones first.
    directories: Vec<String>,
}

/// A file that was, or may have been, written.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Written {
    path: String,
    /// Content before; none: there was nothing.
    #[serde(default)]
    before: Option<Content>,
    /// Contents that were written, the latest last.
    contents: Vec<Content>,
}

/// Has changes outlive the next boot: writes the files below `root`, `/` for this host, and notes
/// in `directory` what they replace. Changes of earlier calls stay, but for those whose command is
/// the same up to its value. `tree` tells names of interrupts and addresses of interfaces.
///
/// # Errors
/// [`TuningError::PersistedOtherwise`] if earlier changes are kept in another way,
/// [`TuningError::Busy`], [`TuningError::Directory`], [`TuningError::Persist`] for a file that
/// cannot be read or written: [`unpersist`] takes back those that were.
pub fn persist(
    directory: &Path,
    root: &Path,
    tree: &Tree,
    by: PersistBy,
    changes: &[PersistentChange],
) -> Result<Files, TuningError> {
    let _lock = lock(directory)?;
    check_persist(directory, root, by)?;
    let path = directory.join(REGISTER);
    let mut register = read(&path)?.unwrap_or_else(|| Register {
        by,
        root: root.to_owned(),
        changes: Vec::new(),
        files: Vec::new(),
        directories: Vec::new(),
    });
    for change in changes {
        let target = |one: &PersistentChange| one.setting.target();
        register.changes.retain(|other| target(other) != target(change));
        register.changes.push(change.clone());
    }
    let files = files(tree, by, &register.changes);
    let is_left_out = |change: &PersistentChange| {
        files.left_out.iter().any(|(setting, _)| *setting == change.setting)
    };
    register.changes.retain(|change| !is_left_out(change));
    if register.changes.is_empty() {
        return Ok(files);
    }
    for file in &files.files {
        register.add(file)?;
    }
    write(&path, &register)?;
    for file in &files.files {
        put(root, &file.path, &file.content)?;
    }
    Ok(files)
}

/// Checks that changes can persist in a way, beside those of earlier calls of [`persist`].
///
/// # Errors
/// [`TuningError::PersistedOtherwise`], [`TuningError::Persist`] if the register cannot be read.
pub fn check_persist(directory: &Path, root: &Path, by: PersistBy) -> Result<(), TuningError> {
    match read(&directory.join(REGISTER))? {
        Some(register) if register.by != by || register.root != root => {
            Err(TuningError::PersistedOtherwise { by: register.by.name() })
        }
        _ => Ok(()),
    }
}

/// Takes back all files that [`persist`] wrote; what they replaced is there again. Nothing without a
/// register. It may be repeated.
///
/// # Errors
/// [`TuningError::Edited`] for the first file that was changed since: the others are taken back,
/// and it stays; [`TuningError::Persist`], [`TuningError::Busy`].
pub fn unpersist(directory: &Path) -> Result<Vec<TakenBack>, TuningError> {
    let path = directory.join(REGISTER);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let _lock = lock(directory)?;
    let Some(register) = read(&path)? else { return Ok(Vec::new()) };
    let (mut all, mut failure) = (Vec::new(), None);
    for file in register.files.iter().rev() {
        match file.take_back(&register.root) {
            Ok(one) => all.extend(one),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    if let Some(error) = failure {
        return Err(error);
    }
    for directory in register.directories.iter().rev() {
        // One that is not empty is somebody else's, too.
        _ = fs::remove_dir(below(&register.root, directory));
    }
    let removed = fs::remove_file(&path).and_then(|()| sync_folder(&path));
    removed.map_err(|source| TuningError::Persist { path, source })?;
    Ok(all)
}

/// Files that [`unpersist`] would take back; empty: there is no register.
///
/// # Errors
/// [`TuningError::Persist`] if the register cannot be read.
pub fn persisted(directory: &Path) -> Result<Vec<String>, TuningError> {
    let register = read(&directory.join(REGISTER))?;
    let files = register.map(|register| register.files).unwrap_or_default();
    Ok(files.into_iter().map(|file| file.path).collect())
}

/// A file that was taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenBack {
    /// The file.
    pub path: String,
    /// Whether what it replaced is there again; false: there was nothing.
    pub is_restored: bool,
}

impl Display for TakenBack {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let outcome = if self.is_restored { "as it was before" } else { "removed" };
        write!(f, "{}: {outcome}", self.path)
    }
}

impl Register {
    /// Notes that a file is about to be written.
    fn add(&mut self, file: &PersistentFile) -> Result<(), TuningError> {
        let PersistentFile { path, content } = file;
        if let Some(written) = self.files.iter_mut().find(|one| one.path == *path) {
            written.contents.push(content.clone());
            return Ok(());
        }
        let before = present(&self.root, path)?;
        let missing = Path::new(path).ancestors().skip(1);
        let missing = missing.filter(|one| !below(&self.root, &one.to_string_lossy()).exists());
        let mut missing: Vec<_> = missing.map(|one| one.to_string_lossy().into_owned()).collect();
        missing.reverse();
        self.directories.extend(missing);
        let contents = vec![content.clone()];
        self.files.push(Written { path: path.clone(), before, contents });
        Ok(())
    }
}

impl Written {
    /// Puts back what was there before; none: it is there already.
    fn take_back(&self, root: &Path) -> Result<Option<TakenBack>, TuningError> {
        let now = present(root, &self.path)?;
        if now == self.before {
            return Ok(None);
        }
        let is_ours = now.is_none_or(|now| self.contents.contains(&now));
        if !is_ours {
            return Err(TuningError::Edited { path: self.path.clone() });
        }
        if let Some(before) = &self.before {
            put(root, &self.path, before)?;
        } else {
            let path = below(root, &self.path);
            let removed = fs::remove_file(&path).and_then(|()| sync_folder(&path));
            removed.map_err(|source| TuningError::Persist { path, source })?;
        }
        Ok(Some(TakenBack { path: self.path.clone(), is_restored: self.before.is_some() }))
    }
}

/// Content of a path now; none: there is nothing.
fn present(root: &Path, path: &str) -> Result<Option<Content>, TuningError> {
    let path = below(root, path);
    let found = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => Err(error),
        Ok(found) if found.is_symlink() => {
            fs::read_link(&path).map(|target| Content::Link(target.to_string_lossy().into_owned()))
        }
        Ok(found) => fs::read_to_string(&path).map(|text| {
            let is_script = found.permissions().mode() & 0o111 != 0;
            if is_script { Content::Script(text) } else { Content::Text(text) }
        }),
    };
    found.map(Some).map_err(|source| TuningError::Persist { path, source })
}

/// Puts something at a path, on disk when this returns, in one step: whoever reads it meanwhile has
/// it whole, or what was there before.
fn put(root: &Path, path: &str, content: &Content) -> Result<(), TuningError> {
    let path = below(root, path);
    let placed = place(&path, content);
    placed.map_err(|source| TuningError::Persist { path, source })
}

fn place(path: &Path, content: &Content) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    // No service reads files of this name.
    let new = folder.join(".linerate-new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    match content {
        Content::Link(target) => symlink(target, &new)?,
        Content::Text(text) => write_file(&new, text, 0o644)?,
        Content::Script(text) => write_file(&new, text, 0o755)?,
    }
    fs::rename(&new, path)?;
    sync_folder(path)
}

fn write_file(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()
}

fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

fn read(path: &Path) -> Result<Option<Register>, TuningError> {
    let failed = |source| TuningError::Persist { path: path.to_owned(), source };
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(failed)?,
    };
    json::read(&text).map(Some).map_err(|error| failed(io::Error::other(error)))
}

fn write(path: &Path, register: &Register) -> Result<(), TuningError> {
    let text = serde_json::to_string_pretty(register).map_err(io::Error::other);
    let written = text.and_then(|text| place(path, &Content::Text(text)));
    written.map_err(|source| TuningError::Persist { path: path.to_owned(), source })
}

/// Whether a name is a word of any of the files, and one of a file.
fn is_plain(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-@:".contains(letter);
    !name.is_empty() && name.chars().all(is_plain)
}

/// The first line of each file.
const HEAD: &str = "# Written by linerate tune; linerate undo --persistent takes it back.\n";
const REGISTER: &str = "persistent.json";
