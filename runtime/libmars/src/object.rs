//! Common part of all objects: memory of their own, aligned as in MARS, a mark of their kind,
//! and the side from which each is used.

use std::ptr;

use crate::code::{Code, require, require_address};
use crate::current;

/// An object, which C knows by its address.
#[repr(C, align(128))]
pub(crate) struct Object<T> {
    /// [`Kind::MARK`] while it lives.
    mark: u64,
    pub(crate) inner: T,
}

/// A kind of objects.
pub(crate) trait Kind {
    /// Distinguishes them from other memory.
    const MARK: u64;

    /// Whether anybody waits for it.
    fn is_awaited(&self) -> bool;
}

/// Creates an object and stores its address.
///
/// # Safety
/// `to` is null or can be written.
pub(crate) unsafe fn create<T: Kind>(to: *mut u64, inner: T) -> Result<(), Code> {
    require(!to.is_null(), Code::Null)?;
    let object = Box::into_raw(Box::new(Object { mark: T::MARK, inner }));
    // SAFETY: as promised.
    unsafe { to.write(object.expose_provenance() as u64) };
    Ok(())
}

/// Destroys an object for which nobody waits.
///
/// # Safety
/// As of [`at`]; and nobody uses it any more.
pub(crate) unsafe fn destroy<T: Kind>(ea: u64) -> Result<(), Code> {
    // SAFETY: as promised.
    let object: &Object<T> = unsafe { at(ea) }?;
    require(!object.inner.is_awaited(), Code::State)?;
    let object = ptr::from_ref(object).cast_mut();
    // SAFETY: it came from a box, and nobody else uses it. The mark goes first, so that a second
    // destruction fails as long as the memory is not used again.
    unsafe {
        (&raw mut (*object).mark).write_volatile(0);
        drop(Box::from_raw(object));
    }
    Ok(())
}

/// The object at an address.
///
/// # Safety
/// If the address is neither zero nor misaligned, memory can be read there, and the object there,
/// if it is one, lives for `'a`.
pub(crate) unsafe fn at<'a, T: Kind>(ea: u64) -> Result<&'a Object<T>, Code> {
    require_address(ea, 128)?;
    let object: *const Object<T> = ptr::with_exposed_provenance(address(ea)?);
    // SAFETY: as promised.
    require(unsafe { (&raw const (*object).mark).read() } == T::MARK, Code::Params)?;
    // SAFETY: the mark says that it is such an object.
    Ok(unsafe { &*object })
}

/// An address as this machine has them.
pub(crate) fn address(ea: u64) -> Result<usize, Code> {
    usize::try_from(ea).map_err(|_| Code::Params)
}

/// Which side uses an object, as `mars/task_queue_types.h` and `mars/task_event_flag_types.h` number
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    HostToMpu,
    MpuToHost,
    MpuToMpu,
}

impl Direction {
    pub(crate) const fn of(number: u8) -> Result<Self, Code> {
        match number {
            0x10 => Ok(Self::HostToMpu),
            0x11 => Ok(Self::MpuToHost),
            0x12 => Ok(Self::MpuToMpu),
            _ => Err(Code::Params),
        }
    }

    /// Whether the caller, a task or the host, may put something in.
    pub(crate) fn check_put(self) -> Result<(), Code> {
        require((self == Self::HostToMpu) != current::is_task(), Code::State)
    }

    /// Whether the caller, a task or the host, may take something out.
    pub(crate) fn check_take(self) -> Result<(), Code> {
        require((self == Self::MpuToHost) != current::is_task(), Code::State)
    }
}
