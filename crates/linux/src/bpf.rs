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

    /// `to = *(u64 *)(from + offset)`.
    pub(crate) const fn load64(to: u8, from: u8, offset: i16) -> Self {
        Self::new(0x79, (to, from), offset, 0)
    }

    /// `*(u16 *)(to + offset) = from`.
    pub(crate) const fn put16(to: u8, offset: i16, from: u8) -> Self {
        Self::new(0x6b, (to, from), offset, 0)
    }

    /// `*(u32 *)(to + offset) = from`.
    pub(crate) const fn put32(to: u8, offset: i16, from: u8) -> Self {
        Self::new(0x63, (to, from), offset, 0)
    }

    /// `*(u64 *)(to + offset) = from`.
    pub(crate) const fn put64(to: u8, offset: i16, from: u8) -> Self {
        Self::new(0x7b, (to, from), offset, 0)
    }

    /// `to += from`.
    pub(crate) const fn plus(to: u8, from: u8) -> Self {
        Self::new(0x0f, (to, from), 0, 0)
    }

    /// `to /= number`.
    pub(crate) const fn divide(to: u8, number: i32) -> Self {
        Self::new(0x37, (to, 0), 0, number)
    }

    /// `to %= number`.
    pub(crate) const fn modulo(to: u8, number: i32) -> Self {
        Self::new(0x97, (to, 0), 0, number)
    }

    /// `to >>= bits`.
    pub(crate) const fn shift_right(to: u8, bits: i32) -> Self {
        Self::new(0x77, (to, 0), 0, bits)
    }

    /// `to &= number`.
    pub(crate) const fn mask(to: u8, number: i32) -> Self {
        Self::new(0x57, (to, 0), 0, number)
    }

    /// `to ^= number`.
    pub(crate) const fn invert(to: u8, number: i32) -> Self {
        Self::new(0xa7, (to, 0), 0, number)
    }

    /// Makes the low `bits`, 16 or 32, big-endian, and the others zero.
    pub(crate) const fn big_endian(to: u8, bits: i32) -> Self {
        Self::new(0xdc, (to, 0), 0, bits)
    }

    /// `*(u64 *)(to + offset) += from`.
    pub(crate) const fn add64(to: u8, offset: i16, from: u8) -> Self {
        Self::new(0xdb, (to, from), offset, 0)
    }

    /// Skips `ahead` instructions if `one > other`.
    pub(crate) const fn skip_if_greater(one: u8, other: u8, ahead: i16) -> Self {
        Self::new(0x2d, (one, other), ahead, 0)
    }

    /// Skips `ahead` instructions if `one <= other`.
    pub(crate) const fn skip_if_at_most(one: u8, other: u8, ahead: i16) -> Self {
        Self::new(0xbd, (one, other), ahead, 0)
    }

    /// Skips `ahead` instructions if `one != number`.
    pub(crate) const fn skip_if_not(one: u8, number: i32, ahead: i16) -> Self {
        Self::new(0x55, (one, 0), ahead, number)
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
        Self::wide(to, BPF_PSEUDO_MAP_FD, map)
    }

    /// `to = &value of the map's first entry`, of a map of [`Map::of_numbers`].
    pub(crate) fn value(to: u8, map: &Map) -> [Self; 2] {
        Self::wide(to, BPF_PSEUDO_MAP_VALUE, map)
    }

    fn wide(to: u8, what: u8, map: &Map) -> [Self; 2] {
        let first = Self::new(0x18, (to, what), 0, map.0.as_raw_fd());
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

    /// Two numbers (`BPF_MAP_TYPE_ARRAY`).
    ///
    /// # Errors
    /// As [`Self::of_sockets`].
    pub(crate) fn of_numbers() -> io::Result<Self> {
        Self::create(BPF_MAP_TYPE_ARRAY, 16, 1)
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

    /// Sets the numbers of a map of [`Self::of_numbers`].
    ///
    /// # Errors
    /// Those of bpf(2); none is expected.
    pub(crate) fn set_numbers(&self, numbers: [u64; 2]) -> io::Result<()> {
        self.element(BPF_MAP_UPDATE_ELEM, 0, numbers.as_ptr() as u64)
    }

    /// Reads the numbers of a map of [`Self::of_numbers`].
    ///
    /// # Errors
    /// Those of bpf(2); none is expected.
    pub(crate) fn numbers(&self) -> io::Result<[u64; 2]> {
        let mut numbers = [0_u64; 2];
        self.element(BPF_MAP_LOOKUP_ELEM, 0, numbers.as_mut_ptr() as u64)?;
        Ok(numbers)
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

/// Runs a program `count` times on copies of a frame, and does with each what the program returns: the
/// live frame mode of `BPF_PROG_RUN` (Linux 5.18, Documentation/bpf/bpf_prog_run.rst).
///
/// # Errors
/// `EINVAL` before Linux 5.18, or if the frame is longer than a page holds; `EINTR` by a signal, after
/// some of the runs.
pub(crate) fn run_live(program: &OwnedFd, frame: &[u8], count: u32) -> io::Result<()> {
    let mut attributes = ProgramRun {
        program: program.as_raw_fd(),
        result: 0,
        frame_bytes: u32::try_from(frame.len()).map_err(io::Error::other)?,
        output_bytes: 0,
        frame: frame.as_ptr() as u64,
        output: 0,
        count,
        duration: 0,
        context_bytes: [0; 2],
        context: [0; 2],
        flags: BPF_F_TEST_XDP_LIVE_FRAMES,
        cpu: 0,
        batch: BATCH,
        padding: 0,
    };
    ask(BPF_PROG_RUN, &mut attributes).map(drop)
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

/// The arguments of `BPF_PROG_RUN`.
#[repr(C)]
struct ProgramRun {
    program: i32,
    result: u32,
    frame_bytes: u32,
    output_bytes: u32,
    frame: u64,
    output: u64,
    count: u32,
    duration: u32,
    context_bytes: [u32; 2],
    context: [u64; 2],
    flags: u32,
    cpu: u32,
    batch: u32,
    padding: u32,
}

/// Frames that are sent together: the ring of a veth(4) holds 256, of which some may be taken.
const BATCH: u32 = 64;
/// Larger than `NR_CPUS` of any kernel.
const MOST_CPUS: usize = 8_192;
const LICENSE: &std::ffi::CStr = c"Dual MIT/GPL";
// linux/bpf.h
const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_MAP_LOOKUP_ELEM: libc::c_long = 1;
const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_PROG_RUN: libc::c_long = 10;
const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_PSEUDO_MAP_FD: u8 = 1;
const BPF_PSEUDO_MAP_VALUE: u8 = 2;
const BPF_F_TEST_XDP_LIVE_FRAMES: u32 = 1 << 1;
const BPF_MAP_TYPE_ARRAY: u32 = 2;
const BPF_MAP_TYPE_PERCPU_ARRAY: u32 = 6;
const BPF_MAP_TYPE_XSKMAP: u32 = 17;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_XDP: u32 = 37;
const BPF_F_XDP_HAS_FRAGS: u32 = 1 << 5;
