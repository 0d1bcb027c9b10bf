//! What the demo tells: what arrives, that it is slow, why, and what the fix gains.

use std::process::Command;

use lab::{Rate, Routed, Shape};
use measurement::engine::{EngineName, RECVMMSG, SENDMMSG};
use measurement::plan::PlanDraft;
use measurement::remedy::{Change, Setting};
use measurement::{BitRate, ByteSize, Direction, End, TestPlan, TestRecord, Transport};

use super::stage::Stage;
use crate::exit::UsageError;
use crate::flags::DemoFlags;

/// A shaper that somebody forgot on this host.
pub(super) fn shaper(
    stage: &mut Stage<'_>,
    hosts: &Routed,
    flags: &DemoFlags,
) -> anyhow::Result<()> {
    let row = |direction| checked(draft(flags, Transport::Tcp, direction));
    let (send, receive) = (row(Direction::Send)?, row(Direction::Receive)?);
    let (send, both) = ([send.clone()], [send, receive]);
    stage.say(&format!(
        "Two hosts and a router on this machine; the router's link to the far host passes {}.\n\n\
         1. Measure what arrives, and what limits it\n",
        flags.link_rate
    ));
    if stage.measure(&both)?.is_none() {
        return Ok(());
    }
    stage.say("\n2. Plant a fault on the near host, and test again\n");
    let slow = Rate::from_bits_per_second(flags.link_rate.bits_per_second() / SLOWER);
    if let Some(rate) = slow {
        hosts.near.add_shaper(&Shape::with_rate(rate))?;
    }
    let Some(slow) = stage.measure(&send)? else { return Ok(()) };
    let Some(command) = command(&slow) else {
        stage.say("\n3. The verdict names no command to try.");
        return Ok(());
    };
    stage.say(&format!("\n3. Run the fix that it names there, and test again:  {command}\n"));
    if let Err(why) = apply(hosts, &command) {
        stage.say(&format!("  It cannot be tried here: {why}."));
        return Ok(());
    }
    let Some(fixed) = stage.measure(&send)? else { return Ok(()) };
    stage.say(&format!("\n4. Gain: {}{NEXT}", gain(&slow, &fixed)));
    Ok(())
}

/// A receive buffer that is too small for the bursts of a sender: without any host to change.
pub(super) fn small_buffer(stage: &mut Stage<'_>, flags: &DemoFlags) -> anyhow::Result<()> {
    let tcp = |direction| checked(draft(flags, Transport::Tcp, direction));
    stage.say("1. Measure what arrives, and what limits it\n");
    if stage.measure(&[tcp(Direction::Send)?, tcp(Direction::Receive)?])?.is_none() {
        return Ok(());
    }
    stage.say(&format!("\n2. Plant a fault: UDP with a socket buffer of {SMALL_BUFFER}\n"));
    let bursts = |window| {
        let mut draft = draft(flags, Transport::Udp, Direction::Send);
        draft.options.rate = Some(STEADY);
        (draft.options.window, draft.options.block) = (window, Some(SMALL_DATAGRAM));
        // A quick reader takes one datagram before the next arrives, at whatever rate: a burst
        // that the buffer cannot hold is lost on any machine.
        draft.options.burst = Some(BURST);
        // Each datagram on its own: that is how a buffer of this size is too small.
        draft.options.engines = [&SENDMMSG, &RECVMMSG].map(EngineName::from).to_vec();
        checked(draft)
    };
    let Some(lossy) = stage.measure(&[bursts(Some(SMALL_BUFFER))?])? else { return Ok(()) };
    let window = option(&lossy).unwrap_or(LARGE_BUFFER);
    stage.say(&format!("\n3. Use the option that it names, and test again:  -w {window}\n"));
    let Some(fixed) = stage.measure(&[bursts(Some(window))?])? else { return Ok(()) };
    stage.say(&format!("\n4. Gain: {}{NEXT}", less_lost(&lossy, &fixed)));
    Ok(())
}

fn draft(flags: &DemoFlags, transport: Transport, direction: Direction) -> PlanDraft {
    PlanDraft { end: End::Time(flags.time), ..PlanDraft::new(transport, direction) }
}

fn checked(draft: PlanDraft) -> Result<TestPlan, UsageError> {
    draft.check().map_err(|error| UsageError(error.to_string()))
}

/// Changes that ease what limits the first of the records.
fn changes(records: &[TestRecord]) -> &[Change] {
    let judgement = records.first().and_then(|record| record.judgement.as_ref());
    let limit = judgement.and_then(|one| one.verdict.as_ref()?.findings.first());
    limit.map_or(&[], |limit| &limit.remedy.changes)
}

/// A command for this host.
fn command(records: &[TestRecord]) -> Option<String> {
    changes(records).iter().find(|change| !change.setting.is_option()).map(Change::command)
}

/// The socket buffer that is advised.
fn option(records: &[TestRecord]) -> Option<ByteSize> {
    changes(records).iter().find_map(|change| match change.setting {
        Setting::Window(size) => Some(size),
        _ => None,
    })
}

/// Runs a command on the near host as it is printed.
fn apply(hosts: &Routed, command: &str) -> Result<(), String> {
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or_default();
    let mut run: Command = hosts.near.command(program);
    match run.args(words).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(format!("there is no {program} on this host; its package is iproute2"))
        }
        Err(error) => Err(format!("{program}: {}", session::reason(&error))),
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

fn rate(records: &[TestRecord]) -> BitRate {
    let rate = records.first().and_then(|record| record.outcome.rate());
    rate.unwrap_or(BitRate::from_bits_per_second(0))
}

fn gain(slow: &[TestRecord], fixed: &[TestRecord]) -> String {
    let (slow, fixed) = (rate(slow), rate(fixed));
    let times = fixed.bits_per_second() as f64 / slow.bits_per_second().max(1) as f64;
    format!("{slow} before, {fixed} after: {times:.1} times as much arrives.")
}

fn less_lost(lossy: &[TestRecord], fixed: &[TestRecord]) -> String {
    let lost = |records: &[TestRecord]| {
        let directions = records.iter().flat_map(|record| &record.outcome.directions);
        let ledger = directions.into_iter().find_map(|outcome| outcome.datagrams);
        ledger.map_or(0.0, |ledger| 100.0 * ledger.loss())
    };
    format!("{:.1} % lost before, {:.1} % after.", lost(lossy), lost(fixed))
}

/// What a reader may type then.
const NEXT: &str = "\n\nOn your hosts: linerate serve on one, linerate test HOST on the other.";
/// The forgotten shaper, against the link.
const SLOWER: u64 = 10;
const STEADY: BitRate = BitRate::from_bits_per_second(100_000_000);
const SMALL_BUFFER: ByteSize = ByteSize::from_bytes(4096);
const LARGE_BUFFER: ByteSize = ByteSize::from_bytes(4 << 20);
/// At 1,000 bytes four times the buffer.
const BURST: u32 = 16;
const SMALL_DATAGRAM: ByteSize = ByteSize::from_bytes(1000);
