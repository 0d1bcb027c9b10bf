//! From flags to what is to be done.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use linux::tcp::Keepalive;
use measurement::plan::PlanDraft;
use measurement::{BitRate, ByteSize, Direction, End, Pacing, StreamOptions, TestPlan, Transport};
use session::client::{Batching, ClientOptions, DatagramDefault, Request, Watching};
use session::{CounterWidth, Family, OptionalParameters};

use super::secrets;
use super::words::{self, Failure};
use crate::flags::iperf3_values::{ControlKeepalive, split_device};
use crate::flags::{GivenRoles, Iperf3Flags};

/// Whether the flags fit the role; `given` are the roles of those that were typed.
pub(super) fn check_roles(flags: &Iperf3Flags, given: GivenRoles) -> Result<(), String> {
    let wrong = match (flags.server, flags.client.is_some()) {
        (true, true) => Some("cannot be both server and client"),
        (false, false) => Some("must either be a client (-c) or server (-s)"),
        (true, _) if given.client || chooses_server_cpu(flags) => {
            Some("some option you are trying to set is client only")
        }
        (_, true) if given.server => Some("some option you are trying to set is server only"),
        _ if flags.reverse && flags.bidir => Some("cannot be both reverse and bidirectional"),
        _ => None,
    };
    wrong.map_or(Ok(()), |wrong| Err(wrong.to_owned()))
}

/// Whether the CPU of the server was chosen, which clients alone do.
fn chooses_server_cpu(flags: &Iperf3Flags) -> bool {
    flags.affinity.is_some_and(|affinity| affinity.server.is_some())
}

/// The flags that cannot be served here, in one sentence; none: all can.
pub(super) fn what_is_lacking(flags: &Iperf3Flags) -> Option<String> {
    let sctp = flags.sctp || flags.xbind.is_some() || flags.nstreams.is_some();
    sctp.then(|| {
        "error - SCTP is not available in linerate: test TCP, or UDP with -u, instead".to_owned()
    })
}

/// The request of the client.
pub(super) fn request(flags: &Iperf3Flags) -> Result<Request, Failure> {
    let usage = |wrong: &str| Failure::Usage(wrong.to_owned());
    let target = flags.client.clone().ok_or_else(|| usage("a host is needed"))?;
    let (bind, bind_device) = bind_address(flags)?;
    if flags.rcv_timeout.is_some() && !flags.reverse && !flags.bidir {
        return Err(usage("client receive timeout is valid only in receiving mode: "));
    }
    if flags.file.is_some() && flags.udp {
        return Err(usage("cannot transfer file using UDP"));
    }
    Ok(Request {
        host: target.host,
        port: flags.port,
        family: family(flags),
        bind,
        further_binds: Vec::new(),
        connect_timeout: flags.connect_timeout.and_then(|time| time.0).unwrap_or(CONNECT_TIMEOUT),
        cpus: own_cpu(flags)?,
        tags: BTreeMap::new(),
        plan: plan(flags)?,
        options: ClientOptions {
            key: None,
            watching: Watching::Nothing,
            perf: None,
            optional: optional(flags)?,
            counter_width: if flags.udp_counters_64bit {
                CounterWidth::Bits64
            } else {
                CounterWidth::Bits32
            },
            datagram: DatagramDefault::ControlSegment,
            batching: Batching::IfAsked,
            receive_timeout: flags.rcv_timeout.unwrap_or(RECEIVE_TIMEOUT),
            device: target.device.or(bind_device),
            client_port: flags.cport,
            send_timeout: send_timeout(flags),
            keepalive: control_keepalive(flags),
            exact_window: true,
            file: flags.file.clone(),
        },
    })
}

fn optional(flags: &Iperf3Flags) -> Result<OptionalParameters, Failure> {
    Ok(OptionalParameters {
        title: flags.title.clone(),
        extra_data: flags.extra_data.clone(),
        server_output: flags.get_server_output,
        server_cpu: flags.affinity.and_then(|affinity| affinity.server),
        token: secrets::token(flags)?,
        pacing_timer: flags.pacing_timer.map(ByteSize::bytes),
    })
}

fn plan(flags: &Iperf3Flags) -> Result<TestPlan, Failure> {
    let transport = if flags.udp { Transport::Udp } else { Transport::Tcp };
    let draft = PlanDraft {
        transport,
        direction: direction(flags),
        streams: flags.parallel.unwrap_or(1),
        end: end(flags)?,
        omit: flags.omit.map_or(Duration::ZERO, |omit| omit.0),
        interval: Duration::from_secs_f64(flags.interval.unwrap_or(1.0)),
        options: options(flags, transport),
        exchange: None,
        experiment: None,
    };
    let plan = draft.check().map_err(|error| Failure::Usage(words::of_plan(&error)))?;
    if plan.has_many_streams() {
        return Err(Failure::Usage(words::too_many_streams()));
    }
    Ok(plan)
}

const fn direction(flags: &Iperf3Flags) -> Direction {
    match (flags.reverse, flags.bidir) {
        (_, true) => Direction::Both,
        (true, _) => Direction::Receive,
        _ => Direction::Send,
    }
}

