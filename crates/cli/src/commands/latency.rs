//! `linerate latency`.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use campaign::search::Repeat;
use campaign::{PlannedRow, Runner};
use linux::event::StopSignals;
use measurement::exchange::MOST_DEPTH;
use measurement::plan::PlanDraft;
use measurement::{Direction, End, Exchange, StreamOptions, TestPlan, Transport, Way};
use report::export::Latency;
use report::latency::Remarks;
use session::client::Request;

use crate::charset;
use crate::exit::UsageError;
use crate::flags::{LatencyFlags, LatencyRow};
use crate::plan;

pub(crate) fn run(flags: &LatencyFlags) -> anyhow::Result<ExitCode> {
    check_contradictions(flags)?;
    let rows = rows(flags)?;
    let plans: Vec<_> = rows.iter().map(|row| row.plan.clone()).collect();
    let requirements = flags.output.requirements.of_rows(&plans, true)?;
    flags.output.check()?;
    let Some(first) = rows.first() else { return Ok(ExitCode::SUCCESS) };
    let interrupts = StopSignals::open().context("cannot handle signals")?;
    let mut monitor = flags.output.monitor(&Latency::PLAIN);
    let request = request(flags, first.plan.clone());
    let mut runner = Runner::new(request, Some(&interrupts), &mut *monitor);
    let mut results = runner.search(&mut Repeat::once(rows));
    let remarks = if flags.output.verbose { Remarks::All } else { Remarks::Few };
    let screen = Latency { glyphs: charset::glyphs(), remarks };
    let mut finish = flags.output.finish("latency", &Latency::PLAIN, requirements);
    if flags.output.format.chosen().is_none() {
        finish.format = &screen;
    }
    finish.print(&mut results)
}

/// Exchanges alone, then load with a probe beside it.
fn rows(flags: &LatencyFlags) -> Result<Vec<PlannedRow>, UsageError> {
    let probe_every = Some(flags.exchange.probe_every);
    let exchanges = exchanges(flags)?.into_iter().map(PlannedRow::of_plan);
    let loads = loads(flags)?
        .into_iter()
        .map(|plan| PlannedRow { probe_every, ..PlannedRow::of_plan(plan) });
    Ok(exchanges.chain(loads).collect())
}

/// Refuses flags that would have no effect.
fn check_contradictions(flags: &LatencyFlags) -> Result<(), UsageError> {
    let asked = &flags.exchange;
    let shapes_requests = asked.busy || asked.every.is_some() || asked.depth.is_some();
    if flags.has_no_requests() && shapes_requests {
        let text = "--busy, --every and --depth do not apply to --only load: use --probe-every";
        return Err(UsageError(text.to_owned()));
    }
    if let Some(name) = &flags.congestion {
        plan::check_congestion(name)?;
    }
    Ok(())
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
            interval: SAMPLING,
            options: options(flags, Transport::Tcp),
            ..draft(flags, Transport::Tcp, direction)
        })
    };
    wanted.map(plan).collect()
}

fn options(flags: &LatencyFlags, transport: Transport) -> StreamOptions {
    let congestion = flags.congestion.clone().filter(|_| transport == Transport::Tcp);
    flags.packets.of(StreamOptions { congestion, ..StreamOptions::default() })
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

/// So often the kernel is asked for the round-trip time of a connection with load.
const SAMPLING: Duration = Duration::from_millis(250);
