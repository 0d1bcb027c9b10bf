//! From arguments to what is to be done.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use measurement::plan::{IPERF3_STREAMS, PlanDraft};
use measurement::{
    BitRate, ByteSize, Direction, End, Exchange, Pacing, StreamOptions, TestPlan, Transport,
};
use session::Family;
use session::client::{ClientOptions, Request, Watching};

use super::arguments::{Arguments, BounceArguments};
use super::values;
use crate::flags::iperf3_values::split_device;

/// The request of the client.
///
/// # Errors
/// A sentence that says which argument is wrong, and why.
pub(super) fn request(arguments: &Arguments) -> Result<Request, String> {
    let (bind, client_port, device) = bind(arguments)?;
    let (host, zone) = host(&arguments.host);
    Ok(Request {
        host: host.to_owned(),
        port: arguments.port,
        family: family(arguments),
        bind,
        further_binds: Vec::new(),
        connect_timeout: CONNECT_TIMEOUT,
        cpus: Vec::new(),
        tags: BTreeMap::new(),
        plan: plan(arguments)?,
        options: ClientOptions {
            watching: Watching::Nothing,
            device: device.or_else(|| zone.map(str::to_owned)),
            client_port,
            ..ClientOptions::default()
        },
    })
}

/// The server, and the interface behind `%` of a multicast group whose address has no zone
/// (RFC 4007, section 11: those of a wider scope than a link).
fn host(host: &str) -> (&str, Option<&str>) {
    let (address, device) = split_device(host);
    let has_zone = |ip: Ipv6Addr| ip.segments()[0] & 0xf <= 2;
    match address.parse() {
        Ok(IpAddr::V4(ip)) if ip.is_multicast() => (address, device),
        Ok(IpAddr::V6(ip)) if ip.is_multicast() && !has_zone(ip) => (address, device),
        _ => (host, None),
    }
}

/// Address, port and interface.
type Bound = (Option<IpAddr>, Option<u16>, Option<String>);

/// Address, port and interface that `-B` names.
///
/// # Errors
/// A sentence that says what is wrong with `-B`.
pub(super) fn bind(arguments: &Arguments) -> Result<Bound, String> {
    let Some(text) = arguments.bind.as_deref() else { return Ok((None, None, None)) };
    let (text, device) = split_device(text);
    let (address, port) = with_port(text)?;
    let family = if address.contains(':') { Family::V6 } else { family(arguments) };
    let address =
        session::resolve_ip(address, family).map_err(|error| format!("-B {text}: {error}"))?;
    if address.is_multicast() && !(arguments.server && arguments.udp) {
        return Err(format!("-B {text}: a multicast group is received by a server of UDP, -s -u"));
    }
    Ok((Some(address), port, device.map(str::to_owned)))
}

/// As in iperf2, IPv6 is asked for, by `-V` or by an address.
fn family(arguments: &Arguments) -> Family {
    if arguments.ipv6 || arguments.host.contains(':') { Family::V6 } else { Family::V4 }
}

/// `ADDRESS` or `ADDRESS:PORT`.
fn with_port(text: &str) -> Result<(&str, Option<u16>), String> {
    match text.split_once(':') {
        Some((address, port)) if !port.contains(':') => {
            let number = port.parse().map_err(|_| format!("-B {text}: '{port}' is no port"))?;
            Ok((address, Some(number)))
        }
        _ => Ok((text, None)),
    }
}

fn plan(arguments: &Arguments) -> Result<TestPlan, String> {
    if arguments.streams() > IPERF3_STREAMS {
        return Err(format!("-P {}: at most {IPERF3_STREAMS} streams", arguments.streams()));
    }
    let transport = if arguments.udp { Transport::Udp } else { Transport::Tcp };
    let draft = PlanDraft {
        transport,
        direction: direction(arguments),
        streams: arguments.streams(),
        end: match (arguments.amount, arguments.time) {
            // -n is that of each stream.
            (Some(bytes), _) => End::Bytes(values::times(bytes, arguments.streams())),
            (None, time) => End::Time(time.unwrap_or(TIME)),
        },
        omit: Duration::ZERO,
        interval: arguments.interval,
        options: options(arguments, transport == Transport::Tcp),
        exchange: arguments.bounce.map(|bounce| exchange(bounce, arguments.length)),
        experiment: None,
    };
    draft.check().map_err(|error| error.to_string())
}

