//! The kinds of cores of a host: those of big.LITTLE copy differently.

use copy::{Facts, Misaligned};
use measurement::Inventory;
use measurement::host::{Cpu, Pipeline};

use super::caches;
use crate::Tree;

/// A kind of core, and a CPU that is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreKind {
    /// Number of the CPU.
    pub cpu: u32,
    /// Design of the core; none: not known.
    pub model: Option<String>,
    /// Whether it executes in order; none: not known.
    pub pipeline: Option<Pipeline>,
    /// Sizes of its caches of data in bytes, the first level first; empty: not known.
    pub cache_bytes: Vec<u64>,
    /// Facts for the choice of a routine.
    pub facts: Facts,
    /// Everything that a choice depends on, as one text: core, kernel, firmware and C library.
    pub identity: String,
}

/// The kinds of cores that this process may run on, by the `inventory` of the host.
pub fn kinds(tree: &Tree, inventory: &Inventory) -> Vec<CoreKind> {
    let allowed = linux::host::allowed_cpus().unwrap_or_default();
    let is_allowed = |cpu: &&Cpu| allowed.contains(&(cpu.number as usize));
    let mut kinds: Vec<CoreKind> = Vec::new();
    for cpu in inventory.cpus.iter().filter(is_allowed) {
        let identity = identity(tree, inventory, cpu);
        if kinds.iter().all(|kind| kind.identity != identity) {
            kinds.push(CoreKind {
                cpu: cpu.number,
                model: cpu.model.clone(),
                pipeline: cpu.pipeline,
                cache_bytes: caches::sizes(tree, cpu.number),
                facts: facts(cpu),
                identity,
            });
        }
    }
    kinds
}

fn facts(cpu: &Cpu) -> Facts {
    let misaligned = match cpu.misaligned.as_deref() {
        Some("fast") => Misaligned::Hardware,
        // The kernel says so too where firmware emulates them.
        Some("slow") => Misaligned::Unknown,
        Some("emulated") => Misaligned::Traps,
        Some("unsupported") => Misaligned::Faults,
        _ => return Facts::of_architecture(),
    };
    Facts { misaligned }
}

/// Firmware alone may turn misaligned accesses from fast to emulated.
fn identity(tree: &Tree, inventory: &Inventory, cpu: &Cpu) -> String {
    let firmware = tree.value("sys/class/dmi/id/bios_version");
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let library = if cfg!(target_env = "musl") { "musl" } else { "glibc" };
    [
        inventory.architecture.clone(),
        text(&inventory.model),
        text(&cpu.model),
        cpu.capacity.map(|capacity| capacity.to_string()).unwrap_or_default(),
        text(&cpu.misaligned),
        text(&cpu.instructions),
        inventory.kernel.clone(),
        text(&firmware),
        format!("{library} {}", env!("CARGO_PKG_VERSION")),
    ]
    .join("|")
}
