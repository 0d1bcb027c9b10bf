//! Undoing: of a change of this session, and of those that an earlier one has left in its journal.

use std::path::Path;
use std::{fmt, io};

use measurement::remedy::Setting;

use super::adjustable::Adjustable;
use super::catalogue;
use super::journal::{self, JournalEntry, Left};
use super::kernel::Kernel;
use super::place::TuningPlace;
use super::{ChangeId, Refusal, TuningError, UndoOutcome, Undone};

/// Undoes what an earlier session, which was killed, has left in the journal of `directory`, the
/// latest change first; without a journal nothing. It may be repeated.
///
/// After another boot a setting is restored only if it has the value of the change: the kernel has
/// forgotten all others.
///
/// # Errors
/// [`TuningError::Busy`] if a session uses the directory, [`TuningError::OtherNamespace`],
/// [`TuningError::Undo`] for the first change that could not be undone: the others are, and the
/// journal stays; [`TuningError::Damaged`], [`TuningError::Journal`].
pub fn undo(directory: &Path) -> Result<Vec<Undone>, TuningError> {
    undo_with(directory, &Kernel::live()?)
}

/// As [`undo`], on the files of a host below `root` ([`Tuning::open_below`]).
///
/// # Errors
/// Those of [`undo`].
///
/// [`Tuning::open_below`]: super::Tuning::open_below
pub fn undo_below(directory: &Path, root: &Path) -> Result<Vec<Undone>, TuningError> {
    undo_with(directory, &Kernel::below(root))
}

/// Gives a change up that an earlier session has left in the journal of `directory`: it stays as it is made.
///
/// # Errors
/// [`TuningError::Busy`] if a session uses the directory, [`TuningError::NoSuchChange`],
/// [`TuningError::Journal`].
pub fn give_up(directory: &Path, change: ChangeId) -> Result<Setting, TuningError> {
    let missing = || TuningError::NoSuchChange(change);
    let left = journal::left(directory)?.ok_or_else(missing)?;
    let entry = left.content.changes.iter().find(|entry| entry.id == change);
    let setting = entry.ok_or_else(missing)?.setting.clone();
    left.give_up(change)?;
    if left.content.changes.len() == 1 {
        left.finish()?;
    }
    Ok(setting)
}

/// What [`undo`] would undo, in its order: the commands that restore the values, each with the
/// setting that was changed. Nothing is written.
///
/// # Errors
/// [`TuningError::Busy`] if a session uses the directory, [`TuningError::Journal`].
pub fn pending(directory: &Path) -> Result<Vec<(Setting, Vec<String>)>, TuningError> {
    let Some(left) = journal::left(directory)? else { return Ok(Vec::new()) };
    let commands = |entry: &JournalEntry| {
        let adjustable = catalogue::adjustable(&entry.setting);
        let commands = adjustable.map(|one| one.undo_commands(&entry.before)).unwrap_or_default();
        (entry.setting.clone(), commands)
    };
    Ok(left.content.changes.iter().rev().map(commands).collect())
}

fn undo_with(directory: &Path, kernel: &Kernel) -> Result<Vec<Undone>, TuningError> {
    let Some(left) = journal::left(directory)? else { return Ok(Vec::new()) };
    let boot = boot(kernel, &left)?;
    let (mut undone, mut failure) = (Vec::new(), None);
    for entry in left.content.changes.iter().rev() {
        let live = Live::from_journal(entry.clone());
        match live.and_then(|live| live.undo_after(kernel, boot)) {
            Ok(one) => undone.push(one),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    match failure {
        None => left.finish().map(|()| undone),
        Some(error) => Err(error),
    }
}

/// Whether the journal is of this boot, and of this network namespace.
fn boot(kernel: &Kernel, left: &Left) -> Result<Boot, TuningError> {
    let here = kernel.place();
    match &left.content.place {
        Some(TuningPlace { boot, .. }) if *boot != here.boot => Ok(Boot::Another),
        Some(TuningPlace { namespace: Some(inode), .. }) if Some(*inode) != here.namespace => {
            Err(TuningError::OtherNamespace { inode: *inode })
        }
        _ => Ok(Boot::Same),
    }
}

/// The boot in which changes were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Boot {
    Same,
    Another,
}

/// A change that may have been made, and is to be undone.
pub(super) struct Live {
    entry: JournalEntry,
    adjustable: Box<dyn Adjustable>,
}

impl fmt::Debug for Live {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.entry.id, formatter)
    }
}

impl Live {
    pub(super) fn new(entry: JournalEntry, adjustable: Box<dyn Adjustable>) -> Self {
        Self { entry, adjustable }
    }

    fn from_journal(entry: JournalEntry) -> Result<Self, TuningError> {
        match catalogue::adjustable(&entry.setting) {
            Ok(adjustable) => Ok(Self { entry, adjustable }),
            Err(why) => Err(TuningError::Refused { setting: entry.setting, why }),
        }
    }

    /// The kernel has this value, as [`Value::exact`], since the change.
    ///
    /// [`Value::exact`]: super::adjustable::Value::exact
    pub(super) fn note_made(&mut self, exact: String) {
        self.entry.made = Some(exact);
    }