const fn direction(arguments: &Arguments) -> Direction {
    match (arguments.full_duplex, arguments.reverse) {
        (true, _) => Direction::Both,
        (false, true) => Direction::Receive,
        (false, false) => Direction::Send,
    }
}

/// Requests at even distances, where iperf2 sends those of a period one after another.
fn exchange(bounce: BounceArguments, length: Option<ByteSize>) -> Exchange {
    let length = length.map_or(REQUEST, ByteSize::bytes);
    let length = ByteSize::from_bytes(length.max(LEAST_REQUEST));
    let every = Some(bounce.period / bounce.count).filter(|every| !every.is_zero());
    Exchange { request: length, response: length, every, ..Exchange::default() }
}

/// Rate and datagrams of frames of whole datagrams, as many in a second as were asked for.
fn in_frames(frames: values::Frames, arguments: &Arguments) -> (Option<BitRate>, Option<u32>) {
    let usual = if family(arguments) == Family::V4 { UDP_PAYLOAD } else { UDP_PAYLOAD_V6 };
    let bits = arguments.length.map_or(usual, |length| length.max(LEAST)).bytes() as f64 * 8.0;
    let datagrams = frames.rate.bits_per_second() as f64 / frames.per_second / bits;
    let datagrams = values::whole(datagrams).clamp(1, MOST_OF_A_FRAME);
    let rate = values::whole(datagrams as f64 * bits * frames.per_second);
    (Some(BitRate::from_bits_per_second(rate)), u32::try_from(datagrams).ok())
}

fn options(arguments: &Arguments, is_tcp: bool) -> StreamOptions {
    let socket = &arguments.socket;
    let default_rate = if is_tcp { None } else { Some(UDP_RATE) };
    let rate = arguments.rate.or(default_rate).filter(|rate| rate.bits_per_second() > 0);
    let (rate, burst) = match socket.frames {
        Some(frames) => in_frames(frames, arguments),
        None => (rate, None),
    };
    StreamOptions {
        // An exchange has the length of its requests.
        block: arguments
            .length
            .filter(|_| arguments.bounce.is_none())
            .map(|length| if is_tcp { length } else { length.max(LEAST) }),
        rate,
        burst,
        pacing: rate.map_or(Pacing::Smooth, |_| Pacing::Average),
        window: socket.window.filter(|window| window.bytes() > 0),
        mss: socket.mss.filter(|_| is_tcp),
        congestion: socket.congestion.clone().filter(|_| is_tcp),
        no_delay: socket.no_delay && is_tcp,
        type_of_service: socket.type_of_service,
        hop_limit: socket.hop_limit,
        ..StreamOptions::default()
    }
}

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// iperf2's defaults.
const TIME: Duration = Duration::from_secs(10);
const UDP_RATE: BitRate = BitRate::from_bits_per_second(1 << 20);
/// iperf2's default.
const REQUEST: u64 = 100;
/// Shortest request that a server of 2.1.8 answers: it waits for so many bytes.
const LEAST_REQUEST: u64 = 64;
/// iperf2's datagrams of 1,500-byte frames (docs/protocol/iperf2.md).
const UDP_PAYLOAD: ByteSize = ByteSize::from_bytes(1_470);
const UDP_PAYLOAD_V6: ByteSize = ByteSize::from_bytes(1_450);
const MOST_OF_A_FRAME: u64 = 1_000;
/// The header of a datagram (docs/protocol/iperf2.md, clause 4.6).
const LEAST: ByteSize = ByteSize::from_bytes(76);
