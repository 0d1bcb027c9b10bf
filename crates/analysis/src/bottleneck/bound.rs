//! Rooflines: the rate that each limit allows, against what arrived.
//!
//! A finding whose bound is far above what arrived does not limit, whatever else speaks for it:
//! a sender that floods a slow path has a full CPU, and easing that would bring nothing.

use measurement::judgement::{Drop, Place};
use measurement::verdict::Finding;
use measurement::{Bound, Certainty, Direction, Effect, Role, RuleId};

use super::transfer::{self, Transfer};
use super::{Case, UsualEffect, effect_of, is_of_a_filter, load};
use crate::accounts::Flow;
use crate::facts::stopped;
use crate::words::percent;

/// Gives each finding its effect, and takes the certainty of those that allow more than arrived.
pub(super) fn weigh(case: &Case<'_>, found: &mut [Finding]) {
    for finding in found {
        if finding.effect.is_unknown() {
            finding.effect = usual_effect(case, finding);
        }
        let is_dismissed = room(case, finding).is_some_and(|room| room > DISMISSED);
        if had_time_for_as_much(case, finding) {
            finding.certainty = Certainty::Note;
        } else if is_dismissed && !is_met_while_it_ran(case, finding) {
            // A thread that waits for half of the time answers late, however little it wants.
            let waits = effect_of(finding.rule) == UsualEffect::Waiting;
            let is_late = waits && finding.share >= HALF;
            let most = if is_late { Certainty::Candidate } else { Certainty::Note };
            finding.certainty = finding.certainty.min(most);
        }
    }
}

/// Whether a sender whose CPU is full had time left when it sent as much below the limit: what fills
/// it is the work of a queue that begins there.
fn had_time_for_as_much(case: &Case<'_>, finding: &Finding) -> bool {
    let is_of_cpu = finding.rule == RuleId::SenderBelowRate
        || matches!(effect_of(finding.rule), UsualEffect::CpuTime);
    let role = finding.host.as_ref().filter(|role| is_of_cpu && load::sends(case, role));
    let held = role.and_then(|role| Some((role, case.held_with_as_much()?)));
    held.is_some_and(|(role, held)| load::has_time(held, role) == Some(true))
}

/// How closely the bound of a finding explains what arrived: the closest first.
pub(super) fn closeness(case: &Case<'_>, finding: &Finding) -> Closeness {
    match room(case, finding) {
        Some(room) if is_met(case, finding, room) => Closeness::Met,
        Some(room) if room <= EQUAL => Closeness::Exact,
        Some(room) if room <= EXPLAINS => Closeness::Near,
        Some(_) => Closeness::Far,
        None => Closeness::Exact,
    }
}

/// How close a bound is to what arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Closeness {
    /// So far that it does not explain it.
    Far,
    /// Within a quarter.
    Near,
    /// Within a tenth; or the bound is not known.
    Exact,
    /// It is a rate that was configured, and that is what arrived.
    Met,
}

/// Whether a rate that was configured is what arrived, or did while no end stood still.
fn is_met(case: &Case<'_>, finding: &Finding, room: f64) -> bool {
    let is_same = finding.rule == RuleId::QdiscLimit && (room - 1.0).abs() <= SAME;
    is_same || is_met_while_it_ran(case, finding)
}

/// Whether a rate that was configured is what arrived while no end stood still. What is in the queue
/// of a shaper then leaves it after the stop has begun.
fn is_met_while_it_ran(case: &Case<'_>, finding: &Finding) -> bool {
    let stood = |host| stopped::share(case.test?, host);
    let stood = case.hosts.iter().filter_map(stood).fold(0.0, f64::max);
    let room = room(case, finding).filter(|_| finding.rule == RuleId::QdiscLimit && stood > 0.0);
    room.is_some_and(|room| (1.0 - QUEUED..=1.0 + SAME).contains(&(room * (1.0 - stood))))
}

/// Whether far more arrived than a finding allows at most: then it is not what bounds.
/// So is a little loss under a congestion control that bears it, and loss of a sender that hardly
/// waits for its congestion window. A filter that drops what exceeds a rate is not refuted by a
/// bound by loss: it drops many segments at once.
pub(super) fn is_refuted(case: &Case<'_>, finding: &Finding) -> bool {
    if is_of_a_filter(finding.rule) && finding.share >= ALL {
        let transfers = of_direction(case, finding.direction);
        // A segment that the sender's own filter refuses stops it until an acknowledgement comes
        // (`tcp_write_xmit`), whatever the congestion control makes of loss.
        let waits = transfers.iter().any(|one| !one.hardly_waits());
        let stops = finding.rule == RuleId::OutputDrops && waits;
        if stops || transfers.iter().any(Transfer::loses_much) {
            return false;
        }
    }
    let Some(bound) = finding.effect.bound() else {
        let transfers = of_direction(case, finding.direction);
        let is_loss = matches!(finding.effect, Effect::Loss) && !transfers.is_empty();
        let is_borne = |one: &Transfer<'_>| one.bears_its_loss(case) || one.hardly_waits();
        return is_loss && transfers.iter().all(is_borne);
    };
    let arrived = arrived(case, finding.direction);
    arrived.is_some_and(|rate| rate > REFUTED * bound.to.bits_per_second() as f64)
}

/// The rate that a finding allows at least, against what arrived; none: either is not known.
fn room(case: &Case<'_>, finding: &Finding) -> Option<f64> {
    let bound = finding.effect.bound()?;
    let arrived = arrived(case, finding.direction).filter(|rate| *rate > 0.0)?;
    Some(bound.from.bits_per_second() as f64 / arrived)
}

