//! `udp-send-blocked`: the sender's socket had no room: what is behind it takes no more.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::accounts::Flow;
use crate::facts::send_blocked;
use crate::words::{self, counted, percent};
use measurement::host::counter;

const PAGE: Page = Page {
    id: RuleId::UdpSendBlocked,
    title: "UDP send blocked by the local queue or link",
    what: "The sender waited for room in its socket for at least a fifth of the time, or the \
           kernel refused datagrams.",
    why: "A socket is full when the queueing discipline, the driver and the link behind it are: \
          what went is what they take.",
    evidence: "The time in which no socket of the sender had room; `SndbufErrors` of UDP.",
    remedy: "That is the rate of this way out. Look at `tc -s qdisc`, at the link's speed, and ask \
             for less (`-b`).",
    source: "udp(7)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Queue, check).seen_from_the_other_end();

fn check(case: &Case<'_>) -> Vec<Found> {
    if !case.is_udp() {
        return Vec::new();
    }
    case.wanting().filter_map(|flow| finding(case, flow)).collect()
}

fn finding(case: &Case<'_>, flow: &Flow<'_>) -> Option<Found> {
    let sender = flow.sender();
    let blocked = send_blocked::share(case.test?, flow.outcome.direction);
    let host = case.host(&sender);
    let refused = host.and_then(|host| host.growth(counter::UDP_SNDBUF_ERRORS.v4)).unwrap_or(0);
    let text = format!("the link of {} takes no more", words::host(&sender));
    let found = match blocked {
        _ if blocked >= LONG => Found::limit(text),
        _ if refused > FEW => Found::candidate(text),
        _ => return None,
    };
    let found = found
        .at(&sender)
        .going(flow.outcome.direction)
        .explaining(blocked)
        .seen(format!(
            "its send buffers were full for {} of the time; {} (SndbufErrors)",
            percent(blocked),
            counted(refused, "refusal")
        ))
        .remedy("look at tc -s qdisc and at the link's speed there, or ask for less (-b)");
    Some(found)
}

/// Share of the time. To be calibrated.
const LONG: f64 = 0.20;
/// Refusals that a full queue makes now and then.
const FEW: u64 = 100;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| {
        crate::test_record::send_only(record, 60_000_000);
        crate::test_record::block(record, 6_000_000_000);
    })
    .silent(|record| {
        crate::test_record::send_only(record, 60_000_000);
        crate::test_record::block(record, 200_000_000);
    });
