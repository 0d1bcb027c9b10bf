//! Formats amounts and rates with iperf3's units, in four places wherever they suffice.

use std::fmt;
use std::str::FromStr;

/// The unit in which rates are printed (`-f` of iperf3(1)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnitFormat {
    /// Bits per second, with the prefix that suits the number.
    #[default]
    Adaptive,
    /// Bits per second with this decimal prefix.
    Bits(Prefix),
    /// Bytes per second with this binary prefix.
    Bytes(Prefix),
}

/// Prefix of a unit of rates: a power of 1000 for bits, of 1024 for bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// The first power: 1000 bits or 1024 bytes.
    Kilo = 1,
    /// The second power: 1000² bits or 1024² bytes.
    Mega,
    /// The third power: 1000³ bits or 1024³ bytes.
    Giga,
    /// The fourth power: 1000⁴ bits or 1024⁴ bytes.
    Tera,
}

impl UnitFormat {
    /// Formats an amount of bytes as iperf2 does: `-f` chooses its prefix too.
    pub(crate) fn amount(self, bytes: f64) -> String {
        let (number, unit) = match self {
            Self::Adaptive => return amount(bytes),
            Self::Bits(prefix) | Self::Bytes(prefix) => scaled(bytes, BYTES, prefix as usize),
        };
        format!("{} {unit}s", four_places(number))
    }

    /// Formats a rate, given in bytes per second, without `/sec`: `9.41 Gbits`.
    pub(crate) fn rate(self, bytes_per_second: f64) -> String {
        let bits = bytes_per_second * 8.0;
        let (number, unit) = match self {
            Self::Adaptive => scaled(bits, BITS, BITS.suited(bits)),
            Self::Bits(prefix) => scaled(bits, BITS, prefix as usize),
            Self::Bytes(prefix) => scaled(bytes_per_second, BYTES, prefix as usize),
        };
        format!("{} {unit}s", four_places(number))
    }
}

impl FromStr for UnitFormat {
    type Err = UnknownUnit;

    /// Parses an argument of `-f`. As in iperf3 only the first letter counts.
    fn from_str(text: &str) -> Result<Self, UnknownUnit> {
        let letter = text.chars().next().ok_or(UnknownUnit)?;
        let prefix = match letter.to_ascii_lowercase() {
            'k' => Prefix::Kilo,
            'm' => Prefix::Mega,
            'g' => Prefix::Giga,
            't' => Prefix::Tera,
            _ => return Err(UnknownUnit),
        };
        let is_bytes = letter.is_ascii_uppercase();
        Ok(if is_bytes { Self::Bytes(prefix) } else { Self::Bits(prefix) })
    }
}

/// Error of parsing a [`UnitFormat`]: the argument of `-f` begins with none of the letters
/// `kmgtKMGT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownUnit;

impl fmt::Display for UnknownUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bad format specifier (valid formats are in the set [kmgtKMGT])")
    }
}

impl std::error::Error for UnknownUnit {}

/// Formats an amount of bytes: `1.10 GBytes`.
pub(crate) fn amount(bytes: f64) -> String {
    let (number, unit) = scaled(bytes, BYTES, BYTES.suited(bytes));
    format!("{} {unit}s", four_places(number))
}

