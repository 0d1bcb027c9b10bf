//! Values of iperf3's flags, read as generously as iperf3 reads them.

use std::net::Ipv6Addr;
use std::time::Duration;

use measurement::{BitRate, ByteSize};
use report::iperf3::UnitFormat;

/// A whole number; like atoi(3) it ends where its digits end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole(pub(crate) u64);

/// A time in whole seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seconds(pub(crate) Duration);

/// `-b`: the rate and the blocks at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    pub(crate) rate: BitRate,
    pub(crate) burst: Option<u32>,
}

/// `--server-bitrate-limit`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerLimit {
    pub(crate) rate: BitRate,
    pub(crate) window: Duration,
}

/// `-A`: this end's CPU and the server's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Affinity {
    pub(crate) own: usize,
    pub(crate) server: Option<u32>,
}

/// `--cntl-ka`: what is absent is left to the system.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ControlKeepalive {
    pub(crate) idle: Option<Duration>,
    pub(crate) interval: Option<Duration>,
    pub(crate) probes: Option<u32>,
}

/// `-c`.
#[derive(Clone, Debug)]
pub(crate) struct ClientHost {
    pub(crate) host: String,
    pub(crate) device: Option<String>,
}

pub(crate) fn whole(text: &str) -> Result<Whole, String> {
    let digits = text.trim_start();
    let digits = digits.strip_prefix('+').unwrap_or(digits);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().map(Whole).map_err(|_| "a whole number is needed".to_owned())
}

fn within(text: &str, least: u64, most: u64, wrong: &str) -> Result<u64, String> {
    let Whole(number) = whole(text)?;
    if (least..=most).contains(&number) { Ok(number) } else { Err(wrong.to_owned()) }
}

pub(crate) fn port(text: &str) -> Result<u16, String> {
    within(text, 1, 65_535, "port number must be between 1 and 65535 inclusive")
        .map(|port| u16::try_from(port).unwrap_or(u16::MAX))
}

pub(crate) fn seconds(text: &str) -> Result<Seconds, String> {
    within(text, 0, 86_400, "test duration valid values are 0 to 86400 seconds")
        .map(|seconds| Seconds(Duration::from_secs(seconds)))
}

pub(crate) fn interval(text: &str) -> Result<f64, String> {
    // Like atof(3) it ends where the number ends.
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: Result<f64, _> = text[..end].parse();
    match number {
        Ok(number) if number == 0.0 || (0.1..=60.0).contains(&number) => Ok(number),
        Ok(_) => Err("invalid report interval (min = 0.1, max = 60 seconds)".to_owned()),
        Err(_) => Err("a number of seconds is needed".to_owned()),
    }
}

/// A number with a suffix that multiplies it by a power of `kilo`.
fn scaled(text: &str, kilo: f64) -> Result<f64, String> {
    let wrong = || format!("'{text}' is no number with a suffix K, M, G or T");
    let number = text.trim();
    let end = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
    let (digits, rest) = number.split_at(end);
    // iperf3 ignores what follows the letter: 8K, 8KB and 8Kbit are the same.
    let power = match rest.chars().next().map(|suffix| suffix.to_ascii_uppercase()) {
        None => 0,
        Some('K') => 1,
        Some('M') => 2,
        Some('G') => 3,
        Some('T') => 4,
        Some(_) => return Err(wrong()),
    };
    let value: f64 = digits.parse().map_err(|_| wrong())?;
    let value = value * kilo.powi(power);
    if (0.0..MOST).contains(&value) { Ok(value) } else { Err(wrong()) }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "scaled gives nothing below zero or beyond 2^53"
)]
fn scaled_whole(text: &str, kilo: f64) -> Result<u64, String> {
    scaled(text, kilo).map(|value| value as u64)
}

/// A size or an amount: the suffixes are powers of 1024.
pub(crate) fn size(text: &str) -> Result<ByteSize, String> {
    scaled_whole(text, 1024.0).map(ByteSize::from_bytes)
}

/// A rate: the suffixes are powers of 1000.
pub(crate) fn plain_rate(text: &str) -> Result<BitRate, String> {
    scaled_whole(text, 1000.0).map(BitRate::from_bits_per_second)
}

pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    let (rate, burst) = match text.split_once('/') {
        Some((rate, burst)) => {
            (rate, Some(within(burst, 1, 1000, "invalid burst count (maximum = 1000)")?))
        }
        None => (text, None),
    };
    Ok(Rate {
        rate: plain_rate(rate)?,
        burst: burst.map(|burst| u32::try_from(burst).unwrap_or(u32::MAX)),
    })
}

pub(crate) fn limit(text: &str) -> Result<ServerLimit, String> {
    let (rate, window) = match text.split_once('/') {
        Some((rate, window)) => (rate, interval(window)?),
        None => (text, 0.0),
    };
    let window = if window > 0.0 { Duration::from_secs_f64(window) } else { LIMIT_WINDOW };
    Ok(ServerLimit { rate: plain_rate(rate)?, window })
}

pub(crate) fn affinity(text: &str) -> Result<Affinity, String> {
    let (own, server) = match text.split_once(',') {
        Some((own, server)) => (own, Some(within(server, 0, 1024, WRONG_CPU)?)),
        None => (text, None),
    };
    Ok(Affinity {
        own: usize::try_from(within(own, 0, 1024, WRONG_CPU)?).unwrap_or(usize::MAX),
        server: server.map(|cpu| u32::try_from(cpu).unwrap_or(u32::MAX)),
    })
}

pub(crate) fn keepalive(text: &str) -> Result<ControlKeepalive, String> {
    let mut parts = text.splitn(3, '/').map(|part| {
        if part.is_empty() {
            Ok(None)
        } else {
            whole(part).map(|Whole(n)| Some(n).filter(|n| *n > 0))
        }
    });
    let mut next = || parts.next().unwrap_or(Ok(None));
    let (idle, interval, probes) = (next()?, next()?, next()?);
    if let Some(idle) = idle
        && idle <= interval.unwrap_or(0) * probes.unwrap_or(0)
    {
        return Err("the idle time must be longer than interval times count".to_owned());
    }
    Ok(ControlKeepalive {
        idle: idle.map(Duration::from_secs),
        interval: interval.map(Duration::from_secs),
        probes: probes.map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
    })
}

/// A number as strtol(3) reads it: decimal, 0 for octal, 0x for hexadecimal.
fn of_any_base(text: &str) -> Option<u64> {
    let text = text.trim();
    let lower = text.to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0x") {
        u64::from_str_radix(digits, 16).ok()
    } else if lower.len() > 1 && lower.starts_with('0') {
        u64::from_str_radix(&lower[1..], 8).ok()
    } else {
        lower.parse().ok()
    }
}

pub(crate) fn type_of_service(text: &str) -> Result<u8, String> {
    of_any_base(text)
        .and_then(|number| u8::try_from(number).ok())
        .ok_or_else(|| "bad TOS value (must be between 0 and 255 inclusive)".to_owned())
}

/// The codepoint in the place that it has in the type of service (RFC 2474).
pub(crate) fn dscp(text: &str) -> Result<u8, String> {
    let lower = text.to_ascii_lowercase();
    if let Some((_, tos)) = NAMED_SERVICES.iter().find(|(name, _)| *name == lower) {
        return Ok(*tos);
    }
    match of_any_base(text).and_then(|number| u8::try_from(number).ok()) {
        Some(number) if number < 64 => Ok(number << 2),
        _ => Err("choose between 0 and 63, or a name such as ef, af21 or cs1".to_owned()),
    }
}

pub(crate) fn flow_label(text: &str) -> Result<u32, String> {
    of_any_base(text)
        .and_then(|number| u32::try_from(number).ok())
        .filter(|label| (1..=0xF_FFFF).contains(label))
        .ok_or_else(|| "choose between 1 and 0xfffff".to_owned())
}

pub(crate) fn parse_format(text: &str) -> Result<UnitFormat, String> {
    // As with iperf3 the first letter counts.
    let letter = text.get(..1).unwrap_or_default();
    letter
        .parse()
        .map_err(|_| "bad format specifier (valid formats are in the set [kmgtKMGT])".to_owned())
}

