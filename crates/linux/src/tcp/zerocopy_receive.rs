//! Receiving without a copy: pages of received data are mapped into memory
//! (`TCP_ZEROCOPY_RECEIVE`, tcp(7) and `linux/tcp.h`).

use std::io;
use std::mem::size_of;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

/// An address range into which the kernel maps the pages that a TCP socket received
/// (`TCP_ZEROCOPY_RECEIVE`, `linux/tcp.h`).
#[derive(Debug)]
pub struct ReceiveMapping {
    start: NonNull<libc::c_void>,
    length: usize,
}

// SAFETY: the window owns its mapping alone, and is only read.
unsafe impl Send for ReceiveMapping {}

/// The result of one zero-copy receive: bytes that are mapped, and bytes that must be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MappedBytes {
    /// Number of received bytes that are mapped.
    pub bytes: usize,
    /// Bytes that come next and cannot be mapped: they have to be read with recv(2).
    pub to_read: usize,
}

impl ReceiveMapping {
    /// An address range of about `length` bytes for the received pages of `stream` (mmap(2) of the
    /// socket).
    ///
    /// # Errors
    /// `ENODEV` if the socket does not support it, `ENOMEM` (mmap(2)).
    pub fn new(stream: &TcpStream, length: usize) -> io::Result<Self> {
        let length = length.max(1).next_multiple_of(PAGES);
        let (protection, none) = (libc::PROT_READ, std::ptr::null_mut());
        // SAFETY: a new mapping touches no other memory.
        let start = unsafe {
            libc::mmap(none, length, protection, libc::MAP_SHARED, stream.as_raw_fd(), 0)
        };
        let start = NonNull::new(start).filter(|_| start != libc::MAP_FAILED);
        Ok(Self { start: start.ok_or_else(io::Error::last_os_error)?, length })
    }

    /// Maps what `stream`, the socket of [`Self::new`], has received, and unmaps what was mapped
    /// before. The result is empty both at the end of the stream and before data arrive: recv(2)
    /// tells them apart.
    ///
    /// # Errors
    /// `EINVAL` or `ENOPROTOOPT` if the kernel does not support it, or the error of the
    /// stream.
    pub fn receive(&mut self, stream: &TcpStream) -> io::Result<MappedBytes> {
        let mut request = Request {
            address: self.start.as_ptr() as u64,
            length: u32::try_from(self.length).unwrap_or(u32::MAX),
            ..Request::default()
        };
        let mut size = crate::length_of::<Request>();
        // SAFETY: pointer and length describe the request, all numbers; the kernel maps
        // pages only into the window, to which there is no reference.
        let done = unsafe {
            libc::getsockopt(
                stream.as_raw_fd(),
                libc::IPPROTO_TCP,
                ZEROCOPY_RECEIVE,
                (&raw mut request).cast(),
                &raw mut size,
            )
        };
        if done < 0 {
            let error = io::Error::last_os_error();
            // So it tells of the stream's end.
            let is_over = error.raw_os_error() == Some(libc::EIO);
            return if is_over { Ok(MappedBytes::default()) } else { Err(error) };
        }
        if request.error != 0 {
            return Err(io::Error::from_raw_os_error(-request.error));
        }
        let size = |bytes: u32| usize::try_from(bytes).unwrap_or(0);
        Ok(MappedBytes { bytes: size(request.length), to_read: size(request.skip_hint) })
    }
}

impl Drop for ReceiveMapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and there is no reference to it.
        unsafe { libc::munmap(self.start.as_ptr(), self.length) };
    }
}

/// `struct tcp_zerocopy_receive` of `linux/tcp.h` as of Linux 5.10. Older kernels end it
/// after the third or the fifth field; the kernel checks the length.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Request {
    address: u64,
    length: u32,
    skip_hint: u32,
    queued: u32,
    error: i32,
}

const _: () = assert!(size_of::<Request>() == 24);

/// `TCP_ZEROCOPY_RECEIVE` of `linux/tcp.h`.
const ZEROCOPY_RECEIVE: libc::c_int = 35;
/// Alignment: the largest page size in common use.
const PAGES: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{Ipv4Addr, Shutdown, TcpListener};

    use super::*;

    #[test]
    fn what_comes_is_mapped_or_to_be_read() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("listens");
        let mut near = TcpStream::connect(listener.local_addr().expect("bound")).expect("connects");
        let (far, _) = listener.accept().expect("accepts");
        let mut window = ReceiveMapping::new(&far, 1 << 16).expect("mapped");
        assert_eq!(window.receive(&far).expect("asked"), MappedBytes::default());
        near.write_all(b"0123456789").expect("written");
        assert_eq!(window.receive(&far).expect("asked"), MappedBytes { bytes: 0, to_read: 10 });
        std::io::Read::read_exact(&mut &far, &mut [0; 10]).expect("read");
        // Pages of network cards are mapped; those of another process's memory, as they come
        // over loopback, are not.
        near.write_all(&vec![7; 1 << 15]).expect("written");
        let mapped = window.receive(&far).expect("asked");
        assert!((1..=1 << 15).contains(&(mapped.bytes + mapped.to_read)), "{mapped:?}");
        let rest = (1 << 15) - mapped.bytes;
        std::io::Read::read_exact(&mut &far, &mut vec![0; rest]).expect("read");
        near.shutdown(Shutdown::Write).expect("shut");
        assert_eq!(far.peek(&mut [0]).expect("its end"), 0);
        assert_eq!(window.receive(&far).expect("asked"), MappedBytes::default());
    }
}
