//! Sets of CPUs in the kernel's form.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use crate::host::MOST_CPU;
use crate::into_map::IntoSet;

/// A set of CPUs, written as `/proc/irq/N/smp_affinity`, `rps_cpus` and `xps_cpus` take it:
/// hexadecimal, in groups of 32 bits with commas between them (`bitmap_parse` in lib/bitmap-str.c,
/// Documentation/core-api/irq/irq-affinity.rst).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuMask(BTreeSet<u32>);

impl CpuMask {
    /// The CPUs of the set, in order.
    pub fn cpus(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }
}

/// CPUs beyond [`MOST_CPU`], which no kernel has, are left out.
impl FromIterator<u32> for CpuMask {
    fn from_iter<T: IntoIterator<Item = u32>>(cpus: T) -> Self {
        Self(cpus.into_iter().filter(|cpu| *cpu <= MOST_CPU).into_set())
    }
}

impl Display for CpuMask {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let groups = self.0.last().map_or(1, |most| most / BITS + 1);
        let group = |group: u32| {
            let own = self.cpus().filter(|cpu| cpu / BITS == group);
            own.fold(0_u32, |bits, cpu| bits | 1 << (cpu % BITS))
        };
        write!(f, "{:x}", group(groups - 1))?;
        (0..groups - 1).rev().try_for_each(|lower| write!(f, ",{:08x}", group(lower)))
    }
}

/// Error of parsing a [`CpuMask`]: the text is not groups of hexadecimal digits, or has more CPUs
/// than Linux supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMask;

impl FromStr for CpuMask {
    type Err = NoMask;

    fn from_str(text: &str) -> Result<Self, NoMask> {
        let mut cpus = BTreeSet::new();
        for (group, digits) in text.rsplit(',').enumerate() {
            let is_hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            let group = u32::try_from(group).map_err(|_| NoMask)?;
            if !is_hexadecimal || group > MOST_CPU / BITS {
                return Err(NoMask);
            }
            let bits = u32::from_str_radix(digits, 16).map_err(|_| NoMask)?;
            let own = (0..BITS).filter(|bit| bits >> bit & 1 == 1);
            cpus.extend(own.map(|bit| group * BITS + bit));
        }
        Ok(Self(cpus))
    }
}

/// CPUs of one group of a mask.
const BITS: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_hexadecimal_in_groups_of_32() {
        let text = |cpus: &[u32]| cpus.iter().copied().collect::<CpuMask>().to_string();
        assert_eq!([text(&[4]), text(&[5]), text(&[0, 1, 3])], ["10", "20", "b"]);
        assert_eq!(text(&[33, 64]), "1,00000002,00000000");
        assert_eq!((text(&[1, u32::MAX]), text(&[u32::MAX])), ("2".to_owned(), "0".to_owned()));
    }

    #[test]
    fn what_is_written_is_read_again_and_nothing_else_is() {
        for cpus in [vec![], vec![0], vec![33, 64], vec![31, 32, MOST_CPU]] {
            let mask: CpuMask = cpus.into_iter().collect();
            assert_eq!(mask.to_string().parse(), Ok(mask));
        }
        for text in ["", "x", "+1", "1,,2", "100000000", " 1"] {
            assert_eq!(text.parse::<CpuMask>(), Err(NoMask), "{text}");
        }
        let long = "1,".repeat(300) + "1";
        assert_eq!(long.parse::<CpuMask>(), Err(NoMask));
    }
}
