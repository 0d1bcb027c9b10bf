//! Samples of what CPUs execute, at a fixed frequency (perf_event_open(2)).
//!
//! The kernel writes them into a ring buffer for each CPU, which never blocks it. This
//! module does not resolve symbols.

mod attributes;
mod error;
mod records;
mod ring;

use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use crate::topology::parse_list;
use attributes::Attributes;
use ring::Ring;

pub use error::PerfError;
pub use records::{Mode, Sample};

/// A sampling frequency: samples per second on each CPU, from 1 to 10,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleFrequency(u32);

impl SampleFrequency {
    /// A frequency of `times` per second; `None` if that is 0 or above 10,000.
    pub const fn new(times: u32) -> Option<Self> {
        if times >= 1 && times <= MOST_HERTZ { Some(Self(times)) } else { None }
    }

    /// The frequency in samples per second.
    pub const fn per_second(self) -> u32 {
        self.0
    }
}

impl Default for SampleFrequency {
    /// 199 Hz: no round number, so that samples do not coincide with periodic timers.
    fn default() -> Self {
        Self(199)
    }
}

/// The event that triggers a sample (`type` and `config` of perf_event_open(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// CPU cycles, counted in hardware: samples are also taken where interrupts are off. An
    /// idle CPU has none.
    Cycles,
    /// A timer of the kernel, available on every machine. Idle CPUs are sampled too.
    CpuClock,
}

impl Event {
    /// The name of the event in perf(1).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::CpuClock => "cpu-clock",
        }
    }
}

/// What a [`Sampler`] observes: all CPUs, or only threads of this process (`pid` and `cpu` of
/// perf_event_open(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All tasks on all CPUs.
    Cpus,
    /// Threads of this process, in user space and in the kernel.
    Threads,
}

/// A set of perf events with their ring buffers. Dropping it ends the sampling.
#[derive(Debug)]
pub struct Sampler {
    rings: Vec<Ring>,
    event: Event,
    scope: Scope,
    hertz: SampleFrequency,
    lost: u64,
    text: Vec<u8>,
}

impl Sampler {
    /// Opens an event on each CPU; if that is not permitted, one for each of `threads` of this
    /// process (gettid(2)), at most 64. Sampling begins with [`Self::start`].
    ///
    /// # Errors
    /// The reason why the events of the CPUs cannot be opened, if those of `threads` cannot either.
    pub fn new(hertz: SampleFrequency, threads: &[i32]) -> Result<Self, PerfError> {
        let hertz = SampleFrequency(hertz.0.min(most_allowed()));
        let cpus = online_cpus();
        let of_cpu = |cpu: &i32| Target { thread: ANY, cpu: *cpu };
        let refused = match Self::open(hertz, Scope::Cpus, &targets(&cpus, of_cpu)) {
            Ok(sampler) => return Ok(sampler),
            Err(refused) => refused,
        };
        let threads = &threads[..threads.len().min(MOST_THREADS)];
        let of_thread = |thread: &i32| Target { thread: *thread, cpu: ANY };
        Self::open(hertz, Scope::Threads, &targets(threads, of_thread)).map_err(|_| refused)
    }

    fn open(hertz: SampleFrequency, scope: Scope, targets: &[Target]) -> Result<Self, PerfError> {
        let mut refused = PerfError::Absent;
        for event in [Event::Cycles, Event::CpuClock] {
            match open_all(&Attributes::new(event, hertz), hertz, targets) {
                Ok(rings) => {
                    let (lost, text) = (0, Vec::new());
                    return Ok(Self { rings, event, scope, hertz, lost, text });
                }
                Err(error) => refused = PerfError::from_io(error),
            }
        }
        Err(refused)
    }

    /// The event that triggers samples: CPU cycles, or a timer of the kernel where there are none.
    pub const fn event(&self) -> Event {
        self.event
    }

    /// Whether all CPUs are sampled, or only threads of this process.
    pub const fn scope(&self) -> Scope {
        self.scope
    }