    pub(super) const fn id(&self) -> ChangeId {
        self.entry.id
    }

    pub(super) const fn setting(&self) -> &Setting {
        &self.entry.setting
    }

    pub(super) fn shown_before(&self) -> &str {
        &self.entry.shown
    }

    pub(super) fn adjustable(&self) -> &dyn Adjustable {
        &*self.adjustable
    }

    /// Whether it changes what another one would.
    pub(super) fn overlaps(&self, other: &dyn Adjustable) -> bool {
        let own = self.adjustable.targets();
        other.targets().iter().any(|target| own.contains(target))
    }

    /// Restores the value before the change.
    pub(super) fn undo(&self, kernel: &Kernel) -> Result<Undone, TuningError> {
        self.undo_after(kernel, Boot::Same)
    }

    fn undo_after(&self, kernel: &Kernel, boot: Boot) -> Result<Undone, TuningError> {
        let setting = self.setting().clone();
        let outcome = self.outcome(kernel, boot).map_err(|source| TuningError::Undo {
            id: self.id(),
            setting: setting.clone(),
            source,
        })?;
        Ok(Undone { id: self.id(), setting, outcome })
    }

    fn outcome(&self, kernel: &Kernel, boot: Boot) -> io::Result<UndoOutcome> {
        kernel.require_own_namespace().map_err(io::Error::other)?;
        let renamed;
        let adjustable = match self.whereabouts(kernel, boot)? {
            Whereabouts::AsNamed => &*self.adjustable,
            Whereabouts::Renamed(adjustable) => {
                renamed = adjustable;
                &*renamed
            }
            Whereabouts::Gone => return Ok(UndoOutcome::Gone),
        };
        let found = match adjustable.read(kernel) {
            Ok(found) => found,
            Err(Refusal::Absent { .. }) => return Ok(UndoOutcome::Gone),
            Err(refusal) => return Err(io::Error::other(refusal)),
        };
        if found.exact == self.entry.before {
            return Ok(UndoOutcome::Unchanged { value: found.shown });
        }
        let is_set = adjustable.is_set(&found.shown);
        if boot == Boot::Another && !(is_set && adjustable.outlives_boots()) {
            return Ok(UndoOutcome::Booted);
        }
        let is_of_others = self.entry.made.as_ref().is_some_and(|made| *made != found.exact);
        if is_of_others && !is_set {
            return Ok(UndoOutcome::Superseded { value: found.shown });
        }
        adjustable.restore(kernel, &self.entry.before)?;
        let now = adjustable.read(kernel).map_err(io::Error::other)?;
        if now.exact == self.entry.before {
            return Ok(UndoOutcome::Restored { from: found.shown, to: now.shown });
        }
        Err(io::Error::other(format!("it is {} now, not {}", now.exact, self.entry.before)))
    }

    /// Where the interface is. Within a boot its index tells: it may have been renamed, and another one
    /// may have its name. After another boot its name does.
    fn whereabouts(&self, kernel: &Kernel, boot: Boot) -> io::Result<Whereabouts> {
        let (Some(index), Some(name)) = (self.entry.interface, self.adjustable.interface()) else {
            return Ok(Whereabouts::AsNamed);
        };
        if boot == Boot::Another {
            return match kernel.interface_index(name) {
                Ok(_) => Ok(Whereabouts::AsNamed),
                Err(error) if linux::netlink::ethtool::is_absent(&error) => Ok(Whereabouts::Gone),
                Err(error) => Err(error),
            };
        }
        match kernel.interface_name(index)? {
            Some(now) if now == name => Ok(Whereabouts::AsNamed),
            Some(now) => self.under_another_name(name, &now).map(Whereabouts::Renamed),
            None => Ok(Whereabouts::Gone),
        }
    }

    /// The setting of the interface that was `name`, and is `now`.
    fn under_another_name(&self, name: &str, now: &str) -> io::Result<Box<dyn Adjustable>> {
        let renamed = renamed(&self.setting().to_string(), name, now);
        let adjustable = renamed.parse().ok().and_then(|setting| {
            let adjustable = catalogue::adjustable(&setting).ok()?;
            (adjustable.interface() == Some(now)).then_some(adjustable)
        });
        adjustable.ok_or_else(|| io::Error::other(format!("{name} is called {now} now")))
    }
}

/// The interface of a change.
enum Whereabouts {
    AsNamed,
    /// Its setting, under the name that it has now.
    Renamed(Box<dyn Adjustable>),
    Gone,
}

/// A command with another name of an interface: as a word, or as a part of a path or variable.
fn renamed(command: &str, name: &str, now: &str) -> String {
    let is_of_a_name = |letter: char| letter.is_ascii_alphanumeric() || "-_:@".contains(letter);
    let mut text = String::new();
    let mut rest = command;
    while let Some(at) = rest.find(name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        let is_whole = !before.ends_with(is_of_a_name) && !after.starts_with(is_of_a_name);
        text.push_str(before);
        text.push_str(if is_whole { now } else { name });
        rest = after;
    }
    text + rest
}
