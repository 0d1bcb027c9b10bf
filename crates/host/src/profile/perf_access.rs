//! Access to perf_event_open(2) and `/proc/kallsyms`, acquired while the process has the
//! privileges that it drops later.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

use linux::perf::{PerfError, SampleFrequency, Sampler, Scope};

/// Access to the performance events of the CPUs (perf_event_open(2)) and to the symbols of the
/// kernel. The sampler of all CPUs serves one test at a time; a concurrent test opens its own
/// sampler, as far as that is permitted then.
#[derive(Debug)]
pub struct PerfAccess {
    hertz: SampleFrequency,
    sampler: Mutex<Option<Sampler>>,
    /// `/proc/kallsyms`, which shows addresses if the process had the permission at open(2).
    symbols: Mutex<Option<File>>,
}

impl PerfAccess {
    /// Opens what this process may access now; `hertz` is the sampling frequency.
    ///
    /// It does not fail: where the kernel refuses (`kernel.perf_event_paranoid`,
    /// `kernel.kptr_restrict`) each test reports a gap.
    pub fn new(hertz: SampleFrequency) -> Self {
        let sampler = Mutex::new(Sampler::new(hertz, &[]).ok());
        Self { hertz, sampler, symbols: Mutex::new(File::open("/proc/kallsyms").ok()) }
    }

    /// The sampler of all CPUs if it is free, else a new one, at least of `threads` of this
    /// process.
    pub(super) fn take_sampler(&self, threads: &[i32]) -> Result<Sampler, PerfError> {
        let kept = self.sampler.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.map_or_else(|| Sampler::new(self.hertz, threads), Ok)
    }

    /// Keeps a sampler of all CPUs for the next test.
    pub(super) fn return_sampler(&self, mut sampler: Sampler) {
        if sampler.scope() == Scope::Cpus && sampler.stop().is_ok() {
            sampler.drain(|_| {});
            *self.sampler.lock().unwrap_or_else(PoisonError::into_inner) = Some(sampler);
        }
    }

    /// Calls `read` with `/proc/kallsyms` at its begin; none: it cannot be read.
    pub(super) fn with_symbols<T>(&self, read: impl FnOnce(Option<&mut File>) -> T) -> T {
        let mut file = self.symbols.lock().unwrap_or_else(PoisonError::into_inner);
        if file.as_mut().is_some_and(|file| file.seek(SeekFrom::Start(0)).is_err()) {
            *file = None;
        }
        read(file.as_mut())
    }
}
