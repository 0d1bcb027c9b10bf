//! Why no samples can be taken.

use std::fmt::{self, Display, Formatter};
use std::io;

/// Why performance events cannot be opened (perf_event_open(2)). Its text says what to change.
#[derive(Debug)]
pub enum PerfError {
    /// `EACCES`: this user may not sample (`kernel.perf_event_paranoid`).
    NotPermitted,
    /// `EPERM`: the system call is filtered (seccomp(2)), as in containers.
    Filtered,
    /// `ENOENT`, `ENOSYS` or `EOPNOTSUPP`: this kernel has no such event.
    Absent,
    /// Any other error of perf_event_open(2) or mmap(2).
    Failed(io::Error),
}

impl PerfError {
    pub(super) fn from_io(error: io::Error) -> Self {
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
