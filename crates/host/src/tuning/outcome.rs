//! What looking at a setting, changing it and undoing the change come to.

use std::fmt::{self, Display, Formatter};

use measurement::remedy::Setting;
use serde::{Deserialize, Serialize};

/// The number of a change in its session, from 1 on.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ChangeId(u32);

impl ChangeId {
    /// The number of a change, as an error names it.
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }

    pub(super) const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl Display for ChangeId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a change of a setting would replace and risk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// Current value of the setting.
    pub before: String,
    /// Whether the setting has its new value already.
    pub is_in_effect: bool,
    /// Whether this process may change the setting.
    pub permission: Permission,
    /// What the change may disturb.
    pub risks: &'static [Risk],
    /// Names of running programs that may write the setting again, e.g. `irqbalance`.
    pub rewriters: Vec<&'static str>,
    /// Shell commands that restore the current value.
    pub undo: Vec<String>,
}

/// Whether this process may write settings of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// It has `CAP_NET_ADMIN`.
    Granted,
    /// It has not: root has.
    NeedsRoot,
}

/// What a change may disturb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Risk {
    /// The driver may reset the device: the link is down for up to some seconds.
    LinkReset,
    /// The connection may be cut for as long as the change lasts: the other end, or the network
    /// between, has to fit.
    CutsConnection,
    /// The setting holds for all interfaces and programs of the host.
    WholeHost,
}

impl Display for Risk {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LinkReset => "the link may be down for some seconds",
            Self::CutsConnection => "the connection may be cut",
            Self::WholeHost => "it holds for the whole host",
        })
    }
}

/// A change that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Number of the change.
    pub id: ChangeId,
    /// The setting with the value that was asked for.
    pub setting: Setting,
    /// Value of the setting before the change.
    pub before: String,
    /// Value that the kernel has after the change.
    pub after: String,
    /// Whether that is the value that was asked for; kernels round, clamp and ignore.
    pub is_in_effect: bool,
}

/// A change that was undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// Number of the change.
    pub id: ChangeId,
    /// The setting with the value that the change gave it.
    pub setting: Setting,
    /// What undoing it came to.
    pub outcome: UndoOutcome,
}

/// What undoing a change came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoOutcome {
    /// The value before the change is restored.
    Restored {
        /// The value that was found.
        from: String,
        /// The value that the kernel has now.
        to: String,
    },
    /// The setting had the value before the change already: the change was not made, or somebody
    /// else undid it.
    Unchanged {
        /// That value.
        value: String,
    },
    /// Somebody else gave the setting another value after the change, and that is left.
    Superseded {
        /// That value.
        value: String,
    },
    /// The interface is not there any more, and its settings went with it.
    Gone,
    /// The host has booted since, and the setting does not have the value of the change.
    Booted,
}

impl Display for Undone {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.setting)?;
        match &self.outcome {
            UndoOutcome::Restored { from, to } => write!(f, "{from} -> {to}"),
            UndoOutcome::Unchanged { value } => write!(f, "{value} as before"),
            UndoOutcome::Superseded { value } => {
                write!(f, "{value} was set since by another program, and is left")
            }
            UndoOutcome::Gone => f.write_str("the interface is gone"),
            UndoOutcome::Booted => f.write_str("the host has booted since"),
        }
    }
}
