//! Values of iperf3's flags, read as generously as iperf3 reads them.

use std::ffi::OsStr;
use std::net::Ipv6Addr;
use std::time::Duration;

use clap::builder::TypedValueParser;
use clap::{Arg, Command};
use measurement::plan::IPERF3_STREAMS;
use measurement::{BitRate, ByteSize};
use report::iperf3::UnitFormat;

use super::c_numbers::{atof, atoi, of_any_base, strtod};

/// A time in whole seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seconds(pub(crate) Duration);

/// `--connect-timeout`, in milliseconds; none, for one below zero: as without the flag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectTimeout(pub(crate) Option<Duration>);

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

/// A parser of arguments that need not be UTF-8: what is not becomes U+FFFD, which no number has.
pub(crate) fn reads<T>(read: fn(&str) -> Result<T, String>) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    Lossy.try_map(move |text| read(&text))
}

/// A text that need not be UTF-8, as [`reads`] has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lossy;

impl TypedValueParser for Lossy {
    type Value = String;

    fn parse_ref(
        &self,
        _command: &Command,
        _flag: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        Ok(value.to_string_lossy().into_owned())
    }
}

/// A whole number as atoi(3) has it, from `least` to `most`.
fn within(text: &str, least: u32, most: u32, wrong: &str) -> Result<u64, String> {
    let number = u32::try_from(atoi(text)).ok().filter(|number| (least..=most).contains(number));
    number.map(u64::from).ok_or_else(|| wrong.to_owned())
}

pub(crate) fn port(text: &str) -> Result<u16, String> {
    within(text, 1, 65_535, "port number must be between 1 and 65535 inclusive")
        .map(|port| u16::try_from(port).unwrap_or(u16::MAX))
}

pub(crate) fn seconds(text: &str) -> Result<Seconds, String> {
    within(text, 0, DAY, "test duration valid values are 0 to 86400 seconds")
        .map(|seconds| Seconds(Duration::from_secs(seconds)))
}

pub(crate) fn idle_timeout(text: &str) -> Result<Seconds, String> {
    within(text, 1, DAY, "idle timeout parameter is not positive or larger than allowed limit")
        .map(|seconds| Seconds(Duration::from_secs(seconds)))
}

pub(crate) fn omit(text: &str) -> Result<Seconds, String> {
    within(text, 0, 600, "bogus value for --omit (maximum = 600 seconds)")
        .map(|seconds| Seconds(Duration::from_secs(seconds)))
}

pub(crate) fn clock_skew(text: &str) -> Result<Seconds, String> {
    within(text, 1, i32::MAX.unsigned_abs(), "skew threshold must be a positive number")
        .map(|seconds| Seconds(Duration::from_secs(seconds)))
}

/// Milliseconds. iperf3 ends these lines, too, with the words of an errno that is 0.
pub(crate) fn receive_timeout(text: &str) -> Result<Duration, String> {
    within(text, 100, DAY * 1000, "receive timeout value is incorrect or not in range: ")
        .map(Duration::from_millis)
}

/// Milliseconds, as above.
pub(crate) fn send_timeout(text: &str) -> Result<Duration, String> {
    within(text, 0, DAY * 1000, "send timeout value is incorrect or not in range: ")
        .map(Duration::from_millis)
}

pub(crate) fn connect_timeout(text: &str) -> Result<ConnectTimeout, String> {
    let millis = u64::try_from(int(unit(text, 1024.0)?)).ok();
    Ok(ConnectTimeout(millis.map(|millis| Duration::from_millis(millis.max(1)))))
}

/// 3.21 takes 0, and tests without a stream; its successor takes no less than 1.
pub(crate) fn streams(text: &str) -> Result<u32, String> {
    match i64::from(atoi(text)) {
        count if count > MOST_STREAMS.into() => {
            Err(format!("number of parallel streams too large (maximum = {MOST_STREAMS})"))
        }
        count if count < 1 => {
            Err(format!("invalid number of parallel streams (min = 1, max = {MOST_STREAMS})"))
        }
        count => Ok(u32::try_from(count).unwrap_or(MOST_STREAMS)),
    }
}

/// A segment size; 0: the kernel's, as is one below zero.
pub(crate) fn segment_size(text: &str) -> Result<u32, String> {
    match atoi(text) {
        size if size > MOST_SEGMENT => {
            Err(format!("TCP MSS too large (maximum = {MOST_SEGMENT} bytes)"))
        }
        size => Ok(u32::try_from(size).unwrap_or(0)),
    }
}

