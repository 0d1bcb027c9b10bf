//! Settings that are one file of the kernel with one value. Which files there are is in the files
//! of the kinds.

use std::io;

use measurement::remedy::{CpuMask, Setting};

use super::adjustable::{Adjustable, Value};
use super::kernel::Kernel;
use super::{Refusal, Risk};

/// A file and its new value.
#[derive(Debug)]
pub(super) struct FileSetting {
    /// The setting, whose command writes the file.
    pub(super) setting: Setting,
    /// Path below the root.
    pub(super) path: String,
    /// The interface that it is of, whose folder in `/sys` the file is in.
    pub(super) interface: Option<String>,
    /// The new value.
    pub(super) value: String,
    pub(super) form: Form,
    /// The setting with another value; none: the text is no such value.
    pub(super) with: fn(&Setting, &str) -> Option<Setting>,
    pub(super) risks: &'static [Risk],
    pub(super) rewriters: &'static [&'static str],
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A decimal number.
    Number,
    /// A set of CPUs, hexadecimal.
    Mask,
    /// A word out of several, of which the chosen one is in brackets: `always [madvise] never`.
    Choice,
}

impl Adjustable for FileSetting {
    fn targets(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    fn read(&self, kernel: &Kernel) -> Result<Value, Refusal> {
        if self.interface.is_some() {
            kernel.require_own_sysfs()?;
        }
        let text = kernel.tree().text(&self.path);
        let text = text.map_err(|source| Refusal::reading(format!("/{}", self.path), source))?;
        let text = text.trim();
        let chosen = || Some(text.split_once('[')?.1.split_once(']')?.0);
        let value = if self.form == Form::Choice { chosen() } else { Some(text) };
        let unclear = || Refusal::NotRestorable { why: format!("it reads {text}") };
        let value = value.filter(|value| (self.with)(&self.setting, value).is_some());
        value.map(Value::plain).ok_or_else(unclear)
    }

    fn check(&self, kernel: &Kernel, _before: &Value) -> Result<(), Refusal> {
        if kernel.is_writable(&self.path) {
            return Ok(());
        }
        Err(Refusal::Fixed { what: format!("/{}", self.path) })
    }

    fn write(&self, kernel: &Kernel) -> io::Result<()> {
        kernel.write(&self.path, &self.value)
    }

    fn restore(&self, kernel: &Kernel, exact: &str) -> io::Result<()> {
        kernel.write(&self.path, exact)
    }

    fn is_set(&self, shown: &str) -> bool {
        match self.form {
            Form::Number => shown.parse::<u64>().is_ok_and(|shown| self.value.parse() == Ok(shown)),
            Form::Mask => {
                shown.parse::<CpuMask>().is_ok_and(|shown| self.value.parse() == Ok(shown))
            }
            Form::Choice => shown == self.value,
        }
    }

    fn undo_commands(&self, exact: &str) -> Vec<String> {
        (self.with)(&self.setting, exact).iter().map(Setting::to_string).collect()
    }

    fn risks(&self) -> &'static [Risk] {
        self.risks
    }

    fn interface(&self) -> Option<&str> {
        self.interface.as_deref()
    }

    fn rewriters(&self) -> &'static [&'static str] {
        self.rewriters
    }
}
