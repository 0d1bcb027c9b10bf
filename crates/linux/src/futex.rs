//! Threads that sleep on a word of memory, and are woken by it (futex(2)).

use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps while `word` holds `expected`, until somebody calls [`wake`], a signal comes or
/// `timeout` (on the monotonic clock) has passed. It may also return for no reason, so
/// that the caller looks at the word again.
pub fn wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
    let limit = timeout.map(Timeout::new);
    let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: word and limit are valid for the call, which writes neither.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, expected, limit) };
}

/// Wakes up to `count` threads that sleep on `word`.
pub fn wake(word: &AtomicU32, count: u32) {
    let count = libc::c_int::try_from(count).unwrap_or(libc::c_int::MAX);
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the call only uses the address of the word.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, count) };
}

/// The time as `SYS_futex` takes it: two words of the machine's size, whatever the C
/// library makes of `time_t` (linux/time.h, `__kernel_old_timespec`).
#[repr(C)]
struct Timeout {
    seconds: libc::c_long,
    nanos: libc::c_long,
}

impl Timeout {
    fn new(span: Duration) -> Self {
        Self {
            seconds: libc::c_long::try_from(span.as_secs()).unwrap_or(libc::c_long::MAX),
            nanos: libc::c_long::try_from(u64::from(span.subsec_nanos())).unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::SeqCst;

    use super::*;

    #[test]
    fn a_word_that_has_changed_is_not_slept_on() {
        wait(&AtomicU32::new(1), 0, None);
    }

    #[test]
    fn a_timeout_ends_the_sleep() {
        let before = crate::clock::monotonic();
        wait(&AtomicU32::new(0), 0, Some(Duration::from_millis(5)));
        assert!(crate::clock::monotonic() >= before + Duration::from_millis(4));
    }

    #[test]
    fn a_sleeper_is_woken() {
        let word = AtomicU32::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while word.load(SeqCst) == 0 {
                    wait(&word, 0, None);
                }
            });
            word.store(1, SeqCst);
            wake(&word, u32::MAX);
        });
    }
}
