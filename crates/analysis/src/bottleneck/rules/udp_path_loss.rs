//! `udp-path-loss`: datagrams are missing that no host dropped.

use measurement::{Ledger, Role};

use super::{Case, Found, Page, Rule, RuleId};
use crate::accounts::Flow;
use crate::evidence::HostView;
use crate::words::{count, percent, share};

const PAGE: Page = Page {
    id: RuleId::UdpPathLoss,
    title: "UDP packet loss on the path",
    what: "Datagrams are missing, and no counter of either end, nor of a host that was observed, \
           explains them. It is the limit where both ends tell.",
    why: "Only what is left when the sender's queue and interface, and the receiver's interface, \
          backlog and socket are taken off can be blamed on the network.",
    evidence: "The ledger: sent less received, less what hosts dropped.",
    remedy: "Observe the hosts on the way (`--observe HOST`), look at switch ports; a rate below \
             which nothing is lost tells a slower link or a shaper.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(case: &Case<'_>) -> Vec<Found> {
    // Where a lower rate lost nothing the loss is that of a rate limit.
    let is_by_rate = case.held_below().is_some();
    let flows = case.flows().iter().filter(|_| !is_by_rate);
    flows.filter_map(|flow| finding(case, flow)).collect()
}

fn finding(case: &Case<'_>, flow: &Flow<'_>) -> Option<Found> {
    let ledger = flow.account.ledger.as_ref()?;
    let is_lost = share(ledger.remainder_least.min(ledger.remainder), ledger.sent) > TOLERATED;
    is_lost.then(|| on_the_path(case, flow, ledger))
}

fn on_the_path(case: &Case<'_>, flow: &Flow<'_>, ledger: &Ledger) -> Found {
    let part = share(ledger.remainder, ledger.lost());
    let found = if ledger.receiver_told && ledger.sender_told && part >= 0.5 {
        Found::limit("packet loss on the path")
    } else {
        Found::candidate(unsure(ledger))
    };
    let found = match case.search().and_then(|search| search.floor) {
        Some(floor) => found.seen(format!(
            "slow trials lost {} as well: a lower rate does not help",
            percent(floor)
        )),
        None => found,
    };
    let is_observed = |host: &HostView<'_>| matches!(host.role(), Role::Observed(_));
    found.going(flow.outcome.direction).explaining(part).seen(missing(ledger)).remedy(
        if case.hosts.iter().any(is_observed) {
            "no observed host counts this loss: find the rate without loss (-b), check links and \
             other hosts"
        } else {
            "observe the routers on the path (--observe HOST), and find the rate without loss \
             (-b)"
        },
    )
}

fn missing(ledger: &Ledger) -> String {
    format!(
        "{} of {} datagrams are missing ({}), counters of hosts explain {}",
        count(ledger.lost()),
        count(ledger.sent),
        percent(share(ledger.lost(), ledger.sent)),
        count(ledger.lost() - ledger.remainder.min(ledger.lost()))
    )
}

fn unsure(ledger: &Ledger) -> &'static str {
    match (ledger.sender_told, ledger.receiver_told) {
        (_, false) => {
            "packet loss on the path, or in the receiver's host, which reports no counters"
        }
        (false, true) => {
            "packet loss on the path, or in the sender's host, which reports no counters"
        }
        (true, true) => "packet loss on the path",
    }
}

/// Of all datagrams. To be calibrated.
const TOLERATED: f64 = 0.000_1;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| crate::test_record::lose(record, 5_000))
    .silent(|record| {
        crate::test_record::lose(record, 5_000);
        crate::test_record::drop_in_sockets(record, 5_000);
    });
