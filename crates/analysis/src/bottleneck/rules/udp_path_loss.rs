//! `udp-path-loss`: datagrams are missing that no host dropped.

use measurement::{BitRate, Ledger, RateSearch, Role};

use super::{Case, Class, Found, Page, Rule, RuleId};
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

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Loss, check);

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
    let steady = case.search().and_then(|search| steady_loss(search, tried(flow, ledger)));
    let found = if ledger.receiver_told && ledger.sender_told && part >= 0.5 {
        Found::limit("packet loss on the path")
    } else if let Some((slowest, least)) = steady.filter(|_| part >= 0.5) {
        Found::limit(unsure(ledger)).seen(format!(
            "a trial of {slowest} lost {} as well: no socket overflows at so low a rate",
            percent(least)
        ))
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

/// The rate and the loss of the test itself, which is a trial of its search too.
fn tried(flow: &Flow<'_>, ledger: &Ledger) -> Option<(BitRate, f64)> {
    Some((flow.outcome.offered?.rate, share(ledger.lost(), ledger.sent)))
}

/// The lowest rate of a search, or of the `test` after it, and the share that was lost there, if it
/// is so low that a socket of usual size holds what arrives while its reader is late, and higher
/// rates lost no more.
fn steady_loss(search: &RateSearch, test: Option<(BitRate, f64)>) -> Option<(BitRate, f64)> {
    let trials = search.trials.iter().map(|trial| (trial.asked, trial.loss)).chain(test);
    let trials: Vec<_> = trials.collect();
    let (slowest, least) = trials.iter().copied().min_by_key(|(asked, _)| *asked)?;
    let (fastest, _) = trials.iter().copied().max_by_key(|(asked, _)| *asked)?;
    let most = trials.iter().map(|(_, loss)| *loss).fold(0.0, f64::max);
    let apart = fastest.bits_per_second() as f64 / slowest.bits_per_second().max(1) as f64;
    let is_steady = trials.len() >= FEW && apart >= APART && least * ALIKE >= most;
    let is_steady = is_steady && least >= MUCH && slowest.bits_per_second() <= SLOW;
    is_steady.then_some((slowest, least))
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

/// Trials of a search, at rates so many times apart, whose loss differs by no more than this factor.
const FEW: usize = 3;
const APART: f64 = 2.0;
const ALIKE: f64 = 2.0;
/// Least share of the datagrams that a trial of some hundred of them shows.
const MUCH: f64 = 0.05;
/// In bit/s. A socket of 212,992 bytes (socket(7), net.core.rmem_default) holds a quarter of a second
/// of it.
const SLOW: u64 = 6_500_000;

/// Of all datagrams. To be calibrated.
const TOLERATED: f64 = 0.000_1;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| crate::test_record::lose(record, 5_000))
    .silent(|record| {
        crate::test_record::lose(record, 5_000);
        crate::test_record::drop_in_sockets(record, 5_000);
    });

#[cfg(test)]
mod tests {
    use measurement::{RateSearchEnd, RateTrial};

    use super::*;

    #[test]
    fn loss_that_does_not_fall_with_the_rate_is_of_no_socket() {
        let search = |losses: [f64; 3]| RateSearch {
            held: BitRate::from_bits_per_second(3_000_000),
            end: RateSearchEnd::Loss,
            floor: None,
            trials: [10_000_000, 6_500_000, 4_000_000]
                .map(BitRate::from_bits_per_second)
                .into_iter()
                .zip(losses)
                .map(|(asked, loss)| RateTrial { asked, sent: asked, arrived: asked, loss })
                .collect(),
            above: None,
        };
        let slowest = BitRate::from_bits_per_second(4_000_000);
        let steady = |losses| steady_loss(&search(losses), None);
        assert_eq!(steady([0.28, 0.18, 0.2]), Some((slowest, 0.2)));
        assert_eq!(steady([0.5, 0.2, 0.05]), None, "a queue or a socket overflows");
        assert_eq!(steady([0.02, 0.02, 0.02]), None, "too little to tell");
        let test = (BitRate::from_bits_per_second(3_000_000), 0.22);
        assert_eq!(steady_loss(&search([0.28, 0.18, 0.2]), Some(test)), Some(test));
    }
}
