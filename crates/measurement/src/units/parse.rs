//! Rates, sizes, counts and durations as people type them.
//!
//! Rates are in bits: `100M`, `100Mbit`, `100mbps` and `1e8` are 100,000,000 bit/s. Suffixes of
//! rates are decimal. Sizes are in bytes: `128K` is iperf3's 131,072, as is `128KiB`; `128kB` is
//! 128,000. A unit that is another quantity's is refused with what to type instead.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::{BitRate, ByteSize};

impl FromStr for BitRate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError::new(text, NOT_A_RATE);
        let (number, unit) = split_number(text).ok_or_else(wrong)?;
        let (prefix, rest) = split_prefix(unit);
        if is_bytes_per_second(rest) {
            let bits = factor(prefix, 1000.0).and_then(|factor| to_integer(number, 8.0 * factor));
            return Err(bits.map_or_else(wrong, |bits| UnitError::rate_in_bytes(text, bits)));
        }
        let kilo = if prefix.ends_with('i') { 1024.0 } else { 1000.0 };
        // 100Mi is of a size; 100Mibit is a rate, as tc(8) has it.
        let is_known = BITS.contains(&rest.to_ascii_lowercase().as_str())
            && (kilo < 1024.0 || !rest.is_empty());
        let factor = factor(prefix, kilo).filter(|_| is_known).ok_or_else(wrong)?;
        to_integer(number, factor).map(Self::from_bits_per_second).ok_or_else(wrong)
    }
}

impl FromStr for ByteSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError::new(text, NOT_A_SIZE);
        let (number, unit) = split_number(text).ok_or_else(wrong)?;
        let (prefix, rest) = split_prefix(unit);
        let kilo = match rest.to_ascii_lowercase().as_str() {
            "b" | "byte" | "bytes" if !prefix.ends_with('i') => 1000.0,
            // By itself a suffix is iperf3's.
            "" | "b" | "byte" | "bytes" => 1024.0,
            _ => return Err(wrong()),
        };
        let factor = factor(prefix, kilo).ok_or_else(wrong)?;
        to_integer(number, factor).map(Self::from_bytes).ok_or_else(wrong)
    }
}

/// Parses a number of things with iperf3's suffixes, which are binary: `10K` is 10,240.
///
/// # Errors
/// [`UnitError`] if the text is not a number with such a suffix.
pub fn parse_count(text: &str) -> Result<u64, UnitError> {
    let wrong = || UnitError::new(text, NOT_A_COUNT);
    let (number, unit) = split_number(text).ok_or_else(wrong)?;
    let (prefix, rest) = split_prefix(unit);
    let factor = factor(prefix, 1024.0).filter(|_| rest.is_empty()).ok_or_else(wrong)?;
    to_integer(number, factor).ok_or_else(wrong)
}

/// Parses a duration with one of the suffixes `us`, `ms`, `s`, `m` and `h`, e.g. `500ms`, or with
/// the unit as a word, e.g. `1min`. A number without a suffix is in seconds, as in iperf3.
///
/// # Errors
/// [`UnitError`] if the text is not a number with one of these suffixes.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let wrong = || UnitError::new(text, NOT_A_DURATION);
    let (number, unit) = split_number(text).ok_or_else(wrong)?;
    let seconds = match unit {
        "" | "s" | "sec" | "secs" | "second" | "seconds" => number,
        "ms" | "msec" => number / 1e3,
        "us" | "\u{b5}s" | "\u{3bc}s" | "usec" => number / 1e6,
        "m" | "min" | "mins" | "minute" | "minutes" => number * 60.0,
        "h" | "hour" | "hours" => number * 3600.0,
        _ => return Err(wrong()),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

/// Error of parsing a rate, size, count or duration; it says what to type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    text: String,
    instead: String,
}

impl UnitError {
    fn new(text: &str, instead: &str) -> Self {
        Self { text: shortened(text), instead: instead.to_owned() }
    }

    fn rate_in_bytes(text: &str, bits: u64) -> Self {
        let bits = short(bits);
        Self::new(text, &format!("is in bytes, and rates are in bits: type {bits}"))
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' {}", self.text, self.instead)
    }
}

impl std::error::Error for UnitError {}

/// What was typed, but no more than the sentence has room for.
fn shortened(text: &str) -> String {
    if text.chars().count() <= MOST_SHOWN {
        return text.to_owned();
    }
    text.chars().take(MOST_SHOWN - 3).chain("...".chars()).collect()
}

