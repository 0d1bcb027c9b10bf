//! The routines by name, and what calls them.

use core::fmt;
use core::str::FromStr;

use crate::{plain, shift, unaligned};

/// A way to copy bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Routine {
    /// `memcpy` of the C library that the program is linked with.
    Libc,
    /// Byte by byte.
    Byte,
    /// Word by word where source and destination have the same alignment, else byte by byte.
    Word,
    /// As [`Self::Word`], with eight loads before eight stores.
    WordX8,
    /// Aligned words, shifted and merged, one at a time: Linux's `__asm_copy_to_user` of RISC-V
    /// since 5.14. Where source and destination have the same alignment, as [`Self::WordX8`].
    Shift,
    /// As [`Self::Shift`], with four loads before four stores.
    ShiftX4,
    /// As [`Self::Shift`], with eight loads before eight stores.
    ShiftX8,
    /// Words at any address, eight loads before eight stores: traps or faults on cores without
    /// misaligned accesses.
    Unaligned,
    /// Vectors of RISC-V (RVV 1.0), eight registers at a time.
    Vector,
    /// Vectors of 16 bytes of 64-bit ARM, four at a time.
    Neon,
    /// Vectors of 32 bytes of x86-64, four at a time.
    Avx2,
    /// Vectors of 64 bytes of x86-64, four at a time.
    Avx512,
    /// `rep movsb` of x86-64, by the processor's microcode.
    RepMovsb,
    /// Stores of x86-64 that pass by the caches (`movntdq`).
    NonTemporal,
}

impl Routine {
    /// All routines, of every architecture.
    pub const ALL: [Self; 14] = [
        Self::Libc,
        Self::Byte,
        Self::Word,
        Self::WordX8,
        Self::Shift,
        Self::ShiftX4,
        Self::ShiftX8,
        Self::Unaligned,
        Self::Vector,
        Self::Neon,
        Self::Avx2,
        Self::Avx512,
        Self::RepMovsb,
        Self::NonTemporal,
    ];

    /// Its name, e.g. `shift-x4`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Libc => "libc",
            Self::Byte => "byte",
            Self::Word => "word",
            Self::WordX8 => "word-x8",
            Self::Shift => "shift",
            Self::ShiftX4 => "shift-x4",
            Self::ShiftX8 => "shift-x8",
            Self::Unaligned => "unaligned",
            Self::Vector => "rvv",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::RepMovsb => "rep-movsb",
            Self::NonTemporal => "non-temporal",
        }
    }

    /// The routine to call, if this processor has its instructions.
    pub fn copier(self) -> Option<Copier> {
        Some(Copier { routine: self, function: self.function()? })
    }

    /// The routines that this processor can run.
    pub fn available() -> impl Iterator<Item = Copier> {
        Self::ALL.into_iter().filter_map(Self::copier)
    }

    fn function(self) -> Option<Function> {
        match self {
            Self::Libc => Some(libc),
            Self::Byte => Some(plain::byte),
            Self::Word => Some(plain::word),
            Self::WordX8 => Some(plain::word_x8),
            Self::Shift => Some(shift::shift),
            Self::ShiftX4 => Some(shift::shift_x4),
            Self::ShiftX8 => Some(shift::shift_x8),
            Self::Unaligned => Some(unaligned::unaligned),
            Self::Vector | Self::Neon | Self::Avx2 | Self::Avx512 => self.vectors(),
            Self::RepMovsb | Self::NonTemporal => self.of_x86(),
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn vectors(self) -> Option<Function> {
        match self {
            Self::Avx2 if crate::x86::has_avx2() => Some(crate::x86::avx2),
            Self::Avx512 if crate::x86::has_avx512() => Some(crate::x86::avx512),
            _ => None,
        }
    }

    #[cfg(target_arch = "aarch64")]
    fn vectors(self) -> Option<Function> {
        // Of every core for this target (Arm C Language Extensions; Rust's aarch64 targets).
        (self == Self::Neon).then_some(crate::arm::neon)
    }

    #[cfg(target_arch = "riscv64")]
    fn vectors(self) -> Option<Function> {
        (self == Self::Vector && crate::risc_v::has_vectors()).then_some(crate::risc_v::vectors)
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
    #[expect(clippy::unused_self, reason = "as on architectures that have some")]
    const fn vectors(self) -> Option<Function> {
        None
    }

    #[cfg(target_arch = "x86_64")]
    fn of_x86(self) -> Option<Function> {
        match self {
            Self::RepMovsb => Some(crate::x86::rep_movsb),
            Self::NonTemporal => Some(crate::x86::non_temporal),
            _ => None,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    #[expect(clippy::unused_self, reason = "as on x86-64")]
    const fn of_x86(self) -> Option<Function> {
        None
    }
}

impl fmt::Display for Routine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Routine {
    type Err = UnknownRoutine;

    fn from_str(name: &str) -> Result<Self, UnknownRoutine> {
        Self::ALL.into_iter().find(|one| one.name() == name).ok_or(UnknownRoutine)
    }
}

/// There is no routine of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownRoutine;

impl fmt::Display for UnknownRoutine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no such copy routine: choose ")?;
        Routine::ALL.iter().enumerate().try_for_each(|(place, routine)| {
            write!(f, "{}{routine}", if place == 0 { "" } else { ", " })
        })
    }
}

impl core::error::Error for UnknownRoutine {}

/// A [`Routine`] whose instructions this processor has.
#[derive(Clone, Copy, Debug)]
pub struct Copier {
    routine: Routine,
    function: Function,
}

impl Copier {
    /// `memcpy` of the C library, which is on every processor.
    pub const LIBC: Self = Self { routine: Routine::Libc, function: libc };

    /// The routine that it calls.
    pub const fn routine(&self) -> Routine {
        self.routine
    }

    /// Copies `source` to `destination`.
    ///
    /// # Panics
    /// If their lengths differ, as [`slice::copy_from_slice`] does.
    pub fn copy(&self, destination: &mut [u8], source: &[u8]) {
        assert_eq!(destination.len(), source.len(), "source and destination differ in length");
        // SAFETY: both are of this length; the destination is borrowed for this alone, so that
        // the source is elsewhere.
        unsafe { (self.function)(destination.as_mut_ptr(), source.as_ptr(), source.len()) }
    }

    /// Copies `length` bytes between two places.
    ///
    /// # Errors
    /// [`Overlap`] if they overlap; nothing is copied then.
    ///
    /// # Safety
    /// The source must be readable and the destination writable for `length` bytes.
    pub unsafe fn copy_between(
        &self,
        destination: *mut u8,
        source: *const u8,
        length: usize,
    ) -> Result<(), Overlap> {
        if destination.addr().abs_diff(source.addr()) < length {
            return Err(Overlap);
        }
        // SAFETY: the caller has both, and they do not overlap.
        unsafe { (self.function)(destination, source, length) };
        Ok(())
    }
}

/// Source and destination overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap;

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("source and destination overlap")
    }
}

