//! Parses the memory modules in the tables of the firmware (System Management BIOS reference
//! specification, DMTF DSP0134, structure type 17 "Memory Device"). Other structures are skipped.

use measurement::host::MemoryModule;

/// Reads the memory modules whose speed is known from an SMBIOS structure table. Structures after a
/// damaged one are left out.
pub fn read(table: &[u8]) -> Vec<MemoryModule> {
    devices(table).filter_map(|one| one.module()).collect()
}

/// The part of an SMBIOS structure table that [`read`] reads: memory modules without their serial
/// numbers and asset tags, and without the other structures, which identify the machine.
pub fn only_modules(table: &[u8]) -> Vec<u8> {
    devices(table).flat_map(|one| one.anonymous()).collect()
}

fn devices(table: &[u8]) -> impl Iterator<Item = Structure<'_>> {
    structures(table).filter(|one| one.kind() == MEMORY_DEVICE).take(MOST_MODULES)
}

/// A structure of the table: a formatted area whose second byte is its length, and the strings that
/// it refers to by number (DSP0134, 6.1).
#[derive(Clone, Copy)]
struct Structure<'a> {
    formatted: &'a [u8],
    strings: &'a [u8],
}

/// The structures of a table, up to one that does not fit into it.
fn structures(table: &[u8]) -> impl Iterator<Item = Structure<'_>> {
    let mut rest = table;
    std::iter::from_fn(move || {
        let length = usize::from(*rest.get(1)?);
        if length < HEADER {
            return None;
        }
        let (formatted, strings) = rest.split_at_checked(length)?;
        // Two zero bytes end the strings, also where there is none.
        let end = strings.windows(2).position(|pair| pair == [0, 0])?;
        rest = strings.get(end + 2..)?;
        Some(Structure { formatted, strings: &strings[..end] })
    })
}

impl Structure<'_> {
    fn kind(&self) -> u8 {
        self.formatted[0]
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.formatted.get(at).copied()
    }

    /// A number of two bytes; none: the structure is of a version that lacks it.
    fn word(&self, at: usize) -> Option<u16> {
        let bytes = self.formatted.get(at..at.checked_add(2)?)?;
        bytes.try_into().ok().map(u16::from_le_bytes)
    }

    fn double_word(&self, at: usize) -> Option<u32> {
        let bytes = self.formatted.get(at..at.checked_add(4)?)?;
        bytes.try_into().ok().map(u32::from_le_bytes)
    }

    /// The string whose number is at an offset; none: it identifies the module.
    fn string(&self, at: usize) -> Option<String> {
        let number = usize::from(self.byte(at)?).checked_sub(1)?;
        if self.identifies(number) {
            return None;
        }
        let text = self.strings.split(|byte| *byte == 0).nth(number)?;
        let letter = |byte: &u8| if matches!(byte, b' '..=b'~') { char::from(*byte) } else { '?' };
        let text: String = text.iter().map(letter).collect();
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// The module of a memory device; none: its socket is empty, or no speed is known.
    fn module(&self) -> Option<MemoryModule> {
        let (most_mtps, speed_mtps) = (self.speed(0x15, 0x54), self.speed(0x20, 0x58));
        let module = MemoryModule {
            locator: self.string(0x10),
            kind: kind(self.byte(0x12)?).map(str::to_owned),
            bytes: self.bytes()?,
            width_bits: self.word(0x0a).filter(|bits| !matches!(bits, 0 | 0xffff)),
            speed_mtps,
            most_mtps,
        };
        speed_mtps.or(most_mtps).map(|_| module)
    }

    /// Size in bytes; none: the socket is empty, or the size is not known.
    fn bytes(&self) -> Option<u64> {
        let bytes = match self.word(0x0c)? {
            0 | 0xffff => return None,
            // In MiB, of 32 GiB and more.
            0x7fff => u64::from(self.double_word(0x1c)? & 0x7fff_ffff) << 20,
            // In KiB.
            size if size & 0x8000 != 0 => u64::from(size & 0x7fff) << 10,
            size => u64::from(size) << 20,
        };
        Some(bytes).filter(|bytes| *bytes > 0)
    }

    /// A speed in MT/s; of 65,535 MT/s and more it is at the second offset.
    fn speed(&self, at: usize, extended: usize) -> Option<u32> {
        let speed = match self.word(at)? {
            0xffff => self.double_word(extended)? & 0x7fff_ffff,
            speed => u32::from(speed),
        };
        Some(speed).filter(|speed| *speed > 0)
    }

    /// Whether a string, counted from 0, is a serial number or an asset tag.
    fn identifies(&self, string: usize) -> bool {
        IDENTIFYING.iter().any(|at| self.byte(*at).map(usize::from) == Some(string + 1))
    }

    /// The bytes of the structure without the strings that identify the module.
    fn anonymous(&self) -> Vec<u8> {
        let mut bytes = self.formatted.to_vec();
        for (at, text) in self.strings.split(|byte| *byte == 0).enumerate() {
            // An empty string would end them.
            let text = if !self.identifies(at) || text.is_empty() { text } else { b"-" };
            bytes.extend_from_slice(text);
            bytes.push(0);
        }
        // Structures without strings end with two zero bytes as well.
        bytes.push(0);
        bytes
    }
}

/// Names of memory types (DSP0134, 7.18.2).
fn kind(number: u8) -> Option<&'static str> {
    KINDS.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

