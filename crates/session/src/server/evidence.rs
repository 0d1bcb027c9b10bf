//! What a server reports of its host.

/// What clients hear of a server's host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Evidence {
    /// What concerns their test: its CPUs, its interfaces on the way to them, its counters.
    Given,
    /// All of it: this server watches its host for others, and runs no tests.
    Whole,
    /// Nothing.
    #[default]
    Withheld,
}
