//! Samples of what CPUs do (perf_event_open(2)): at regular moments, where in which program.
//!
//! The kernel writes them into a ring for each CPU; nobody waits for a reader. Names of
//! functions are another's work.

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

/// How often a second each CPU is looked at, from 1 to 10,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleFrequency(u32);

impl SampleFrequency {
    /// None: more than 10,000, or none at all.
    pub const fn new(times: u32) -> Option<Self> {
        if times >= 1 && times <= MOST_HERTZ { Some(Self(times)) } else { None }
    }

    /// Times a second.
    pub const fn per_second(self) -> u32 {
        self.0
    }
}

impl Default for SampleFrequency {
    /// No round number, so that it does not keep in step with timers.
    fn default() -> Self {
        Self(199)
    }
}

/// What makes the kernel take a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Cycles, counted by the CPU itself: also where interrupts are off. An idle CPU has none.
    Cycles,
    /// A timer of the kernel, on each machine; idle CPUs are looked at too.
    CpuClock,
}

impl Event {
    /// As perf calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::CpuClock => "cpu-clock",
        }
    }
}

/// Whom the samples are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All that runs on the CPUs.
    Cpus,
    /// Threads of this process, and what the kernel does for them.
    Threads,
}

/// A sampler that takes none yet, or is at it; it ends with this value.
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
    /// Prepares to sample each CPU; where that is not allowed, `threads` of this process
    /// (gettid(2)).
    ///
    /// # Errors
    /// Why neither can be.
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
            match open_all(&Attributes::of(event, hertz), hertz, targets) {
                Ok(rings) => {
                    let (lost, text) = (0, Vec::new());
                    return Ok(Self { rings, event, scope, hertz, lost, text });
                }
                Err(error) => refused = PerfError::of(error),
            }
        }
        Err(refused)
    }

    /// What makes the kernel take a sample.
    pub const fn event(&self) -> Event {
        self.event
    }

    /// Whom they are of.
    pub const fn scope(&self) -> Scope {
        self.scope
    }

    /// How often: what was asked, or what the host allows.
    pub const fn hertz(&self) -> SampleFrequency {
        self.hertz
    }

    /// Begins to take samples.
    ///
    /// # Errors
    /// What ioctl(2) reports.
    pub fn start(&self) -> io::Result<()> {
        self.rings.iter().try_for_each(Ring::enable)
    }

    /// Takes no more; those that were taken can still be read.
    ///
    /// # Errors
    /// What ioctl(2) reports.
    pub fn stop(&self) -> io::Result<()> {
        self.rings.iter().try_for_each(Ring::disable)
    }

    /// Hands over all samples that were taken since the last call.
    pub fn drain(&mut self, mut take: impl FnMut(&Sample<'_>)) {
        for ring in &mut self.rings {
            self.text.clear();
            ring.read(&mut self.text);
            self.lost += records::each(&self.text, &mut take);
        }
    }

    /// Samples so far for which the rings had no room.
    pub const fn lost(&self) -> u64 {
        self.lost
    }
}

/// One thread on any CPU, or all on one.
#[derive(Clone, Copy, Debug)]
struct Target {
    thread: i32,
    cpu: i32,
}

fn targets(numbers: &[i32], target: impl Fn(&i32) -> Target) -> Vec<Target> {
    numbers.iter().map(target).collect()
}

/// As many as there are; what ended meanwhile is left out.
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

/// The CPU was switched off, or the thread has ended.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENODEV | libc::ESRCH))
}

/// Bytes of a ring: a second of the longest samples, within bounds.
fn room(hertz: SampleFrequency) -> usize {
    (hertz.0 as usize * records::LONGEST).clamp(LEAST_ROOM, MOST_ROOM)
}

/// `/sys/devices/system/cpu/online`; where there is none, those that this process may use.
fn online_cpus() -> Vec<i32> {
    let told = fs::read_to_string("/sys/devices/system/cpu/online").ok();
    let cpus = told.and_then(|text| parse_list(&text)).filter(|cpus| !cpus.is_empty());
    let cpus = cpus.or_else(|| crate::host::allowed_cpus().ok()).unwrap_or_default();
    cpus.into_iter().filter_map(|cpu| i32::try_from(cpu).ok()).collect()
}

/// `kernel.perf_event_max_sample_rate` (perf_event_open(2)); the kernel lowers it by itself
/// where samples take too long.
fn most_allowed() -> u32 {
    let told = fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate").ok();
    let told = told.and_then(|text| text.trim().parse().ok());
    told.filter(|most| *most > 0).unwrap_or(MOST_HERTZ)
}

const ANY: i32 = -1;
const MOST_HERTZ: u32 = 10_000;
/// Threads that are sampled one by one: each has a ring.
const MOST_THREADS: usize = 64;
const LEAST_ROOM: usize = 64 * 1024;
/// A user without privileges may lock 512 KiB for each CPU by default
/// (`kernel.perf_event_mlock_kb`), of which a page is the ring's head.
const MOST_ROOM: usize = 256 * 1024;

#[cfg(test)]
mod tests;
