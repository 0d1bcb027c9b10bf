//! Judges speeds of copies: the sizes and alignments at which they fall ([`cliffs`]), and the share
//! of a network run that copies explain ([`explained`]).

use measurement::copies::{
    Cliff, CliffCause, CopyShare, CopySpeed, CoreCopies, KernelPath, RoutineSpeed,
};
use measurement::host::Pipeline;
use measurement::{BitRate, Direction, Order, Role, TestRecord, Work};

/// The places where copies become much slower: by any routine as source and destination differ in
/// alignment; by the one that is chosen, and by the plain loop of words, as their working set outgrows a
/// cache. The steepest is first.
pub fn cliffs(core: &CoreCopies) -> Vec<Cliff> {
    let mut names: Vec<&str> = core.routines.iter().map(|one| one.routine.as_str()).collect();
    names.dedup();
    let mut cliffs: Vec<_> = names.iter().filter_map(|name| by_alignment(core, name)).collect();
    let chosen = core.choice.as_ref().map_or("libc", |choice| choice.routine.as_str());
    cliffs.extend(by_size(core, chosen));
    if chosen != PLAIN_LOOP {
        cliffs.extend(by_size(core, PLAIN_LOOP));
    }
    cliffs.order_by(|one, other| depth(other).total_cmp(&depth(one)));
    cliffs
}

/// Ratio of the speeds before and behind a cliff.
fn depth(cliff: &Cliff) -> f64 {
    cliff.from.bytes_per_second() / cliff.to.bytes_per_second().max(1.0)
}

fn by_alignment(core: &CoreCopies, routine: &str) -> Option<Cliff> {
    let slowest = core.misaligned(routine)?;
    let from = core.aligned(routine, slowest.length)?;
    let byte = core.aligned("byte", slowest.length);
    let is_slower_than_bytes = |byte: CopySpeed| {
        slowest.speed.bytes_per_second() < SLOWER_THAN_BYTES * byte.bytes_per_second()
    };
    let cause = match routine {
        "unaligned" if byte.is_some_and(is_slower_than_bytes) => CliffCause::Trap,
        PLAIN_LOOP | "word-x8" => CliffCause::Bytes,
        _ => return None,
    };
    let cliff = behind(cause, slowest, from);
    (depth(&cliff) >= STEEP).then_some(cliff)
}

fn behind(cause: CliffCause, behind: &RoutineSpeed, from: CopySpeed) -> Cliff {
    let routine = behind.routine.clone();
    Cliff { cause, routine, from, to: behind.speed, length: behind.length }
}

fn by_size(core: &CoreCopies, routine: &str) -> Vec<Cliff> {
    let is_aligned = |one: &&RoutineSpeed| {
        one.routine == routine && one.source_offset == 0 && one.destination_offset == 0
    };
    let mut speeds: Vec<_> = core.routines.iter().filter(is_aligned).collect();
    speeds.order_by_key(|one| one.length);
    let pairs = speeds.windows(2);
    pairs
        .filter_map(|pair| {
            let cause = outgrown(&core.cache_bytes, 2 * pair[0].length, 2 * pair[1].length);
            let cliff = behind(cause, pair[1], pair[0].speed);
            (depth(&cliff) >= STEEP_BY_SIZE).then_some(cliff)
        })
        .collect()
}

/// The cache that holds a working set, but not the next larger one.
fn outgrown(caches: &[u64], held: u64, larger: u64) -> CliffCause {
    let level = caches.iter().position(|size| held <= *size && *size < larger);
    match level {
        Some(0) => CliffCause::Level1,
        Some(1) => CliffCause::Level2,
        Some(2) => CliffCause::Level3,
        _ => CliffCause::Memory,
    }
}

/// The share of a CPU that copies between kernel and process explain of each direction of
/// `records`, by the speeds of `core`, a core of the host that wrote them.
pub fn explained(core: &CoreCopies, records: &[TestRecord]) -> Vec<CopyShare> {
    let tests = records.iter().enumerate();
    let shares = tests.flat_map(|(number, record)| {
        let directions = record.outcome.directions.iter();
        directions.filter_map(move |outcome| {
            let rate = outcome.headline()?.rate;
            share(core, (number + 1, record), outcome.direction, rate)
        })
    });
    shares.collect()
}

