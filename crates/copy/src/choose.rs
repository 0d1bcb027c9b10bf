//! The choice of the best routine for a core: what is known of it says which routines are worth a
//! probe, and a probe of a few milliseconds ([`choose()`]) which is the fastest. The choice of each
//! CPU is kept ([`Choice::keep`]) for who copies on it ([`on`]).

use core::sync::atomic::{AtomicU8, Ordering};
use core::time::Duration;

use crate::routine::{Copier, Routine};

/// Facts about a core that are known before a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Way in which the core does misaligned accesses.
    pub misaligned: Misaligned,
}

/// Way in which a core does accesses of a word at any address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Misaligned {
    /// Not known: a probe may trap at each access.
    #[default]
    Unknown,
    /// After a trap, which an emulation takes hundreds of cycles for.
    Traps,
    /// Not at all: an access faults.
    Faults,
    /// In hardware.
    Hardware,
}

impl Facts {
    /// Those of any core of this architecture.
    pub const fn of_architecture() -> Self {
        let misaligned = if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            Misaligned::Hardware
        } else {
            Misaligned::Unknown
        };
        Self { misaligned }
    }

    /// Routines that may be the best, and none that traps.
    pub fn candidates(self) -> impl Iterator<Item = Copier> {
        Routine::available().filter(move |copier| self.is_worth_a_probe(copier.routine()))
    }

    fn is_worth_a_probe(self, routine: Routine) -> bool {
        let is_hardware = self.misaligned == Misaligned::Hardware;
        match routine {
            // Slower than their unrolled forms, or for memory beyond the caches alone.
            Routine::Byte
            | Routine::Word
            | Routine::WordX8
            | Routine::Shift
            | Routine::NonTemporal => false,
            Routine::ShiftX4 | Routine::ShiftX8 => !is_hardware,
            Routine::Unaligned => is_hardware,
            Routine::Libc
            | Routine::Vector
            | Routine::Neon
            | Routine::Avx2
            | Routine::Avx512
            | Routine::RepMovsb => true,
        }
    }
}

/// The routine for a core, and what it gains.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The fastest, or the C library's, which is chosen unless another is faster in the mean and
    /// nowhere slower.
    pub copier: Copier,
    /// Its mean speed over the cases of the probe, in those of the C library's routine.
    pub gain: f64,
}

impl Choice {
    /// Keeps it for copies on the CPU of this number; a number above 1,023 is not kept.
    pub fn keep(&self, cpu: usize) {
        let place = Routine::ALL.iter().position(|one| *one == self.copier.routine());
        if let (Some(kept), Some(place)) =
            (KEPT.get(cpu), place.and_then(|it| u8::try_from(it + 1).ok()))
        {
            kept.store(place, Ordering::Relaxed);
        }
    }
}

/// The routine that was kept for the CPU of this number; none: none was.
pub fn on(cpu: usize) -> Option<Copier> {
    let place = usize::from(KEPT.get(cpu)?.load(Ordering::Relaxed)).checked_sub(1)?;
    Routine::ALL.get(place)?.copier()
}

/// Places in [`Routine::ALL`], from 1; 0: none.
static KEPT: [AtomicU8; 1024] = [const { AtomicU8::new(0) }; 1024];

/// Copies of one size and alignment, which a probe times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Length in bytes.
    pub length: usize,
    /// Bytes from a boundary of 64 to the source.
    pub source_offset: usize,
    /// Bytes from a boundary of 64 to the destination.
    pub destination_offset: usize,
}

impl Case {
    /// Copies `count` times by `copier`, between buffers of at least the length and the offsets.
    ///
    /// # Panics
    /// If a buffer is too short.
    pub fn copy(self, copier: Copier, count: u32, to: &mut [u8], from: &[u8]) {
        let to = &mut to[self.destination_offset..][..self.length];
        let from = &from[self.source_offset..][..self.length];
        for _ in 0..count {
            copier.copy(core::hint::black_box(&mut *to), core::hint::black_box(from));
        }
    }
}

/// Times the routines that `facts` leaves over, and chooses.
///
/// It takes about `budget`, as `now` tells the time, on the core that runs it; a core on which it is
/// interrupted for longer than that keeps the C library's routine. `to` and `from` have
/// [`PROBE_BYTES`] each.
///
/// # Panics
/// If a buffer is shorter.
pub fn choose(
    facts: Facts,
    budget: Duration,
    now: &mut dyn FnMut() -> Duration,
    (to, from): (&mut [u8], &[u8]),
) -> Choice {
    let candidates = facts.candidates().count();
    let tries = u32::try_from(candidates * CASES.len() * (ROUNDS + 1)).unwrap_or(u32::MAX);
    let mut probe = Probe { now, to, from, batch: budget / tries.max(1) };
    let mut gains = [Gain::default(); Routine::ALL.len()];
    for case in CASES {
        probe.case(case, facts, &mut gains);
    }
    let libc = Choice { copier: Copier::LIBC, gain: 1.0 };
    facts.candidates().zip(gains).fold(libc, |best, (copier, gain)| {
        let mean = gain.sum / CASES.len() as f64;
        let is_better = gain.least >= LEAST && mean >= WORTH && mean > best.gain;
        if is_better { Choice { copier, gain: mean } } else { best }
    })
}

/// Speeds of a routine over the cases, in those of the C library's.
#[derive(Clone, Copy)]
struct Gain {
    sum: f64,
    least: f64,
}

