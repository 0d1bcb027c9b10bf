//! `linerate dut`.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use campaign::ObservedHost;
use campaign::dut::{DeviceWatch, DutPlan, DutStep, DutTask, Lane, measure};
use linux::event::StopSignals;
use linux::process::kill_group;
use measurement::dut::{DutRecord, DutRow, DutSchema, FrameDirection};
use measurement::packets::PacketsOrigin;
use measurement::plan::PlanDraft;
use measurement::{BitRate, Direction, Order, SearchGoal, Stamp, Transport};
use packets::{
    Addressing, FrameSizes, LiveCounts, Port, ReceiveWith, SeenSource, Setup, seen_source,
};
use report::packets::per_second;
use session::Family;
use session::client::{ClientOptions, Request};

use super::packets::{BENCHMARK, cpus, layout, owned, send_with};
use crate::conclusion::Conclusion;
use crate::exit::UsageError;
use crate::flags::{Directions, DutFlags, Engine};
use crate::moving_line::MovingLine;
use crate::{exit, output, terminal};

pub(crate) fn run(flags: &DutFlags) -> anyhow::Result<ExitCode> {
    let format = flags.format.of_rows()?;
    if let Some(file) = &flags.output {
        output::check_writable(file)?;
    }
    let interrupts = StopSignals::open().context("cannot handle signals")?;
    check(flags)?;
    let ports = Ports::read(flags)?;
    let tasks = tasks(flags, &ports)?;
    let plan = plan(flags, &ports);
    let names = linux::host::system_names();
    let mut record = DutRecord {
        schema: DutSchema::V1,
        origin: PacketsOrigin {
            linerate: env!("CARGO_PKG_VERSION").to_owned(),
            host: names.host,
            kernel: names.kernel,
        },
        port_a: ports.a.name.clone(),
        port_b: ports.b.name.clone(),
        rows: Vec::new(),
        deviations: deviations(&plan),
        interrupted: false,
    };
    let done = measure_all(flags, (&ports, &tasks), &plan, &interrupts, &mut record);
    let conclusion = Conclusion {
        is_empty: record.rows.is_empty(),
        code: ExitCode::from(match record.stamp() {
            _ if record.interrupted => exit::INTERRUPTED,
            Stamp::Invalid => exit::INVALID,
            _ => 0,
        }),
        ..Conclusion::new(format, flags.output.as_deref())
    };
    if record.rows.is_empty() {
        done?;
        return Ok(conclusion.code);
    }
    let printed = conclusion
        .print(&record, |out| report::dut::write(&record, flags.verbose, terminal::width(), out));
    done.and(printed)
}

/// Checks flags that depend on each other, and that the device to observe answers.
fn check(flags: &DutFlags) -> anyhow::Result<()> {
    let (there, back) = (flags.link.gateway.is_some(), flags.gateway_b.is_some());
    let goes_back = flags.direction != Directions::AToB;
    if goes_back && there && !back {
        let text = "a router is asked for at both sides: add --gateway-b, its address at port B";
        return Err(UsageError(text.to_owned()).into());
    }
    if back && !goes_back {
        let text = "nothing is sent to --gateway-b from port A: add --direction, or leave it out";
        return Err(UsageError(text.to_owned()).into());
    }
    if flags.link.engine == Engine::XdpLive {
        let text =
            "a device is measured at rates, and xdp-live sends bursts: choose another --engine";
        return Err(UsageError(text.to_owned()).into());
    }
    if let Some(device) = flags.observe.as_ref().filter(|device| !device.answers(PATIENCE)) {
        let ObservedHost { host, port } = device;
        bail!("{host} does not answer at port {port}: run linerate serve --observe there");
    }
    Ok(())
}

/// Each loss once, the least first: that of the throughput.
fn losses(asked: &[f64]) -> Vec<f64> {
    let mut losses = asked.to_vec();
    losses.order_by(f64::total_cmp);
    losses.dedup();
    losses
}

/// The two ports of this host.
struct Ports {
    a: Port,
    b: Port,
}

impl Ports {
    fn read(flags: &DutFlags) -> anyhow::Result<Self> {
        if flags.port_a == flags.port_b {
            let text = "the device is between two ports: name another one with --port-b";
            return Err(UsageError(text.to_owned()).into());
        }
        let owned = |name| owned(name, flags.link.i_own_this_link);
        Ok(Self { a: owned(&flags.port_a)?, b: owned(&flags.port_b)? })
    }

    /// Speed of the slower one; none: one of them is virtual, or does not tell.
    fn speed(&self) -> Option<BitRate> {
        [&self.a, &self.b]
            .into_iter()
            .map(Port::speed)
            .collect::<Option<Vec<_>>>()?
            .into_iter()
            .min()
    }
}

