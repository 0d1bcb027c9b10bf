//! `udp-receive-buffer`: the receiver's own socket overflows.

use measurement::judgement::{Drop, Place};
use measurement::remedy::Setting;
use measurement::{ByteSize, RateSearchEnd};

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::accounts::Flow;
use crate::words::{self, count, percent, share};

const PAGE: Page = Page {
    id: RuleId::UdpReceiveBuffer,
    title: "UDP receive buffer overflow",
    what: "Datagrams reached the receiving host, and its socket had no room for them.",
    why: "A socket holds what its buffer holds: at 1 Gbit/s the kernel's default of 212,992 bytes \
          is full after about a millisecond in which the program did not read. To a tool that \
          counts gaps this looks like loss on the network.",
    evidence: "Drops of the test's own sockets (`SK_MEMINFO_DROPS` of sock_diag(7), else \
               `RcvbufErrors` of the host) against the datagrams that are missing.",
    remedy: "A larger buffer (`-w`, `net.core.rmem_max`) where the receiver is late now and then; \
             a faster reader (fewer, larger datagrams, `-P`, a CPU of its own) where it is always \
             late.",
    source: "socket(7), udp(7)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Overrun, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    case.flows().iter().filter_map(|flow| finding(case, flow)).collect()
}

fn finding(case: &Case<'_>, flow: &Flow<'_>) -> Option<Found> {
    let ledger = flow.account.ledger.as_ref()?;
    let drops = ledger.drops.iter().filter(|drop| drop.place == Place::ReceiverSocket);
    let sum = |part: fn(&Drop) -> u64| drops.clone().map(part).fold(0, u64::saturating_add);
    let (dropped, least) = (sum(|drop| drop.datagrams), sum(|drop| drop.least));
    let part = share(dropped, ledger.lost());
    // Of a rate that was asked what did not even leave is missing too.
    let missing = missing(flow).unwrap_or(0.0).max(share(ledger.lost(), ledger.sent));
    let explained = share(dropped, ledger.sent) / missing.max(f64::MIN_POSITIVE);
    (share(dropped, ledger.sent) > TOLERATED).then(|| {
        let receiver = flow.receiver();
        let name = words::host(&receiver);
        let text = format!("UDP receive buffer overflow on {name}");
        // As much as goes always loses a little, which is not what limits it.
        let is_judged = flow.outcome.asked.is_some()
            || case.search().is_some_and(|search| search.end == RateSearchEnd::Loss)
            || share(dropped, ledger.sent) > MUCH;
        let is_limit = is_judged && part >= LEAST_PART;
        let found = if is_limit { Found::limit(text) } else { Found::note(text) };
        let found = found
            .at(&receiver)
            .going(flow.outcome.direction)
            .explaining(explained)
            .seen(format!(
                "{} of the {} datagrams that are missing were {}dropped there ({})",
                if least < dropped { between(least, dropped) } else { count(dropped) },
                count(ledger.lost()),
                if least < dropped { "probably " } else { "" },
                percent(part)
            ))
            .remedy("ask for a larger buffer (-w), or use fewer and larger datagrams");
        larger(case, found)
    })
}

/// A buffer of four times what was asked, and the most that the receiver's kernel gives.
fn larger(case: &Case<'_>, found: Found) -> Found {
    let options = case.test.map(|test| &test.record.plan.options);
    let asked = options.and_then(|options| options.window).map(ByteSize::bytes);
    let window = asked.unwrap_or(0).saturating_mul(4).max(LARGE);
    let host = found.host.as_ref().and_then(|role| case.host(role));
    let most = host.and_then(|host| host.setting(MOST)).filter(|most| *most < window);
    let found = match most {
        Some(most) => found.change_from(super::sysctl(MOST, window), Some(most)),
        None => found,
    };
    found.change_from(Setting::Window(ByteSize::from_bytes(window)), asked)
}

/// The most that SO_RCVBUF gives, in bytes (socket(7)).
const MOST: &str = "net.core.rmem_max";
/// In bytes: 30 ms at 1 Gbit/s.
const LARGE: u64 = 4 << 20;

fn between(least: u64, most: u64) -> String {
    format!("{} to {}", count(least), count(most))
}

/// Of all datagrams of a sender that sends as much as goes. To be calibrated.
const MUCH: f64 = 0.05;

/// Least share of the lost datagrams that a full receive buffer drops where it is what limits.
const LEAST_PART: f64 = 0.1;

/// Part of the rate that was asked that did not arrive.
fn missing(flow: &Flow<'_>) -> Option<f64> {
    let (asked, delivered) = flow.outcome.asked.zip(flow.outcome.delivered)?;
    Some(1.0 - share(delivered.rate.bits_per_second(), asked.bits_per_second()))
}

/// Of all datagrams. To be calibrated.
const TOLERATED: f64 = 0.000_1;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| {
        crate::test_record::lose(record, 5_000);
        crate::test_record::drop_in_sockets(record, 5_000);
    })
    .silent(|record| crate::test_record::lose(record, 5_000));

#[cfg(test)]
mod tests {
    use measurement::Certainty;

    use super::*;
    use crate::accounts::Test;
    use crate::test_record;

    #[test]
    fn a_socket_that_drops_little_of_what_is_missing_is_a_note() {
        let certainty = |drops| {
            let mut record = test_record::udp();
            test_record::lose(&mut record, 50_000);
            test_record::drop_in_sockets(&mut record, drops);
            let test = Test::from_record(&record);
            check(&Case::of_test(&test, &[]))[0].certainty
        };
        assert_eq!(certainty(500), Certainty::Note);
        assert_eq!(certainty(40_000), Certainty::Limit);
    }
}
