//! Sizes of the caches of a CPU, by `/sys/devices/system/cpu/cpuN/cache` (sysfs-devices-system-cpu).

use crate::Tree;

/// Bytes of the caches of data by level, the first level first; empty: not known.
pub(super) fn sizes(tree: &Tree, cpu: u32) -> Vec<u64> {
    let mut sizes = Vec::new();
    for index in 0..MOST {
        let value = |file: &str| {
            tree.value(&format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}/{file}"))
        };
        let is_data = value("type").is_some_and(|kind| kind != "Instruction");
        let level = value("level").and_then(|level| level.parse::<usize>().ok());
        let size = value("size").and_then(|size| bytes(&size));
        if let (true, Some(level), Some(size)) = (is_data, level, size)
            && level == sizes.len() + 1
        {
            sizes.push(size);
        }
    }
    sizes
}

/// Reads `48K` or `480M`.
fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let factor = match unit {
        "K" => 1 << 10,
        "M" => 1 << 20,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// More caches than a CPU has.
const MOST: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_their_unit() {
        assert_eq!(
            ["48K", "480M", "", "12", "9é"].map(bytes),
            [Some(49_152), Some(503_316_480), None, None, None]
        );
    }
}
