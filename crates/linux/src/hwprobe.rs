//! Extensions and performance of a RISC-V core, as the kernel probed them
//! ([riscv_hwprobe(2)]).
//!
//! [riscv_hwprobe(2)]: https://docs.kernel.org/arch/riscv/hwprobe.html

use std::io;

/// Properties of one RISC-V CPU (riscv_hwprobe(2)). A field is `None` if the kernel is too old to
/// report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HardwareProbe {
    /// JEDEC number of the vendor (`mvendorid`).
    pub vendor: Option<u64>,
    /// The vendor's number of the core (`marchid`).
    pub architecture: Option<u64>,
    /// Whether the vector extension can be used.
    pub vector: Option<bool>,
    /// How misaligned accesses of whole words are done.
    pub misaligned: Option<Misaligned>,
}

/// How a RISC-V core does misaligned memory accesses (`RISCV_HWPROBE_KEY_MISALIGNED_SCALAR_PERF`
/// and its predecessor, riscv_hwprobe(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misaligned {
    /// The kernel does not know.
    Unknown,
    /// Emulated after a trap: always extremely slow.
    Emulated,
    /// In hardware, slower than accesses of single bytes.
    Slow,
    /// In hardware, faster than accesses of single bytes.
    Fast,
    /// Not supported: misaligned accesses fault.
    Unsupported,
}

/// Reads the properties of one RISC-V CPU, by its number (riscv_hwprobe(2)).
///
/// # Errors
/// `ENOSYS` before Linux 6.4, `EINVAL` for a CPU that is not online, `InvalidInput` for a
/// number above 1,023.
pub fn probe(cpu: usize) -> io::Result<HardwareProbe> {
    let mut pairs = [MVENDORID, MARCHID, IMA_EXT_0, MISALIGNED_SCALAR_PERF, CPUPERF_0]
        .map(|key| Pair { key, value: 0 });
    let mut cpus = [0 as libc::c_ulong; MOST_CPUS / WORD_BITS];
    *cpus.get_mut(cpu / WORD_BITS).ok_or(io::ErrorKind::InvalidInput)? |= 1 << (cpu % WORD_BITS);
    let no_flags: libc::c_uint = 0;
    // SAFETY: pointers and sizes describe the pairs, which the kernel fills, and the set of
    // CPUs; both outlive the call.
    let done = unsafe {
        libc::syscall(
            RISCV_HWPROBE,
            pairs.as_mut_ptr(),
            pairs.len(),
            size_of_val(&cpus),
            cpus.as_mut_ptr(),
            no_flags,
        )
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(read(&pairs))
}

fn read(pairs: &[Pair]) -> HardwareProbe {
    // A key that the kernel does not know comes back as -1.
    let value = |key| pairs.iter().find(|pair| pair.key == key).map(|pair| pair.value);
    let older = value(CPUPERF_0).map(|value| value & 7);
    HardwareProbe {
        vendor: value(MVENDORID),
        architecture: value(MARCHID),
        vector: value(IMA_EXT_0).map(|extensions| extensions & IMA_V != 0),
        misaligned: value(MISALIGNED_SCALAR_PERF).or(older).map(misaligned),
    }
}

const fn misaligned(value: u64) -> Misaligned {
    match value {
        1 => Misaligned::Emulated,
        2 => Misaligned::Slow,
        3 => Misaligned::Fast,
        4 => Misaligned::Unsupported,
        _ => Misaligned::Unknown,
    }
}

/// `struct riscv_hwprobe`, asm/hwprobe.h.
#[repr(C)]
struct Pair {
    key: i64,
    value: u64,
}

// asm/hwprobe.h and asm/unistd.h of riscv
const RISCV_HWPROBE: libc::c_long = 258;
const MVENDORID: i64 = 0;
const MARCHID: i64 = 1;
const IMA_EXT_0: i64 = 4;
/// The older form of `MISALIGNED_SCALAR_PERF`, in the lowest three bits.
const CPUPERF_0: i64 = 5;
const MISALIGNED_SCALAR_PERF: i64 = 9;
/// The bit of `IMA_EXT_0` for the vector extension.
const IMA_V: u64 = 1 << 2;

const MOST_CPUS: usize = 1024;
const WORD_BITS: usize = libc::c_ulong::BITS as usize;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newer_key_goes_before_the_older() {
        let pair = |key, value| Pair { key, value };
        let both = read(&[pair(CPUPERF_0, 2), pair(MISALIGNED_SCALAR_PERF, 3)]);
        assert_eq!(both.misaligned, Some(Misaligned::Fast));
        let older = read(&[pair(CPUPERF_0, 1), pair(-1, 0)]);
        assert_eq!(older.misaligned, Some(Misaligned::Emulated));
        assert_eq!(older.vector, None);
    }
}
