//! Values of options as iperf2 writes them: upper letters are powers of 1024, lower ones of 1000.

use std::net::IpAddr;
use std::time::Duration;

use measurement::{BitRate, ByteSize};
use report::iperf3::UnitFormat;

/// Datagrams in frames, each of which is sent at once (`--isochronous`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frames {
    pub(super) per_second: f64,
    /// Mean rate.
    pub(super) rate: BitRate,
}

impl Default for Frames {
    fn default() -> Self {
        Self { per_second: 60.0, rate: BitRate::from_bits_per_second(20_000_000) }
    }
}

pub(super) fn port(text: &str) -> Result<u16, String> {
    let port = text.parse().ok().filter(|port| *port > 0);
    port.ok_or_else(|| format!("-p {text}: a port is a number from 1 to 65535"))
}

/// The sender to a group.
pub(super) fn address(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| format!("-H {text}: the sender to a group is an address"))
}

pub(super) fn count(option: &str, text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| format!("{option} {text}: a number from 1 on is needed"))
}

pub(super) fn seconds(option: &str, text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| format!("{option} {text}: a time is a number of seconds"))
}

pub(super) fn millis(option: &str, text: &str) -> Result<Duration, String> {
    let millis = text.parse::<f64>().ok().map(|millis| millis / 1e3);
    let time = millis.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| format!("{option} {text}: a time is a number of milliseconds"))
}

/// A number of bytes.
pub(super) fn size(option: &str, text: &str) -> Result<u64, String> {
    scaled(text).ok_or_else(|| format!("{option} {text}: a size is a number, as 8K or 2M"))
}

pub(super) fn rate(text: &str) -> Result<BitRate, String> {
    let rate = scaled(text).map(BitRate::from_bits_per_second);
    rate.ok_or_else(|| format!("-b {text}: a rate is a number of bit/s, as 10M or 1g"))
}

/// `60:20m`: frames in a second, and their mean rate, of which upper letters are bytes.
pub(super) fn frames(text: &str) -> Result<Frames, String> {
    let wrong =
        || format!("--isochronous={text}: frames a second and their rate are needed, as 60:20m");
    let (per_second, rate) = text.split_once(':').ok_or_else(wrong)?;
    if rate.contains(',') {
        return Err(format!(
            "--isochronous={text}: frames have one length here; leave the deviation out"
        ));
    }
    let per_second = per_second
        .parse()
        .ok()
        .filter(|frames| (1.0..=1_000.0).contains(frames))
        .ok_or_else(wrong)?;
    let (number, factor) = match rate.char_indices().last() {
        Some((at, 'k')) => (&rate[..at], 1e3),
        Some((at, 'm')) => (&rate[..at], 1e6),
        Some((at, 'g')) => (&rate[..at], 1e9),
        Some((at, 'K')) => (&rate[..at], 8e3),
        Some((at, 'M')) => (&rate[..at], 8e6),
        Some((at, 'G')) => (&rate[..at], 8e9),
        _ => (rate, 1.0),
    };
    let bits = number.parse::<f64>().ok().map(|number| number * factor);
    let bits = bits.filter(|bits| (1e3..=1e12).contains(bits)).ok_or_else(wrong)?;
    Ok(Frames { per_second, rate: BitRate::from_bits_per_second(whole(bits)) })
}

pub(super) fn unit(text: &str) -> Result<UnitFormat, String> {
    if text == "a" {
        return Ok(UnitFormat::Adaptive);
    }
    text.parse().map_err(|_| format!("-f {text}: a unit is one of k, m, g, K, M, G and a"))
}

pub(super) fn type_of_service(text: &str) -> Result<u8, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u8::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    number.ok_or_else(|| format!("-S {text}: a type of service is a number from 0 to 255, as 0x10"))
}

pub(super) fn hop_limit(text: &str) -> Result<u8, String> {
    let hops = text.parse().ok().filter(|hops| *hops > 0);
    hops.ok_or_else(|| format!("-T {text}: a time to live is a number from 1 to 255"))
}

/// Bytes that may be asked for over all streams.
pub(super) fn times(bytes: u64, streams: u32) -> ByteSize {
    ByteSize::from_bytes(bytes.saturating_mul(streams.into()))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is checked to be positive, and saturates"
)]
pub(super) fn whole(number: f64) -> u64 {
    number.round() as u64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is checked to be positive, and saturates"
)]
fn scaled(text: &str) -> Option<u64> {
    let letter = text.chars().last()?;
    let factor: f64 = match letter {
        'K' => 1024.0,
        'M' => 1024.0 * 1024.0,
        'G' => 1024.0 * 1024.0 * 1024.0,
        'k' => 1e3,
        'm' => 1e6,
        'g' => 1e9,
        _ => 1.0,
    };
    let digits = if factor > 1.0 { &text[..text.len() - 1] } else { text };
    let number =
        digits.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)?;
    Some((number * factor) as u64)
}
