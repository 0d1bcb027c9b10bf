//! Speeds of routines, and the choice of one.

use std::io;
use std::time::Duration;

use copy::{Case, Choice, Copier, Facts, Misaligned, PROBE_BYTES, Routine};
use linux::memory::Region;
use measurement::copies::RoutineSpeed;

use super::stopwatch::{best, timed};
use super::{Extent, FRAME};

/// The speeds of `copiers`: of every length with both sides at a boundary, and of the payload of a
/// frame with the source at each byte of a word.
pub(super) fn speeds(
    copiers: &[Copier],
    facts: Facts,
    extent: &Extent,
) -> io::Result<Vec<RoutineSpeed>> {
    let longest = extent.lengths.iter().copied().max().unwrap_or_default().max(FRAME) + ROOM;
    let (mut to, mut from) = (Region::new(longest)?, Region::new(longest)?);
    // Else all of the source would be one page of zeros.
    from.iter_mut().zip(0_u32..).for_each(|(byte, number)| *byte = number.to_le_bytes()[0]);
    to.fill(1);
    let mut speeds = Vec::new();
    for copier in copiers {
        for case in cases(copier.routine(), facts, extent) {
            speeds.push(speed(*copier, case, extent.each, (&mut to, &from))?);
        }
    }
    Ok(speeds)
}

fn cases(routine: Routine, facts: Facts, extent: &Extent) -> impl Iterator<Item = Case> {
    let aligned =
        |length: &usize| Case { length: *length, source_offset: 0, destination_offset: 0 };
    let offsets = match (routine, facts.misaligned) {
        (Routine::Unaligned, Misaligned::Faults) => 1..1,
        // One is enough: each access may take a microsecond.
        (Routine::Unaligned, Misaligned::Unknown | Misaligned::Traps) => 1..2,
        _ => 1..size_of::<usize>(),
    };
    let off =
        offsets.map(|source_offset| Case { length: FRAME, source_offset, destination_offset: 0 });
    extent.lengths.iter().map(aligned).chain(off).collect::<Vec<_>>().into_iter()
}

fn speed(
    copier: Copier,
    case: Case,
    each: Duration,
    (to, from): (&mut [u8], &[u8]),
) -> io::Result<RoutineSpeed> {
    let batch = |count: u32, to: &mut [u8]| timed(|| case.copy(copier, count, to, from)).1;
    let mut count = 1;
    while count < MOST_COPIES && batch(count, to) < each / BATCHES {
        count *= 2;
    }
    let bytes = case.length * count as usize;
    Ok(RoutineSpeed {
        routine: copier.routine().name().to_owned(),
        length: case.length as u64,
        source_offset: case.source_offset as u64,
        destination_offset: case.destination_offset as u64,
        speed: best(each, || Ok((bytes, batch(count, to))))?,
    })
}

/// Chooses the routine for the core that the calling thread runs on, within `budget`
/// ([`copy::choose()`]).
pub fn choose(facts: Facts, budget: Duration) -> Choice {
    let (mut to, from) = (vec![0; PROBE_BYTES], vec![1; PROBE_BYTES]);
    copy::choose(facts, budget, &mut linux::clock::monotonic, (&mut to, &from))
}

/// Offsets, and the boundary that they are counted from.
const ROOM: usize = 64;
/// Batches of copies in the time of a measurement, at least.
const BATCHES: u32 = 16;
const MOST_COPIES: u32 = 1 << 20;
