//! Programs and maps of the kernel's virtual machine (bpf(2)), as far as XDP needs them.
//!
//! Programs are a handful of instructions, assembled here; no compiler, no ELF file and no library
//! takes part. A program is attached by a link (Linux 5.9): the kernel detaches it when the last
//! descriptor of the link is closed, however the process ends.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// An instruction (`struct bpf_insn`, linux/bpf.h; RFC 9669, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

impl Instruction {
    pub(crate) const fn new(code: u8, (to, from): (u8, u8), offset: i16, immediate: i32) -> Self {
        // Two bit fields, whose order is that of the bytes.
        let registers = if cfg!(target_endian = "big") { to << 4 | from } else { from << 4 | to };
        Self { code, registers, offset, immediate }
    }

    /// `to = from`.
    pub(crate) const fn copy(to: u8, from: u8) -> Self {
        Self::new(0xbf, (to, from), 0, 0)
    }

    /// `to = number`.
    pub(crate) const fn set(to: u8, number: i32) -> Self {
        Self::new(0xb7, (to, 0), 0, number)
    }

    /// `to += number`.
    pub(crate) const fn add(to: u8, number: i32) -> Self {
        Self::new(0x07, (to, 0), 0, number)
    }

    /// `to = *(u32 *)(from + offset)`.
    pub(crate) const fn load32(to: u8, from: u8, offset: i16) -> Self {
        Self::new(0x61, (to, from), offset, 0)
    }

    /// `*(u32 *)(to + offset) = number`.
    pub(crate) const fn store32(to: u8, offset: i16, number: i32) -> Self {
        Self::new(0x62, (to, 0), offset, number)
    }

    /// `*(u64 *)(to + offset) += from`.
    pub(crate) const fn add64(to: u8, offset: i16, from: u8) -> Self {
        Self::new(0xdb, (to, from), offset, 0)
    }

    /// Skips `ahead` instructions if `one > other`.
    pub(crate) const fn skip_if_greater(one: u8, other: u8, ahead: i16) -> Self {
        Self::new(0x2d, (one, other), ahead, 0)
    }

    /// Skips `ahead` instructions if `one == number`.
    pub(crate) const fn skip_if_equal(one: u8, number: i32, ahead: i16) -> Self {
        Self::new(0x15, (one, 0), ahead, number)
    }

    /// Calls a helper of the kernel (bpf-helpers(7)), with arguments in the registers 1 to 5.
    pub(crate) const fn call(helper: i32) -> Self {
        Self::new(0x85, (0, 0), 0, helper)
    }

    /// Ends the program with the value of register 0.
    pub(crate) const fn exit() -> Self {
        Self::new(0x95, (0, 0), 0, 0)
    }

    /// `to = map`: an instruction of twice the length.
    pub(crate) fn map(to: u8, map: &Map) -> [Self; 2] {
        let (wide, of_map) = (0x18, 1);
        let first = Self::new(wide, (to, of_map), 0, map.0.as_raw_fd());
        [first, Self::new(0, (0, 0), 0, 0)]
    }
}

/// A map of the kernel: keys and values that programs and processes share (bpf(2)).
#[derive(Debug)]
pub(crate) struct Map(OwnedFd);

impl Map {
    /// Sockets of AF_XDP by the number of the queue (`BPF_MAP_TYPE_XSKMAP`, Linux 4.18).
    ///
    /// # Errors
    /// `EPERM` without `CAP_BPF` or `CAP_SYS_ADMIN`; `EINVAL` before Linux 4.18.
    pub(crate) fn of_sockets(queues: u32) -> io::Result<Self> {
        Self::create(BPF_MAP_TYPE_XSKMAP, 4, queues)
    }

    /// A number for each CPU (`BPF_MAP_TYPE_PERCPU_ARRAY`).
    ///
    /// # Errors
    /// As [`Self::of_sockets`].
    pub(crate) fn of_counter() -> io::Result<Self> {
        Self::create(BPF_MAP_TYPE_PERCPU_ARRAY, 8, 1)
    }

    fn create(kind: u32, value_bytes: u32, entries: u32) -> io::Result<Self> {
        let mut attributes = [kind, 4, value_bytes, entries, 0];
        bpf(BPF_MAP_CREATE, &mut attributes).map(Self)
    }

