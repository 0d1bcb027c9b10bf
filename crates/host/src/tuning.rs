//! Changes settings of this host and takes the changes back: a catalogue of what can be changed, a
//! file a kind; the inverse of each change is on disk, in a journal, before the change is made.
//!
//! No other code of the project writes settings of a host. Which changes are worth making, and
//! whether they helped, is not decided here.

use std::io;
use std::path::Path;

use measurement::remedy::Setting;

mod adjustable;
mod catalogue;
mod error;
mod journal;
mod kernel;
mod outcome;
mod persistence;
mod place;
mod undo;

mod amounts;
mod big_tcp;
mod device;
mod feature;
mod file_setting;
mod governor;
mod huge_pages;
mod irq_affinity;
mod link_mode;
mod mtu;
mod qdisc;
mod queue_length;
mod rss;
mod script;
mod service;
mod steering;
mod sysctl;
mod threaded_napi;

pub use error::{Refusal, TuningError};
pub use outcome::{Applied, ChangeId, Outlook, Permission, Risk, UndoOutcome, Undone};
pub use persistence::{
    Content, Files, PersistBy, PersistentChange, PersistentFile, TakenBack, check_persist, files,
    persist, persisted, unpersist,
};
pub use script::{Script, Step, script};
pub use undo::{give_up, pending, undo, undo_below};

use journal::{Journal, JournalEntry};
use kernel::Kernel;
use undo::Live;

/// A session of changes to the settings of this host. It holds the lock and the journal of its
/// directory, and undoes the changes that are not kept when it is closed or dropped.
///
/// Settings are those of the network namespace of the thread that opened it. Other threads must be
/// in that namespace: they are refused otherwise.
#[derive(Debug)]
pub struct Tuning {
    journal: Journal,
    kernel: Kernel,
    changes: Vec<Live>,
    latest: ChangeId,
}

impl Tuning {
    /// Opens a session whose journal is in `directory`, which is created if it is not there;
    /// [`DIRECTORY`] is the usual one.
    ///
    /// # Errors
    /// [`TuningError::Busy`] if another session has the directory, [`TuningError::Unfinished`] if
    /// an earlier one ended without undoing its changes, [`TuningError::Directory`] if the
    /// directory cannot be used.
    pub fn open(directory: &Path) -> Result<Self, TuningError> {
        Self::open_with(directory, Kernel::live()?)
    }