fn share(
    core: &CoreCopies,
    (test, record): (usize, &TestRecord),
    direction: Direction,
    measured: BitRate,
) -> Option<CopyShare> {
    let speed = match direction {
        Direction::Send => to_kernel(core)?,
        Direction::Receive => from_kernel(core)?,
        Direction::Both => return None,
    };
    let at_most = speed.rate();
    let of_cpu_ratio = measured.bits_per_second() as f64 / at_most.bits_per_second() as f64;
    let profiled_ratio = profiled(record, measured);
    let with_routine = chosen(core)
        .map(|chosen| speed.bytes_per_second() / chosen.bytes_per_second())
        .filter(|cost| *cost < WORTH)
        .map(|cost| with_faster_copies(measured, &[(of_cpu_ratio.min(1.0), cost)]));
    Some(CopyShare {
        test,
        cpu: core.cpu,
        direction,
        measured,
        at_most,
        of_cpu_ratio,
        profiled_ratio,
        with_routine,
    })
}

/// Speed of the chosen routine where a jumbo frame and a small window are in the caches, on a core
/// that waits for each load: one that executes out of order hides most of what a routine can save.
fn chosen(core: &CoreCopies) -> Option<CopySpeed> {
    core.pipeline.filter(|pipeline| *pipeline == Pipeline::InOrder)?;
    core.aligned(&core.choice.as_ref()?.routine, CACHED)
}

/// The rate of a full CPU if each copy, which takes a share of its time, took `cost` of that, and all
/// else the same (Amdahl, "Validity of the single processor approach", 1967). The pairs are share and
/// cost.
pub fn with_faster_copies(rate: BitRate, copies: &[(f64, f64)]) -> BitRate {
    let time = copies.iter().fold(1.0, |time, (share, cost)| time - share * (1.0 - cost));
    let bits = rate.bits_per_second() as f64 / time.max(LEAST_TIME);
    CopySpeed::from_bytes_per_second(bits / 8.0).rate()
}

/// Speed of the copy from a process: what send(2) takes more than sendfile(2), which does not copy.
/// If the difference is within the noise of either, that of writing a file.
pub fn to_kernel(core: &CoreCopies) -> Option<CopySpeed> {
    let sockets = difference(core.path(KernelPath::Send), core.path(KernelPath::Sendfile));
    sockets.or_else(|| core.path(KernelPath::PageCacheWrite))
}

/// Speed of the copy to a process: what recv(2) takes more than with `MSG_TRUNC`, which does not copy.
/// If the difference is within the noise of either, that of reading a file.
pub fn from_kernel(core: &CoreCopies) -> Option<CopySpeed> {
    let sockets =
        difference(core.path(KernelPath::Receive), core.path(KernelPath::ReceiveTruncated));
    sockets.or_else(|| core.path(KernelPath::PageCacheRead))
}

/// The speed of what the first does and the second does not.
fn difference(with: Option<CopySpeed>, without: Option<CopySpeed>) -> Option<CopySpeed> {
    let (with, without) = (with?.bytes_per_second(), without?.bytes_per_second());
    let seconds = 1.0 / with - 1.0 / without;
    // Less than a tenth is within the noise of either.
    (seconds > 0.1 / with).then(|| CopySpeed::from_bytes_per_second(1.0 / seconds))
}

/// Copies of this host as a share of one CPU, by the profile in the record, if it names any.
fn profiled(record: &TestRecord, measured: BitRate) -> Option<f64> {
    let attributions = &record.judgement.as_ref()?.attributions;
    let here = attributions.iter().find(|one| one.host == Role::Here)?;
    let copies = here.work.iter().filter(|(work, _)| Work::is_copy(**work));
    let nanos_per_kib = copies.map(|(_, cost)| cost.nanos_per_kib).collect::<Option<Vec<_>>>()?;
    if nanos_per_kib.is_empty() {
        return None;
    }
    let nanos_per_kib: f64 = nanos_per_kib.into_iter().sum();
    let kib_per_second = measured.bits_per_second() as f64 / 8.0 / 1024.0;
    Some(nanos_per_kib * kib_per_second / 1e9)
}

/// The routine that copies as a simple program does, word by word.
const PLAIN_LOOP: &str = "word";
/// An emulated access takes hundreds of cycles, and a copy of bytes 4 to 6 for each byte.
const SLOWER_THAN_BYTES: f64 = 0.8;
/// From so many times on a fall is a cliff.
const STEEP: f64 = 2.0;
/// As [`STEEP`], between neighbouring lengths.
const STEEP_BY_SIZE: f64 = 1.4;
/// A routine that costs more than this share of the kernel's copy is not worth a word.
const WORTH: f64 = 0.9;
/// Length at which routines are compared with the kernel, in bytes.
const CACHED: u64 = 16 << 10;
/// No rate is more than a hundred times as high.
const LEAST_TIME: f64 = 0.01;

#[cfg(test)]
mod tests {
    use measurement::copies::{ChosenBy, KernelSpeed, RoutineChoice};

    use super::*;

