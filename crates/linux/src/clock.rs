//! Readings of the clocks of this host (clock_gettime(2)): monotonic, CPU and wall-clock time. No
//! other crate reads a clock.

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use time::UtcDateTime;
use time::format_description::well_known::Rfc3339;

/// Time since the epoch of `CLOCK_MONOTONIC` (clock_gettime(2)).
pub fn monotonic() -> Duration {
    ask(libc::CLOCK_MONOTONIC)
}

/// CPU time that the calling thread has used since it began, in user space and in the
/// kernel (`CLOCK_THREAD_CPUTIME_ID`, clock_gettime(2)).
pub fn thread_cpu() -> Duration {
    ask(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// How long the calling thread has been runnable but waited for a CPU since it began: the
/// second number of `/proc/thread-self/schedstat`
/// (Documentation/scheduler/sched-stats.rst). `None` if the kernel has no scheduler
/// statistics (`CONFIG_SCHED_INFO`).
pub fn thread_run_delay() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// Reads a clock that exists on every Linux, so that the call cannot fail.
fn ask(clock: libc::clockid_t) -> Duration {
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the pointer is valid for a write of one timespec; an all-zero one is valid
    // should the call not fill it.
    let time = unsafe {
        libc::clock_gettime(clock, time.as_mut_ptr());
        time.assume_init()
    };
    span(&time)
}

/// Converts a kernel time to a [`Duration`]; its fields are 32 bits wide on some hosts.
pub(crate) fn span(time: &libc::timespec) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The current time in UTC in the form of RFC 3339, to the second.
pub fn utc_rfc3339() -> String {
    let seconds = i64::try_from(realtime_millis() / 1000).unwrap_or(i64::MAX);
    // It ends with the year 9999, as RFC 3339 does.
    let now = UtcDateTime::from_unix_timestamp(seconds);
    now.ok().and_then(|now| now.format(&Rfc3339).ok()).unwrap_or_else(|| LATEST.to_owned())
}

/// Milliseconds since the Unix epoch (`CLOCK_REALTIME`, clock_gettime(2)).
pub fn realtime_millis() -> u64 {
    u64::try_from(realtime().as_millis()).unwrap_or(u64::MAX)
}

/// Time of day less the time of [`monotonic`]: what to add to the latter for the former.
pub fn epoch() -> Duration {
    // Both clocks cannot be read at once: of some readings the one that was interrupted least.
    let mut best = (Duration::MAX, Duration::ZERO);
    for _ in 0..READINGS {
        let (before, now, after) = (monotonic(), realtime(), monotonic());
        let took = after.saturating_sub(before);
        best = best.min((took, now.saturating_sub(before + took / 2)));
    }
    best.1
}

/// Readings of two clocks, of which a busy CPU interrupts few.
const READINGS: u32 = 5;

/// Time since the Unix epoch (`CLOCK_REALTIME`, clock_gettime(2)); zero before it.
pub fn realtime() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The current local time, formatted by strftime(3) with `format`. The result is empty if
/// `format` contains a zero byte or if the text would be longer than 255 bytes.
pub fn local_time(format: &str) -> String {
    let Ok(format) = CString::new(format) else { return String::new() };
    let seconds = (realtime_millis() / 1000).try_into().unwrap_or(0);
    let mut broken = MaybeUninit::<libc::tm>::zeroed();
    let mut text = [0_u8; 256];
    // SAFETY: all pointers are valid for the calls, an all-zero tm is a valid one should
    // the first call fail, and the second writes no more than the length of `text`.
    let length = unsafe {
        libc::localtime_r(&raw const seconds, broken.as_mut_ptr());
        libc::strftime(text.as_mut_ptr().cast(), text.len(), format.as_ptr(), broken.as_ptr())
    };
    String::from_utf8_lossy(&text[..length]).into_owned()
}

/// The last second that RFC 3339 can write.
const LATEST: &str = "9999-12-31T23:59:59Z";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_does_not_go_back() {
        let first = monotonic();
        assert!(monotonic() >= first);
    }

    #[test]
    fn a_thread_that_works_takes_cpu_time() {
        let before = thread_cpu();
        while thread_cpu() < before + Duration::from_millis(2) {
            std::hint::spin_loop();
        }
        let other = std::thread::spawn(thread_cpu).join().expect("no panic");
        assert!(other < thread_cpu(), "each thread has its own");
    }

    #[test]
    fn the_local_time_follows_its_format() {
        assert_eq!(local_time("%Y").len(), 4);
        assert_eq!(local_time("at %% "), "at % ");
        assert_eq!(local_time(&"x".repeat(300)), "");
    }

    #[test]
    fn the_date_looks_like_one() {
        let text = utc_rfc3339();
        assert_eq!(text.len(), "2026-01-01T00:00:00Z".len());
        assert!(text.starts_with("20") && text.ends_with('Z'), "{text}");
    }
}
