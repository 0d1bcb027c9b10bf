//! `linerate packets`.

use std::net::{IpAddr, Ipv4Addr};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use linux::event::StopSignals;
use linux::netlink::RouteSocket;
use linux::xdp::FrameTag;
use packets::{
    Addressing, FrameLayout, FrameSizes, LiveCounts, MacAddress, Port, ReceiveWith, SendWith,
    Setup, TrialPlan, resolve,
};

use crate::conclusion::Conclusion;
use crate::exit::UsageError;
use crate::flags::{Engine, FramesFlags, LinkFlags};
use crate::moving_line::MovingLine;
use crate::{exit, output, terminal};

pub(crate) fn run(flags: &FramesFlags) -> anyhow::Result<ExitCode> {
    let format = flags.format.of_rows()?;
    if flags.link.engine == Engine::XdpLive && flags.pps.is_some() {
        let text = "xdp-live sends as fast as it can: leave --pps out, or choose another --engine";
        return Err(UsageError(text.to_owned()).into());
    }
    if let Some(file) = &flags.output {
        output::check_writable(file)?;
    }
    let interrupts = StopSignals::open().context("cannot handle signals")?;
    let setup = setup(flags)?;
    let to = destination(flags, &setup)?;
    let layout = layout(&flags.link, flags.link.gateway, &setup, &flags.size, to)?;
    let plan = TrialPlan { rate: flags.pps, duration: flags.time, frames: flags.number };
    let stop = AtomicBool::new(false);
    let record = watched(flags.quiet, &interrupts, &stop, |live| {
        packets::record(&setup, &layout, &plan, live, &stop)
    })?;
    let conclusion = Conclusion {
        code: ExitCode::from(if record.interrupted { exit::INTERRUPTED } else { 0 }),
        ..Conclusion::new(format, flags.output.as_deref())
    };
    conclusion.print(&record, |out| report::packets::write(&record, terminal::width(), out))
}

fn setup(flags: &FramesFlags) -> anyhow::Result<Setup> {
    let from = owned(&flags.from, flags.link.i_own_this_link)?;
    let to = match flags.to.parse::<IpAddr>() {
        Ok(_) => None,
        Err(_) => Some(owned(&flags.to, flags.link.i_own_this_link)?),
    };
    let receive = match (flags.count_only, flags.link.engine) {
        (true, _) => ReceiveWith::Count,
        (false, Engine::AfPacket) => ReceiveWith::AfPacket,
        (false, _) => ReceiveWith::Best,
    };
    Ok(Setup {
        from,
        to,
        send: match send_with(flags.link.engine) {
            // A receiver that only counts keeps up.
            SendWith::Best if flags.count_only && flags.pps.is_none() => SendWith::Fastest,
            send => send,
        },
        receive,
        queues: flags.link.queues,
        cpus: cpus(&flags.link),
    })
}

pub(super) const fn send_with(engine: Engine) -> SendWith {
    match engine {
        Engine::Best => SendWith::Best,
        Engine::XdpLive => SendWith::XdpLive,
        Engine::AfXdp => SendWith::AfXdp,
        Engine::AfPacket => SendWith::AfPacket,
    }
}

/// The CPUs of sender and receiver; none where there is but one.
pub(super) fn cpus(flags: &LinkFlags) -> Option<(usize, usize)> {
    let first_two = || {
        let cpus = linux::host::allowed_cpus().ok()?;
        Some((*cpus.first()?, *cpus.get(1)?))
    };
    flags.cpus.or_else(first_two)
}

/// An interface that may be flooded with frames.
pub(super) fn owned(name: &str, is_granted: bool) -> anyhow::Result<Port> {
    let port = Port::read(name)?;
    if port.has_default_route && !is_granted {
        let text = format!(
            "a default route of this host leaves by {name}, which others may need: \
             add --i-own-this-link if they do not"
        );
        return Err(UsageError(text).into());
    }
    Ok(port)
}

/// The address that frames go to: given, of the interface that receives, or one for benchmarks.
fn destination(flags: &FramesFlags, setup: &Setup) -> anyhow::Result<IpAddr> {
    if let Ok(address) = flags.to.parse() {
        return Ok(address);
    }
    let is_ipv4 = flags.link.source.is_none_or(|source| source.is_ipv4());
    let to = setup.to.as_ref().and_then(|port| port.address(is_ipv4));
    if !is_ipv4 && to.is_none() {
        return Err(UsageError(format!("{} has no IPv6 address: add one", flags.to)).into());
    }
    Ok(to.unwrap_or(IpAddr::V4(BENCHMARK[1])))
}

