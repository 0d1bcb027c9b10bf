//! Readiness of many descriptors (epoll(7)), edge-triggered.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// What a descriptor is watched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Data, a connection or an end of stream.
    Readable,
    /// Room in the send buffer.
    Writable,
}

/// A set of watched descriptors. Each reports its token when it *becomes* ready,
/// so its owner must use it until it would block.
#[derive(Debug)]
pub struct Epoll(OwnedFd);

impl Epoll {
    /// An empty set.
    ///
    /// # Errors
    /// What epoll_create1(2) reports, e.g. too many open files.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the call takes no pointer; a non-negative result is a descriptor
        // that nobody else owns.
        unsafe {
            let fd = libc::epoll_create1(libc::EPOLL_CLOEXEC);
            if fd < 0 {
                Err(io::Error::last_os_error())
            } else {
                Ok(Self(OwnedFd::from_raw_fd(fd)))
            }
        }
    }

    /// Watches `fd`, which leaves the set when it is closed.
    ///
    /// # Errors
    /// What epoll_ctl(2) reports.
    pub fn watch(&self, fd: impl AsFd, interest: Interest, token: u64) -> io::Result<()> {
        let wanted = match interest {
            Interest::Readable => libc::EPOLLIN | libc::EPOLLRDHUP,
            Interest::Writable => libc::EPOLLOUT,
        };
        let events = (wanted | libc::EPOLLET).cast_unsigned();
        let mut event = libc::epoll_event { events, u64: token };
        let fd = fd.as_fd().as_raw_fd();
        // SAFETY: both descriptors are open for the call and the event is valid.
        let done =
            unsafe { libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &raw mut event) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Watches `fd` no more.
    ///
    /// # Errors
    /// What epoll_ctl(2) reports, e.g. `ENOENT` if it was not watched.
    pub fn forget(&self, fd: impl AsFd) -> io::Result<()> {
        let fd = fd.as_fd().as_raw_fd();
        // SAFETY: both descriptors are open for the call; this operation reads no event.
        let done = unsafe {
            libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_DEL, fd, std::ptr::null_mut())
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Waits until something is ready or `timeout` passed (none: for ever), and
    /// hands each token to `ready`. A signal ends the wait early.
    ///
    /// # Errors
    /// What epoll_wait(2) reports, but not `EINTR`.
    pub fn wait(
        &self,
        events: &mut Events,
        timeout: Option<Duration>,
        mut ready: impl FnMut(u64),
    ) -> io::Result<()> {
        let list = &mut events.0;
        let capacity = i32::try_from(list.len()).unwrap_or(i32::MAX);
        // SAFETY: pointer and capacity describe the list.
        let count = unsafe {
            libc::epoll_wait(self.0.as_raw_fd(), list.as_mut_ptr(), capacity, millis(timeout))
        };
        let Ok(count) = usize::try_from(count) else {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        };
        for event in &list[..count] {
            ready(event.u64);
        }
        Ok(())
    }
}

/// Room for the events of one wait, allocated once.
#[derive(Debug)]
pub struct Events(Vec<libc::epoll_event>);

impl Events {
    /// Room for `capacity` events, at least one.
    pub fn with_capacity(capacity: usize) -> Self {
        Self(vec![libc::epoll_event { events: 0, u64: 0 }; capacity.max(1)])
    }
}

/// Milliseconds for poll(2) and epoll_wait(2), rounded up; -1: for ever.
pub(crate) fn millis(timeout: Option<Duration>) -> i32 {
    timeout.map_or(-1, |timeout| {
        i32::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Wake;

    #[test]
    fn a_descriptor_reports_its_token_once() {
        let (epoll, wake) = (Epoll::new().expect("epoll"), Wake::new().expect("eventfd"));
        let mut events = Events::with_capacity(4);
        epoll.watch(&wake, Interest::Readable, 7).expect("watched");
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
        epoll.forget(&wake).expect("was watched");
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
