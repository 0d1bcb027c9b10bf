//! Types of rates ([`BitRate`]), sizes ([`ByteSize`]) and times ([`Timestamp`]), and the parsing of
//! text with iperf3's suffixes, e.g. `100M`.
//!
//! Rates use decimal suffixes (`100M` = 100,000,000 bit/s), sizes use iperf3's
//! binary ones (`128K` = 131,072 bytes) or explicit ones (`128KiB`, `128kB`).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct BitRate(u64);

impl BitRate {
    /// Makes a rate from a number of bits per second.
    pub const fn from_bits_per_second(bits: u64) -> Self {
        Self(bits)
    }

    /// The average rate of `bytes` bytes that took the time `span`; zero if `span` is zero.
    pub fn average(bytes: u64, span: Duration) -> Self {
        let nanos = span.as_nanos();
        if nanos == 0 {
            return Self(0);
        }
        let bits = u128::from(bytes) * 8 * NANOS_PER_SECOND / nanos;
        Self(u64::try_from(bits).unwrap_or(u64::MAX))
    }

    /// The rate in bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// The total rate of `count` streams with this rate each; at most `u64::MAX` bit/s.
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }

    /// The time in which `bytes` bytes are sent at this rate. Zero if the rate is zero, which
    /// stands for no limit.
    pub fn time_for(self, bytes: u64) -> Duration {
        if self.0 == 0 {
            return Duration::ZERO;
        }
        let nanos = u128::from(bytes) * 8 * NANOS_PER_SECOND / u128::from(self.0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The rate in bit/s with all digits, e.g. `100,000,000 bit/s`, to show how an input such as
    /// `100M` was understood.
    pub fn expanded(self) -> String {
        format!("{} bit/s", group_thousands(self.0))
    }
}

impl fmt::Display for BitRate {
    /// Four significant digits with a decimal prefix: `941.4 Mbit/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&scaled(self.0, 1000.0, &["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"]))
    }
}

impl FromStr for BitRate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, suffix) = split_number(text).ok_or_else(|| UnitError::rate(text))?;
        let suffix =
            suffix.strip_suffix("bit/s").or_else(|| suffix.strip_suffix("bps")).unwrap_or(suffix);
        let factor = decimal_factor(suffix).ok_or_else(|| UnitError::rate(text))?;
        to_integer(number, factor).map(Self).ok_or_else(|| UnitError::rate(text))
    }
}

/// A size or an amount of data in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct ByteSize(u64);

impl ByteSize {
    /// Makes a size from a number of bytes.
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The size in bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// The size in bytes with all digits, e.g. `131,072 bytes`, to show how an input such as `128K`
    /// was understood.
    pub fn expanded(self) -> String {
        let unit = if self.0 == 1 { "byte" } else { "bytes" };
        format!("{} {unit}", group_thousands(self.0))
    }
}

impl fmt::Display for ByteSize {
    /// Four significant digits with a binary prefix: `1.125 GiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&scaled(self.0, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"]))
    }
}

impl FromStr for ByteSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, suffix) = split_number(text).ok_or_else(|| UnitError::size(text))?;
        let factor = size_factor(suffix).ok_or_else(|| UnitError::size(text))?;
        to_integer(number, factor).map(Self).ok_or_else(|| UnitError::size(text))
    }
}

/// An instant on the monotonic clock of one host (`CLOCK_MONOTONIC`, clock_gettime(2)), in
/// nanoseconds since the epoch of that clock.
///
/// Two timestamps compare only when they come from the same host and boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Makes an instant from a number of nanoseconds since the epoch of the host's monotonic clock.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the epoch of the host's monotonic clock.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Time from `earlier` to this instant; zero if `earlier` is later. Both must come from the
    /// same host and boot.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The instant that is `span` later, on the same clock.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// Parses a duration with one of the suffixes `us`, `ms`, `s`, `m` and `h`, e.g. `500ms`. A number
/// without a suffix is in seconds.
///
/// # Errors
/// [`UnitError`] if the text is not a number with one of these suffixes.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let (number, suffix) = split_number(text).ok_or_else(|| UnitError::duration(text))?;
    let seconds = match suffix {
        "" | "s" | "sec" => number,
        "ms" => number / 1e3,
        "us" => number / 1e6,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(UnitError::duration(text)),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| UnitError::duration(text))
}

/// Formats a duration in s, ms or us with at most two decimals, e.g. `10s`, `500ms`, `1.25s`.
pub fn show_duration(span: Duration) -> String {
    let seconds = span.as_secs_f64();
    if seconds >= 1.0 || span.is_zero() {
        format!("{}s", trimmed(seconds, 2))
    } else if seconds >= 1e-3 {
        format!("{}ms", trimmed(seconds * 1e3, 2))
    } else {
        format!("{}us", trimmed(seconds * 1e6, 2))
    }
}

/// Error of parsing a rate, size or duration: the text is not a number with a suffix of that unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    text: String,
    expected: &'static str,
}

impl UnitError {
    fn new(text: &str, expected: &'static str) -> Self {
        Self { text: text.to_owned(), expected }
    }