/// With the longest suffix that loses nothing: `800M`.
fn short(mut number: u64) -> String {
    let mut suffix = "";
    for next in ["K", "M", "G", "T"] {
        if number == 0 || !number.is_multiple_of(1000) {
            break;
        }
        number /= 1000;
        suffix = next;
    }
    format!("{number}{suffix}")
}

/// A number, such as `2.5` or `1e8`, and the unit behind it.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let mantissa = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let exponent = text[mantissa..].strip_prefix(['e', 'E']).map_or(0, |rest| {
        let signed = rest.strip_prefix(['+', '-']).unwrap_or(rest);
        let length = digits(signed);
        if length == 0 { 0 } else { 1 + (rest.len() - signed.len()) + length }
    });
    let (number, unit) = text.split_at(mantissa + exponent);
    Some((number.parse().ok()?, unit.trim_start()))
}

/// The multiplier of a unit, with the `i` of a binary one, and the rest: `Mi` and `bit`.
fn split_prefix(unit: &str) -> (&str, &str) {
    let has_letter = unit.starts_with(['k', 'K', 'm', 'M', 'g', 'G', 't', 'T']);
    let length = usize::from(has_letter);
    let is_binary = has_letter && unit[length..].starts_with('i');
    unit.split_at(length + usize::from(is_binary))
}

fn factor(prefix: &str, kilo: f64) -> Option<f64> {
    let power = match prefix.chars().next().map(|letter| letter.to_ascii_lowercase()) {
        None => 0,
        Some('k') => 1,
        Some('m') => 2,
        Some('g') => 3,
        Some('t') => 4,
        Some(_) => return None,
    };
    Some(kilo.powi(power))
}

/// A small b is a bit: of `mb` nobody knows, and rates are in bits.
fn is_bytes_per_second(unit: &str) -> bool {
    matches!(unit, "B" | "B/s" | "Bps") || unit.to_ascii_lowercase().starts_with("byte")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked before the cast"
)]
fn to_integer(number: f64, factor: f64) -> Option<u64> {
    let value = (number * factor).round();
    (value.is_finite() && (0.0..=MAX_QUANTITY).contains(&value)).then_some(value as u64)
}

