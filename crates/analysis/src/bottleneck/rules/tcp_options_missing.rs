//! `tcp-options-missing`: options that TCP needs were not agreed on.

use measurement::remedy::{Change, Remedy};
use measurement::{Bound, Role};

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::silent::Arrivals;
use crate::bottleneck::transfer::Transfer;
use crate::bottleneck::window;
use crate::evidence::HostView;
use crate::words::{self, percent};

const PAGE: Page = Page {
    id: RuleId::TcpOptionsMissing,
    title: "TCP window scaling or SACK missing",
    what: "The ends did not agree on window scaling or on selective acknowledgements. Without a \
           test: a host does not offer them, or no time stamps.",
    why: "Without a scale no window is larger than 64 KiB, which at a round trip of 10 ms is 52 \
          Mbit/s; without SACK each loss costs a round trip more. Without time stamps the round \
          trip is measured less often, and old segments of a fast connection are not told from \
          new ones.",
    evidence: "`tcpi_options`. A kernel that tells no option at all is not believed. Without a \
               test `net.ipv4.tcp_window_scaling`, `tcp_sack` and `tcp_timestamps`; the bound of a \
               window is for round trips of 1, 20 and 100 ms.",
    remedy: "`sysctl -w net.ipv4.tcp_window_scaling=1 net.ipv4.tcp_sack=1` at both ends; else a \
             router on the way removes the options.",
    source: "RFC 7323, RFC 2018, Documentation/networking/ip-sysctl.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Window, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if case.test.is_none() {
        return case.hosts.iter().flat_map(switched_off).collect();
    }
    super::in_all_transfers(case, finding, of_silent_sender)
}

/// A sender that tells nothing fills the 64 KiB of a connection without a window scale, each round
/// trip, whatever window this end would offer.
fn of_silent_sender(case: &Case<'_>, arrivals: &Arrivals<'_>) -> Option<Found> {
    let options = arrivals.receivers.iter().map(|tcp| tcp.options).find(|all| *all != 0)?;
    let is_unscaled = OPTIONS.iter().any(|(bit, name)| *name == SCALE && options & bit == 0);
    let in_flight = arrivals.in_flight().filter(|_| is_unscaled)?;
    let filled = in_flight / f64::from(u16::MAX);
    let bound = arrivals.bound_by_window(u16::MAX.into())?;
    (filled >= FILLED).then(|| {
        Found::limit(format!("the connection has no {SCALE}"))
            .going(arrivals.flow.outcome.direction)
            .explaining(filled.min(1.0))
            .seen(format!("{} of 65,535 bytes arrive in each round trip", percent(filled)))
            .allowing(bound)
            .remedy(remedy(case, &[SCALE]))
    })
}

/// The options that a host does not offer.
fn switched_off(host: &HostView<'_>) -> Vec<Found> {
    let place = words::host(host.role());
    let is_off = |name: &str| host.setting(name) == Some(0);
    let found = [
        (SCALING, Found::candidate(format!("window scaling is off on {place}")).allowing(window())),
        (
            SACKS,
            Found::candidate(format!(
                "SACK is off on {place}: TCP recovers one lost segment per round trip"
            )),
        ),
        ("net.ipv4.tcp_timestamps", Found::note(format!("TCP time stamps are off on {place}"))),
    ];
    let found = found.into_iter().filter(|(name, _)| is_off(name));
    let with_remedy = |(name, found): (&str, Found)| {
        let found = found.at(host.role()).seen(format!("{name} = 0")).remedy("switch it on");
        found.change_from(super::sysctl(name, 1), Some(0))
    };
    found.map(with_remedy).collect()
}

/// What the window field of a segment allows without a scale (RFC 9293).
fn window() -> Bound {
    window::bound(u16::MAX.into())
}

fn finding(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<Found> {
    let reported = transfer.senders.iter().map(|tcp| tcp.options).find(|options| *options != 0)?;
    let missing: Vec<_> =
        OPTIONS.iter().filter(|(bit, _)| reported & bit == 0).map(|(_, name)| *name).collect();
    if missing.is_empty() {
        return None;
    }
    let share = transfer.shares().receive_window;
    let text = format!("the connection has no {}", missing.join(" and no "));
    let is_small = missing.contains(&SCALE) && share >= DECIDES;
    let found = if is_small { Found::limit(text) } else { Found::candidate(text) };
    let found = found
        .going(transfer.flow.outcome.direction)
        .explaining(share)
        .seen(format!("tcpi_options = {reported}; window full for {} of the time", percent(share)))
        .remedy(remedy(case, &missing));
    Some(found)
}

/// Both ends have to offer an option: it is switched on where it is off, and where that is not
/// known.
fn remedy(case: &Case<'_>, missing: &[&str]) -> Remedy {
    let advice =
        "switch them on at both ends; if they are on, a middlebox on the path removes them";
    let names = OPTIONS.iter().filter(|(_, name)| missing.contains(name)).map(|(_, name)| *name);
    let names = names.map(|name| if name == SCALE { SCALING } else { SACKS });
    let each = names.flat_map(|name| [Role::Here, Role::Peer].map(|role| (name, role)));
    let off = each.filter(|(name, role)| {
        case.host(role).and_then(|host| host.setting(name)).is_none_or(|value| value == 0)
    });
    off.fold(Remedy::from(advice), |remedy, (name, role)| {
        remedy.with(Change::new(&role, super::sysctl(name, 1)))
    })
}

/// Share of the largest window without a scale that arrives in each round trip where it is what
/// limits.
const FILLED: f64 = 0.6;
/// Share of the time at a full receive window from which on it limits. To be calibrated.
const DECIDES: f64 = 0.25;
const SCALING: &str = "net.ipv4.tcp_window_scaling";
const SACKS: &str = "net.ipv4.tcp_sack";
const SCALE: &str = "window scale";
/// `TCPI_OPT_*` of `linux/tcp.h`.
const OPTIONS: [(u8, &str); 2] = [(4, SCALE), (2, "SACK")];

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        let tcp = crate::test_record::sent(record);
        (tcp.options, tcp.receive_window_limited_micros) = (3, 8_000_000);
    })
    .silent(|record| crate::test_record::sent(record).options = 7);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_a_host_does_not_offer_are_told_without_a_test() {
        let mut record = crate::test_record::tcp();
        let host = crate::test_record::host(&mut record, &measurement::Role::Here);
        for name in [SCALING, "net.ipv4.tcp_sack", "net.ipv4.tcp_timestamps"] {
            host.inventory.settings.insert(name.to_owned(), "0".to_owned());
        }
        let found = check(&Case::of_hosts(&record.hosts, &[]));
        assert_eq!(found.len(), 3, "{found:?}");
        let bound = found[0].effect.bound().expect("known");
        assert!(bound.arithmetic.starts_with("65,535 bytes per round trip"), "{bound}");
    }
}