    /// Sets the socket of a queue.
    ///
    /// # Errors
    /// `EBADF` or `EOPNOTSUPP` if it is no socket of AF_XDP that is bound.
    pub(crate) fn set_socket(&self, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        let value = socket.as_raw_fd();
        self.element(BPF_MAP_UPDATE_ELEM, queue, (&raw const value) as u64)
    }

    /// The sum of the counter over all CPUs.
    ///
    /// # Errors
    /// Those of bpf(2); none is expected.
    pub(crate) fn sum(&self) -> io::Result<u64> {
        let mut values = vec![0_u64; possible_cpus()];
        self.element(BPF_MAP_LOOKUP_ELEM, 0, values.as_mut_ptr() as u64)?;
        Ok(values.iter().sum())
    }

    fn element(&self, command: libc::c_long, key: u32, value: u64) -> io::Result<()> {
        let mut attributes = Element {
            map: self.0.as_raw_fd(),
            padding: 0,
            key: (&raw const key) as u64,
            value,
            flags: 0,
        };
        ask(command, &mut attributes).map(drop)
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Loads a program of XDP, which the kernel verifies.
///
/// # Errors
/// `EPERM` without `CAP_BPF` and `CAP_NET_ADMIN`; `EACCES` or `EINVAL` if it is refused.
pub(crate) fn load(program: &[Instruction]) -> io::Result<OwnedFd> {
    // An older kernel does not know of packets in several fragments.
    load_with(program, BPF_F_XDP_HAS_FRAGS).or_else(|_| load_with(program, 0))
}

fn load_with(program: &[Instruction], flags: u32) -> io::Result<OwnedFd> {
    let mut attributes = Load {
        kind: BPF_PROG_TYPE_XDP,
        count: u32::try_from(program.len()).map_err(io::Error::other)?,
        instructions: program.as_ptr() as u64,
        license: LICENSE.as_ptr() as u64,
        log: [0; 2],
        log_buffer: 0,
        kernel: 0,
        flags,
        name: *b"linerate\0\0\0\0\0\0\0\0",
        interface: 0,
        attach: BPF_XDP,
    };
    bpf(BPF_PROG_LOAD, &mut attributes)
}

/// Attaches a program to an interface until the descriptor that this returns is closed.
///
/// # Errors
/// `EINVAL` before Linux 5.9; `EBUSY` if another program is attached; `EOPNOTSUPP` if the driver
/// cannot run programs; `ERANGE` or `EINVAL` if MTU or queues do not permit it.
pub(crate) fn attach(program: &OwnedFd, interface: u32, flags: u32) -> io::Result<OwnedFd> {
    let program = program.as_raw_fd().cast_unsigned();
    bpf(BPF_LINK_CREATE, &mut [program, interface, BPF_XDP, flags])
}

/// Makes a call that returns a descriptor.
fn bpf<T>(command: libc::c_long, attributes: &mut T) -> io::Result<OwnedFd> {
    let fd = ask(command, attributes)?;
    let fd = RawFd::try_from(fd).map_err(io::Error::other)?;
    // SAFETY: the call has created the descriptor, which has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn ask<T>(command: libc::c_long, attributes: &mut T) -> io::Result<libc::c_long> {
    // SAFETY: pointer and length describe the attributes; what they point to in turn outlives the
    // call, and is as long as the attributes and the kind of the map say.
    let done = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), size_of::<T>())
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(done) }
}

/// As many CPUs as there can be: the kernel has a value for each of them.
fn possible_cpus() -> usize {
    let text = fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    let last = text.trim().rsplit(['-', ',']).next().and_then(|last| last.parse::<usize>().ok());
    last.map_or(MOST_CPUS, |last| last + 1)
}

#[repr(C)]
struct Element {
    map: i32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct Load {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log: [u32; 2],
    log_buffer: u64,
    kernel: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach: u32,
}

/// Larger than `NR_CPUS` of any kernel.
const MOST_CPUS: usize = 8_192;
const LICENSE: &std::ffi::CStr = c"Dual MIT/GPL";
// linux/bpf.h
const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_MAP_LOOKUP_ELEM: libc::c_long = 1;
const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_MAP_TYPE_PERCPU_ARRAY: u32 = 6;
const BPF_MAP_TYPE_XSKMAP: u32 = 17;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_XDP: u32 = 37;
const BPF_F_XDP_HAS_FRAGS: u32 = 1 << 5;