fn usual_effect(case: &Case<'_>, finding: &Finding) -> Effect {
    let (role, direction) = (finding.host.as_ref(), finding.direction);
    let bound = match effect_of(finding.rule) {
        UsualEffect::CpuTime => role.and_then(|role| of_cpu(case, role, direction)),
        UsualEffect::Waiting => role.and_then(|role| of_waiting(case, role, direction)),
        UsualEffect::Passed => role.and_then(|role| of_passed(case, role, direction)),
        UsualEffect::Loss => {
            return of_loss(case, direction).map_or(Effect::Loss, Effect::Rate);
        }
        UsualEffect::Delay => return Effect::Delay,
        UsualEffect::Unknown => None,
    };
    bound.map_or(Effect::Unknown, Effect::Rate)
}

/// The rate that the CPU of an end allows: the payload that passed that end, divided by the share
/// of the CPU's time that it took.
fn of_cpu(case: &Case<'_>, role: &Role, direction: Option<Direction>) -> Option<Bound> {
    by_time(case, role, direction, load::level(case, case.host(role)?)?)
}

/// The rate that the threads of an end allow: the payload that passed that end, divided by the
/// share of time for which the threads wanted a CPU. A socket that overflows does not wait for a
/// thread that is late: then the rate is not known.
fn of_waiting(case: &Case<'_>, role: &Role, direction: Option<Direction>) -> Option<Bound> {
    let wanted = load::wanted(case, case.host(role)?);
    let is_full = flows(case, direction).any(|flow| overflows(flow, role));
    (!is_full).then(|| by_time(case, role, direction, wanted)).flatten()
}

/// The rate that TCP reaches with the loss of its segments; none: it is not TCP, or its congestion
/// control bears loss.
fn of_loss(case: &Case<'_>, direction: Option<Direction>) -> Option<Bound> {
    of_direction(case, direction).first()?.bound_by_loss(case)
}

pub(super) fn of_direction<'a>(
    case: &'a Case<'_>,
    direction: Option<Direction>,
) -> Vec<Transfer<'a>> {
    let mut transfers = transfer::wanting(case);
    transfers.retain(|one| direction.is_none_or(|one_way| one_way == one.flow.outcome.direction));
    transfers
}

/// The payload that passed an end, as the rate that the end allows.
pub(super) fn of_passed(
    case: &Case<'_>,
    role: &Role,
    direction: Option<Direction>,
) -> Option<Bound> {
    let passed = passed_in_all(case, role, direction);
    (passed > 0.0).then(|| Bound::exact(passed, "what passed that host"))
}

fn by_time(
    case: &Case<'_>,
    role: &Role,
    direction: Option<Direction>,
    share: f64,
) -> Option<Bound> {
    let passed = passed_in_all(case, role, direction);
    let shown = Bound::exact(passed, "").from;
    (passed > 0.0 && share > 0.0).then(|| {
        let arithmetic = format!("{shown} took {} of the CPU's time", percent(share.min(1.0)));
        Bound::exact(passed / share.min(1.0), arithmetic)
    })
}

fn passed_in_all(case: &Case<'_>, role: &Role, direction: Option<Direction>) -> f64 {
    flows(case, direction).filter_map(|flow| passed(flow, role)).sum()
}

/// Whether datagrams were dropped in the sockets of that end.
pub(super) fn overflows_at(case: &Case<'_>, role: &Role) -> bool {
    flows(case, None).any(|flow| overflows(flow, role))
}

/// Whether datagrams of a direction were dropped in the sockets of that end.
fn overflows(flow: &Flow<'_>, role: &Role) -> bool {
    let drops = flow.account.ledger.as_ref().map_or(&[][..], |ledger| &ledger.drops);
    let is_there = |drop: &Drop| drop.place == Place::ReceiverSocket && drop.datagrams > 0;
    flow.receiver() == *role && drops.iter().any(is_there)
}

/// Payload that passed an end, in bits per second. A sender's is what it offered, whatever became
/// of it.
fn passed(flow: &Flow<'_>, role: &Role) -> Option<f64> {
    let outcome = flow.outcome;
    let through = if flow.sender() == *role { outcome.offered } else { outcome.delivered }
        .or(outcome.headline());
    Some(through?.rate.bits_per_second() as f64)
}

/// Payload that arrived in those directions of the test that could be more, in bits per second.
fn arrived(case: &Case<'_>, direction: Option<Direction>) -> Option<f64> {
    let rates = flows(case, direction).map(Flow::arrived);
    rates.map(|rate| Some(rate?.rate.bits_per_second() as f64)).sum()
}

fn flows<'c>(
    case: &'c Case<'_>,
    direction: Option<Direction>,
) -> impl Iterator<Item = &'c Flow<'c>> {
    let is_of = move |flow: &&Flow<'_>| direction.is_none_or(|one| one == flow.outcome.direction);
    case.wanting().filter(is_of)
}

/// Share of the loss that a filter dropped: it is all of it.
const ALL: f64 = 0.90;
/// Share of the time for which a thread waits.
const HALF: f64 = 0.5;
/// Largest share of what a shaper passes that was in its queue, where an end stands still again and
/// again.
const QUEUED: f64 = 0.10;
/// So much differ a rate that was configured and what a test made of it.
const SAME: f64 = 0.03;
/// A bound of at most so many times what arrived explains it exactly: two of them are equal.
const EQUAL: f64 = 1.10;
/// A bound of at most so many times what arrived explains it.
const EXPLAINS: f64 = 1.25;
/// A bound of more than so many times what arrived does not limit. Less does not clear it: a CPU
/// of which a third is idle may be what a loop of two ends that wait for each other can use.
const DISMISSED: f64 = 1.5;
/// So many times the greatest rate that a bound allows refute it: bounds by loss are means over many
/// losses.
const REFUTED: f64 = 2.0;
