//! Reads the memory that a device tree describes: nodes of LPDDR in the root node, by the bindings
//! of the kernel (`Documentation/devicetree/bindings/memory-controllers/ddr`: jedec,lpddr-channel,
//! jedec,lpddr2, jedec,lpddr3 and their timings). Nodes within a memory controller are left out: a
//! board lists there all that may be fitted.

use measurement::host::MemoryModule;

use crate::Tree;

/// The channels and chips of LPDDR of a host, in the order of the names of their nodes.
pub(super) fn modules(tree: &Tree) -> Vec<MemoryModule> {
    let names = tree.names(ROOT).unwrap_or_default();
    let nodes = names.iter().filter(|name| name.starts_with("lpddr")).take(MOST_NODES);
    nodes.filter_map(|name| Node { tree, path: format!("{ROOT}/{name}") }.module()).collect()
}

/// A node: a folder, whose files are its properties and whose folders are its children.
struct Node<'a> {
    tree: &'a Tree,
    path: String,
}

impl Node<'_> {
    /// None: the node is no memory, or no size is known.
    fn module(&self) -> Option<MemoryModule> {
        let kind = self.kind()?;
        let width = self.number("io-width")?;
        let ranks = self.children("rank@");
        let chips = if ranks.is_empty() { vec![self] } else { ranks.iter().collect() };
        // With a chip of unknown size the whole is unknown.
        let bytes = chips.iter().try_fold(0, |sum: u64, chip| sum.checked_add(chip.bytes(width)?));
        Some(MemoryModule {
            locator: self.path.rsplit('/').next().map(str::to_owned),
            kind: Some(kind),
            bytes: bytes.filter(|bytes| *bytes > 0)?,
            width_bits: u16::try_from(width).ok(),
            speed_mtps: None,
            most_mtps: chips.iter().filter_map(|chip| chip.most_mtps()).min(),
        })
    }

    /// `jedec,lpddr3` and `jedec,lpddr3-channel` are LPDDR3, `jedec,lpddr2-s4` is LPDDR2.
    fn kind(&self) -> Option<String> {
        let names = self.tree.text(&format!("{}/compatible", self.path)).ok()?;
        let known = names.split('\0').find_map(|name| name.strip_prefix("jedec,lpddr"))?;
        if known.ends_with("-nvm") {
            // Flash that is wired as memory.
            return None;
        }
        let generation = known.split('-').next()?;
        let is_generation =
            matches!(generation.as_bytes(), [b'2'..=b'9', rest @ ..] if rest.len() < 2);
        is_generation.then(|| format!("LPDDR{}", generation.to_uppercase()))
    }

    /// Bytes of a chip, and of as many as lie side by side on a channel of `width` bits: `density`
    /// is in megabits.
    fn bytes(&self, width: u32) -> Option<u64> {
        let side_by_side = width.checked_div(self.number("io-width")?)?.max(1);
        let bytes = u64::from(self.number("density")?) << 17;
        bytes.checked_mul(u64::from(side_by_side))
    }

    /// Speed of the fastest timings. They give the clock in Hz, as `max-freq`, and as `reg` of
    /// LPDDR3 before that was named; data is transferred twice a clock (JESD209-2, JESD209-3).
    fn most_mtps(&self) -> Option<u32> {
        let timings = ["lpddr", "timings"].into_iter().flat_map(|start| self.children(start));
        let clocks =
            timings.filter_map(|node| node.number("max-freq").or_else(|| node.number("reg")));
        clocks.max().map(|hertz| hertz / 500_000).filter(|speed| *speed > 0)
    }

    fn children(&self, start: &str) -> Vec<Self> {
        let names = self.tree.names(&self.path).unwrap_or_default();
        let names = names.iter().filter(|name| name.starts_with(start)).take(MOST_NODES);
        names.map(|name| Self { path: format!("{}/{name}", self.path), ..*self }).collect()
    }

    /// A property of one cell: four bytes, the most significant first (Devicetree Specification,
    /// 2.2.4).
    fn number(&self, property: &str) -> Option<u32> {
        let bytes = self.tree.bytes(&format!("{}/{property}", self.path)).ok()?;
        bytes.try_into().ok().map(u32::from_be_bytes)
    }
}