    fn rate(text: &str) -> Self {
        Self::new(text, "a rate such as 100M, 2.5G or 0 (bit/s, decimal suffixes K M G T)")
    }

    fn size(text: &str) -> Self {
        Self::new(text, "a size such as 128K, 1M, 64KiB or 100kB (K M G T alone are binary)")
    }

    fn duration(text: &str) -> Self {
        Self::new(text, "a duration such as 10s, 500ms or 2m")
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not {}", self.text, self.expected)
    }
}

impl std::error::Error for UnitError {}

/// Formats a number with commas between groups of three digits, e.g. `131,072`.
pub fn group_thousands(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn scaled(value: u64, step: f64, units: &[&str]) -> String {
    let mut number = value as f64;
    let mut unit = 0;
    // 999.95 would print as "1000.0": go to the next prefix where rounding does.
    while number >= step - 0.05 && unit + 1 < units.len() {
        number /= step;
        unit += 1;
    }
    let decimals = match number {
        _ if unit == 0 => 0,
        n if n < 9.9995 => 3,
        n if n < 99.995 => 2,
        _ => 1,
    };
    format!("{number:.decimals$} {}", units[unit])
}

fn trimmed(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn split_number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    Some((number.parse().ok()?, suffix.trim_start()))
}

fn decimal_factor(suffix: &str) -> Option<f64> {
    Some(match suffix {
        "" => 1.0,
        "k" | "K" => 1e3,
        "m" | "M" => 1e6,
        "g" | "G" => 1e9,
        "t" | "T" => 1e12,
        _ => return None,
    })
}

fn size_factor(suffix: &str) -> Option<f64> {
    const KIB: f64 = 1024.0;
    Some(match suffix {
        "" | "B" => 1.0,
        "k" | "K" | "KiB" => KIB,
        "m" | "M" | "MiB" => KIB * KIB,
        "g" | "G" | "GiB" => KIB * KIB * KIB,
        "t" | "T" | "TiB" => KIB * KIB * KIB * KIB,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        _ => return None,
    })
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

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// 2^53: every whole number below it is exact in JSON readers that use doubles.
const MAX_QUANTITY: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> u64 {
        text.parse::<BitRate>().expect("a rate").bits_per_second()
    }

    fn size(text: &str) -> u64 {
        text.parse::<ByteSize>().expect("a size").bytes()
    }

    #[test]
    fn rates_have_decimal_suffixes() {
        assert_eq!(rate("100M"), 100_000_000);
        assert_eq!(rate("2.5G"), 2_500_000_000);
        assert_eq!(rate("0"), 0);
        assert_eq!(rate("10 Mbit/s"), 10_000_000);
    }

    #[test]
    fn sizes_have_binary_suffixes_unless_spelled_out() {
        assert_eq!(size("128K"), 131_072);
        assert_eq!(size("128KiB"), 131_072);
        assert_eq!(size("128kB"), 128_000);
        assert_eq!(size("1460"), 1460);
    }

    #[test]
    fn nonsense_is_refused_with_an_example() {
        for text in ["", "M", "-5M", "1Q", "1e9", "99999999999999T", "1.2.3", "nan"] {
            assert!(text.parse::<BitRate>().is_err(), "{text} is no rate");
            assert!(text.parse::<ByteSize>().is_err(), "{text} is no size");
        }
        let error = "10 apples".parse::<BitRate>().expect_err("not a rate");
        assert!(error.to_string().contains("100M"), "{error}");
    }

    #[test]
    fn durations_take_the_usual_suffixes() {
        assert_eq!(parse_duration("10").expect("seconds"), Duration::from_secs(10));
        assert_eq!(parse_duration("500ms").expect("ms"), Duration::from_millis(500));
        assert_eq!(parse_duration("2m").expect("minutes"), Duration::from_secs(120));
        assert!(parse_duration("soon").is_err());
        assert!(parse_duration("-1s").is_err());
    }

    #[test]
    fn quantities_print_four_digits_and_a_unit() {
        assert_eq!(BitRate(941_400_000).to_string(), "941.4 Mbit/s");
        assert_eq!(BitRate(999_960_000).to_string(), "1.000 Gbit/s");
        assert_eq!(BitRate(0).to_string(), "0 bit/s");
        assert_eq!(ByteSize(1_207_959_552).to_string(), "1.125 GiB");
        assert_eq!(BitRate(100_000_000).expanded(), "100,000,000 bit/s");
        assert_eq!(show_duration(Duration::from_millis(1250)), "1.25s");
        assert_eq!(show_duration(Duration::from_millis(10)), "10ms");
        assert_eq!(show_duration(Duration::from_secs(10)), "10s");
    }

    #[test]
    fn a_rate_and_a_span_agree_with_each_other() {
        let rate = BitRate::average(1_250_000, Duration::from_secs(1));
        assert_eq!(rate.bits_per_second(), 10_000_000);
        assert_eq!(rate.time_for(1_250_000), Duration::from_secs(1));
        assert_eq!(BitRate::average(1, Duration::ZERO).bits_per_second(), 0);
    }
}
