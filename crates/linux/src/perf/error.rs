//! Why no samples can be taken.

use std::fmt::{self, Display, Formatter};
use std::io;

/// Why no samples can be taken, and what helps.
#[derive(Debug)]
pub enum PerfError {
    /// The kernel's settings do not let this user look (`kernel.perf_event_paranoid`).
    NotPermitted,
    /// Something filters the call itself (seccomp(2)), as containers do.
    Filtered,
    /// This kernel has no performance events.
    Absent,
    /// What else the kernel reports.
    Failed(io::Error),
}

impl PerfError {
    pub(super) fn of(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::EACCES) => Self::NotPermitted,
            Some(libc::EPERM) => Self::Filtered,
            Some(libc::ENOENT | libc::ENOSYS | libc::EOPNOTSUPP) => Self::Absent,
            _ => Self::Failed(error),
        }
    }
}

impl Display for PerfError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPermitted => {
                f.write_str("not permitted: run it as root or set kernel.perf_event_paranoid=1")
            }
            Self::Filtered => f.write_str(
                "not permitted: the container or its seccomp filter forbids perf_event_open(2); \
                 run it with CAP_PERFMON",
            ),
            Self::Absent => {
                f.write_str("this kernel has no performance events (CONFIG_PERF_EVENTS)")
            }
            Self::Failed(error) => write!(f, "perf_event_open(2) failed: {error}"),
        }
    }
}

impl std::error::Error for PerfError {}
