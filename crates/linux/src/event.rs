//! Descriptors that wake a sleeping thread: eventfd(2), timerfd_create(2) and signalfd(2).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use crate::poll::{PollFd, wait};

/// A descriptor that becomes readable when [`Self::notify`] is called (eventfd(2)).
#[derive(Debug)]
pub struct EventFd(OwnedFd);

impl EventFd {
    /// An eventfd(2) whose descriptor is not readable until [`Self::notify`] is called.
    ///
    /// # Errors
    /// `EMFILE` or `ENFILE` if too many files are open, `ENOMEM` (eventfd(2)).
    pub fn new() -> io::Result<Self> {
        // SAFETY: the call takes no pointer; the result is checked by `owned`.
        unsafe { owned(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK)) }.map(Self)
    }

    /// Makes the descriptor readable. The call never blocks and never fails: a full counter is
    /// readable too.
    pub fn notify(&self) {
        let one: u64 = 1;
        // SAFETY: the pointer is valid for the eight bytes that are written.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    /// Resets the event, so that its descriptor is not readable until the next [`Self::notify`].
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

/// A descriptor that becomes readable at a given time of `CLOCK_MONOTONIC`
/// (timerfd_create(2)).
#[derive(Debug)]
pub struct TimerFd(OwnedFd);

impl TimerFd {
    /// A timer of `CLOCK_MONOTONIC` that is not armed: its descriptor does not become readable
    /// before [`Self::set`].
    ///
    /// # Errors
    /// `EMFILE` or `ENFILE` if too many files are open, `ENOMEM` (timerfd_create(2)).
    pub fn new() -> io::Result<Self> {
        let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
        // SAFETY: the call takes no pointer; the result is checked by `owned`.
        unsafe { owned(libc::timerfd_create(libc::CLOCK_MONOTONIC, flags)) }.map(Self)
    }

    /// Arms the timer for the time `at` since the epoch of `CLOCK_MONOTONIC`. A time that has
    /// passed fires at once.
    ///
    /// # Errors
    /// The errors of timerfd_settime(2); none is expected.
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

/// Becomes readable when the program is asked to stop: by SIGINT, SIGTERM or SIGHUP
/// (signalfd(2)), or by another thread that calls [`Self::notify`].
#[derive(Debug)]
pub struct StopSignals {
    fd: Source,
    /// Number of the last signal that was read; 0: none.
    last: AtomicU32,
}

#[derive(Debug)]
enum Source {
    Signals(OwnedFd),
    Notice(EventFd),
}

impl StopSignals {
    /// A stop handle without signals: only [`Self::notify`] makes its descriptor readable.
    ///
    /// # Errors
    /// `EMFILE` or `ENFILE` if too many files are open (eventfd(2)).
    pub fn manual() -> io::Result<Self> {
        Ok(Self { fd: Source::Notice(EventFd::new()?), last: AtomicU32::new(0) })
    }

    /// Makes a handle of [`Self::manual`] readable. It has no effect on one that reads
    /// signals.
    pub fn notify(&self) {
        if let Source::Notice(wake) = &self.fd {
            wake.notify();
        }
    }

    /// Blocks SIGINT, SIGTERM and SIGHUP for the calling thread and opens a descriptor that
    /// reports them. It must be called before other threads start: only threads that are
    /// started later inherit the blocked signals.
    ///
    /// # Errors
    /// `EMFILE` or `ENFILE` if too many files are open (signalfd(2)).
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

    /// Whether a stop signal, or a call of [`Self::notify`], came since the last call of this
    /// function.
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

    /// Whether [`Self::arrived`] would return true; it still does after this.
    pub fn is_pending(&self) -> bool {
        let mut watches = [PollFd::readable(self.as_fd())];
        wait(&mut watches, Some(Duration::ZERO)).is_ok() && watches[0].ready().is_readable()
    }

    /// The number of the last signal that [`Self::arrived`] saw (signal(7)). `None`: it saw no
    /// signal.
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

/// Reads one record of `N` bytes; `None` if there is none.
fn read<const N: usize>(fd: &OwnedFd) -> Option<[u8; N]> {
    let mut bytes = [0_u8; N];
    // SAFETY: pointer and length describe the buffer; the descriptor does not block.
    let count = unsafe { libc::read(fd.as_raw_fd(), bytes.as_mut_ptr().cast(), N) };
    (count > 0).then_some(bytes)
}

/// # Safety
/// `fd` is the result of a call that creates a descriptor, and it has no other owner.
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
        tv_sec: span.as_secs().min(LONGEST).try_into().unwrap_or(0),
        tv_nsec: u64::from(span.subsec_nanos()).try_into().unwrap_or(0),
    }
}

/// 68 years, which every width of the field has room for.
const LONGEST: u64 = i32::MAX.unsigned_abs() as u64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poll::Readiness;

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
        assert!(interrupts.is_pending() && interrupts.is_pending());
        assert!(interrupts.arrived());
        assert!(!interrupts.arrived() && !interrupts.is_pending());
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
