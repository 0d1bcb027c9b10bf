//! Measures the speed at which the cores of this host copy memory ([`measure`]): by each routine of
//! crate `copy`, and by the kernel's own copies. Which number is good is not judged here.

mod caches;
mod kernel;
mod kinds;
mod routines;
mod sockets;
mod stopwatch;

use std::io;
use std::time::Duration;

use copy::Copier;
use measurement::copies::CoreCopies;

pub use kinds::{CoreKind, kinds};
pub use routines::choose;

/// Extent of a measurement.
#[derive(Clone, Debug)]
pub struct Extent {
    /// Lengths of copies in bytes, each between buffers of its own.
    pub lengths: Vec<usize>,
    /// Lengths of calls of the kernel in bytes.
    pub calls: Vec<usize>,
    /// Time of each measurement; a copy that takes longer is made once.
    pub each: Duration,
}

impl Extent {
    /// From a small packet to memory beyond the caches, as far as this host has an eighth of its
    /// memory free for it.
    pub fn full() -> Self {
        let mut lengths = vec![64, 256, FRAME, 16 << 10, 64 << 10, 1 << 20, 16 << 20];
        let room = linux::host::available_memory().unwrap_or(u64::MAX) / 8;
        lengths.retain(|length| *length as u64 <= room);
        Self { lengths, calls: vec![FRAME, 16 << 10, 64 << 10], each: Duration::from_millis(4) }
    }

    /// A few lengths.
    pub fn quick() -> Self {
        let lengths = vec![64, FRAME, 16 << 10, 256 << 10, 2 << 20];
        Self { lengths, calls: vec![64 << 10], each: Duration::from_millis(1) }
    }
}

/// Measures one kind of core, on its CPU, to which the calling thread is pinned then. `copiers` are
/// the routines; none of them is tried misaligned where that traps for long.
///
/// # Errors
/// The CPU is not there any more (sched_setaffinity(2)), there is no memory, or no connection over
/// the loopback interface.
pub fn measure(kind: &CoreKind, copiers: &[Copier], extent: &Extent) -> io::Result<CoreCopies> {
    linux::host::pin_thread(kind.cpu as usize)?;
    Ok(CoreCopies {
        cpu: kind.cpu,
        model: kind.model.clone(),
        pipeline: kind.pipeline,
        cache_bytes: kind.cache_bytes.clone(),
        routines: routines::speeds(copiers, kind.facts, extent)?,
        kernel: kernel::speeds(extent)?,
        ..CoreCopies::default()
    })
}

/// Payload of a segment in an Ethernet frame of 1,500 bytes: 40 bytes of headers and 12 of timestamps
/// less (RFC 9293, RFC 7323).
pub const FRAME: usize = 1_448;

#[cfg(test)]
mod tests {
    use copy::Routine;
    use measurement::copies::KernelPath;

    use super::*;
    use crate::Tree;

    #[test]
    fn every_routine_and_every_path_has_a_speed() {
        let tree = Tree::live();
        let kinds = kinds(&tree, &crate::inventory::read(&tree).0);
        let kind = kinds.first().expect("a core that runs this");
        let copiers: Vec<_> = Routine::available().collect();
        let extent = Extent { each: Duration::from_micros(100), ..Extent::quick() };
        let measured = measure(kind, &copiers, &extent).expect("measured");
        for copier in copiers {
            let speed = measured.aligned(copier.routine().name(), FRAME as u64);
            assert!(speed.is_some_and(|speed| speed.bytes_per_second() > 1e5), "{copier:?}");
        }
        for path in KernelPath::ALL {
            let speed = measured.path(path).expect("measured").bytes_per_second();
            assert!(speed > 1e5, "{path}: {speed}");
        }
    }
}