impl core::error::Error for Overlap {}

/// Copies so many bytes to the first from the second. Both must be valid for that, and must not
/// overlap; the processor must have the instructions.
pub(crate) type Function = unsafe fn(*mut u8, *const u8, usize);

unsafe fn libc(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: as the caller promises.
    unsafe { core::ptr::copy_nonoverlapping(from, to, length) }
}

#[cfg(test)]
mod tests {
    use std::boxed::Box;
    use std::string::ToString;
    use std::vec;

    use super::*;

    #[test]
    fn names_are_read_as_they_are_printed() {
        for routine in Routine::ALL {
            assert_eq!(routine.to_string().parse(), Ok(routine));
        }
        let refused = "memcpy".parse::<Routine>().expect_err("none of ours");
        assert!(refused.to_string().ends_with("rep-movsb, non-temporal"), "{refused}");
    }

    /// So many of the first have no instructions of their own.
    const WITHOUT_INSTRUCTIONS: usize = 8;

    /// Those that Miri can run; it sees every access outside of either box.
    #[test]
    fn routines_without_instructions_of_their_own_stay_within_both_sides() {
        let lengths = [0, 1, 7, 8, 9, 16, 23, 31, 64, 71, 79, 160, 161];
        for routine in &Routine::ALL[..WITHOUT_INSTRUCTIONS] {
            let copier = routine.copier().expect("of every processor");
            for alignments in 0..64 {
                for length in lengths {
                    let (from, to) = (alignments / 8, alignments % 8);
                    let byte = |place: usize| place.to_le_bytes()[0];
                    let source: Box<[u8]> = (0..from + length).map(byte).collect();
                    let mut destination = vec![0xa5; to + length].into_boxed_slice();
                    copier.copy(&mut destination[to..], &source[from..]);
                    assert!(destination[to..] == source[from..], "{routine} {from} {to} {length}");
                    assert!(destination[..to].iter().all(|byte| *byte == 0xa5), "{routine}");
                }
            }
        }
    }

    #[test]
    #[should_panic = "differ in length"]
    fn slices_of_different_lengths_are_refused() {
        Copier::LIBC.copy(&mut [0; 3], &[0; 4]);
    }

    #[test]
    fn places_that_overlap_are_refused() {
        let mut bytes = [1, 2, 3, 4, 5, 6, 7, 8];
        let start = bytes.as_mut_ptr();
        // Miri knows no instructions of a processor.
        let all = if cfg!(miri) { WITHOUT_INSTRUCTIONS } else { Routine::ALL.len() };
        for copier in Routine::ALL[..all].iter().filter_map(|routine| routine.copier()) {
            for (to, from) in [(0, 3), (3, 0), (0, 0)] {
                // SAFETY: four bytes from each place are in the array.
                let copied = unsafe { copier.copy_between(start.add(to), start.add(from), 4) };
                assert_eq!(copied, Err(Overlap), "{to} {from}");
            }
            // SAFETY: as before.
            assert_eq!(unsafe { copier.copy_between(start.add(4), start, 4) }, Ok(()));
        }
        assert_eq!(bytes, [1, 2, 3, 4, 1, 2, 3, 4]);
    }
}
