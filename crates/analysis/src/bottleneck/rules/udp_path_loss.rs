//! `udp-path-loss`: datagrams are missing that no host dropped.

use measurement::{Ledger, Role};

use super::{Case, Found, Page, Rule, RuleId};
use crate::accounts::Flow;
use crate::facts::firewall;
use crate::words::{self, count, percent, share};

const PAGE: Page = Page {
    id: RuleId::UdpPathLoss,
    title: "UDP packet loss on the path",
    what: "Datagrams are missing, and no counter of either end, nor of a host that was observed, \
           explains them. It is the limit where both ends tell. If as many packets came into the \
           receiver and reached no socket of it, a rule of its firewall is named.",
    why: "Only what is left when the sender's queue and interface, and the receiver's interface, \
          backlog and socket are taken off can be blamed on the network.",
    evidence: "The ledger: sent less received, less what hosts dropped.",
    remedy: "Ask the firewall of the receiver what it counts (`iptables -L -v -n`, `nft list \
             ruleset`). Observe the hosts on the way (`--observe HOST`), look at switch ports; a \
             rate below \
             which nothing is lost tells a slower link or a shaper.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(case: &Case<'_>) -> Vec<Found> {
    case.flows().iter().filter_map(|flow| finding(case, flow)).collect()
}

fn finding(case: &Case<'_>, flow: &Flow<'_>) -> Option<Found> {
    let ledger = flow.account.ledger.as_ref()?;
    if share(ledger.remainder_least.min(ledger.remainder), ledger.sent) <= TOLERATED {
        return None;
    }
    let part = share(ledger.remainder, ledger.lost());
    let is_turned_away = case
        .test
        .is_some_and(|test| firewall::dropped_the_rest(test, flow.outcome.direction, ledger));
    let found = if is_turned_away {
        let receiver = flow.receiver();
        let name = words::host(&receiver);
        Found::limit(format!("the firewall of {name} drops datagrams")).at(&receiver)
    } else if ledger.receiver_told && ledger.sender_told && part >= 0.5 {
        Found::limit("packet loss on the path")
    } else {
        Found::candidate(unsure(ledger))
    };
    let found = found
        .going(flow.outcome.direction)
        .explaining(part)
        .seen(format!(
            "{} of {} datagrams are missing ({}), counters of hosts explain {}",
            count(ledger.lost()),
            count(ledger.sent),
            percent(share(ledger.lost(), ledger.sent)),
            count(ledger.lost() - ledger.remainder.min(ledger.lost()))
        ))
        .remedy(if is_turned_away {
            "see what its rules count: iptables -L -v -n, nft list ruleset"
        } else if case.hosts.iter().any(|host| matches!(host.role(), Role::Observed(_))) {
            "what no observed host counts, links and other hosts lost: find the rate without loss"
        } else {
            "observe the hosts on the way (--observe HOST), and find the rate without loss"
        });
    Some(found)
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
