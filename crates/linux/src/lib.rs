//! Safe wrappers of the Linux interfaces that linerate uses.
//!
//! Everything unsafe that talks to the kernel lives here, behind small types
//! whose misuse does not compile. Nothing here knows what a test is.

pub mod clock;
pub mod entropy;
pub mod epoll;
pub mod event;
pub mod host;
pub mod namespace;
pub mod netlink;
pub mod poll;
pub mod tcp;
pub mod udp;

/// Size of `T` as socket calls want it.
#[expect(clippy::cast_possible_truncation, reason = "no kernel structure is that large")]
const fn length_of<T>() -> libc::socklen_t {
    size_of::<T>() as libc::socklen_t
}