/// Where the kernel has the device tree (`Documentation/ABI/testing/sysfs-firmware-ofw`).
const ROOT: &str = "proc/device-tree";
/// A device tree with more in one node is damaged.
const MOST_NODES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Archive, TreeEntry};

    /// A file below the root node.
    type Property = (&'static str, &'static [u8]);

    fn read(properties: &[Property]) -> Vec<MemoryModule> {
        let entry =
            |(path, bytes): &Property| (format!("{ROOT}/{path}"), TreeEntry::File(bytes.to_vec()));
        modules(&Tree::archived(Archive::from_entries(properties.iter().map(entry))))
    }

    fn lpddr3() -> MemoryModule {
        MemoryModule {
            locator: Some("lpddr3".to_owned()),
            kind: Some("LPDDR3".to_owned()),
            bytes: 2 << 30,
            width_bits: Some(32),
            speed_mtps: None,
            most_mtps: Some(1650),
        }
    }

    /// A chip as boards with Exynos 5422 have it: 16 Gbit, timings for up to 825 MHz.
    const CHIP: [Property; 5] = [
        ("lpddr3/compatible", b"samsung,K3QF2F20DB\0jedec,lpddr3\0"),
        ("lpddr3/density", &16_384_u32.to_be_bytes()),
        ("lpddr3/io-width", &32_u32.to_be_bytes()),
        ("lpddr3/timings@825000000/max-freq", &825_000_000_u32.to_be_bytes()),
        ("model", b"A board\0"),
    ];

    #[test]
    fn a_chip_has_the_speed_of_its_timings() {
        assert_eq!(read(&CHIP), [lpddr3()]);
        let mut old = CHIP;
        old[3].0 = "lpddr3/timings@825000000/reg";
        assert_eq!(read(&old), [lpddr3()]);
    }

    #[test]
    fn a_channel_has_the_chips_of_all_ranks() {
        // On the first rank two chips of 16 bits side by side.
        const CHANNEL: [Property; 6] = [
            ("lpddr-channel0/compatible", b"jedec,lpddr4x-channel\0"),
            ("lpddr-channel0/io-width", &32_u32.to_be_bytes()),
            ("lpddr-channel0/rank@0/density", &4096_u32.to_be_bytes()),
            ("lpddr-channel0/rank@0/io-width", &16_u32.to_be_bytes()),
            ("lpddr-channel0/rank@1/density", &8192_u32.to_be_bytes()),
            ("lpddr-channel0/rank@1/io-width", &32_u32.to_be_bytes()),
        ];
        let module = MemoryModule {
            locator: Some("lpddr-channel0".to_owned()),
            kind: Some("LPDDR4X".to_owned()),
            most_mtps: None,
            ..lpddr3()
        };
        assert_eq!(read(&CHANNEL), [module]);
        assert_eq!(read(&CHANNEL[..3]), [], "the width of a chip is not known");
    }

    #[test]
    fn other_nodes_are_no_memory() {
        for name in ["jedec,lpddr", "jedec,lpddr3000", "jedec,lpddr2-nvm", "jedec,ddr3", ""] {
            let bytes: &'static [u8] = name.as_bytes();
            let mut other = CHIP;
            other[0].1 = bytes;
            assert_eq!(read(&other), [], "{name}");
        }
        let mut damaged = CHIP;
        damaged[1].1 = b"16";
        assert_eq!(read(&damaged), []);
        damaged[1].1 = &[0xff; 4];
        damaged[2].1 = &[0; 4];
        assert_eq!(read(&damaged), []);
    }
}