impl Default for Gain {
    fn default() -> Self {
        Self { sum: 0.0, least: f64::INFINITY }
    }
}

struct Probe<'a> {
    now: &'a mut dyn FnMut() -> Duration,
    to: &'a mut [u8],
    from: &'a [u8],
    /// Time of the copies between two readings of the clock.
    batch: Duration,
}

impl Probe<'_> {
    fn case(&mut self, case: Case, facts: Facts, gains: &mut [Gain]) {
        let count = self.calibrate(case);
        let mut least = [Duration::MAX; Routine::ALL.len()];
        for _ in 0..ROUNDS {
            // In turns, so that all have the same neighbours on the machine.
            for (copier, least) in facts.candidates().zip(&mut least) {
                *least = (*least).min(self.time(case, copier, count));
            }
        }
        let libc = least[0].as_secs_f64();
        for (gain, least) in gains.iter_mut().zip(least) {
            let ratio = libc / least.as_secs_f64().max(f64::MIN_POSITIVE);
            gain.sum += ratio;
            gain.least = gain.least.min(ratio);
        }
    }

    /// Number of copies by the C library's routine that take the time of a batch.
    fn calibrate(&mut self, case: Case) -> u32 {
        let mut count = 1_u32;
        while count < MOST_COPIES && self.time(case, Copier::LIBC, count) < self.batch / 2 {
            count *= 2;
        }
        count
    }

    fn time(&mut self, case: Case, copier: Copier, count: u32) -> Duration {
        let start = (self.now)();
        case.copy(copier, count, self.to, self.from);
        (self.now)().saturating_sub(start)
    }
}

/// Bytes of each buffer of a probe.
pub const PROBE_BYTES: usize = 9_000 + 64;

/// Sizes of headers, small packets, segments of an Ethernet frame and of a jumbo frame; aligned, and
/// as data behind headers are.
const CASES: [Case; 8] = [
    case(24, 0, 0),
    case(24, 3, 1),
    case(200, 0, 0),
    case(200, 3, 1),
    case(1_448, 0, 0),
    case(1_448, 3, 1),
    case(9_000, 0, 0),
    case(9_000, 3, 1),
];

const fn case(length: usize, source_offset: usize, destination_offset: usize) -> Case {
    Case { length, source_offset, destination_offset }
}

/// The best of so many counts.
const ROUNDS: usize = 5;
const MOST_COPIES: u32 = 1 << 16;
/// Least speed of another routine in a case: it is then as fast, within the noise of a probe.
const LEAST: f64 = 0.97;
/// Least mean gain of another routine.
const WORTH: f64 = 1.05;

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;

    /// A clock by which copies take no time, and each reading a microsecond.
    fn chosen_by(step: impl Fn(u32) -> u64) -> Choice {
        let (mut readings, mut time) = (0, 0);
        let mut now = || {
            time += step(readings);
            readings += 1;
            Duration::from_nanos(time)
        };
        let (mut to, from) = (vec![0; PROBE_BYTES], vec![1; PROBE_BYTES]);
        choose(Facts::of_architecture(), Duration::from_millis(1), &mut now, (&mut to, &from))
    }

    #[test]
    fn of_equals_the_c_library_is_chosen() {
        let choice = chosen_by(|_| 1_000_000);
        assert_eq!(choice.copier.routine(), Routine::Libc);
        assert!((choice.gain - 1.0).abs() < f64::EPSILON);
    }

    /// The choice where the last candidate's copies of a case take so long, and all others a
    /// millisecond.
    fn chosen_where_the_last_takes(nanos: impl Fn(u32) -> u64) -> Routine {
        let candidates = u32::try_from(Facts::of_architecture().candidates().count()).expect("few");
        // Of each case two readings calibrate; then each candidate has two readings in its turn.
        let of_case = 2 + candidates * 2 * u32::try_from(ROUNDS).expect("few");
        let is_last = |reading: u32| {
            let place = reading % of_case;
            place >= 2 && (place - 2) / 2 % candidates == candidates - 1
        };
        let step = |reading| {
            if is_last(reading) { nanos(reading / of_case) } else { 1_000_000 }
        };
        chosen_by(step).copier.routine()
    }

    fn last() -> Routine {
        Facts::of_architecture().candidates().last().expect("at least the library's").routine()
    }

    #[test]
    fn the_fastest_is_chosen() {
        assert_eq!(chosen_where_the_last_takes(|_| 500_000), last());
    }

    #[test]
    fn what_is_faster_in_the_mean_and_slower_in_a_case_is_not_chosen() {
        let but_for_the_first = |case| if case == 0 { 1_500_000 } else { 200_000 };
        assert_eq!(chosen_where_the_last_takes(but_for_the_first), Routine::Libc);
    }

    #[test]
    fn nothing_that_may_trap_is_tried() {
        for misaligned in [Misaligned::Unknown, Misaligned::Traps, Misaligned::Faults] {
            let mut candidates = Facts { misaligned }.candidates();
            assert!(candidates.all(|copier| copier.routine() != Routine::Unaligned));
        }
    }

    #[test]
    fn each_cpu_has_a_choice_of_its_own() {
        let copier = Routine::ShiftX4.copier().expect("of every architecture");
        Choice { copier, gain: 1.2 }.keep(1_000);
        Choice { copier, gain: 1.2 }.keep(1_024);
        let kept = [999, 1_000, 1_024].map(|cpu| on(cpu).map(|copier| copier.routine()));
        assert_eq!(kept, [None, Some(Routine::ShiftX4), None]);
    }
}