/// The frames of a trial from `setup.from` to `destination`, by a router or without.
pub(super) fn layout(
    flags: &LinkFlags,
    gateway: Option<IpAddr>,
    setup: &Setup,
    sizes: &FrameSizes,
    destination: IpAddr,
) -> anyhow::Result<FrameLayout> {
    let own = || setup.from.address(destination.is_ipv4());
    let source = flags.source.or_else(own).or(destination.is_ipv4().then_some(BENCHMARK[0].into()));
    let source = source.ok_or_else(|| {
        UsageError(format!("{} has no IPv6 address: give one with --source", setup.from.name))
    })?;
    let bits = u32::from_ne_bytes(linux::entropy::random().context("no random bytes")?);
    let addressing = Addressing {
        source_mac: setup.from.mac,
        destination_mac: next_hop((flags.mac, gateway), setup, source, destination)?,
        vlan: flags.vlan,
        source,
        destination,
        source_port: SOURCE_PORT,
        destination_port: DISCARD,
    };
    let tag = FrameTag::new(bits);
    Ok(FrameLayout::new(tag, addressing, sizes.clone(), flags.flows, flags.addresses)?)
}

/// The Ethernet address that frames go to: given, told by ARP, or that of the port that receives.
fn next_hop(
    (mac, gateway): (Option<MacAddress>, Option<IpAddr>),
    setup: &Setup,
    source: IpAddr,
    destination: IpAddr,
) -> anyhow::Result<MacAddress> {
    if let Some(mac) = mac {
        return Ok(mac);
    }
    let asked = match (gateway, &setup.to) {
        (Some(gateway), _) => gateway,
        (None, Some(port)) => return Ok(port.mac),
        (None, None) => router(&setup.from, destination)?.unwrap_or(destination),
    };
    let (IpAddr::V4(source), IpAddr::V4(asked)) = (source, asked) else {
        let text = format!("{asked} is not asked for by ARP: give its MAC address with --mac");
        return Err(UsageError(text).into());
    };
    Ok(resolve(&setup.from, source, asked)?)
}

/// The router of the route to an address by a port; none: it is on the link.
fn router(port: &Port, to: IpAddr) -> anyhow::Result<Option<IpAddr>> {
    let IpAddr::V4(to) = to else { return Ok(None) };
    let mut route = RouteSocket::open().context("cannot read the routes")?;
    let routes = route.routes().context("cannot read the routes")?;
    let holds = |net: IpAddr, length: u8| match net {
        IpAddr::V4(net) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
            net.to_bits() & mask == to.to_bits() & mask
        }
        IpAddr::V6(_) => false,
    };
    let own = routes.iter().filter(|one| one.index == port.index);
    let holding = own.filter(|one| holds(one.to, one.prefix_length));
    let best = holding.max_by_key(|one| one.prefix_length);
    let none = || {
        let text = format!("no route to {to} leaves by {}: give --gateway or --mac", port.name);
        UsageError(text)
    };
    Ok(best.ok_or_else(none)?.via)
}

/// Runs a trial beside a display of its counts; a signal ends it.
pub(super) fn watched<T: Send, E: Send>(
    is_quiet: bool,
    interrupts: &StopSignals,
    stop: &AtomicBool,
    work: impl FnOnce(&LiveCounts) -> Result<T, E> + Send,
) -> Result<T, E> {
    let counts = LiveCounts::default();
    let line = MovingLine::new(is_quiet);
    let done = thread::scope(|scope| {
        let working = scope.spawn(|| work(&counts));
        let mut shown = Duration::ZERO;
        while !working.is_finished() {
            if interrupts.arrived() {
                stop.store(true, Relaxed);
            }
            if linux::clock::monotonic() > shown + Duration::from_millis(200) {
                shown = linux::clock::monotonic();
                let (sent, received) = (counts.sent.load(Relaxed), counts.received.load(Relaxed));
                line.show(format!("  {sent} frames sent, {received} arrived"));
            }
            thread::sleep(Duration::from_millis(5));
        }
        working.join()
    });
    line.clear();
    done.unwrap_or_else(|cause| std::panic::resume_unwind(cause))
}

/// Addresses for benchmarks of network devices (RFC 2544, appendix C.2.2; RFC 6890).
pub(super) const BENCHMARK: [Ipv4Addr; 2] =
    [Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2)];
const SOURCE_PORT: u16 = 49_152;
/// The discard protocol (RFC 863).
const DISCARD: u16 = 9;
