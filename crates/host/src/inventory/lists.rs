//! Parses the two forms in which the kernel writes sets of CPUs, lists and masks (cpuset(7)).

use measurement::host::MOST_CPU;

/// Parses CPUs in the list format of cpuset(7): `0,2-3`. Malformed parts are left out. The
/// result is sorted and comes from at most 8,192 numbers.
pub fn list(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.trim().split_once('-').unwrap_or((part.trim(), part.trim()));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        Some(first..=last.min(MOST_CPU))
    };
    let mut cpus: Vec<u32> = text.split(',').filter_map(range).flatten().take(MOST).collect();
    // In place: a list may be long, and comes from a captured host.
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// Parses CPUs in the mask format of cpuset(7), hexadecimal words of 32 bits with the highest
/// first: `00000000,00000030`. Malformed words are taken as zero. The result is sorted.
pub fn mask(text: &str) -> Vec<u32> {
    let mut cpus = Vec::new();
    let words = text.trim().rsplit(',').map(|word| u32::from_str_radix(word, 16).unwrap_or(0));
    for (first, word) in (0..=MOST_CPU).step_by(32).zip(words) {
        cpus.extend((0..32).filter(|bit| word >> bit & 1 == 1).map(|bit| first + bit));
    }
    cpus
}

const MOST: usize = 8192;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_masks_name_the_same_cpus() {
        assert_eq!(list("0,2-3\n"), [0, 2, 3]);
        assert!(list("\n").is_empty() && mask("00000000").is_empty());
        assert_eq!(list("5-3,x,7"), [7]);
        assert_eq!(mask("00000001,00000030\n"), [4, 5, 32]);
        assert_eq!(mask("f"), [0, 1, 2, 3]);
    }

    #[test]
    fn a_hostile_list_ends() {
        assert_eq!(list("0-4294967295,0-4294967295").len(), MOST);
        assert!(mask(&"ffffffff,".repeat(100_000)).len() <= MOST);
    }
}
