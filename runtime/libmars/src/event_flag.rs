//! `mars/task_event_flag.h`: event flags.

use runtime::{Clearing, EventFlag, Masking};

use crate::code::{Code, returned};
use crate::context::mars_context;
use crate::current;
use crate::object::{self, Direction, Kind, Object};

/// An event flag and the sides that use it.
pub(crate) struct Flag {
    flag: EventFlag,
    direction: Direction,
}

impl Kind for Flag {
    const MARK: u64 = u64::from_le_bytes(*b"evt flag");

    fn is_awaited(&self) -> bool {
        self.flag.is_awaited()
    }
}

/// Creates an event flag, all of whose bits are 0.
///
/// Returns NULL for no context or result; PARAMS for an unknown direction or mode.
///
/// # Safety
/// Each pointer is null or as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_event_flag_create(
    mars: *mut mars_context,
    event_flag_ea: *mut u64,
    direction: u8,
    clear_mode: u8,
) -> i32 {
    // SAFETY: as promised.
    let mars = unsafe { mars.as_ref() }.filter(|_| !event_flag_ea.is_null());
    let made = mars.ok_or(Code::Null).and_then(|mars| {
        let direction = Direction::of(direction)?;
        let clearing = match clear_mode {
            0x20 => Clearing::Automatic,
            0x21 => Clearing::Manual,
            _ => return Err(Code::Params),
        };
        Ok(Flag { flag: EventFlag::new(&mars.runtime, clearing), direction })
    });
    // SAFETY: as promised.
    returned(made.and_then(|flag| unsafe { object::create(event_flag_ea, flag) }))
}

/// Destroys an event flag.
///
/// Returns NULL, ALIGN; PARAMS for what is no event flag; STATE while somebody waits.
///
/// # Safety
/// `event_flag_ea` is zero, or of [`mars_task_event_flag_create`] and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_event_flag_destroy(event_flag_ea: u64) -> i32 {
    // SAFETY: as promised.
    returned(unsafe { object::destroy::<Flag>(event_flag_ea) })
}

/// Clears `bits`; it wakes nobody.
///
/// Returns NULL, ALIGN; PARAMS for what is no event flag.
///
/// # Safety
/// `event_flag_ea` is zero, or of [`mars_task_event_flag_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_event_flag_clear(event_flag_ea: u64, bits: u32) -> i32 {
    // SAFETY: as promised.
    returned(unsafe { object::at::<Flag>(event_flag_ea) }.map(|flag| flag.inner.flag.clear(bits)))
}

/// Sets `bits`, and wakes all whose condition now holds.
///
/// Returns NULL, ALIGN; PARAMS for what is no event flag; STATE from the wrong side.
///
/// # Safety
/// As of [`mars_task_event_flag_clear`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_event_flag_set(event_flag_ea: u64, bits: u32) -> i32 {
    // SAFETY: as promised.
    returned(unsafe { object::at::<Flag>(event_flag_ea) }.and_then(|flag| {
        flag.inner.direction.check_put()?;
        flag.inner.flag.set(bits);
        Ok(())
    }))
}

/// Waits until any bit (OR) or all bits (AND) of `mask` are set; stores all bits in `bits`, which may
/// be null.
///
/// Returns NULL, ALIGN; PARAMS for what is no event flag, or an unknown mode; FORMAT; STATE from the
/// wrong side.
///
/// # Safety
/// As of [`mars_task_event_flag_clear`]; `bits` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_event_flag_wait(
    event_flag_ea: u64,
    mask: u32,
    mask_mode: u8,
    bits: *mut u32,
) -> i32 {
    // SAFETY: as promised.
    let seen = unsafe { object::at(event_flag_ea) }.and_then(|object| {
        let masking = masking(mask_mode)?;
        wait(object, mask, masking)
    });
    // SAFETY: as promised.
    returned(seen.map(|seen| unsafe { store(bits, seen) }))
}

fn wait(object: &Object<Flag>, mask: u32, masking: Masking) -> Result<u32, Code> {
    let Flag { flag, direction } = &object.inner;
    if current::is_task() {
        // A run-complete task is told so first.
        current::wait(|task| task.block(|_| Ok(())))?;
        direction.check_take()?;
        return current::wait(|task| task.block(|mpu| flag.wait(mpu, mask, masking)));
    }
    direction.check_take()?;
    flag.wait_on_host(mask, masking, None).ok_or(Code::Internal)
}

/// As [`mars_task_event_flag_wait`], without waiting.
///
/// Returns as that but for FORMAT, and BUSY if the condition does not hold.
///
/// # Safety
/// As of [`mars_task_event_flag_wait`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_event_flag_try_wait(
    event_flag_ea: u64,
    mask: u32,
    mask_mode: u8,
    bits: *mut u32,
) -> i32 {
    // SAFETY: as promised.
    let seen = unsafe { object::at::<Flag>(event_flag_ea) }.and_then(|object| {
        let masking = masking(mask_mode)?;
        object.inner.direction.check_take()?;
        object.inner.flag.try_wait(mask, masking).ok_or(Code::Busy)
    });
    // SAFETY: as promised.
    returned(seen.map(|seen| unsafe { store(bits, seen) }))
}

const fn masking(mode: u8) -> Result<Masking, Code> {
    match mode {
        0x30 => Ok(Masking::Any),
        0x31 => Ok(Masking::All),
        _ => Err(Code::Params),
    }
}

/// # Safety
/// `bits` is null or can be written.
unsafe fn store(bits: *mut u32, seen: u32) {
    if !bits.is_null() {
        // SAFETY: as promised.
        unsafe { bits.write(seen) };
    }
}
