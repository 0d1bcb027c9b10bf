//! Tests of which further connections may come.

use std::net::IpAddr;

use protocol::iperf2::Settings;

use crate::server::test_id::TestId;

/// A test whose further connections may come.
pub(crate) struct Gathering {
    pub(crate) client: IpAddr,
    pub(crate) settings: Settings,
    pub(crate) test: TestId,
}
