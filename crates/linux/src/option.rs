//! Socket options and addresses that no safe crate covers (getsockopt(2), setsockopt(2), bind(2)).

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

/// Reads a socket option, and how many bytes of it the kernel wrote. What it leaves out is zero.
///
/// # Errors
/// The errors of getsockopt(2) for this option.
///
/// # Safety
/// `T` is made of numbers, of which every pattern of bits is one.
pub(crate) unsafe fn get<T: Copy>(
    socket: &impl AsFd,
    level: i32,
    name: i32,
) -> io::Result<(T, usize)> {
    let mut value = MaybeUninit::<T>::zeroed();
    let mut length = crate::length_of::<T>();
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: pointer and length describe the value, which is valid however much of it the kernel
    // writes, as the caller promises.
    unsafe {
        let to = value.as_mut_ptr().cast();
        let done = libc::getsockopt(fd, level, name, to, &raw mut length);
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((value.assume_init(), length as usize))
    }
}

/// Reads a socket option that is a number.
///
/// # Errors
/// The errors of getsockopt(2) for this option.
pub(crate) fn number(socket: &impl AsFd, level: i32, name: i32) -> io::Result<libc::c_int> {
    // SAFETY: it is a number.
    unsafe { get(socket, level, name) }.map(|(number, _)| number)
}

/// The effective user of the process that connected a Unix socket, when it did (`SO_PEERCRED`,
/// unix(7)).
///
/// # Errors
/// The errors of getsockopt(2) for this option.
pub(crate) fn peer_user(socket: &impl AsFd) -> io::Result<libc::uid_t> {
    // SAFETY: the credentials are numbers.
    let read = unsafe { get::<libc::ucred>(socket, libc::SOL_SOCKET, libc::SO_PEERCRED) };
    read.map(|(credentials, _)| credentials.uid)
}

/// Binds a socket to an address (bind(2)), which is made of numbers, without padding between them.
///
/// # Errors
/// The errors of bind(2) for this family.
pub(crate) fn bind<A: Copy>(socket: &impl AsFd, address: &A) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: pointer and length describe the address, which the kernel only reads.
    let done =
        unsafe { libc::bind(fd, std::ptr::from_ref(address).cast(), crate::length_of::<A>()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
