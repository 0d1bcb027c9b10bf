//! Readiness of a handful of descriptors (poll(2)), level-triggered.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// The events that poll(2) reported for a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readiness(i16);

impl Readiness {
    /// The readiness of a descriptor that is readable (`POLLIN`) and nothing else.
    pub const READABLE: Self = Self(libc::POLLIN);

    /// Whether reading will not block: there is data, an end of stream or an error.
    pub const fn is_readable(self) -> bool {
        self.0 & (libc::POLLIN | libc::POLLHUP | libc::POLLERR) != 0
    }

    /// Whether writing will not block: there is room or an error.
    pub const fn is_writable(self) -> bool {
        self.0 & (libc::POLLOUT | libc::POLLHUP | libc::POLLERR) != 0
    }
}

/// A descriptor and the events to poll it for (`struct pollfd`, poll(2)).
#[repr(transparent)]
pub struct PollFd<'fd> {
    inner: libc::pollfd,
    lifetime: std::marker::PhantomData<BorrowedFd<'fd>>,
}

impl<'fd> PollFd<'fd> {
    /// Polls `fd` for readability (`POLLIN`).
    pub fn readable(fd: BorrowedFd<'fd>) -> Self {
        Self::new(fd, libc::POLLIN)
    }

    /// Polls `fd` for writability (`POLLOUT`).
    pub fn writable(fd: BorrowedFd<'fd>) -> Self {
        Self::new(fd, libc::POLLOUT)
    }

    /// Polls `fd` for readability (`POLLIN`), and for writability (`POLLOUT`) if `wants_room`.
    pub fn both(fd: BorrowedFd<'fd>, wants_room: bool) -> Self {
        Self::new(fd, libc::POLLIN | if wants_room { libc::POLLOUT } else { 0 })
    }

    /// The events that the last [`wait`] reported for the descriptor.
    pub const fn ready(&self) -> Readiness {
        Readiness(self.inner.revents)
    }

    fn new(fd: BorrowedFd<'fd>, events: i16) -> Self {
        let inner = libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 };
        Self { inner, lifetime: std::marker::PhantomData }
    }
}

/// Waits until one of `watches` is ready or `timeout` has passed (`None`: without limit;
/// rounded up to milliseconds). A signal ends the wait early.
///
/// # Errors
/// `EINVAL` for more descriptors than the process may open, `ENOMEM`; never `EINTR`
/// (poll(2)).
pub fn wait(watches: &mut [PollFd<'_>], timeout: Option<Duration>) -> io::Result<()> {
    let count = libc::nfds_t::try_from(watches.len()).unwrap_or(libc::nfds_t::MAX);
    // SAFETY: `PollFd` is transparent over pollfd; pointer and count describe the
    // slice, whose descriptors are borrowed and so open.
    let ready =
        unsafe { libc::poll(watches.as_mut_ptr().cast(), count, crate::epoll::millis(timeout)) };
    if ready >= 0 {
        return Ok(());
    }
    for watch in watches {
        watch.inner.revents = 0;
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) }
}
