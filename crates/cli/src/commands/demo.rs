//! `linerate demo`: the whole loop on a link of its own.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use campaign::search::Repeat;
use campaign::{Requirements, Results, Row, Runner};
use lab::{Access, Link, LinkSpec, Rate, Shape};
use linux::event::StopSignals;
use measurement::engine::{EngineName, RECVMMSG, SENDMMSG};
use measurement::plan::PlanDraft;
use measurement::{BitRate, ByteSize, Direction, End, TestPlan, Transport};
use report::export::{Audience, Table};
use session::Family;
use session::client::{ClientOptions, Request};

use crate::exit::UsageError;
use crate::flags::DemoFlags;
use crate::output;
use crate::progress::{Detail, Progress};
use crate::results::Finish;

pub(crate) fn run(flags: &DemoFlags) -> anyhow::Result<ExitCode> {
    let acts = acts(flags)?;
    // First of all: a process with threads cannot enter a user namespace.
    let access = lab::prepare();
    let interrupts = StopSignals::open().context("cannot handle signals")?;
    match make_link(&access, flags)? {
        Ok(link) => {
            say(flags, &describe_link(flags.link_rate));
            let _server = Server::start(link.far.command(this_program()?))?;
            let far = link.far.ipv4().into();
            link.near.run(|| play(&acts, far, flags, &interrupts))?
        }
        Err(reason) => {
            say(
                flags,
                &format!("No link of its own can be made here ({reason}): loopback, unshaped:"),
            );
            let _server = Server::start(Command::new(this_program()?))?;
            let acts: Vec<_> = acts.into_iter().filter(|act| act.needs == Needs::Nothing).collect();
            play(&acts, Ipv4Addr::LOCALHOST.into(), flags, &interrupts)
        }
    }
}

/// Rows that run together, with the remark that is printed before them.
struct Act {
    remark: String,
    plans: Vec<TestPlan>,
    needs: Needs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    Link,
    Nothing,
}

/// First what the link can do, then three times what goes wrong, and where that is seen.
fn acts(flags: &DemoFlags) -> Result<Vec<Act>, UsageError> {
    let check = |draft: PlanDraft| draft.check().map_err(|error| UsageError(error.to_string()));
    let mut rows = Vec::new();
    for transport in [Transport::Tcp, Transport::Udp] {
        for direction in [Direction::Send, Direction::Receive] {
            rows.push(check(draft(flags, transport, direction))?);
        }
    }
    let link = flags.link_rate;
    let at = |parts: u64, of: u64| {
        BitRate::from_bits_per_second(link.bits_per_second().saturating_mul(parts) / of)
    };
    // One stream would wait for room in its own buffer, and lose nothing.
    let mut crowded = draft(flags, Transport::Udp, Direction::Send);
    (crowded.streams, crowded.options.rate) = (STREAMS, Some(at(2, u64::from(STREAMS))));
    let mut small = draft(flags, Transport::Udp, Direction::Send);
    small.options.rate = Some(at(1, 2));
    (small.options.window, small.options.block) = (Some(SMALL_BUFFER), Some(SMALL_DATAGRAM));
    // A quick reader takes one datagram before the next arrives, at whatever rate: a burst that
    // the buffer cannot hold is lost on any machine.
    small.options.burst = Some(BURST);
    // Each datagram on its own: that is how a buffer of this size is too small.
    small.options.engines = [&SENDMMSG, &RECVMMSG].map(EngineName::from).to_vec();
    let mut hasty = draft(flags, Transport::Udp, Direction::Send);
    hasty.options.rate = Some(at(10, 1));
    let act = |remark: String, plans, needs| Act { remark, plans, needs };
    Ok(vec![
        act(String::new(), rows, Needs::Nothing),
        act(
            format!("Too much for the link, {} by {STREAMS} streams:", at(2, 1)),
            vec![check(crowded)?],
            Needs::Link,
        ),
        act(
            format!("A receive buffer of {SMALL_BUFFER}, and bursts of {BURST} datagrams:"),
            vec![check(small)?],
            Needs::Nothing,
        ),
        act(
            format!("A rate that cannot be kept, {}:", at(10, 1)),
            vec![check(hasty)?],
            Needs::Link,
        ),
    ])
}

fn draft(flags: &DemoFlags, transport: Transport, direction: Direction) -> PlanDraft {
    PlanDraft { end: End::Time(flags.time), ..PlanDraft::new(transport, direction) }
}

