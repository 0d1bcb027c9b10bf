//! Where changes are made: which boot, which network namespace.

use serde::{Deserialize, Serialize};

/// Where changes are made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TuningPlace {
    /// The boot (`/proc/sys/kernel/random/boot_id`).
    pub(super) boot: Option<String>,
    /// Inode number of the network namespace (namespaces(7)); none: a copy of files.
    pub(super) namespace: Option<u64>,
}