fn end(flags: &Iperf3Flags) -> Result<End, Failure> {
    let set = |size: Option<ByteSize>| size.filter(|size| size.bytes() > 0);
    let file = flags.file.as_deref().filter(|_| !flags.reverse && flags.time.is_none());
    let whole_file = || Some(ByteSize::from_bytes(fs::metadata(file?).ok()?.len()));
    match (flags.time, set(flags.bytes), set(flags.blockcount)) {
        (Some(time), None, None) if time.0.is_zero() => Ok(End::Open),
        (Some(time), None, None) => Ok(End::Time(time.0)),
        (None, Some(bytes), None) => Ok(End::Bytes(bytes)),
        (None, None, Some(blocks)) => Ok(End::Blocks(blocks.bytes())),
        (None, None, None) => Ok(set(whole_file()).map_or(End::Time(TIME), End::Bytes)),
        _ => Err(Failure::Usage(
            "only one test end condition (-t, -n, -k) may be specified".to_owned(),
        )),
    }
}

fn options(flags: &Iperf3Flags, transport: Transport) -> StreamOptions {
    let is_tcp = transport == Transport::Tcp;
    let limited = |rate: BitRate| Some(rate).filter(|rate| rate.bits_per_second() > 0);
    let default_rate = if is_tcp { None } else { Some(UDP_RATE) };
    let rate = flags.bitrate.map_or(default_rate, |bitrate| limited(bitrate.rate));
    StreamOptions {
        block: flags.length.filter(|length| length.bytes() > 0).or(if is_tcp {
            Some(TCP_BLOCK)
        } else {
            None
        }),
        rate,
        pacing: rate.map_or(Pacing::Smooth, |_| Pacing::Average),
        burst: flags.bitrate.and_then(|bitrate| bitrate.burst),
        socket_rate: flags.fq_rate.filter(|_| !flags.no_fq_socket_pacing).and_then(limited),
        window: flags.window.filter(|window| window.bytes() > 0),
        mss: flags.set_mss.filter(|mss| is_tcp && *mss > 0),
        congestion: flags.congestion.clone().filter(|_| is_tcp),
        no_delay: flags.no_delay && is_tcp,
        type_of_service: flags.tos.or(flags.dscp).unwrap_or(0),
        hop_limit: None,
        flow_label: flags.flowlabel,
        dont_fragment: flags.dont_fragment,
        zero_copy: flags.zerocopy,
        skip_receive_copy: flags.skip_rx_copy,
        segmentation_offload: flags.gsro && !is_tcp,
        engines: Vec::new(),
        repeating_payload: flags.repeating_payload,
        pages: None,
        multipath: flags.mptcp && is_tcp,
    }
}

/// The CPU of `-A`, if this process may run there.
pub(super) fn own_cpu(flags: &Iperf3Flags) -> Result<Vec<usize>, Failure> {
    let Some(affinity) = flags.affinity else { return Ok(Vec::new()) };
    let failed = |error: &io::Error| Failure::system("unable to set CPU affinity", error);
    let allowed = linux::host::allowed_cpus().map_err(|error| failed(&error))?;
    if allowed.contains(&affinity.own) {
        Ok(vec![affinity.own])
    } else {
        Err(failed(&io::Error::from_raw_os_error(EINVAL)))
    }
}

/// The address of `-B` and its device, or that of `--bind-dev`.
pub(super) fn bind_address(
    flags: &Iperf3Flags,
) -> Result<(Option<IpAddr>, Option<String>), Failure> {
    let Some(text) = &flags.bind else { return Ok((None, flags.bind_dev.clone())) };
    let (address, device) = split_device(text);
    let device = flags.bind_dev.clone().or_else(|| device.map(str::to_owned));
    let found = session::resolve_ip(address, family(flags));
    Ok((Some(found.map_err(|error| Failure::Usage(error.to_string()))?), device))
}

pub(super) const fn family(flags: &Iperf3Flags) -> Family {
    match (flags.version4, flags.version6) {
        (_, true) => Family::V6,
        (true, _) => Family::V4,
        _ => Family::Any,
    }
}

/// `--snd-timeout`; 0 is the system's default.
pub(super) fn send_timeout(flags: &Iperf3Flags) -> Option<Duration> {
    flags.snd_timeout.filter(|time| !time.is_zero())
}

/// linerate's own keepalive, changed by `--cntl-ka` and `--snd-timeout`.
pub(super) fn control_keepalive(flags: &Iperf3Flags) -> Keepalive {
    let own = Keepalive::default();
    let asked = flags.cntl_ka.unwrap_or_default();
    let ControlKeepalive { idle, interval, probes } = asked;
    Keepalive {
        idle: idle.unwrap_or(own.idle),
        interval: interval.unwrap_or(own.interval),
        probes: probes.unwrap_or(own.probes),
        user_timeout: send_timeout(flags).unwrap_or(own.user_timeout),
    }
}

/// `asm-generic/errno-base.h`.
const EINVAL: i32 = 22;
/// iperf3 waits as long as the kernel does, about two minutes.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// iperf3's defaults.
const TIME: Duration = Duration::from_secs(10);
const TCP_BLOCK: ByteSize = ByteSize::from_bytes(128 * 1024);
const UDP_RATE: BitRate = BitRate::from_bits_per_second(1_048_576);
pub(super) const RECEIVE_TIMEOUT: Duration = Duration::from_secs(120);
