//! How a test ended, in the way that iperf3 distinguishes.

/// How a test ended.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// The test ended as planned.
    Well,
    /// A signal or the other end ended the test, which iperf3 does not treat as an error.
    Early(String),
    /// An error ended the test.
    Failed(String),
    /// The server refused the client, or ended its test, with an error.
    Refused(String),
}