pub(crate) fn interval(text: &str) -> Result<f64, String> {
    span(text, "invalid report interval (min = 0.1, max = 60 seconds)")
}

/// Seconds as atof(3) has them: 0, or what may be between two reports.
fn span(text: &str, wrong: &str) -> Result<f64, String> {
    let number = atof(text);
    let is_allowed = number == 0.0 || (0.1..=60.0).contains(&number);
    if is_allowed { Ok(number) } else { Err(wrong.to_owned()) }
}

/// A number with a suffix that multiplies it by a power of `kilo`. What follows the suffix is
/// ignored, as by iperf3: 8K, 8KB and 8Kbit are the same.
fn unit(text: &str, kilo: f64) -> Result<f64, String> {
    let wrong = || format!("invalid unit value or suffix: '{text}'");
    let (number, rest) = strtod(text).ok_or_else(wrong)?;
    let power = match rest.chars().next().map(|suffix| suffix.to_ascii_uppercase()) {
        None => 0,
        Some('K') => 1,
        Some('M') => 2,
        Some('G') => 3,
        Some('T') => 4,
        Some(_) => return Err(wrong()),
    };
    Ok(number * kilo.powi(power))
}

/// An amount as iperf3's 64 bits have it: one below zero is huge.
#[expect(clippy::cast_possible_truncation, reason = "what is too large is cut to the most")]
const fn amount(number: f64) -> u64 {
    let whole = (number as i64).cast_unsigned();
    if whole > MOST { MOST } else { whole }
}

/// An amount as iperf3's `int` has it, in which one beyond 2^31 is below zero.
#[expect(clippy::cast_possible_truncation, reason = "iperf3 casts it as well")]
const fn int(number: f64) -> i32 {
    number as i64 as i32
}

/// A size or an amount: the suffixes are powers of 1024.
pub(crate) fn size(text: &str) -> Result<ByteSize, String> {
    unit(text, 1024.0).map(|number| ByteSize::from_bytes(amount(number)))
}

/// A block's length; one below zero is as much too long as one beyond 2^31.
pub(crate) fn length(text: &str) -> Result<ByteSize, String> {
    let length = u32::try_from(int(unit(text, 1024.0)?)).unwrap_or(u32::MAX);
    Ok(ByteSize::from_bytes(length.into()))
}

/// Size of the socket's buffers.
pub(crate) fn window(text: &str) -> Result<ByteSize, String> {
    let number = unit(text, 1024.0)?;
    if (0.0..=MOST_WINDOW).contains(&number) {
        Ok(ByteSize::from_bytes(amount(number)))
    } else {
        Err(format!("socket buffer size too large (maximum = {MOST_WINDOW} bytes)"))
    }
}

/// A rate: the suffixes are powers of 1000.
pub(crate) fn plain_rate(text: &str) -> Result<BitRate, String> {
    unit(text, 1000.0).map(|number| BitRate::from_bits_per_second(amount(number)))
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
        Some((rate, window)) => (rate, span(window, WRONG_WINDOW)?),
        None => (text, 0.0),
    };
    let window = if window > 0.0 { Duration::from_secs_f64(window) } else { LIMIT_WINDOW };
    Ok(ServerLimit { rate: plain_rate(rate)?, window })
}

pub(crate) fn affinity(text: &str) -> Result<Affinity, String> {
    let own = of_any_base(text).and_then(|cpu| usize::try_from(cpu).ok());
    let own = own.filter(|cpu| *cpu <= 1024).ok_or_else(|| WRONG_CPU.to_owned())?;
    let server = match text.split_once(',') {
        Some((_, server)) => Some(within(server, 0, 1024, WRONG_CPU)?),
        None => None,
    };
    Ok(Affinity { own, server: server.map(|cpu| u32::try_from(cpu).unwrap_or(u32::MAX)) })
}