    fn speed(routine: &str, length: u64, source_offset: u64, giga: f64) -> RoutineSpeed {
        let speed = CopySpeed::from_bytes_per_second(giga * 1e9);
        let routine = routine.to_owned();
        RoutineSpeed { routine, length, source_offset, destination_offset: 0, speed }
    }

    fn kernel(path: KernelPath, giga: f64) -> KernelSpeed {
        KernelSpeed { path, length: 65_536, speed: CopySpeed::from_bytes_per_second(giga * 1e9) }
    }

    /// A U74 at 1.5 GHz, by the cycles for a byte of llvm-mca and the traps of a HiFive Unmatched.
    fn board() -> CoreCopies {
        CoreCopies {
            cache_bytes: vec![32 << 10, 2 << 20],
            routines: vec![
                speed("byte", 1_448, 0, 0.37),
                speed("byte", 1_448, 1, 0.37),
                speed("word", 1_448, 0, 1.9),
                speed("word", 1_448, 3, 0.36),
                speed("word", 16 << 10, 0, 1.9),
                speed("word", 64 << 10, 0, 1.8),
                speed("word", 4 << 20, 0, 0.35),
                speed("word-x8", 1_448, 0, 5.6),
                speed("word-x8", 1_448, 3, 0.37),
                speed("shift-x4", 1_448, 0, 5.6),
                speed("shift-x4", 1_448, 3, 3.0),
                speed("unaligned", 1_448, 0, 5.6),
                speed("unaligned", 1_448, 1, 0.014),
                speed("libc", 16 << 10, 0, 5.6),
                speed("libc", 64 << 10, 0, 2.0),
                speed("libc", 4 << 20, 0, 0.4),
            ],
            pipeline: Some(Pipeline::InOrder),
            ..CoreCopies::default()
        }
    }

    #[test]
    fn a_trap_is_told_from_a_copy_of_bytes_and_from_a_cache() {
        let cliffs = cliffs(&board());
        let seen: Vec<_> =
            cliffs.iter().map(|cliff| (cliff.cause, cliff.routine.as_str())).collect();
        assert_eq!(
            seen,
            [
                (CliffCause::Trap, "unaligned"),
                (CliffCause::Bytes, "word-x8"),
                (CliffCause::Bytes, "word"),
                (CliffCause::Level2, "word"),
                (CliffCause::Level2, "libc"),
                (CliffCause::Level1, "libc"),
            ]
        );
    }

    #[test]
    fn a_core_that_does_misaligned_accesses_has_no_such_cliff() {
        let mut core = board();
        core.routines.iter_mut().for_each(|one| {
            one.speed = CopySpeed::from_bytes_per_second(10e9);
        });
        assert_eq!(cliffs(&core), []);
    }

    #[test]
    fn the_copy_is_what_a_call_takes_more_than_one_without_it() {
        let mut core = board();
        core.kernel = vec![
            kernel(KernelPath::Receive, 5.0),
            kernel(KernelPath::ReceiveTruncated, 20.0),
            kernel(KernelPath::PageCacheRead, 8.0),
        ];
        let copies = from_kernel(&core).expect("measured").bytes_per_second();
        assert!((copies - 20e9 / 3.0).abs() < 1.0, "{copies}");
        core.kernel[1] = kernel(KernelPath::ReceiveTruncated, 5.1);
        assert_eq!(from_kernel(&core), core.path(KernelPath::PageCacheRead));
        assert_eq!(to_kernel(&core), None);
    }

    #[test]
    fn a_run_is_compared_with_what_copies_allow() {
        let mut core = board();
        core.kernel = vec![kernel(KernelPath::PageCacheWrite, 0.237_5)];
        core.choice = Some(RoutineChoice {
            routine: "libc".to_owned(),
            of_libc_ratio: 1.0,
            by: ChosenBy::Probe,
        });
        let mut record = crate::test_record::tcp();
        record.outcome.directions.retain(|one| one.direction == Direction::Send);
        let explained = super::explained(&core, std::slice::from_ref(&record));
        let [share] = explained.as_slice() else { panic!("{explained:?}") };
        assert_eq!(share.at_most, BitRate::from_bits_per_second(1_900_000_000));
        let measured = share.measured.bits_per_second() as f64;
        assert!((share.of_cpu_ratio - measured / 1.9e9).abs() < 1e-9);
        assert!(share.with_routine.is_some_and(|rate| rate > share.measured));
        core.pipeline = Some(Pipeline::OutOfOrder);
        let out_of_order = super::explained(&core, &[record]);
        assert!(out_of_order.iter().all(|share| share.with_routine.is_none()), "{out_of_order:?}");
    }
}
