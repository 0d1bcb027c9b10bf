//! Descriptors that wake a sleeping thread: by another thread, at a time, by a
//! signal.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// Wakes whoever waits for it to become readable (eventfd(2)).
#[derive(Debug)]
pub struct EventFd(OwnedFd);

impl EventFd {
    /// One that nobody has notified.
    ///
    /// # Errors
    /// What eventfd(2) reports, e.g. too many open files.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the call takes no pointer; the result is checked by `owned`.
        unsafe { owned(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK)) }.map(Self)
    }

    /// Makes it readable. Never blocks, never fails: a full counter is readable too.
    pub fn notify(&self) {
        let one: u64 = 1;
        // SAFETY: the pointer is valid for the eight bytes that are written.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    /// Takes the notifications back.
    pub fn clear(&self) {
        // An eventfd gives all its notifications at once.
        _ = read::<8>(&self.0);
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Becomes readable at a given time of the monotonic clock (timerfd_create(2)).
#[derive(Debug)]
pub struct TimerFd(OwnedFd);

impl TimerFd {
    /// One that is not set.
    ///
    /// # Errors
    /// What timerfd_create(2) reports, e.g. too many open files.
    pub fn new() -> io::Result<Self> {
        let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
        // SAFETY: the call takes no pointer; the result is checked by `owned`.
        unsafe { owned(libc::timerfd_create(libc::CLOCK_MONOTONIC, flags)) }.map(Self)
    }

    /// Sets it to `at` after the clock's epoch; a time that has passed fires at once.
    ///
    /// # Errors
    /// What timerfd_settime(2) reports.
    pub fn set(&self, at: Duration) -> io::Result<()> {
        // Zero would switch the timer off.
        let at = at.max(Duration::from_nanos(1));
        let never = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let when = libc::itimerspec { it_interval: never, it_value: timespec(at) };
        // SAFETY: the new value is valid for the call; no old value is asked for.
        let done = unsafe {
            libc::timerfd_settime(
                self.0.as_raw_fd(),
                libc::TFD_TIMER_ABSTIME,
                &raw const when,
                std::ptr::null_mut(),
            )
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl AsFd for TimerFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Becomes readable when the user wants the program to stop: SIGINT, SIGTERM or
/// SIGHUP (signalfd(2)); or when another thread does.
#[derive(Debug)]
pub struct StopSignals {
    fd: Source,
    /// Number of the signal that came last; 0: none.
    last: AtomicU32,
}

#[derive(Debug)]
enum Source {
    Signals(OwnedFd),
    Notice(EventFd),
}

impl StopSignals {
    /// One that only [`Self::notify`] interrupts.
    ///
    /// # Errors
    /// What eventfd(2) reports.
    pub fn manual() -> io::Result<Self> {
        Ok(Self { fd: Source::Notice(EventFd::new()?), last: AtomicU32::new(0) })
    }

    /// StopSignals whoever uses this one, unless it comes by signals.
    pub fn notify(&self) {
        if let Source::Notice(wake) = &self.fd {
            wake.notify();
        }
    }

    /// Takes these signals from now on. To be called before other threads start,
    /// since it blocks the signals for the calling thread and its later children.
    ///
    /// # Errors
    /// What pthread_sigmask(3) or signalfd(2) report.
    pub fn open() -> io::Result<Self> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the set is made by sigemptyset before it is used; the result is
        // checked by `owned`.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            let error = libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
            if error != 0 {
                return Err(io::Error::from_raw_os_error(error));
            }
            owned(libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))
                .map(|fd| Self { fd: Source::Signals(fd), last: AtomicU32::new(0) })
        }
    }

    /// Whether such a signal, or notice, came since the last call.
    pub fn arrived(&self) -> bool {
        let mut came = false;
        let fd = match &self.fd {
            Source::Signals(fd) => fd,
            Source::Notice(wake) => return read::<8>(&wake.0).is_some(),
        };
        while let Some(info) = read::<{ size_of::<libc::signalfd_siginfo>() }>(fd) {
            // `ssi_signo`, the first field of signalfd(2)'s structure.
            let number = [info[0], info[1], info[2], info[3]];
            self.last.store(u32::from_ne_bytes(number), Relaxed);
            came = true;
        }
        came
    }

    /// The signal that [`Self::arrived`] saw last, by its number (signal(7)).
    pub fn last(&self) -> Option<u32> {
        Some(self.last.load(Relaxed)).filter(|number| *number != 0)
    }
}

impl AsFd for StopSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.fd {
            Source::Signals(fd) => fd.as_fd(),
            Source::Notice(wake) => wake.as_fd(),
        }
    }
}

/// Reads one record of `N` bytes; none: nothing is there.
fn read<const N: usize>(fd: &OwnedFd) -> Option<[u8; N]> {
    let mut bytes = [0_u8; N];
    // SAFETY: pointer and length describe the buffer; the descriptor does not block.
    let count = unsafe { libc::read(fd.as_raw_fd(), bytes.as_mut_ptr().cast(), N) };
    (count > 0).then_some(bytes)
}

/// # Safety
/// `fd` is a result of a call that makes a descriptor: nobody else owns it.
unsafe fn owned(fd: i32) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn timespec(span: Duration) -> libc::timespec {
    // The fields' widths differ between hosts, so that they are filled by inference.
    libc::timespec {
        tv_sec: span.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: u64::from(span.subsec_nanos()).try_into().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poll::{PollFd, Readiness, wait};

    fn readable(fd: &impl AsFd, timeout: Duration) -> bool {
        let mut watches = [PollFd::readable(fd.as_fd())];
        wait(&mut watches, Some(timeout)).expect("polls");
        watches[0].ready() == Readiness::READABLE
    }

    #[test]
    fn a_notified_wake_is_readable_until_cleared() {
        let wake = EventFd::new().expect("eventfd");
        assert!(!readable(&wake, Duration::ZERO));
        wake.notify();
        wake.notify();
        assert!(readable(&wake, Duration::ZERO));
        wake.clear();
        assert!(!readable(&wake, Duration::ZERO));
    }

    #[test]
    fn a_notice_interrupts_once() {
        let interrupts = StopSignals::manual().expect("eventfd");
        assert!(!interrupts.arrived());
        interrupts.notify();
        assert!(readable(&interrupts, Duration::ZERO));
        assert!(interrupts.arrived());
        assert!(!interrupts.arrived());
        assert_eq!(interrupts.last(), None);
    }

    #[test]
    fn an_alarm_fires_when_its_time_has_come() {
        let alarm = TimerFd::new().expect("timerfd");
        assert!(!readable(&alarm, Duration::from_millis(1)));
        alarm.set(crate::clock::monotonic() + Duration::from_millis(2)).expect("set");
        assert!(readable(&alarm, Duration::from_secs(5)));
        alarm.set(Duration::ZERO).expect("set");
        assert!(readable(&alarm, Duration::from_secs(5)), "a time in the past fires at once");
    }
}