/// Where the kernel has the structure table (`Documentation/ABI/testing/sysfs-firmware-dmi-tables`),
/// for root.
pub(crate) const PATH: &str = "sys/firmware/dmi/tables/DMI";
/// Type, length and handle.
const HEADER: usize = 4;
/// Type of the structure "Memory Device".
const MEMORY_DEVICE: u8 = 17;
/// A machine with more has a damaged table.
const MOST_MODULES: usize = 256;
/// Offsets of the numbers of strings: serial number, asset tag.
const IDENTIFYING: [usize; 2] = [0x18, 0x19];
const KINDS: [(u8, &str); 14] = [
    (0x12, "DDR"),
    (0x13, "DDR2"),
    (0x14, "DDR2 FB-DIMM"),
    (0x18, "DDR3"),
    (0x1a, "DDR4"),
    (0x1b, "LPDDR"),
    (0x1c, "LPDDR2"),
    (0x1d, "LPDDR3"),
    (0x1e, "LPDDR4"),
    (0x20, "HBM"),
    (0x21, "HBM2"),
    (0x22, "DDR5"),
    (0x23, "LPDDR5"),
    (0x24, "HBM3"),
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A memory device of SMBIOS 3.3 with 16 GiB of DDR4, of 3200 MT/s and set to 2933.
    fn device() -> Vec<u8> {
        let mut bytes = vec![0; 0x5c];
        (bytes[0], bytes[1]) = (MEMORY_DEVICE, 0x5c);
        let words = [(0x08, 72), (0x0a, 64), (0x0c, 16 << 10), (0x15, 3200), (0x20, 2933_u16)];
        for (at, word) in words {
            bytes[at..at + 2].copy_from_slice(&word.to_le_bytes());
        }
        let numbers = [(0x10, 1), (0x12, 0x1a), (0x17, 2), (0x18, 3), (0x19, 4), (0x1a, 5)];
        for (at, number) in numbers {
            bytes[at] = number;
        }
        bytes.extend_from_slice(b"DIMM_A1\0Micron\0SERIAL77\0ASSET88\x00PART\0\0");
        bytes
    }

    /// A structure of another kind without strings.
    fn other() -> Vec<u8> {
        vec![16, 5, 0, 0, 7, 0, 0]
    }

    fn module() -> MemoryModule {
        MemoryModule {
            locator: Some("DIMM_A1".to_owned()),
            kind: Some("DDR4".to_owned()),
            bytes: 16 << 30,
            width_bits: Some(64),
            speed_mtps: Some(2933),
            most_mtps: Some(3200),
        }
    }

    #[test]
    fn modules_are_read_between_other_structures() {
        let table = [other(), device(), other(), device()].concat();
        assert_eq!(read(&table), [module(), module()]);
    }

    #[test]
    fn an_empty_socket_and_an_unknown_speed_are_left_out() {
        let mut empty = device();
        empty[0x0c..0x0e].fill(0);
        let mut unknown = device();
        unknown[0x15..0x17].fill(0);
        unknown[0x20..0x22].fill(0);
        assert_eq!(read(&[empty, unknown].concat()), []);
    }

    #[test]
    fn large_sizes_and_small_ones_have_other_units() {
        let mut large = device();
        large[0x0c..0x0e].copy_from_slice(&0x7fff_u16.to_le_bytes());
        large[0x1c..0x20].copy_from_slice(&(64_u32 << 10).to_le_bytes());
        assert_eq!(read(&large)[0].bytes, 64 << 30);
        let mut small = device();
        small[0x0c..0x0e].copy_from_slice(&(0x8000 | 512_u16).to_le_bytes());
        assert_eq!(read(&small)[0].bytes, 512 << 10);
    }

    #[test]
    fn a_speed_of_more_than_a_word_is_elsewhere() {
        let mut fast = device();
        fast[0x20..0x22].fill(0xff);
        fast[0x58..0x5c].copy_from_slice(&70_000_u32.to_le_bytes());
        assert_eq!(read(&fast)[0].speed_mtps, Some(70_000));
    }

    #[test]
    fn an_old_structure_has_one_speed() {
        // SMBIOS 2.3 ends before the configured speed.
        let mut old = device();
        old.drain(0x1b..0x5c);
        old[1] = 0x1b;
        assert_eq!(read(&old), [MemoryModule { speed_mtps: None, ..module() }]);
    }

    #[test]
    fn what_identifies_the_machine_is_not_kept() {
        let table = [other(), device()].concat();
        let kept = only_modules(&table);
        assert_eq!(read(&kept), read(&table));
        let text = String::from_utf8_lossy(&kept);
        assert!(text.contains("DIMM_A1") && text.contains("Micron"), "{text}");
        assert!(!text.contains("SERIAL77") && !text.contains("ASSET88"), "{text}");
        assert_eq!(kept[0], MEMORY_DEVICE, "the other structure is left out");
    }

    proptest! {
        #[test]
        fn no_table_panics(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
            let modules = read(&bytes);
            prop_assert!(modules.len() <= bytes.len() / 6);
            prop_assert_eq!(read(&only_modules(&bytes)), modules);
        }

        #[test]
        fn a_damaged_table_does_not_panic(at in 0_usize..600, byte in any::<u8>(), cut in 0_usize..600) {
            let mut table = [device(), other(), device(), other(), device()].concat();
            if let Some(one) = table.get_mut(at) {
                *one = byte;
            }
            table.truncate(cut);
            prop_assert!(read(&table).len() <= 3);
            prop_assert_eq!(read(&only_modules(&table)), read(&table));
        }
    }
}