/// Runs the acts one after another. What goes wrong in the later ones was planted, so that it
/// is no failure.
fn play(
    acts: &[Act],
    server: IpAddr,
    flags: &DemoFlags,
    interrupts: &StopSignals,
) -> anyhow::Result<ExitCode> {
    let format = flags.format.or(&Table);
    let is_for_people = format.audience() == Audience::People;
    let finish =
        Finish { format, file: None, requirements: Requirements::default(), is_live: false };
    let mut all = Results::none();
    let mut code = ExitCode::SUCCESS;
    for act in acts {
        if !act.remark.is_empty() {
            if is_for_people {
                output::print_text(b"\n")?;
            }
            say(flags, &act.remark);
        }
        let mut results = measure(&act.plans, server, flags, interrupts)?;
        let are_complete = results.are_complete();
        if is_for_people {
            code = finish.print(&mut results)?;
        }
        all.append(results);
        if !are_complete {
            break;
        }
    }
    if !is_for_people {
        code = finish.print(&mut all)?;
    }
    Ok(if all.are_complete() { ExitCode::SUCCESS } else { code })
}

/// The shaped link, or why there can be none.
fn make_link(access: &Access, flags: &DemoFlags) -> anyhow::Result<Result<Link, String>> {
    let rate = flags.link_rate.max(LEAST_RATE).bits_per_second();
    let Some(rate) = Rate::from_bits_per_second(rate).filter(|_| flags.link_rate >= LEAST_RATE)
    else {
        bail!(UsageError(format!("the link needs at least {LEAST_RATE}: choose --link-rate")));
    };
    if let Access::Forbidden { reason } = access {
        return Ok(Err(reason.clone()));
    }
    let spec = LinkSpec { shape: Some(Shape::with_rate(rate)), ..LinkSpec::default() };
    Ok(Link::create(&spec).map_err(|error| error.to_string()))
}

fn measure(
    plans: &[TestPlan],
    server: IpAddr,
    flags: &DemoFlags,
    interrupts: &StopSignals,
) -> anyhow::Result<Results> {
    wait_for_server(SocketAddr::new(server, PORT))?;
    let Some(first) = plans.first() else { return Ok(Results::none()) };
    let request = Request {
        host: server.to_string(),
        port: PORT,
        family: Family::Any,
        bind: None,
        connect_timeout: PATIENCE,
        cpus: Vec::new(),
        tags: [("demo".to_owned(), flags.link_rate.to_string())].into(),
        options: ClientOptions::default(),
        plan: first.clone(),
    };
    let mut progress = Progress::new(Detail::from_flags(flags.quiet, false));
    let mut runner = Runner::new(request, Some(interrupts), &mut progress);
    let rows = plans.iter().cloned().map(Row::of_plan).collect();
    Ok(runner.search(&mut Repeat::once(rows)))
}

/// A `linerate serve` that ends with this value.
struct Server(Child);

impl Server {
    fn start(mut command: Command) -> anyhow::Result<Self> {
        command.args(["serve", "--quiet", "--port", &PORT.to_string()]);
        // Nothing of the caller's LINERATE_ settings is meant for this server.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("LINERATE_") {
                command.env_remove(name);
            }
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        child.map(Self).context("cannot start the server")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It holds nothing that a kill could damage, and may have ended already.
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

fn wait_for_server(address: SocketAddr) -> anyhow::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(_) => return Ok(()),
            Err(error) if Instant::now() >= deadline => {
                return Err(error).context("the demo's own server does not answer");
            }
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

fn this_program() -> anyhow::Result<std::path::PathBuf> {
    std::env::current_exe().context("cannot find this program's own file")
}

/// The link, and what fits it: the shaper counts Ethernet headers, but not the preamble,
/// checksum and gap of a real wire.
fn describe_link(rate: BitRate) -> String {
    let fits = |payload| {
        BitRate::from_bits_per_second(rate.bits_per_second() / FRAME * payload).to_string()
    };
    format!(
        "A link of {rate} each way between two namespaces, where {} of TCP or {} of UDP payload fit, \
         and a little more in a short time:",
        fits(TCP_PAYLOAD),
        fits(UDP_PAYLOAD)
    )
}

fn say(flags: &DemoFlags, text: &str) {
    let is_for_people = flags.format.or(&Table).audience() == Audience::People;
    if is_for_people && !flags.quiet {
        // What is said here is only a remark.
        _ = writeln!(anstream::stderr(), "{text}\n");
    }
}

/// Bytes of a full Ethernet frame with its header, and the payload that it carries: TCP
/// with time stamps (RFC 7323) and UDP, over IPv4.
const FRAME: u64 = 1514;
const TCP_PAYLOAD: u64 = 1448;
const UDP_PAYLOAD: u64 = 1472;
const PORT: u16 = session::DEFAULT_PORT;
/// Below, the control connection does not get through the queue in time.
const LEAST_RATE: BitRate = BitRate::from_bits_per_second(1_000_000);
const PATIENCE: Duration = Duration::from_secs(5);
/// Together they fill the queue of the link.
const STREAMS: u16 = 64;
const SMALL_BUFFER: ByteSize = ByteSize::from_bytes(4096);
/// At 1,000 bytes four times the buffer, and within what the link passes at once.
const BURST: u32 = 16;
const SMALL_DATAGRAM: ByteSize = ByteSize::from_bytes(1000);
