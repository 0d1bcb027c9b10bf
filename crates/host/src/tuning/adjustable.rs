//! How a setting is read, written and restored: what each kind in the catalogue implements.

use std::io;

use super::kernel::Kernel;
use super::{Refusal, Risk};

/// A setting of a host that can be changed and restored.
pub(super) trait Adjustable: Send {
    /// What is changed, in words that differ for different settings.
    fn targets(&self) -> Vec<String>;

    /// Reads the value.
    fn read(&self, kernel: &Kernel) -> Result<Value, Refusal>;

    /// Whether the new value is possible, and the present one can be restored.
    fn check(&self, _kernel: &Kernel, _before: &Value) -> Result<(), Refusal> {
        Ok(())
    }

    /// Writes the new value.
    fn write(&self, kernel: &Kernel) -> io::Result<()>;

    /// Writes a value that [`Value::exact`] was.
    fn restore(&self, kernel: &Kernel, exact: &str) -> io::Result<()>;

    /// Whether a value that [`Value::shown`] was is the new one.
    fn is_set(&self, shown: &str) -> bool;

    /// Shell commands that write a value that [`Value::exact`] was.
    fn undo_commands(&self, exact: &str) -> Vec<String>;

    /// What [`Value::exact`] is for a value that a captured host shows; none: it cannot be told.
    fn exact_of(&self, shown: &str) -> Option<String> {
        Some(shown.to_owned())
    }

    /// What the change may disturb.
    fn risks(&self) -> &'static [Risk] {
        &[]
    }

    /// The interface that it is of.
    fn interface(&self) -> Option<&str> {
        None
    }

    /// Whether the same name means the same setting after another boot.
    fn outlives_boots(&self) -> bool {
        true
    }

    /// Programs that may write it again, by the names of their processes.
    fn rewriters(&self) -> &'static [&'static str] {
        &[]
    }
}

/// The value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    /// What restores it: one line, and the same if the setting is.
    pub(super) exact: String,
    /// What is in effect, as people read it.
    pub(super) shown: String,
}

impl Value {
    /// A value that is shown as it is.
    pub(super) fn plain(text: impl Into<String>) -> Self {
        let exact: String = text.into();
        Self { shown: exact.clone(), exact }
    }
}
