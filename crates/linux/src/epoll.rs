//! Readiness of many descriptors, edge-triggered (epoll(7)).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// The readiness that an [`Epoll`] reports for a descriptor (`events` of epoll_ctl(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Data, a pending connection or an end of stream (`EPOLLIN`, `EPOLLRDHUP`).
    Readable,
    /// Room in the send buffer (`EPOLLOUT`).
    Writable,
    /// Readable or writable.
    Both,
}

/// An epoll instance (epoll(7)). It reports the token of a descriptor when the descriptor *becomes*
/// ready (`EPOLLET`). The owner must then read or write until `EAGAIN`.
#[derive(Debug)]
pub struct Epoll(OwnedFd);

impl Epoll {
    /// A new epoll instance that watches no descriptor yet.
    ///
    /// # Errors
    /// `EMFILE` or `ENFILE` if too many files are open, `ENOMEM` (epoll_create1(2)).
    pub fn new() -> io::Result<Self> {
        // SAFETY: the call takes no pointer; a non-negative result is a descriptor
        // that has no other owner.
        unsafe {
            let fd = libc::epoll_create1(libc::EPOLL_CLOEXEC);
            if fd < 0 {
                Err(io::Error::last_os_error())
            } else {
                Ok(Self(OwnedFd::from_raw_fd(fd)))
            }
        }
    }

    /// Watches `fd` (`EPOLL_CTL_ADD`). `token` is a number of the caller's choice that each event
    /// of `fd` carries. The kernel removes `fd` when it is closed.
    ///
    /// # Errors
    /// `EEXIST` if it is watched already, `ENOSPC` beyond `fs.epoll.max_user_watches`,
    /// `EPERM` for a file that cannot be polled (epoll_ctl(2)).
    pub fn add(&self, fd: impl AsFd, interest: Interest, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, interest, token)
    }

    /// Changes interest and token of a watched descriptor (`EPOLL_CTL_MOD`). If `fd` is ready now,
    /// it is reported once more.
    ///
    /// # Errors
    /// `ENOENT` if it is not watched (epoll_ctl(2)).
    pub fn modify(&self, fd: impl AsFd, interest: Interest, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, interest, token)
    }

    fn control(
        &self,
        operation: libc::c_int,
        fd: impl AsFd,
        interest: Interest,
        token: u64,
    ) -> io::Result<()> {
        let wanted = match interest {
            Interest::Readable => libc::EPOLLIN | libc::EPOLLRDHUP,
            Interest::Writable => libc::EPOLLOUT,
            Interest::Both => libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLOUT,
        };
        let events = (wanted | libc::EPOLLET).cast_unsigned();
        let mut event = libc::epoll_event { events, u64: token };
        let fd = fd.as_fd().as_raw_fd();
        // SAFETY: both descriptors are open for the call and the event is valid.
        let done = unsafe { libc::epoll_ctl(self.0.as_raw_fd(), operation, fd, &raw mut event) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Stops watching `fd` (`EPOLL_CTL_DEL`).
    ///
    /// # Errors
    /// `ENOENT` if it is not watched (epoll_ctl(2)).
    pub fn delete(&self, fd: impl AsFd) -> io::Result<()> {
        let fd = fd.as_fd().as_raw_fd();
        // SAFETY: both descriptors are open for the call; this operation reads no event.
        let done = unsafe {
            libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_DEL, fd, std::ptr::null_mut())
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Waits until a descriptor is ready or `timeout` has passed (`None`: without limit),
    /// to the nanosecond where the kernel can (epoll_pwait2(2), Linux 5.11), else to the
    /// next millisecond. A signal ends the wait early. `events` then holds what is ready.
    ///
    /// # Errors
    /// The errors of epoll_wait(2) and epoll_pwait2(2), but not `EINTR`; none is expected.
    pub fn poll(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        let is_whole = timeout.is_none_or(|timeout| timeout.subsec_nanos() % 1_000_000 == 0);
        let count = if is_whole || HAS_NO_PWAIT2.load(Relaxed) {
            self.wait_millis(events, millis(timeout))
        } else {
            let count = self.wait_nanos(events, timeout.unwrap_or_default());
            if count < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ENOSYS) {
                HAS_NO_PWAIT2.store(true, Relaxed);
                self.wait_millis(events, millis(timeout))
            } else {
                count
            }
        };
        events.count = usize::try_from(count).unwrap_or(0);
        let failed = count < 0;
        let error = if failed { io::Error::last_os_error() } else { return Ok(()) };
        if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) }
    }

    fn wait_millis(&self, events: &mut Events, millis: libc::c_int) -> libc::c_int {
        let list = &mut events.list;
        let capacity = i32::try_from(list.len()).unwrap_or(i32::MAX);
        // SAFETY: pointer and capacity describe the list.
        unsafe { libc::epoll_wait(self.0.as_raw_fd(), list.as_mut_ptr(), capacity, millis) }
    }

    fn wait_nanos(&self, events: &mut Events, timeout: Duration) -> libc::c_int {
        let list = &mut events.list;
        let capacity = i32::try_from(list.len()).unwrap_or(i32::MAX);
        let limit = Limit {
            seconds: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            nanos: timeout.subsec_nanos().into(),
        };
        let no_mask = std::ptr::null::<libc::sigset_t>();
        // SAFETY: pointer and capacity describe the list, the limit is valid for the call,
        // and no signal mask is given.
        let count = unsafe {
            let (fd, list) = (self.0.as_raw_fd(), list.as_mut_ptr());
            libc::syscall(libc::SYS_epoll_pwait2, fd, list, capacity, &raw const limit, no_mask, 0)
        };
        libc::c_int::try_from(count).unwrap_or(-1)
    }

    /// Waits until a descriptor is ready or `timeout` has passed (`None`: without limit; rounded up
    /// to milliseconds), and calls `ready` with the token of each ready descriptor. A signal ends
    /// the wait early.
    ///
    /// # Errors
    /// The errors of epoll_wait(2), but not `EINTR`; none is expected.
    pub fn wait(
        &self,
        events: &mut Events,
        timeout: Option<Duration>,
        mut ready: impl FnMut(u64),
    ) -> io::Result<()> {
        let count = self.wait_millis(events, millis(timeout));
        let Ok(count) = usize::try_from(count) else {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        };
        for event in &events.list[..count] {
            ready(event.u64);
        }
        Ok(())
    }
}