pub(crate) fn keepalive(text: &str) -> Result<ControlKeepalive, String> {
    let mut parts = text.splitn(3, '/').map(|part| i64::from(atoi(part)));
    let mut next = || parts.next().unwrap_or(0);
    let (idle, interval, probes) = (next(), next(), next());
    if idle != 0 && idle <= interval * probes {
        return Err(WRONG_KEEPALIVE.to_owned());
    }
    let set = |number: i64| u32::try_from(number).ok().filter(|number| *number > 0);
    let seconds = |number| set(number).map(|number| Duration::from_secs(number.into()));
    Ok(ControlKeepalive { idle: seconds(idle), interval: seconds(interval), probes: set(probes) })
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
const WRONG_WINDOW: &str = "invalid time interval for calculating average data rate";
const WRONG_KEEPALIVE: &str = "control connection Keepalive period should be larger than the full \
                               retry period (interval * count): ";
/// Up to here JSON's doubles are exact.
const MOST: u64 = 1 << 53;
/// iperf3's `MAX_STREAMS`, `MAX_MSS` and `MAX_TCP_BUFFER`.
const MOST_STREAMS: u32 = IPERF3_STREAMS;
const MOST_SEGMENT: i32 = 32_767;
const MOST_WINDOW: f64 = 536_870_912.0;
/// Seconds.
const DAY: u32 = 86_400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary_and_rates_decimal() {
        assert_eq!(size("128K").expect("a size").bytes(), 131_072);
        assert_eq!(size("1.5m").expect("a size").bytes(), 1_572_864);
        assert_eq!(plain_rate("1.5G").expect("a rate").bits_per_second(), 1_500_000_000);
        assert_eq!(size("8KB"), size("8K"));
        for wrong in ["", "K", "1X", "nan", "inf", "10 K", "1e", "0x", "\u{fffd}"] {
            let said = size(wrong).expect_err("no number");
            assert_eq!(said, format!("invalid unit value or suffix: '{wrong}'"));
        }
    }

    #[test]
    fn what_is_below_zero_is_huge_where_iperf3_has_no_sign() {
        assert_eq!(size("-5").expect("64 bits").bytes(), MOST);
        assert_eq!(plain_rate("-5").expect("64 bits").bits_per_second(), MOST);
        assert_eq!(length("-5").expect("an int").bytes(), u64::from(u32::MAX));
        assert_eq!(connect_timeout("-100").expect("an int").0, None);
        assert_eq!(segment_size("-100"), Ok(0));
        assert!(window("-1").is_err() && window("1G").is_err() && streams("-1").is_err());
    }

    #[test]
    fn a_burst_follows_the_rate() {
        let rate = rate("10M/4").expect("a rate");
        assert_eq!((rate.rate.bits_per_second(), rate.burst), (10_000_000, Some(4)));
        for wrong in ["10M/0", "10M/1001", "abc/0"] {
            assert!(super::rate(wrong).is_err_and(|said| said.contains("burst")), "{wrong}");
        }
        assert!(super::rate("abc/5").is_err_and(|said| said.ends_with("'abc'")));
    }

    #[test]
    fn numbers_are_those_of_the_c_library() {
        assert_eq!(seconds("10s").expect("a number").0, Duration::from_secs(10));
        assert_eq!(seconds("abc").expect("0").0, Duration::ZERO);
        assert!(seconds("-1").is_err() && seconds("2147483648").is_err());
        assert!(port("abc").is_err() && clock_skew("abc").is_err() && streams("x").is_err());
        assert_eq!((interval("2x"), interval("x")), (Ok(2.0), Ok(0.0)));
        assert_eq!(type_of_service("0x34"), type_of_service("064"));
        assert_eq!((type_of_service("52"), type_of_service("08")), (Ok(0x34), Ok(0)));
        assert!(type_of_service("256").is_err() && type_of_service("x").is_err());
    }

    #[test]
    fn the_window_of_a_limit_is_judged_before_its_rate() {
        assert!(limit("10x/0.01").is_err_and(|said| said.contains("time interval")));
        assert!(limit("10x").is_err_and(|said| said.ends_with("'10x'")));
        assert_eq!(limit("10M/abc").expect("the default").window, LIMIT_WINDOW);
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
        assert!(keepalive("abc").expect("valid").idle.is_none());
        for wrong in ["6/2/3", "10/5/3x", "-5"] {
            assert!(keepalive(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_device_is_cut_off_but_a_zone_is_not() {
        assert_eq!(split_device("10.0.0.1%eth0"), ("10.0.0.1", Some("eth0")));
        assert_eq!(split_device("fe80::1%eth0"), ("fe80::1%eth0", None));
        assert_eq!(split_device("host"), ("host", None));
    }
}