fn plan(flags: &DutFlags, ports: &Ports) -> DutPlan {
    let asked = &flags.goals;
    let goal = |loss_ratio: &f64| SearchGoal {
        width_ratio: asked.width,
        initial_trial: (asked.final_trial / 4).max(Duration::from_millis(50)),
        final_trial: asked.final_trial,
        duration_sum: asked.final_trial * 2,
        ..SearchGoal::of_loss(*loss_ratio)
    };
    DutPlan {
        goals: losses(&asked.loss).iter().map(goal).collect(),
        budget: asked.budget,
        latency: asked.final_trial,
        burst: asked.burst,
        watch: flags.observe.clone().map(watch),
        link: ports.speed(),
    }
}

/// How a linerate on the device is asked.
fn watch(host: ObservedHost) -> DeviceWatch {
    let plan = PlanDraft::new(Transport::Udp, Direction::Send).check().expect("no options");
    let request = Request {
        host: host.host.clone(),
        port: host.port,
        family: Family::Any,
        bind: None,
        further_binds: Vec::new(),
        connect_timeout: PATIENCE,
        cpus: Vec::new(),
        tags: BTreeMap::default(),
        options: ClientOptions::default(),
        plan,
    };
    DeviceWatch { host, request }
}

/// The rows in the order in which they run: all sizes of a direction, as often as was asked.
fn tasks(flags: &DutFlags, ports: &Ports) -> anyhow::Result<Vec<DutTask>> {
    let mut tasks = Vec::new();
    for direction in flags.direction.each() {
        for sizes in &flags.sizes.0 {
            for run in 0..flags.goals.repeat {
                let lanes = lanes(flags, ports, direction, sizes)?;
                tasks.push(DutTask { direction, lanes, run });
            }
        }
    }
    Ok(tasks)
}

/// A row whose router was asked for again, and whose way through NAT was found again: a reset or the
/// time since may have changed both.
fn again(flags: &DutFlags, ports: &Ports, task: &DutTask) -> anyhow::Result<DutTask> {
    let sizes = task.lanes[0].layout.sizes();
    Ok(DutTask { lanes: lanes(flags, ports, task.direction, sizes)?, ..task.clone() })
}

fn lanes(
    flags: &DutFlags,
    ports: &Ports,
    direction: FrameDirection,
    sizes: &FrameSizes,
) -> anyhow::Result<Vec<Lane>> {
    let is_both = direction == FrameDirection::Both;
    let forth = || lane(flags, (&ports.a, &ports.b), flags.link.gateway, sizes, is_both);
    let back = || {
        let lane = lane(flags, (&ports.b, &ports.a), flags.gateway_b, sizes, is_both)?;
        if flags.link.gateway.is_none() {
            return Ok(lane);
        }
        through_nat(lane, forth()?)
    };
    Ok(match direction {
        FrameDirection::AToB => vec![forth()?],
        FrameDirection::BToA => vec![back()?],
        FrameDirection::Both => vec![forth()?, back()?],
    })
}

fn lane(
    flags: &DutFlags,
    (from, to): (&Port, &Port),
    gateway: Option<IpAddr>,
    sizes: &FrameSizes,
    is_both: bool,
) -> anyhow::Result<Lane> {
    // A queue has one socket of AF_XDP: where both ports receive, frames leave by AF_PACKET.
    let engine = if is_both { Engine::AfPacket } else { flags.link.engine };
    let setup = Setup {
        from: from.clone(),
        to: Some(to.clone()),
        send: send_with(engine),
        receive: if flags.link.engine == Engine::AfPacket {
            ReceiveWith::AfPacket
        } else {
            ReceiveWith::Best
        },
        queues: flags.link.queues,
        cpus: cpus(&flags.link),
    };
    for port in [from, to] {
        if let Some(gateway) = gateway.filter(|gateway| port.addresses.contains(gateway)) {
            let text =
                format!("{gateway} is the address of {} itself: name the device's", port.name);
            return Err(UsageError(text).into());
        }
    }
    let is_ipv4 = flags.link.source.is_none_or(|source| source.is_ipv4());
    let own = to.address(is_ipv4);
    if let (Some(gateway), None) = (gateway, own) {
        let text = format!(
            "{gateway} cannot forward to {}, which has no address: ip address add ADDRESS/24 dev {}",
            to.name, to.name
        );
        return Err(UsageError(text).into());
    }
    let destination = own.unwrap_or(IpAddr::V4(BENCHMARK[1]));
    let layout = layout(&flags.link, gateway, &setup, sizes, destination)?;
    Ok(Lane { setup, layout, opener: None })
}