    /// The sampling frequency in use: the requested one, limited by
    /// `kernel.perf_event_max_sample_rate`.
    pub const fn hertz(&self) -> SampleFrequency {
        self.hertz
    }

    /// Enables the events (`PERF_EVENT_IOC_ENABLE`).
    ///
    /// # Errors
    /// The errors of ioctl(2); none is expected.
    pub fn start(&self) -> io::Result<()> {
        self.rings.iter().try_for_each(Ring::enable)
    }

    /// Disables the events (`PERF_EVENT_IOC_DISABLE`). Samples that were taken can still be
    /// read.
    ///
    /// # Errors
    /// The errors of ioctl(2); none is expected.
    pub fn stop(&self) -> io::Result<()> {
        self.rings.iter().try_for_each(Ring::disable)
    }

    /// Calls `take` with each sample that was taken since the last call.
    pub fn drain(&mut self, mut take: impl FnMut(&Sample<'_>)) {
        for ring in &mut self.rings {
            self.text.clear();
            ring.read(&mut self.text);
            self.lost += records::each(&self.text, &mut take);
        }
    }

    /// Number of samples that the kernel dropped so far because a ring buffer was full
    /// (`PERF_RECORD_LOST`), as far as [`Self::drain`] has read.
    pub const fn lost(&self) -> u64 {
        self.lost
    }
}

/// A thread on any CPU, or all threads on one CPU.
#[derive(Clone, Copy, Debug)]
struct Target {
    thread: i32,
    cpu: i32,
}

fn targets(numbers: &[i32], target: impl Fn(&i32) -> Target) -> Vec<Target> {
    numbers.iter().map(target).collect()
}

/// Opens an event for each target; CPUs that went offline and threads that ended are
/// skipped.
fn open_all(
    attributes: &Attributes,
    hertz: SampleFrequency,
    targets: &[Target],
) -> io::Result<Vec<Ring>> {
    let mut rings = Vec::with_capacity(targets.len());
    for target in targets {
        let opened = attributes.open(target.thread, target.cpu);
        match opened.and_then(|file: OwnedFd| Ring::new(file, room(hertz))) {
            Ok(ring) => rings.push(ring),
            Err(error) if is_gone(&error) => {}
            Err(error) => return Err(error),
        }
    }
    if rings.is_empty() { Err(io::Error::from_raw_os_error(libc::ENOENT)) } else { Ok(rings) }
}

/// Whether the CPU is offline, or the thread has ended.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENODEV | libc::ESRCH))
}

/// Size of a ring buffer in bytes: one second of the longest samples, within bounds.
fn room(hertz: SampleFrequency) -> usize {
    (hertz.0 as usize * records::LONGEST).clamp(LEAST_ROOM, MOST_ROOM)
}

/// The CPUs of `/sys/devices/system/cpu/online`; if that cannot be read, those that this
/// process may use.
fn online_cpus() -> Vec<i32> {
    let told = fs::read_to_string("/sys/devices/system/cpu/online").ok();
    let cpus = told.and_then(|text| parse_list(&text)).filter(|cpus| !cpus.is_empty());
    let cpus = cpus.or_else(|| crate::host::allowed_cpus().ok()).unwrap_or_default();
    cpus.into_iter().filter_map(|cpu| i32::try_from(cpu).ok()).collect()
}

/// `kernel.perf_event_max_sample_rate` (perf_event_open(2)); the kernel lowers it where
/// samples take too long.
fn most_allowed() -> u32 {
    let told = fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate").ok();
    let told = told.and_then(|text| text.trim().parse().ok());
    told.filter(|most| *most > 0).unwrap_or(MOST_HERTZ)
}

const ANY: i32 = -1;
const MOST_HERTZ: u32 = 10_000;
/// Number of threads that are sampled one by one; each has a ring buffer.
const MOST_THREADS: usize = 64;
const LEAST_ROOM: usize = 64 * 1024;
/// A user without privileges may lock 512 KiB for each CPU by default
/// (`kernel.perf_event_mlock_kb`), of which a page is the ring's head.
const MOST_ROOM: usize = 256 * 1024;

#[cfg(test)]
mod tests;
