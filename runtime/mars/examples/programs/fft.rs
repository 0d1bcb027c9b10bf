//! Fourier transforms of 4,096 points: tasks share the butterflies of each stage, and meet at a barrier
//! before the next. Some results are compared with those of the definition.

use std::f64::consts::PI;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use linerate_mars::{Barrier, Context, Task, TaskError, Time};

use super::{Extent, Seen, several, verdict};

/// Real and imaginary part.
type Complex = (f32, f32);

/// What the tasks share: the points in parts, of which each task has two in a stage.
struct Transform {
    batches: usize,
    parts: Vec<Mutex<Vec<Complex>>>,
    twiddles: Vec<Complex>,
    barrier: Barrier,
    /// A few results of each batch.
    samples: Mutex<Vec<(usize, usize, Complex)>>,
}

pub(crate) fn run(context: &Context, extent: Extent) -> Seen {
    let batches = extent.of(4, 1_024);
    let parts = (0..PARTS).map(|_| Mutex::new(vec![(0.0, 0.0); PART]));
    let angle = |place: usize| -2.0 * PI * place as f64 / POINTS as f64;
    let twiddles = (0..POINTS / 2).map(|place| single((angle(place).cos(), angle(place).sin())));
    let transform = Arc::new(Transform {
        batches,
        parts: parts.collect(),
        twiddles: twiddles.collect(),
        barrier: Barrier::new(context, u32::try_from(TASKS).unwrap_or(u32::MAX)),
        samples: Mutex::default(),
    });
    let seen = Arc::clone(&transform);
    let begin = Time::now();
    let programs = several(TASKS, move |task, own| i32::from(work(task, &transform, own).is_err()));
    super::run(context, programs)?;
    let micros = Time::now().since(begin).as_micros() / batches as u128;
    let samples = lock(&seen.samples);
    let errors = samples.iter().map(|(batch, place, value)| error_of(*batch, *place, *value));
    let (worst, count) = (errors.fold(0.0, f64::max), samples.len());
    let is_right = worst < 1e-4 && count > 0;
    verdict(
        is_right,
        format!(
            "{batches} transforms, {micros} us each; largest error of {count} points {worst:.1e}"
        ),
    )
}

/// The part of each transform that task `own` has.
fn work(task: &mut Task<'_>, transform: &Transform, own: usize) -> Result<(), TaskError> {
    for batch in 0..transform.batches {
        for part in [2 * own, 2 * own + 1] {
            for (place, point) in (part * PART..).zip(lock(&transform.parts[part]).iter_mut()) {
                *point = single(signal(batch, reversed(place)));
            }
        }
        for stage in 0..BITS {
            meet(task, &transform.barrier)?;
            butterflies(transform, own, stage);
        }
        meet(task, &transform.barrier)?;
        // The next batch is written when all have seen this one.
        if own == 0 && batch % 64 == 0 {
            let places = [1, 1_000, 4_095];
            let sample =
                |place: usize| (batch, place, lock(&transform.parts[place / PART])[place % PART]);
            lock(&transform.samples).extend(places.map(sample));
        }
        meet(task, &transform.barrier)?;
    }
    Ok(())
}

fn meet(task: &mut Task<'_>, barrier: &Barrier) -> Result<(), TaskError> {
    task.block(|mpu| barrier.notify(mpu))?;
    task.block(|mpu| barrier.wait(mpu))
}

/// Those of a stage in which both points lie in the two parts of a task.
fn butterflies(transform: &Transform, own: usize, stage: usize) {
    let half = 1 << stage;
    let factor = |place: usize| transform.twiddles[(place % half) << (BITS - 1 - stage)];
    if half < PART {
        for part in [2 * own, 2 * own + 1] {
            let mut points = lock(&transform.parts[part]);
            for group in points.chunks_mut(2 * half) {
                let (even, odd) = group.split_at_mut(half);
                pairs(even, odd, 0, factor);
            }
        }
        return;
    }
    // Parts at a distance: the lower of a pair has this bit clear.
    let distance = half / PART;
    let low = own / distance * 2 * distance + own % distance;
    let mut even = lock(&transform.parts[low]);
    let mut odd = lock(&transform.parts[low + distance]);
    pairs(&mut even, &mut odd, low * PART, factor);
}

fn pairs(
    even: &mut [Complex],
    odd: &mut [Complex],
    first: usize,
    factor: impl Fn(usize) -> Complex,
) {
    for (place, (even, odd)) in (first..).zip(even.iter_mut().zip(odd)) {
        let (re, im) = factor(place);
        let turned = (odd.0 * re - odd.1 * im, odd.0 * im + odd.1 * re);
        *odd = (even.0 - turned.0, even.1 - turned.1);
        *even = (even.0 + turned.0, even.1 + turned.1);
    }
}

/// The error of a point, in parts of the root of the signal's energy.
fn error_of(batch: usize, place: usize, (re, im): Complex) -> f64 {
    let (mut sum, mut energy) = ((0.0, 0.0), 0.0);
    for n in 0..POINTS {
        let (x, y) = signal(batch, n);
        let (sin, cos) = (-2.0 * PI * (n * place % POINTS) as f64 / POINTS as f64).sin_cos();
        sum = (sum.0 + x * cos - y * sin, sum.1 + x * sin + y * cos);
        energy += x * x + y * y;
    }
    (f64::from(re) - sum.0).hypot(f64::from(im) - sum.1) / f64::sqrt(energy)
}

fn signal(batch: usize, place: usize) -> (f64, f64) {
    ((place * (batch + 3) % 97) as f64 - 48.0, ((place + batch) % 31) as f64 - 15.0)
}

#[expect(clippy::cast_possible_truncation, reason = "to the precision of the points")]
const fn single((re, im): (f64, f64)) -> Complex {
    (re as f32, im as f32)
}

const fn reversed(place: usize) -> usize {
    place.reverse_bits() >> (usize::BITS as usize - BITS)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const BITS: usize = 12;
const POINTS: usize = 1 << BITS;
const TASKS: usize = 8;
/// Two for each task, so that a butterfly between parts is of one task.
const PARTS: usize = 2 * TASKS;
const PART: usize = POINTS / PARTS;
