//! How a test ended, in the way that iperf3 distinguishes.

/// How a test ended.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// As planned.
    Well,
    /// By a signal, or by the other end: for iperf3 an ordinary end.
    Early(String),
    /// By an error.
    Failed(String),
}
