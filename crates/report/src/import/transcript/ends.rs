//! The programs that print, and the ends of a run.

/// The program that printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Iperf3,
    /// iperf 2.
    Iperf2,
}

/// An end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Client,
    Server,
}
