//! From flags to finished plans.

use std::io::ErrorKind;
use std::time::Duration;

use linux::limits;
use measurement::host::MOST_HOSTS;
use measurement::plan::PlanDraft;
use measurement::{Direction, End, Pacing, StreamOptions, TestPlan, Transport};

use crate::exit::UsageError;
use crate::flags::{TestFlags, engines};

/// The plans of all rows, in the order in which they run.
pub(crate) fn plans(flags: &TestFlags) -> Result<Vec<TestPlan>, UsageError> {
    check_contradictions(flags)?;
    let rows = &flags.rows;
    let transports = rows.transports();
    if let Some(text) = engines::contradiction(&flags.stream.engine, transports) {
        return Err(UsageError(text));
    }
    let directions: &[_] = match (rows.send, rows.receive, rows.bidir) {
        (true, ..) => &[Direction::Send],
        (_, true, _) => &[Direction::Receive],
        (.., true) => &[Direction::Both],
        _ => &[Direction::Send, Direction::Receive],
    };
    let mut plans = Vec::new();
    if let Some(name) = flags.stream.congestion.as_ref().filter(|_| !rows.udp) {
        check_congestion(name)?;
    }
    for transport in transports {
        for direction in directions {
            let draft = draft(flags, *transport, *direction);
            plans.push(draft.check().map_err(|error| UsageError(error.to_string()))?);
        }
    }
    Ok(plans)
}

/// Refuses flags that contradict each other though each row by itself is valid.
fn check_contradictions(flags: &TestFlags) -> Result<(), UsageError> {
    let stream = &flags.stream;
    let has_rate = stream.rate.is_some_and(|rate| rate.bits_per_second() > 0);
    let text = if stream.pacing.is_some() && !has_rate {
        "--pacing needs a rate: add -b RATE"
    } else if stream.pacing == Some(Pacing::Even) && flags.rows.tcp {
        "--pacing even is for datagrams: type --udp, or another --pacing"
    } else if flags.rows.observe.len() > MOST_OBSERVED {
        return Err(UsageError(format!("--observe takes {MOST_OBSERVED} hosts at most")));
    } else {
        return Ok(());
    };
    Err(UsageError(text.to_owned()))
}

/// Says before a server is asked whether this host has a congestion control.
pub(crate) fn check_congestion(name: &str) -> Result<(), UsageError> {
    let Err(error) = linux::tcp::try_congestion(name) else { return Ok(()) };
    let text = match error.kind() {
        ErrorKind::NotFound => {
            let there = list(&limits::congestion_controls());
            format!("there is no congestion control '{name}' here: type {there}")
        }
        ErrorKind::PermissionDenied => {
            let there = list(&limits::allowed_congestion_controls());
            format!("congestion control '{name}' needs root here: type {there}, or run as root")
        }
        // What else the kernel says it says of the streams as well.
        _ => return Ok(()),
    };
    Err(UsageError(text))
}

/// `a, b or c`.
fn list(names: &[String]) -> String {
    match names {
        [most @ .., last] if !most.is_empty() => format!("{} or {last}", most.join(", ")),
        names => names.concat(),
    }
}

/// As asked; datagrams alone can be even.
fn pacing(flags: &TestFlags, transport: Transport) -> Pacing {
    let asked = flags.stream.pacing.unwrap_or_default();
    if transport == Transport::Tcp && asked == Pacing::Even { Pacing::default() } else { asked }
}

fn draft(flags: &TestFlags, transport: Transport, direction: Direction) -> PlanDraft {
    let (amount, stream) = (&flags.amount, &flags.stream);
    PlanDraft {
        transport,
        direction,
        streams: stream.streams,
        end: match (amount.bytes, amount.blocks) {
            (Some(bytes), _) => End::Bytes(bytes),
            (_, Some(blocks)) => End::Blocks(blocks),
            _ => End::Time(amount.time.unwrap_or(DEFAULT_TIME)),
        },
        omit: amount.omit,
        interval: amount.interval.unwrap_or(DEFAULT_INTERVAL),
        options: flags.packets.of(StreamOptions {
            block: stream.length,
            // As with iperf3, 0 is unlimited.
            rate: stream.rate.filter(|rate| rate.bits_per_second() > 0),
            pacing: pacing(flags, transport),
            window: stream.window.filter(|window| window.bytes() > 0),
            mss: stream.mss.filter(|_| transport == Transport::Tcp),
            congestion: stream.congestion.clone().filter(|_| transport == Transport::Tcp),
            no_delay: stream.no_delay && transport == Transport::Tcp,
            engines: engines::for_transport(&stream.engine, transport),
            zero_copy: stream.zerocopy && transport == Transport::Tcp,
            multipath: stream.mptcp && transport == Transport::Tcp,
            ..StreamOptions::default()
        }),
        exchange: None,
        experiment: None,
    }
}

const DEFAULT_TIME: Duration = Duration::from_secs(5);
const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);
/// Beside both ends.
const MOST_OBSERVED: usize = MOST_HOSTS - 2;
