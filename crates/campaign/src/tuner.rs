//! Makes settings of a host and takes them back ([`Tuner`]), in a way that is not known here.

use measurement::host::Role;
use measurement::remedy::Setting;

/// Makes settings of one host and undoes them. A [`Runner`](crate::Runner) asks it before each
/// test for the settings of the row.
pub trait Tuner {
    /// What a setting would change; it changes nothing.
    ///
    /// # Errors
    /// Why the setting cannot be made, or not be taken back: a sentence without a full stop.
    fn look(&mut self, setting: &Setting) -> Result<Outlook, String>;

    /// Makes `wanted` in their order, and undoes those that an earlier call made and that are not
    /// among them. Returns when they are in effect.
    ///
    /// # Errors
    /// What failed, and what came of it: a sentence. All settings are undone then.
    fn set(&mut self, wanted: &[Setting]) -> Result<(), String>;

    /// The value of a setting that was read back when it was last made; none: it was not made.
    fn effective(&self, setting: &Setting) -> Option<String>;
}

/// A further host whose settings are made for tests.
pub struct Joined<'a> {
    /// The host: the server, or one that is watched.
    pub host: Role,
    /// Makes the settings of the host.
    pub tuner: &'a mut dyn Tuner,
}

/// What a setting would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// The current value, as the kernel shows it.
    pub current: String,
    /// Whether the kernel has this value already.
    pub is_in_effect: bool,
    /// Shell commands that restore the current value.
    pub undo: Vec<String>,
    /// Risks of the change, e.g. `the connection may be cut`.
    pub risks: Vec<String>,
    /// Running programs that may write the setting again, e.g. `irqbalance`.
    pub rewriters: Vec<String>,
}
