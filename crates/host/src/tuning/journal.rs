//! The journal: what is to be undone, on disk before it is done. A line a record: the CRC-32 of the
//! JSON that follows. A line that was cut off says nothing: what it would have announced was not
//! done.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use linux::file_lock::Lock;
use measurement::remedy::Setting;
use serde::{Deserialize, Serialize};

use super::adjustable::Value;
use super::place::TuningPlace;
use super::{ChangeId, TuningError};

/// The journal of a session, and the lock of its directory.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    place: TuningPlace,
    /// None before the first line: a session that changes nothing leaves no file.
    file: Option<File>,
    _lock: Lock,
}

/// A line of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// Where the changes are made; the first line.
    Place(TuningPlace),
    /// A change that is about to be made.
    Change(JournalEntry),
    /// A change that was made, and the value that the kernel has since, as [`Value::exact`].
    Made(ChangeId, String),
    /// A change that is undone.
    Undone(ChangeId),
    /// A change that is to stay.
    Kept(ChangeId),
}

/// A change that may have been made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JournalEntry {
    /// Its number.
    pub(super) id: ChangeId,
    /// The setting with its new value, as its command.
    #[serde(rename = "command")]
    pub(super) setting: Setting,
    /// What restores the value before ([`Value::exact`]).
    pub(super) before: String,
    /// The value before, as people read it.
    pub(super) shown: String,
    /// Index of the interface; none: it is of none.
    pub(super) interface: Option<u32>,
    /// Value of the setting after the change, as [`Value::exact`]. `None`: the process ended before it had
    /// read the value.
    #[serde(skip)]
    pub(super) made: Option<String>,
}

impl JournalEntry {
    pub(super) fn new(
        id: ChangeId,
        setting: &Setting,
        before: &Value,
        interface: Option<u32>,
    ) -> Self {
        let Value { exact, shown } = before.clone();
        Self { id, setting: setting.clone(), before: exact, shown, interface, made: None }
    }
}

impl From<JournalEntry> for Line {
    fn from(entry: JournalEntry) -> Self {
        Self::Change(entry)
    }
}

impl Journal {
    /// Takes the lock of a directory, which must have no changes that are not undone.
    pub(super) fn create(directory: &Path, place: &TuningPlace) -> Result<Self, TuningError> {
        let lock = lock(directory)?;
        let path = directory.join(FILE);
        let content = read(&path)?;
        if !content.changes.is_empty() || content.damaged > 0 {
            return Err(TuningError::Unfinished { path });
        }
        let journal = Self { path, place: place.clone(), file: None, _lock: lock };
        journal.remove()?;
        Ok(journal)
    }

    /// Appends a line, which is on disk when this returns.
    pub(super) fn append(&mut self, line: &Line) -> Result<(), TuningError> {
        self.append_synced(line).map_err(|source| self.error(source))
    }

    fn append_synced(&mut self, line: &Line) -> io::Result<()> {
        if self.file.is_none() {
            let mut options = OpenOptions::new();
            options.append(true).create_new(true).mode(PRIVATE_FILE);
            self.file = Some(options.open(&self.path)?);
        }
        let file = self.file.as_mut().expect("it was just opened");
        let length = file.metadata()?.len();
        let mut text = encode(line)?;
        if length == 0 {
            // A first line that did not fit on the disk is tried again.
            text.insert_str(0, &encode(&Line::Place(self.place.clone()))?);
        }
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        if written.is_err() {
            // Half a line would hide the next one.
            file.set_len(length)?;
            return written;
        }
        if length == 0 { sync_folder(&self.path) } else { Ok(()) }
    }

    /// Deletes the file: nothing is to be undone any more.
    pub(super) fn delete(&mut self) -> Result<(), TuningError> {
        self.file = None;
        self.remove()
    }

    fn remove(&self) -> Result<(), TuningError> {
        remove(&self.path).map_err(|source| self.error(source))
    }

    fn error(&self, source: io::Error) -> TuningError {
        TuningError::Journal { path: self.path.clone(), source }
    }
}

/// What a journal has.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    /// Where the changes were made; none: there are none.
    pub(super) place: Option<TuningPlace>,
    /// Changes that are neither undone nor kept, the earliest first.
    pub(super) changes: Vec<JournalEntry>,
    /// How many whole lines cannot be read.
    pub(super) damaged: usize,
}

/// A journal that another process has left, and the lock of its directory.
#[derive(Debug)]
pub(super) struct Left {
    pub(super) path: PathBuf,
    pub(super) content: Content,
    _lock: Lock,
}

