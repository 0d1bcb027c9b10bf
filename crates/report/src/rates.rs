//! Rates in the unit that a user chose with iperf3's letters, as this program writes units.

use measurement::BitRate;

pub use crate::iperf3::{Prefix, UnitFormat};

/// A rate in that unit, `941.4 Mbit/s`, `112.2 MiB/s`: to four digits, and all before the point.
pub fn show(unit: UnitFormat, rate: BitRate) -> String {
    let bits = rate.bits_per_second() as f64;
    let (number, letter, name) = match unit {
        UnitFormat::Adaptive => return rate.to_string(),
        UnitFormat::Bits(prefix) => (bits / power(1000.0, prefix), letter(prefix), "bit/s"),
        UnitFormat::Bytes(prefix) => {
            let letter = letter(prefix).to_ascii_uppercase();
            (bits / 8.0 / power(1024.0, prefix), letter, "iB/s")
        }
    };
    let decimals = match number {
        number if number < 9.9995 => 3,
        number if number < 99.995 => 2,
        number if number < 999.95 => 1,
        _ => 0,
    };
    format!("{number:.decimals$} {letter}{name}")
}

fn power(step: f64, prefix: Prefix) -> f64 {
    (0..prefix as usize).fold(1.0, |factor, _| factor * step)
}

/// As the International System of Units has it: the first one is small.
const fn letter(prefix: Prefix) -> char {
    match prefix {
        Prefix::Kilo => 'k',
        Prefix::Mega => 'M',
        Prefix::Giga => 'G',
        Prefix::Tera => 'T',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_the_unit_of_each_letter() {
        let rate = BitRate::from_bits_per_second(941_400_000);
        let shown = |letter: char| show(letter.to_string().parse().expect("a letter"), rate);
        assert_eq!(
            "kmgtKMGT".chars().map(shown).collect::<Vec<_>>(),
            [
                "941400 kbit/s",
                "941.4 Mbit/s",
                "0.941 Gbit/s",
                "0.001 Tbit/s",
                "114917 KiB/s",
                "112.2 MiB/s",
                "0.110 GiB/s",
                "0.000 TiB/s"
            ]
        );
        assert_eq!(show(UnitFormat::Adaptive, rate), rate.to_string());
    }
}