/// A timeout in the layout that epoll_pwait2(2) takes on every machine (linux/time_types.h,
/// `__kernel_timespec`).
#[repr(C)]
struct Limit {
    seconds: i64,
    nanos: i64,
}

/// Set once the kernel has answered `ENOSYS`: it is older than Linux 5.11.
static HAS_NO_PWAIT2: AtomicBool = AtomicBool::new(false);

impl AsFd for Epoll {
    /// Readable while a watched descriptor has become ready and has not been reported.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A buffer that [`Epoll::poll`] fills with the descriptors that are ready. It is allocated once.
#[derive(Debug)]
pub struct Events {
    list: Vec<libc::epoll_event>,
    /// Number of entries that the last wait filled.
    count: usize,
}

impl Events {
    /// A buffer for up to `capacity` events of one [`Epoll::poll`], at least one.
    pub fn with_capacity(capacity: usize) -> Self {
        let list = vec![libc::epoll_event { events: 0, u64: 0 }; capacity.max(1)];
        Self { list, count: 0 }
    }

    /// The tokens, as given to [`Epoll::add`], of the descriptors that the last [`Epoll::poll`]
    /// found ready.
    pub fn tokens(&self) -> impl Iterator<Item = u64> + '_ {
        self.list[..self.count].iter().map(|event| event.u64)
    }
}

/// A timeout in milliseconds for poll(2) and epoll_wait(2), rounded up; -1: without limit.
pub(crate) fn millis(timeout: Option<Duration>) -> i32 {
    timeout.map_or(-1, |timeout| {
        i32::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventFd;

    #[test]
    fn a_descriptor_reports_its_token_once() {
        let (epoll, wake) = (Epoll::new().expect("epoll"), EventFd::new().expect("eventfd"));
        let mut events = Events::with_capacity(4);
        epoll.add(&wake, Interest::Readable, 7).expect("watched");
        let mut wait = || {
            let mut tokens = Vec::new();
            epoll
                .wait(&mut events, Some(Duration::ZERO), |token| tokens.push(token))
                .expect("waits");
            tokens
        };
        assert!(wait().is_empty());
        wake.notify();
        assert_eq!(wait(), [7]);
        assert!(wait().is_empty(), "edge-triggered");
        wake.clear();
        epoll.delete(&wake).expect("was watched");
        wake.notify();
        assert!(wait().is_empty(), "forgotten");
    }

    #[test]
    fn timeouts_are_rounded_up() {
        assert_eq!(millis(None), -1);
        assert_eq!(millis(Some(Duration::from_micros(1))), 1);
        assert_eq!(millis(Some(Duration::MAX)), i32::MAX);
    }
}