/// The journal in a directory; none: there is no such file.
pub(super) fn left(directory: &Path) -> Result<Option<Left>, TuningError> {
    let path = directory.join(FILE);
    match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        there => there.map_err(|source| unusable(directory, source))?,
    };
    let lock = lock(directory)?;
    let content = read(&path)?;
    Ok(Some(Left { path, content, _lock: lock }))
}

impl Left {
    /// Takes a change out of the journal, which stays as it is made.
    pub(super) fn give_up(&self, id: ChangeId) -> Result<(), TuningError> {
        let error = |source| TuningError::Journal { path: self.path.clone(), source };
        let append = || -> io::Result<()> {
            // A line that was cut off would swallow this one.
            let bytes = read_file(&self.path)?;
            let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let mut file = OpenOptions::new().append(true).open(&self.path)?;
            file.set_len(whole as u64)?;
            file.write_all(encode(&Line::Kept(id))?.as_bytes())?;
            file.sync_all()
        };
        append().map_err(error)
    }

    /// Deletes the journal; one with damaged lines is set aside, so that it can be looked at.
    pub(super) fn finish(self) -> Result<(), TuningError> {
        let error = |source| TuningError::Journal { path: self.path.clone(), source };
        if self.content.damaged == 0 {
            return remove(&self.path).map_err(error);
        }
        let aside = self.path.with_extension("damaged");
        fs::rename(&self.path, &aside).map_err(error)?;
        Err(TuningError::Damaged { path: aside, lines: self.content.damaged })
    }
}

fn read(path: &Path) -> Result<Content, TuningError> {
    match read_file(path) {
        Ok(bytes) => Ok(parse(&bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Content::default()),
        Err(source) => Err(TuningError::Journal { path: path.to_owned(), source }),
    }
}

/// A FIFO would never end, and a link may lead to a file of somebody else.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    if fs::symlink_metadata(path)?.is_file() {
        fs::read(path)
    } else {
        Err(io::Error::other("it is no regular file: remove it"))
    }
}

fn parse(bytes: &[u8]) -> Content {
    let mut content = Content::default();
    for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
        let is_whole = piece.ends_with(b"\n");
        match decode(piece) {
            Some(Line::Place(place)) => content.place = Some(place),
            Some(Line::Change(entry)) => content.changes.push(entry),
            Some(Line::Made(id, value)) => {
                let change = content.changes.iter_mut().find(|change| change.id == id);
                if let Some(change) = change {
                    change.made = Some(value);
                }
            }
            Some(Line::Undone(id) | Line::Kept(id)) => {
                content.changes.retain(|change| change.id != id);
            }
            // What follows the last whole line was cut off, if it is text at all.
            None => content.damaged += usize::from(is_whole || !is_text(piece)),
        }
    }
    content
}

/// JSON escapes all control characters.
fn is_text(line: &[u8]) -> bool {
    !line.iter().any(u8::is_ascii_control)
}

fn encode(line: &Line) -> io::Result<String> {
    let json = serde_json::to_string(line)?;
    Ok(format!("{:08x} {json}\n", checksum(json.as_bytes())))
}

fn decode(line: &[u8]) -> Option<Line> {
    let text = std::str::from_utf8(line).ok()?;
    let (sum, json) = text.trim_end_matches('\n').split_once(' ')?;
    let is_intact = u32::from_str_radix(sum, 16).ok()? == checksum(json.as_bytes());
    is_intact.then(|| serde_json::from_str(json).ok())?
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = flate2::Crc::new();
    sum.update(bytes);
    sum.sum()
}

/// Locks a directory, which is made if it is not there. Whoever can read the lock file can lock it
/// (flock(2)), so that only its owner may.
pub(super) fn lock(directory: &Path) -> Result<Lock, TuningError> {
    let unusable = |source| unusable(directory, source);
    prepare(directory)?;
    let path = directory.join(LOCK);
    let open = OpenOptions::new().append(true).create(true).mode(PRIVATE_FILE).open(&path);
    let file = open.map_err(unusable)?;
    if file.metadata().map_err(unusable)?.permissions().mode() & OF_OTHERS != 0 {
        file.set_permissions(Permissions::from_mode(PRIVATE_FILE)).map_err(unusable)?;
    }
    Lock::take(&file).map_err(unusable)?.ok_or(TuningError::Busy { path })
}

/// Makes a directory for its owner alone, if it is not there.
pub(super) fn prepare(directory: &Path) -> Result<(), TuningError> {
    make_private(directory).map_err(|source| unusable(directory, source))
}

