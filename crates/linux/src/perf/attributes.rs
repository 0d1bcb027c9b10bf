//! Arguments of perf_event_open(2) (`struct perf_event_attr`, [linux/perf_event.h]).
//!
//! [linux/perf_event.h]: https://github.com/torvalds/linux/blob/v6.12/include/uapi/linux/perf_event.h

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use super::{Event, SampleFrequency};

/// The structure as of Linux 4.8; newer kernels take the missing fields as zero.
#[repr(C)]
#[derive(Debug, Default)]
pub(super) struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    /// `sample_freq`, since the flag `freq` is set.
    frequency: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_watermark: u32,
    breakpoint_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clock: i32,
    sample_regs_intr: u64,
    aux_watermark: u32,
    longest_chain: u16,
    reserved: u16,
}

impl Attributes {
    /// Samples with instruction pointer, process and thread, CPU, and the kernel's call
    /// chain.
    pub(super) fn new(event: Event, hertz: SampleFrequency) -> Self {
        let (kind, config) = match event {
            Event::Cycles => (TYPE_HARDWARE, COUNT_HW_CPU_CYCLES),
            Event::CpuClock => (TYPE_SOFTWARE, COUNT_SW_CPU_CLOCK),
        };
        Self {
            kind,
            size: SIZE,
            config,
            frequency: u64::from(hertz.per_second()),
            sample_type: SAMPLE_IP | SAMPLE_TID | SAMPLE_CALLCHAIN | SAMPLE_CPU,
            flags: [DISABLED, FREQUENCY, WATERMARK, NO_USER_CHAIN].map(flag).iter().sum(),
            // No wake-ups: the reader polls.
            wakeup_watermark: i32::MAX.cast_unsigned(),
            longest_chain: LONGEST_CHAIN,
            ..Self::default()
        }
    }

    /// Opens the event for a thread on any CPU (`cpu` is -1), or for all threads on one CPU
    /// (`thread` is -1).
    pub(super) fn open(&self, thread: i32, cpu: i32) -> io::Result<OwnedFd> {
        let no_group = -1;
        // SAFETY: the structure is as long as it says and lives during the call, which does
        // not write to it unless it is too long for the kernel: then into `size` alone.
        let file = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                std::ptr::from_ref(self),
                thread,
                cpu,
                no_group,
                CLOSE_ON_EXEC,
            )
        };
        match narrow(file) {
            // SAFETY: the kernel just opened it, and it has no other owner.
            Some(file) if file >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(file) }),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// The result of a system call as a file descriptor.
fn narrow<N: TryInto<RawFd>>(returned: N) -> Option<RawFd> {
    returned.try_into().ok()
}

/// `PERF_FLAG_FD_CLOEXEC` (perf_event_open(2)).
const CLOSE_ON_EXEC: libc::c_ulong = 8;

/// One of the structure's bit fields: on big-endian machines a C compiler numbers them from
/// the other end.
const fn flag(bit: u32) -> u64 {
    if cfg!(target_endian = "big") { 1 << (63 - bit) } else { 1 << bit }
}

/// Kernel frames in a call chain; loopback has some fifty.
pub(super) const LONGEST_CHAIN: u16 = 64;

/// `PERF_ATTR_SIZE_VER5`.
const SIZE: u32 = 112;
const _: () = assert!(size_of::<Attributes>() == SIZE as usize, "as the header has it");
const TYPE_HARDWARE: u32 = 0;
const TYPE_SOFTWARE: u32 = 1;
const COUNT_HW_CPU_CYCLES: u64 = 0;
const COUNT_SW_CPU_CLOCK: u64 = 0;
const SAMPLE_IP: u64 = 1 << 0;
const SAMPLE_TID: u64 = 1 << 1;
const SAMPLE_CALLCHAIN: u64 = 1 << 5;
const SAMPLE_CPU: u64 = 1 << 7;
const DISABLED: u32 = 0;
const FREQUENCY: u32 = 10;
const WATERMARK: u32 = 14;
/// `exclude_callchain_user`: without tables of its frames a program's chain is guessed.
const NO_USER_CHAIN: u32 = 22;
