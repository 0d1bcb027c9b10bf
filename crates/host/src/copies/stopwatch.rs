//! Speeds of work that is repeated for a time.

use std::io;
use std::time::Duration;

use measurement::copies::CopySpeed;

/// Bytes, and the time that they took.
pub(super) type Work = (usize, Duration);

/// The best speed of several groups, which together take about `each`: what interrupts some, slows
/// down those alone.
pub(super) fn best(
    each: Duration,
    mut work: impl FnMut() -> io::Result<Work>,
) -> io::Result<CopySpeed> {
    let mut best = 0.0_f64;
    for _ in 0..GROUPS {
        let (mut bytes, mut time) = (0, Duration::ZERO);
        while time < each / GROUPS {
            let (more, took) = work()?;
            bytes += more;
            time += took.max(TICK);
        }
        best = best.max(bytes as f64 / time.as_secs_f64());
    }
    Ok(CopySpeed::from_bytes_per_second(best))
}

/// Times a call.
pub(super) fn timed<T>(call: impl FnOnce() -> T) -> (T, Duration) {
    let start = linux::clock::monotonic();
    let result = call();
    (result, linux::clock::monotonic().saturating_sub(start))
}

const GROUPS: u32 = 4;
/// A clock may stand still meanwhile.
const TICK: Duration = Duration::from_nanos(1);