fn make_private(directory: &Path) -> io::Result<()> {
    if let Some(parent) = directory.parent() {
        fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(PRIVATE_DIRECTORY).create(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

fn unusable(directory: &Path, source: io::Error) -> TuningError {
    TuningError::Directory { path: directory.to_owned(), source }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.and_then(|()| sync_folder(path)),
    }
}

/// Has the entry of a file in its directory on disk (fsync(2)).
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

const FILE: &str = "tuning.journal";
const LOCK: &str = "tuning.lock";
const PRIVATE_DIRECTORY: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;
const OF_OTHERS: u32 = 0o077;

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: usize, command: &str) -> JournalEntry {
        let id = (0..number).fold(ChangeId::default(), |id, _| id.next());
        let setting = command.parse().expect("a command");
        JournalEntry::new(id, &setting, &Value::plain("4096 131072 6291456"), Some(7))
    }

    fn lines() -> Vec<Line> {
        let (one, two) = (entry(1, "ip link set dev a mtu 9000"), entry(2, "sysctl -w net.a=1"));
        let place = TuningPlace { boot: Some("b".to_owned()), namespace: Some(4_026_531_840) };
        let (first, second) = (one.id, two.id);
        let kept = Line::Kept(first);
        vec![Line::Place(place), one.into(), two.into(), Line::Undone(second), kept]
    }

    fn text(lines: &[Line]) -> String {
        lines.iter().map(|line| encode(line).expect("JSON")).collect()
    }

    #[test]
    fn nobody_else_reads_or_locks_what_is_kept() {
        let parent = std::env::temp_dir().join(format!("linerate-private-{}", std::process::id()));
        let directory = parent.join("new/state");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        let place = TuningPlace { boot: Some("b".to_owned()), namespace: None };
        let mut journal = Journal::create(&directory, &place).expect("a journal");
        journal.append(&entry(1, "sysctl -w net.a=1").into()).expect("written");
        drop(journal);
        assert_eq!(mode(&directory), 0o700);
        assert_eq!([LOCK, FILE].map(|name| mode(&directory.join(name))), [0o600; 2]);
        // A lock file of an earlier version.
        let lock_file = directory.join(LOCK);
        fs::set_permissions(&lock_file, Permissions::from_mode(0o644)).expect("set");
        drop(lock(&directory).expect("free"));
        assert_eq!(mode(&lock_file), 0o600);
        fs::remove_dir_all(parent).expect("removed");
    }

    #[test]
    fn a_journal_whose_first_line_did_not_fit_says_where_its_changes_are() {
        let directory = std::env::temp_dir().join(format!("linerate-full-{}", std::process::id()));
        let place = TuningPlace { boot: Some("b".to_owned()), namespace: None };
        let mut journal = Journal::create(&directory, &place).expect("a journal");
        // Each write to it fails as on a full disk (full(4)).
        journal.file = Some(OpenOptions::new().append(true).open("/dev/full").expect("a device"));
        let line = Line::from(entry(1, "sysctl -w net.a=1"));
        assert!(journal.append(&line).is_err());
        let path = directory.join(FILE);
        let empty = OpenOptions::new().append(true).create_new(true).open(&path);
        journal.file = Some(empty.expect("a file"));
        journal.append(&line).expect("there is room again");
        let content = read(&path).expect("a journal");
        assert_eq!((content.place, content.changes.len()), (Some(place), 1));
        fs::remove_dir_all(directory).expect("removed");
    }

    #[test]
    fn a_journal_cut_at_any_byte_has_every_change_whose_line_was_whole() {
        let lines = lines();
        let whole = text(&lines);
        for cut in 0..=whole.len() {
            let content = parse(&whole.as_bytes()[..cut]);
            // A line without its end of line is whole, too.
            let fits = |count: &usize| text(&lines[..*count]).len() <= cut + 1 || *count == 0;
            let count = (0..=lines.len()).rev().find(fits).expect("none fits always");
            assert_eq!(content, parse(text(&lines[..count]).as_bytes()), "cut at {cut}");
            assert_eq!(content.damaged, 0, "cut at {cut}");
        }
        assert_eq!(parse(text(&lines[..3]).as_bytes()).changes.len(), 2);
        assert!(parse(whole.as_bytes()).changes.is_empty());
    }

    #[test]
    fn a_damaged_line_is_counted_and_hides_no_other() {
        let lines = lines();
        let mut bytes = text(&lines[..3]).into_bytes();
        let place = text(&lines[..1]).len() + 40;
        bytes[place] ^= 1;
        let content = parse(&bytes);
        assert_eq!((content.damaged, content.changes.len()), (1, 1));
        // What is no text was not cut off: it was never written.
        assert_eq!(parse(&[0; 100]).damaged, 1);
        // Whatever the bytes are, it does not panic.
        for byte in 0..=u8::MAX {
            let _ = parse(&[byte, b' ', byte, b'\n', byte]);
        }
    }
}
