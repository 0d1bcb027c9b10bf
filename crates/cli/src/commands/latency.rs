//! `linerate latency`.

use std::process::ExitCode;

use anyhow::Context;
use campaign::search::Repeat;
use campaign::{Row, Runner};
use linux::event::StopSignals;
use measurement::exchange::MOST_DEPTH;
use measurement::plan::PlanDraft;
use measurement::{Direction, End, Exchange, StreamOptions, TestPlan, Transport, Way};
use report::export::Table;
use session::client::Request;

use crate::exit::UsageError;
use crate::flags::{LatencyFlags, LatencyRow};
use crate::progress::{Detail, Progress};
use crate::results::finish;

pub(crate) fn run(flags: &LatencyFlags) -> anyhow::Result<ExitCode> {
    check_contradictions(flags)?;
    let rows = rows(flags)?;
    let Some(first) = rows.first() else { return Ok(ExitCode::SUCCESS) };
    let interrupts = StopSignals::open().context("cannot handle signals")?;
    let mut progress = Progress::new(Detail::from_flags(flags.output.quiet, flags.output.verbose));
    let request = request(flags, first.plan.clone());
    let mut runner = Runner::new(request, Some(&interrupts), &mut progress);
    let results = runner.search(&mut Repeat::once(rows));
    finish(&results, flags.output.format.or(&Table), flags.output.output.as_deref())
}

/// Exchanges alone, then load with a probe beside it.
fn rows(flags: &LatencyFlags) -> Result<Vec<Row>, UsageError> {
    let probe_every = Some(flags.exchange.probe_every);
    let exchanges = exchanges(flags)?.into_iter().map(Row::of_plan);
    let loads = loads(flags)?.into_iter().map(|plan| Row { probe_every, ..Row::of_plan(plan) });
    Ok(exchanges.chain(loads).collect())
}

/// Refuses flags that would have no effect.
fn check_contradictions(flags: &LatencyFlags) -> Result<(), UsageError> {
    let asked = &flags.exchange;
    let only_load = !flags.only.is_empty() && flags.only.iter().all(|row| *row == LatencyRow::Load);
    let text = if flags.output.quiet && flags.output.verbose {
        "'--quiet' and '--verbose' contradict each other: choose one"
    } else if only_load && (asked.busy || asked.every.is_some() || asked.depth.is_some()) {
        "--busy, --every and --depth are for rows of requests, and --only load has none: see \
         --probe-every"
    } else {
        return Ok(());
    };
    Err(UsageError(text.to_owned()))
}

/// Rows in which the streams ask and answer.
fn exchanges(flags: &LatencyFlags) -> Result<Vec<TestPlan>, UsageError> {
    let kinds = [
        (LatencyRow::Tcp, Transport::Tcp, Way::Stream),
        (LatencyRow::Udp, Transport::Udp, Way::Stream),
        (LatencyRow::Connect, Transport::Tcp, Way::Connection),
    ];
    let wanted = kinds.into_iter().filter(|(row, ..)| flags.wants(*row));
    let plan = |(_, transport, way)| {
        let asked = &flags.exchange;
        let exchange = Exchange {
            way,
            request: asked.request,
            response: asked.response,
            // One connection bears one request. Those with times go whatever came before.
            depth: match (way, asked.depth, asked.every) {
                (Way::Connection, ..) | (_, None, None) => 1,
                (_, Some(depth), _) => depth,
                (_, None, Some(_)) => MOST_DEPTH,
            },
            every: asked.every,
            busy: asked.busy,
        };
        check(PlanDraft {
            streams: asked.streams,
            omit: flags.omit,
            exchange: Some(exchange),
            options: StreamOptions {
                no_delay: transport == Transport::Tcp,
                ..options(flags, transport)
            },
            ..draft(flags, transport, Direction::Send)
        })
    };
    wanted.map(plan).collect()
}

/// Rows beside which a probe goes.
fn loads(flags: &LatencyFlags) -> Result<Vec<TestPlan>, UsageError> {
    let ways = [Direction::Send, Direction::Receive];
    let wanted = ways.into_iter().filter(|_| flags.wants(LatencyRow::Load));
    let plan = |direction| {
        check(PlanDraft {
            omit: flags.omit,
            options: options(flags, Transport::Tcp),
            ..draft(flags, Transport::Tcp, direction)
        })
    };
    wanted.map(plan).collect()
}

fn options(flags: &LatencyFlags, transport: Transport) -> StreamOptions {
    let congestion = flags.congestion.clone().filter(|_| transport == Transport::Tcp);
    StreamOptions { congestion, ..StreamOptions::default() }
}

fn draft(flags: &LatencyFlags, transport: Transport, direction: Direction) -> PlanDraft {
    PlanDraft { end: End::Time(flags.time), ..PlanDraft::new(transport, direction) }
}

fn check(draft: PlanDraft) -> Result<TestPlan, UsageError> {
    draft.check().map_err(|error| UsageError(error.to_string()))
}

fn request(flags: &LatencyFlags, plan: TestPlan) -> Request {
    flags.server.request(plan, flags.exchange.cpus.as_ref(), &flags.output.tag)
}
