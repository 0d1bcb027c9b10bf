//! Socket options that no safe crate covers (getsockopt(2), setsockopt(2)).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};

/// Sets a socket option. `value` must be what the kernel takes for it: only numbers,
/// without padding between them.
///
/// # Errors
/// The errors of setsockopt(2) for this option.
pub(crate) fn set<T: Copy>(socket: &impl AsFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    // SAFETY: pointer and length describe the value, which the kernel only reads.
    let done = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            crate::length_of::<T>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads a socket option that is a number.
///
/// # Errors
/// The errors of getsockopt(2) for this option.
pub(crate) fn number(socket: &impl AsFd, level: i32, name: i32) -> io::Result<libc::c_int> {
    let mut value = MaybeUninit::<libc::c_int>::zeroed();
    let mut length = crate::length_of::<libc::c_int>();
    // SAFETY: pointer and length describe one number, which is valid however much of it
    // the kernel writes.
    unsafe {
        let done = libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            name,
            value.as_mut_ptr().cast(),
            &raw mut length,
        );
        if done == 0 { Ok(value.assume_init()) } else { Err(io::Error::last_os_error()) }
    }
}

/// The effective user of the process that connected a Unix socket, when it did (`SO_PEERCRED`,
/// unix(7)).
///
/// # Errors
/// The errors of getsockopt(2) for this option.
pub(crate) fn peer_user(socket: &impl AsFd) -> io::Result<libc::uid_t> {
    let mut credentials = MaybeUninit::<libc::ucred>::zeroed();
    let mut length = crate::length_of::<libc::ucred>();
    // SAFETY: pointer and length describe the credentials, which are numbers and so valid however
    // much of them the kernel writes.
    unsafe {
        let done = libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            credentials.as_mut_ptr().cast(),
            &raw mut length,
        );
        if done == 0 { Ok(credentials.assume_init().uid) } else { Err(io::Error::last_os_error()) }
    }
}
