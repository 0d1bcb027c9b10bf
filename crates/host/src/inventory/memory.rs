//! The memory modules of a host, as its firmware describes them.

use measurement::host::MemoryModule;

use crate::Tree;

mod device_tree;
mod smbios;

pub(crate) use smbios::PATH;
pub use smbios::{only_modules, read};

/// Memory modules of a host: those in the tables of SMBIOS whose speed is known, else those in the
/// device tree. Empty: its firmware describes none, as that of virtual machines and of most boards,
/// or the reader is not root, who alone can read SMBIOS.
pub(super) fn modules(tree: &Tree) -> Vec<MemoryModule> {
    let listed = tree.bytes(PATH).map(|table| read(&table)).unwrap_or_default();
    if listed.is_empty() { device_tree::modules(tree) } else { listed }
}
