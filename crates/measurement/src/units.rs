//! Types of rates ([`BitRate`]), sizes ([`ByteSize`]) and times ([`Timestamp`]). How they are typed
//! is in `parse`, with iperf3's suffixes, e.g. `100M`, and the usual units, e.g. `100Mbit/s`.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

mod parse;
mod per_second;

pub use parse::{UnitError, parse_count, parse_duration};
pub use per_second::PerSecond;

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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

/// A size or an amount of data in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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

/// Formats a duration as options take it: in s, ms or us with at most two decimals, e.g. `10s`,
/// `500ms`, `1.25s`.
pub fn show_duration(span: Duration) -> String {
    let (number, unit) = in_seconds(span);
    format!("{number}{unit}")
}

/// Formats a duration for sentences and tables, as the SI has it: `10 s`, `500 ms`, `1.25 s`.
pub fn show_time(span: Duration) -> String {
    let (number, unit) = in_seconds(span);
    format!("{number} {unit}")
}

fn in_seconds(span: Duration) -> (String, &'static str) {
    let seconds = span.as_secs_f64();
    if seconds >= 1.0 || span.is_zero() {
        (trimmed(seconds, 2), "s")
    } else if seconds >= 1e-3 {
        (trimmed(seconds * 1e3, 2), "ms")
    } else {
        (trimmed(seconds * 1e6, 2), "us")
    }
}

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

/// A number of things, e.g. `1 datagram`, `1,500 datagrams`.
pub fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", group_thousands(number))
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

const NANOS_PER_SECOND: u128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_no_plural() {
        let shown = [0, 1, 1_500].map(|number| counted(number, "datagram"));
        assert_eq!(shown, ["0 datagrams", "1 datagram", "1,500 datagrams"]);
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
        assert_eq!(show_time(Duration::from_micros(52_460)), "52.46 ms");
    }

    #[test]
    fn a_rate_and_a_span_agree_with_each_other() {
        let rate = BitRate::average(1_250_000, Duration::from_secs(1));
        assert_eq!(rate.bits_per_second(), 10_000_000);
        assert_eq!(rate.time_for(1_250_000), Duration::from_secs(1));
        assert_eq!(BitRate::average(1, Duration::ZERO).bits_per_second(), 0);
    }
}
