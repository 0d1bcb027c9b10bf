//! `linerate demo`: measure, a fault, its verdict, the fix, and what that gained, on hosts of its own.

mod device;
mod stage;
mod story;

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};
use lab::{Access, Host, LinkSpec, Rate, Routed, Shape};
use linux::event::StopSignals;
use linux::poll::{PollFd, wait};
use measurement::BitRate;

use crate::exit::UsageError;
use crate::flags::DemoFlags;
use crate::output;
use stage::{DemoServer, Stage};

pub(crate) fn run(flags: &DemoFlags) -> anyhow::Result<ExitCode> {
    // First of all: a process with threads cannot enter a user namespace.
    let access = lab::prepare();
    let interrupts = StopSignals::open().context("cannot handle signals")?;
    if let Some(device) = flags.dut {
        return device::run(&access, device, flags);
    }
    match make_hosts(&access, flags)? {
        Ok(hosts) => over_a_router(&access, &hosts, flags, &interrupts),
        Err(reason) => on_loopback(&reason, flags, &interrupts),
    }
}

fn over_a_router(
    access: &Access,
    hosts: &Routed,
    flags: &DemoFlags,
    interrupts: &StopSignals,
) -> anyhow::Result<ExitCode> {
    let start = |host: &Host| DemoServer::start(host.command(this_program()?), host.ipv4());
    let (_far, near) = (start(&hosts.far)?, start(&hosts.near)?);
    let server = IpAddr::from(hosts.far.ipv4());
    let mut stage = Stage::new(flags, interrupts, server);
    hosts.near.run(|| story::shaper(&mut stage, hosts, flags))??;
    let code = stage.end()?;
    if flags.hold && code == ExitCode::SUCCESS {
        hold(access, near.id(), server, interrupts)?;
    }
    Ok(code)
}

/// Where no hosts can be made.
fn on_loopback(
    reason: &str,
    flags: &DemoFlags,
    interrupts: &StopSignals,
) -> anyhow::Result<ExitCode> {
    let server = Ipv4Addr::LOCALHOST;
    let _server = DemoServer::start(Command::new(this_program()?), server)?;
    let mut stage = Stage::new(flags, interrupts, server.into());
    stage.say(&format!("No network namespaces here ({reason}): over loopback.\n"));
    story::small_buffer(&mut stage, flags)?;
    stage.end()
}

/// Keeps the hosts until a signal comes.
fn hold(
    access: &Access,
    near: u32,
    server: IpAddr,
    interrupts: &StopSignals,
) -> anyhow::Result<()> {
    let enter = match access {
        Access::UserNamespace => format!("nsenter -t {near} -U -n --preserve-credentials"),
        _ => format!("nsenter -t {near} -n"),
    };
    output::print_text(
        format!(
            "\nThe hosts stay until Ctrl-C. In another terminal:\n\n  {enter} linerate test {server}\n  \
             {enter} linerate diagnose {server}\n"
        )
        .as_bytes(),
    )?;
    while !interrupts.arrived() {
        let mut watches = [PollFd::readable(interrupts.as_fd())];
        wait(&mut watches, None).context("cannot wait for a signal")?;
    }
    Ok(())
}

/// Two hosts and a router, or why there can be none.
fn make_hosts(access: &Access, flags: &DemoFlags) -> anyhow::Result<Result<Routed, String>> {
    let rate = flags.link_rate.max(LEAST_RATE).bits_per_second();
    let Some(rate) = Rate::from_bits_per_second(rate).filter(|_| flags.link_rate >= LEAST_RATE)
    else {
        bail!(UsageError(format!("the link needs at least {LEAST_RATE}: choose --link-rate")));
    };
    if let Access::Forbidden { reason } = access {
        return Ok(Err(reason.clone()));
    }
    let spec = LinkSpec { shape: Some(Shape::with_rate(rate)), ..LinkSpec::default() };
    Ok(Routed::create(&spec).map_err(|error| error.to_string()))
}

fn this_program() -> anyhow::Result<std::path::PathBuf> {
    std::env::current_exe().context("cannot find this program's own file")
}

/// A tenth of it is still enough for the control connection.
const LEAST_RATE: BitRate = BitRate::from_bits_per_second(10_000_000);