/// The lane, to where the frames of `forth` seem to come from if the device translates addresses: the
/// way that they have opened.
fn through_nat(lane: Lane, forth: Lane) -> anyhow::Result<Lane> {
    let there = *forth.layout.addressing();
    let seen = seen_source(&forth.setup, &forth.layout)?;
    let is_own = |seen: &SeenSource| (seen.address, seen.port) == (there.source, there.source_port);
    let Some(seen) = seen.filter(|seen| !is_own(seen)) else { return Ok(lane) };
    if lane.layout.flows() > 1 {
        let text = "one flow alone passes NAT from port B to A: leave --flows out";
        return Err(UsageError(text.to_owned()).into());
    }
    let layout = lane.layout.with_addressing(Addressing {
        source: there.destination,
        source_port: there.destination_port,
        destination: seen.address,
        destination_port: seen.port,
        ..*lane.layout.addressing()
    })?;
    Ok(Lane { layout, opener: Some((forth.setup, forth.layout)), ..lane })
}

/// Measures all rows, while a signal may end them.
fn measure_all(
    flags: &DutFlags,
    (ports, tasks): (&Ports, &[DutTask]),
    plan: &DutPlan,
    interrupts: &StopSignals,
    record: &mut DutRecord,
) -> anyhow::Result<()> {
    let line = MovingLine::new(flags.quiet);
    for (number, task) in tasks.iter().enumerate() {
        if let Some(command) = &flags.goals.reset {
            line.show(format!("  reset: {command}"));
            if !reset(command, interrupts)? {
                record.interrupted = true;
                break;
            }
        }
        let title = format!("  {} of {}: {}", number + 1, tasks.len(), title(task));
        let task = again(flags, ports, task)?;
        let row = measure_one(&task, plan, interrupts, &title, &line);
        line.clear();
        let (row, is_stopped) = row?;
        record.rows.push(row);
        if is_stopped {
            record.interrupted = true;
            break;
        }
    }
    Ok(())
}

fn title(task: &DutTask) -> String {
    let sizes = task.lanes.first().map(|lane| lane.layout.sizes().all());
    match sizes {
        Some([size]) => format!("{size} bytes, {}", task.direction),
        _ => format!("imix, {}", task.direction),
    }
}

/// Measures a row beside a display of its steps, and says whether a signal ended it.
fn measure_one(
    task: &DutTask,
    plan: &DutPlan,
    interrupts: &StopSignals,
    title: &str,
    line: &MovingLine,
) -> anyhow::Result<(DutRow, bool)> {
    let (counts, stop) = (LiveCounts::default(), AtomicBool::new(false));
    let (tell, told): (Sender<String>, Receiver<String>) = channel();
    let done = thread::scope(|scope| {
        let (counts, stop) = (&counts, &stop);
        let working = scope.spawn(move || {
            measure(task, plan, counts, stop, &mut |step| {
                if let Some(text) = words(step) {
                    // A display that is gone is no reason to stop measuring.
                    _ = tell.send(text);
                }
            })
        });
        while !working.is_finished() {
            if interrupts.arrived() {
                stop.store(true, Relaxed);
            }
            if let Ok(text) = told.recv_timeout(LOOK) {
                line.show(format!("{title}: {text}"));
            }
        }
        working.join()
    });
    let row = done.unwrap_or_else(|cause| std::panic::resume_unwind(cause))?;
    Ok((row, stop.load(Relaxed)))
}

fn words(step: DutStep<'_>) -> Option<String> {
    Some(match step {
        DutStep::Trial { number, rate } => format!("trial {number}, {}", per_second(rate)),
        DutStep::Ended(_) => return None,
        DutStep::Observed => "an overload, while the device watches itself".to_owned(),
        DutStep::Latency { share } => format!("latency at {:.0} %", share * 100.0),
        DutStep::Burst { frames } => format!("burst of {frames} frames"),
    })
}

/// Runs the command that resets the device. False: a signal ended it.
fn reset(command: &str, interrupts: &StopSignals) -> anyhow::Result<bool> {
    let mut shell = Command::new("sh");
    // What it prints is no part of the results, and a signal ends all that it has started.
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(io::stderr()).process_group(0);
    let mut shell = shell.spawn().context("cannot run sh")?;
    let status = loop {
        if let Some(status) = shell.try_wait().context("cannot wait for sh")? {
            break status;
        }
        if interrupts.arrived() {
            kill_group(&shell);
            shell.wait().context("cannot wait for sh")?;
            return Ok(false);
        }
        thread::sleep(LOOK);
    };
    if interrupts.arrived() {
        return Ok(false);
    }
    if !status.success() {
        bail!("the command of --reset failed ({status}): {command}");
    }
    Ok(true)
}

/// In what these tests are not those of RFC 2544.
fn deviations(plan: &DutPlan) -> Vec<String> {
    let seconds = |goal: &SearchGoal| goal.final_trial.as_secs_f64();
    let trial = plan.goals.first().map_or(1.0, seconds);
    vec![
        format!("trials of {trial} s, not 60 s, and bounds by the rules of RFC 9971"),
        "latency of every frame, in the median and other quantiles, not of one in the middle"
            .to_owned(),
        "one search for the longest burst, not 50 repetitions".to_owned(),
    ]
}

/// For the device to answer.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);
