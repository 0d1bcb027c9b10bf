//! The name of one test at a server.

use protocol::iperf3::Cookie;

/// Which test: clients choose the cookies, and one that follows may bear the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TestId {
    pub(crate) cookie: Cookie,
    pub(crate) number: u64,
}