const NOT_A_RATE: &str = "is not a rate: type bit/s such as 100M, 2.5G or 0";
const NOT_A_SIZE: &str = "is not a size in bytes: type 128K, 64KiB or 100kB";
const NOT_A_COUNT: &str = "is not a number: type 1000 or 10K";
const NOT_A_DURATION: &str = "is not a duration: type 10s, 500ms or 2m";
/// Units of rates behind the multiplier, in small letters.
const BITS: [&str; 8] = ["", "b", "bit", "bits", "bps", "b/s", "bit/s", "/s"];
/// Characters of the input that an error repeats.
const MOST_SHOWN: usize = 20;
/// 2^53: every whole number below it is exact in JSON readers that use doubles.
const MAX_QUANTITY: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> u64 {
        let rate: Result<BitRate, _> = text.parse();
        rate.unwrap_or_else(|error| panic!("{error}")).bits_per_second()
    }

    fn size(text: &str) -> u64 {
        let size: Result<ByteSize, _> = text.parse();
        size.unwrap_or_else(|error| panic!("{error}")).bytes()
    }

    fn refusal<T: FromStr<Err = UnitError>>(text: &str) -> String {
        text.parse::<T>().err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_rate_is_in_bits_however_its_unit_is_written() {
        for text in [
            "100M",
            "100m",
            "100Mbit",
            "100mbit",
            "100Mbps",
            "100mbps",
            "100Mb",
            "100mb",
            "100Mb/s",
            "100Mbit/s",
            "100M/s",
            "100 Mbit/s",
            "100Mbits",
            "100MBIT",
            "0.1G",
            "100000k",
            "1e8",
            "1E8",
            "1e+8",
            "1.0e8",
            "100e6",
            "100e3kbit",
            "100000000",
            "100000000bit/s",
            "100000000bps",
        ] {
            assert_eq!(rate(text), 100_000_000, "{text}");
        }
        assert_eq!((rate("100kbit"), rate("1Gbps")), (100_000, 1_000_000_000));
        assert_eq!((rate("0"), rate("1Mibit"), rate("1Tbit")), (0, 1_048_576, 1_000_000_000_000));
    }

    #[test]
    fn a_rate_in_bytes_is_refused_with_the_same_in_bits() {
        for (text, bits) in
            [("100MB", "800M"), ("100MB/s", "800M"), ("12.5MBps", "100M"), ("1kB/s", "8K")]
        {
            let instead = format!("rates are in bits: type {bits}");
            let refusal = refusal::<BitRate>(text);
            assert!(refusal.ends_with(&instead), "{refusal}");
            assert!(BitRate::from_str(bits).is_ok(), "{bits}");
        }
    }

    #[test]
    fn sizes_have_binary_suffixes_unless_spelled_out() {
        for text in ["128K", "128k", "128KiB", "128kib", "128Ki", "0.125M", "131072", "131072B"] {
            assert_eq!(size(text), 131_072, "{text}");
        }
        assert_eq!((size("128kB"), size("1MB"), size("4mb")), (128_000, 1_000_000, 4_000_000));
        assert_eq!((size("4M"), size("1460 bytes"), size("1e6")), (4 << 20, 1460, 1_000_000));
        assert!(refusal::<ByteSize>("4Mbit").contains("in bytes"));
    }

    #[test]
    fn counts_have_the_suffixes_of_iperf3() {
        assert_eq!((parse_count("1000"), parse_count("10K")), (Ok(1000), Ok(10_240)));
        assert!(parse_count("10KB").is_err() && parse_count("-1").is_err());
    }

    #[test]
    fn what_is_printed_can_be_typed() {
        for number in [0, 1, 999, 1000, 941_400_000, 2_500_000_000, 1 << 40] {
            let (rate, size) =
                (BitRate::from_bits_per_second(number), ByteSize::from_bytes(number));
            // Four digits are printed.
            let near = |typed: u64| typed.abs_diff(number) <= number / 1000;
            assert!(near(self::rate(&rate.to_string())), "{rate}");
            assert!(near(self::size(&size.to_string())), "{size}");
        }
        for millis in [0, 1, 500, 1250, 60_000] {
            let span = Duration::from_millis(millis);
            assert_eq!(parse_duration(&crate::units::show_duration(span)), Ok(span));
        }
    }

    #[test]
    fn no_text_makes_a_reader_panic() {
        let letters =
            ["1", "0", ".", "e", "E", "-", "+", "k", "M", "i", "b", "B", "/s", " ", "\u{b5}s"];
        for one in letters {
            for two in letters {
                for three in letters {
                    for four in letters {
                        let text = [one, two, three, four].concat();
                        let rate = text.parse::<BitRate>();
                        let size = text.parse::<ByteSize>();
                        let most = rate.map_or(0, BitRate::bits_per_second);
                        assert!(most.max(size.map_or(0, ByteSize::bytes)) <= 1 << 53, "{text}");
                        _ = (parse_count(&text), parse_duration(&text));
                    }
                }
            }
        }
    }

    #[test]
    fn nonsense_is_refused_with_an_example() {
        for text in [
            "",
            "M",
            "-5M",
            "1Q",
            "99999999999999T",
            "1.2.3",
            "nan",
            "1e",
            "1e-",
            "1e99",
            "100Mx",
            "10 apples",
            "\u{e9}",
            "1\u{e9}",
        ] {
            assert!(refusal::<BitRate>(text).contains("100M"), "{text} is no rate");
            assert!(refusal::<ByteSize>(text).contains("128K"), "{text} is no size");
        }
        let long = refusal::<BitRate>(&"x".repeat(1000));
        assert!(long.len() < 80 && long.starts_with("'xxxxxxxxxxxxxxxxx...'"), "{long}");
    }

    #[test]
    fn durations_take_the_usual_suffixes() {
        for (text, millis) in [
            ("10", 10_000),
            ("10s", 10_000),
            ("10 seconds", 10_000),
            ("500ms", 500),
            ("2m", 120_000),
            ("1min", 60_000),
            ("1h", 3_600_000),
            ("1e3ms", 1000),
            ("0.5", 500),
            ("5000us", 5),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["soon", "-1s", "", "2d", "10M", "1e999"] {
            let error = parse_duration(text).expect_err(text).to_string();
            assert!(error.ends_with("type 10s, 500ms or 2m"), "{error}");
        }
    }
}
