//! As much of ELF as tells whether a program is static (elf(5)).

/// Whether a little-endian ELF file is loaded by another one (`PT_INTERP`); none if it is no such
/// file.
pub(super) fn asks_for_interpreter(elf: &[u8]) -> Option<bool> {
    if !elf.starts_with(b"\x7fELF") || *elf.get(DATA)? != LITTLE_ENDIAN {
        return None;
    }
    let number = |at: usize, length: usize| {
        let bytes = elf.get(at..at.checked_add(length)?)?;
        bytes.iter().rev().try_fold(0_usize, |sum, byte| Some((sum << 8) | usize::from(*byte)))
    };
    // e_phoff, e_phentsize, e_phnum; p_type is the first of an entry.
    let (start, size, count) = match *elf.get(CLASS)? {
        1 => (number(28, 4)?, number(42, 2)?, number(44, 2)?),
        2 => (number(32, 8)?, number(54, 2)?, number(56, 2)?),
        _ => return None,
    };
    let kind = |index| number(start.checked_add(index * size)?, 4);
    let kinds: Option<Vec<_>> = (0..count).map(kind).collect();
    Some(kinds?.contains(&PT_INTERP))
}

/// Of `e_ident`: 1 for 32 bits, 2 for 64.
const CLASS: usize = 4;
/// Of `e_ident`.
const DATA: usize = 5;
/// `ELFDATA2LSB`.
const LITTLE_ENDIAN: u8 = 1;
/// `linux/elf.h`.
const PT_INTERP: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    /// A header, and one entry of this kind behind it.
    fn elf(kind: u8) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (bytes[32], bytes[54], bytes[56], bytes[64]) = (64, 56, 1, kind);
        bytes
    }

    fn elf32(kind: u8) -> Vec<u8> {
        let mut bytes = vec![0; 52 + 32];
        bytes[..6].copy_from_slice(b"\x7fELF\x01\x01");
        (bytes[28], bytes[42], bytes[44], bytes[52]) = (52, 32, 1, kind);
        bytes
    }

    #[test]
    fn a_program_with_an_interpreter_is_told_from_one_without() {
        for program in [elf, elf32] {
            assert_eq!(asks_for_interpreter(&program(3)), Some(true));
            assert_eq!(asks_for_interpreter(&program(1)), Some(false));
        }
    }

    #[test]
    fn what_is_no_program_is_neither() {
        assert_eq!(asks_for_interpreter(b"#!/bin/sh\n"), None);
        assert_eq!(asks_for_interpreter(&elf(3)[..66]), None);
        assert_eq!(asks_for_interpreter(&elf(3)[..60]), None);
        assert_eq!(asks_for_interpreter(&elf32(3)[..50]), None);
    }
}