#[derive(Clone, Copy)]
struct Scale {
    step: f64,
    labels: [&'static str; 5],
}

impl Scale {
    /// The prefix that leaves the fewest digits before the point.
    fn suited(self, mut number: f64) -> usize {
        let mut power = 0;
        while number >= self.step && power + 1 < self.labels.len() {
            number /= self.step;
            power += 1;
        }
        power
    }
}

fn scaled(number: f64, scale: Scale, power: usize) -> (f64, &'static str) {
    let factor = (0..power).fold(1.0, |factor, _| factor / scale.step);
    (number * factor, scale.labels[power])
}

/// The limits are where rounding would need one place more.
fn four_places(number: f64) -> String {
    let decimals = match number {
        n if n < 9.995 => 2,
        n if n < 99.95 => 1,
        _ => 0,
    };
    format!("{number:4.decimals$}")
}

const BITS: Scale = Scale { step: 1000.0, labels: ["bit", "Kbit", "Mbit", "Gbit", "Tbit"] };
const BYTES: Scale = Scale { step: 1024.0, labels: ["Byte", "KByte", "MByte", "GByte", "TByte"] };

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes; as an amount; as an adaptive rate; then in Kbit, Mbit, Gbit, Tbit, KByte,
    /// MByte, GByte and TByte, as iperf3 prints them but for spaces in front.
    const TABLE: &str = "\
0|0.00 Byte|0.00 bit|0.00|0.00|0.00|0.00|0.00|0.00|0.00|0.00
125|125 Byte|1.00 Kbit|1.00|0.00|0.00|0.00|0.12|0.00|0.00|0.00
999|999 Byte|7.99 Kbit|7.99|0.01|0.00|0.00|0.98|0.00|0.00|0.00
1000|1000 Byte|8.00 Kbit|8.00|0.01|0.00|0.00|0.98|0.00|0.00|0.00
1024|1.00 KByte|8.19 Kbit|8.19|0.01|0.00|0.00|1.00|0.00|0.00|0.00
124937.5|122 KByte|1000 Kbit|1000|1.00|0.00|0.00|122|0.12|0.00|0.00
1249375|1.19 MByte|10.0 Mbit|9995|10.0|0.01|0.00|1220|1.19|0.00|0.00
12500000|11.9 MByte|100 Mbit|100000|100|0.10|0.00|12207|11.9|0.01|0.00
117675000|112 MByte|941 Mbit|941400|941|0.94|0.00|114917|112|0.11|0.00
1250000000|1.16 GByte|10.0 Gbit|10000000|10000|10.0|0.01|1220703|1192|1.16|0.00
10234.879999999999|10.0 KByte|81.9 Kbit|81.9|0.08|0.00|0.00|10.0|0.01|0.00|0.00
1310720|1.25 MByte|10.5 Mbit|10486|10.5|0.01|0.00|1280|1.25|0.00|0.00
1500000000000|1.36 TByte|12.0 Tbit|12000000000|12000000|12000|12.0|1464843750|1430511|1397|1.36
2000000000000000|1819 TByte|16000 Tbit|16000000000000|16000000000|16000000|16000|1953125000000|1907348633|1862645|1819
131072|128 KByte|1.05 Mbit|1049|1.05|0.00|0.00|128|0.12|0.00|0.00
15625000|14.9 MByte|125 Mbit|125000|125|0.12|0.00|15259|14.9|0.01|0.00";

    #[test]
    fn amounts_and_rates_read_as_iperf3_prints_them() {
        for row in TABLE.lines() {
            let mut cells = row.split('|');
            let bytes: f64 = cells.next().and_then(|cell| cell.parse().ok()).expect("bytes");
            let mut expect = |text: String| {
                assert_eq!(Some(text.trim_start()), cells.next(), "{bytes}");
            };
            expect(amount(bytes).trim_end_matches('s').to_owned());
            expect(UnitFormat::Adaptive.rate(bytes).trim_end_matches('s').to_owned());
            for letter in "kmgtKMGT".chars() {
                let unit: UnitFormat = letter.to_string().parse().expect("a letter of -f");
                expect(unit.rate(bytes).trim_start().split(' ').next().unwrap_or("").to_owned());
            }
        }
    }

    #[test]
    fn numbers_take_four_places_and_their_unit() {
        assert_eq!(amount(131_072.0), " 128 KBytes");
        assert_eq!(UnitFormat::Bits(Prefix::Mega).rate(117_675_000.0), " 941 Mbits");
        assert_eq!(UnitFormat::Bytes(Prefix::Giga).rate(1.25e9), "1.16 GBytes");
    }

    #[test]
    fn only_the_first_letter_counts() {
        assert_eq!("Mbytes".parse(), Ok(UnitFormat::Bytes(Prefix::Mega)));
        for text in ["", "a", "b", "B", "x"] {
            assert_eq!(text.parse::<UnitFormat>(), Err(UnknownUnit), "{text}");
        }
    }
}
