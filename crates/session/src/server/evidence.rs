//! What a server reports of its host.

/// How much of the evidence on a server's host (its counters and settings during a test) its
/// clients receive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Evidence {
    /// The part that concerns their test: CPUs, the interface towards the client, counters.
    Given,
    /// All evidence: the server watches its host and runs no tests (`linerate serve --observe`).
    Whole,
    /// No evidence.
    #[default]
    Withheld,
}
