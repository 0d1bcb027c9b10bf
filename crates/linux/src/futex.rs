//! Threads that sleep until a word of memory changes (futex(2)).

use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps while `word` holds `expected`, until another thread calls [`wake`], a signal comes or
/// `timeout` has passed (`CLOCK_MONOTONIC`; `None`: without limit). It may also return without a
/// reason, so that the caller must read the word again (`FUTEX_WAIT`, futex(2)).
pub fn wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
    let limit = timeout.map(Timeout::new);
    let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: word and limit are valid for the call, which writes neither.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, expected, limit) };
}

/// Wakes at most `count` threads that sleep on `word` (`FUTEX_WAKE`, futex(2)).
pub fn wake(word: &AtomicU32, count: u32) {
    let count = libc::c_int::try_from(count).unwrap_or(libc::c_int::MAX);
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the call only uses the address of the word.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, count) };
}

/// A timeout in the layout that `SYS_futex` takes: two words of the machine's size,
/// whatever `time_t` is in the C library (linux/time.h, `__kernel_old_timespec`).
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