pub(crate) fn client_host(text: &str) -> Result<ClientHost, String> {
    let (host, device) = split_device(text);
    if host.is_empty() {
        return Err("a host is needed".to_owned());
    }
    Ok(ClientHost { host: host.to_owned(), device: device.map(str::to_owned) })
}

/// `address%device`. A link-local address of IPv6 keeps its zone (RFC 4007).
pub(crate) fn split_device(text: &str) -> (&str, Option<&str>) {
    match text.split_once('%') {
        Some((address, device)) if !is_link_local(address) && !device.is_empty() => {
            (address, Some(device))
        }
        _ => (text, None),
    }
}

fn is_link_local(address: &str) -> bool {
    address.parse::<Ipv6Addr>().is_ok_and(|address| address.is_unicast_link_local())
}

/// Names of RFC 2474, 2597, 3246 and 5865, and of RFC 1349.
const NAMED_SERVICES: [(&str, u8); 25] = [
    ("af11", 0x28),
    ("af12", 0x30),
    ("af13", 0x38),
    ("af21", 0x48),
    ("af22", 0x50),
    ("af23", 0x58),
    ("af31", 0x68),
    ("af32", 0x70),
    ("af33", 0x78),
    ("af41", 0x88),
    ("af42", 0x90),
    ("af43", 0x98),
    ("cs0", 0x00),
    ("cs1", 0x20),
    ("cs2", 0x40),
    ("cs3", 0x60),
    ("cs4", 0x80),
    ("cs5", 0xa0),
    ("cs6", 0xc0),
    ("cs7", 0xe0),
    ("ef", 0xb8),
    ("va", 0xb0),
    ("lowdelay", 0x10),
    ("throughput", 0x08),
    ("reliability", 0x04),
];
const WRONG_CPU: &str = "unable to set CPU affinity: choose a CPU from 0 to 1024";
/// iperf3's default for `--server-bitrate-limit`.
const LIMIT_WINDOW: Duration = Duration::from_secs(5);
/// Up to here JSON's doubles are exact.
const MOST: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary_and_rates_decimal() {
        assert_eq!(size("128K").expect("a size").bytes(), 131_072);
        assert_eq!(size("1.5m").expect("a size").bytes(), 1_572_864);
        assert_eq!(plain_rate("1.5G").expect("a rate").bits_per_second(), 1_500_000_000);
        assert_eq!(size("8KB"), size("8K"));
        for wrong in ["", "K", "1X", "-1", "nan", "inf", "1e30"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_burst_follows_the_rate() {
        let rate = rate("10M/4").expect("a rate");
        assert_eq!((rate.rate.bits_per_second(), rate.burst), (10_000_000, Some(4)));
        assert!(super::rate("10M/0").is_err() && super::rate("10M/1001").is_err());
    }

    #[test]
    fn numbers_end_where_their_digits_end() {
        assert_eq!(whole("10s").expect("a number").0, 10);
        assert!(whole("ten").is_err() && whole("-1").is_err());
        assert_eq!(type_of_service("0x34"), type_of_service("064"));
        assert_eq!(type_of_service("52"), Ok(0x34));
        assert!(type_of_service("256").is_err() && type_of_service("08").is_err());
    }

    #[test]
    fn a_codepoint_is_a_name_or_a_number() {
        assert_eq!(dscp("EF"), Ok(0xb8));
        assert_eq!(dscp("46"), Ok(0xb8));
        assert!(dscp("64").is_err() && dscp("af99").is_err());
    }

    #[test]
    fn keepalive_parts_may_be_absent() {
        let all = keepalive("10/2/3").expect("valid");
        assert_eq!(all.idle, Some(Duration::from_secs(10)));
        assert_eq!((all.interval, all.probes), (Some(Duration::from_secs(2)), Some(3)));
        assert!(keepalive("").expect("valid").idle.is_none());
        assert_eq!(keepalive("//5").expect("valid").probes, Some(5));
        assert!(keepalive("6/2/3").is_err());
    }

    #[test]
    fn a_device_is_cut_off_but_a_zone_is_not() {
        assert_eq!(split_device("10.0.0.1%eth0"), ("10.0.0.1", Some("eth0")));
        assert_eq!(split_device("fe80::1%eth0"), ("fe80::1%eth0", None));
        assert_eq!(split_device("host"), ("host", None));
    }
}