    /// Opens a session on the files of a host below `root`, a copy of `/proc` and `/sys`. Only
    /// settings that are files can be changed there.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn open_below(directory: &Path, root: &Path) -> Result<Self, TuningError> {
        Self::open_with(directory, Kernel::below(root))
    }

    fn open_with(directory: &Path, kernel: Kernel) -> Result<Self, TuningError> {
        let journal = Journal::create(directory, &kernel.place())?;
        Ok(Self { journal, kernel, changes: Vec::new(), latest: ChangeId::default() })
    }

    /// Looks at a setting without changing it: its value, whether it can be changed and restored,
    /// the risks, and the programs that may write it again.
    ///
    /// # Errors
    /// [`Refusal`] if the setting cannot be changed here, or its value could not be restored.
    pub fn look(&self, setting: &Setting) -> Result<Outlook, Refusal> {
        let (adjustable, kernel) = (catalogue::adjustable(setting)?, &self.kernel);
        kernel.require_own_namespace()?;
        let before = adjustable.read(kernel)?;
        adjustable.check(kernel, &before)?;
        Ok(Outlook {
            is_in_effect: adjustable.is_set(&before.shown),
            undo: adjustable.undo_commands(&before.exact),
            before: before.shown,
            permission: kernel.permission(),
            risks: adjustable.risks(),
            rewriters: kernel.rewriters(adjustable.rewriters()),
        })
    }

    /// Changes a setting, and reads back what the kernel really set. The inverse is on disk before.
    ///
    /// # Errors
    /// [`TuningError::Refused`] if it cannot be changed here, or a change of it in this session is
    /// not undone yet; [`TuningError::Journal`] if the inverse cannot be written to disk: then
    /// nothing was changed; [`TuningError::Apply`] if the kernel refuses the value: what it may
    /// have changed is restored.
    pub fn apply(&mut self, setting: &Setting) -> Result<Applied, TuningError> {
        let refused = |why| TuningError::Refused { setting: setting.clone(), why };
        let adjustable = catalogue::adjustable(setting).map_err(refused)?;
        if let Some(other) = self.changes.iter().find(|live| live.overlaps(&*adjustable)) {
            return Err(refused(Refusal::AlreadyChanged { by: other.setting().clone() }));
        }
        self.kernel.require_own_namespace().map_err(refused)?;
        let before = adjustable.read(&self.kernel).map_err(refused)?;
        adjustable.check(&self.kernel, &before).map_err(refused)?;
        let id = self.latest.next();
        let place = adjustable.interface().and_then(|name| self.kernel.interface_index(name).ok());
        let entry = JournalEntry::new(id, setting, &before, place);
        self.journal.append(&entry.clone().into())?;
        self.latest = id;
        self.changes.push(Live::new(entry, adjustable));
        self.write(id)
    }

    /// Writes the change that was journalled last.
    fn write(&mut self, id: ChangeId) -> Result<Applied, TuningError> {
        let live = self.changes.last().expect("the change was just added");
        let (setting, adjustable) = (live.setting().clone(), live.adjustable());
        let written = adjustable.write(&self.kernel);
        let written =
            written.and_then(|()| adjustable.read(&self.kernel).map_err(io::Error::other));
        let after = match written {
            Ok(after) => after,
            Err(source) => {
                self.undo(id)?;
                return Err(TuningError::Apply { setting, source });
            }
        };
        let is_in_effect = adjustable.is_set(&after.shown);
        let before = live.shown_before().to_owned();
        let made = journal::Line::Made(id, after.exact.clone());
        self.changes.last_mut().expect("it is the latest").note_made(after.exact);
        // Without that line the change is undone whatever value is found.
        _ = self.journal.append(&made);
        Ok(Applied { id, setting, before, after: after.shown, is_in_effect })
    }

    /// Restores the value that a setting had before a change of this session.
    ///
    /// # Errors
    /// [`TuningError::NoSuchChange`] if the change is undone or kept, [`TuningError::Undo`] if the
    /// kernel refuses the value: the change stays in the journal; [`TuningError::Journal`].
    pub fn undo(&mut self, change: ChangeId) -> Result<Undone, TuningError> {
        let place = self.place(change).ok_or(TuningError::NoSuchChange(change))?;
        let undone = self.changes[place].undo(&self.kernel)?;
        self.changes.remove(place);
        self.journal.append(&journal::Line::Undone(change))?;
        Ok(undone)
    }

    /// Keeps a change: it is taken out of the journal and stays after the end of the session. One
    /// that is undone or kept is left as it is.
    ///
    /// # Errors
    /// [`TuningError::Journal`] if that cannot be written to disk: then the change is not kept.
    pub fn keep(&mut self, change: ChangeId) -> Result<(), TuningError> {
        if let Some(place) = self.place(change) {
            self.journal.append(&journal::Line::Kept(change))?;
            self.changes.remove(place);
        }
        Ok(())
    }

    /// Ends the session: undoes all changes that are not kept, the latest first, and deletes the
    /// journal.
    ///
    /// # Errors
    /// [`TuningError::Undo`] for the first change that could not be undone: the others are, and
    /// the journal stays.
    pub fn close(mut self) -> Result<Vec<Undone>, TuningError> {
        self.finish()
    }

    fn finish(&mut self) -> Result<Vec<Undone>, TuningError> {
        let (mut undone, mut failure) = (Vec::new(), None);
        let ids: Vec<_> = self.changes.iter().rev().map(Live::id).collect();
        for id in ids {
            match self.undo(id) {
                Ok(one) => undone.push(one),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        match failure {
            None => self.journal.delete().map(|()| undone),
            Some(error) => Err(error),
        }
    }

    fn place(&self, change: ChangeId) -> Option<usize> {
        self.changes.iter().position(|live| live.id() == change)
    }
}

impl Drop for Tuning {
    fn drop(&mut self) {
        // What cannot be undone stays in the journal, which the next session names.
        let _ = self.finish();
    }
}

/// Makes the directory of a journal for its owner alone, if it is not there.
///
/// # Errors
/// [`TuningError::Directory`].
pub fn prepare(directory: &Path) -> Result<(), TuningError> {
    journal::prepare(directory)
}

/// The usual directory of the journal. It is not in `/run`: what undoes the changes must be there
/// after a loss of power, too, since scripts and devices may keep what was set.
pub const DIRECTORY: &str = "/var/lib/linerate";
