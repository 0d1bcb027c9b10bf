//! `tcp-options-missing`: options that TCP needs were not agreed on.

use super::{Case, Found, Page, Rule, RuleId};
use crate::bottleneck::transfer::{self, Transfer};
use crate::words::percent;

const PAGE: Page = Page {
    id: RuleId::TcpOptionsMissing,
    title: "TCP window scaling or SACK missing",
    what: "The ends did not agree on window scaling or on selective acknowledgements.",
    why: "Without a scale no window is larger than 64 KiB, which at a round trip of 10 ms is 52 \
          Mbit/s; without SACK each loss costs a round trip more.",
    evidence: "`tcpi_options`. A kernel that tells no option at all is not believed.",
    remedy: "`sysctl -w net.ipv4.tcp_window_scaling=1 net.ipv4.tcp_sack=1` at both ends; else a \
             router on the way removes the options.",
    source: "RFC 7323, RFC 2018",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(case: &Case<'_>) -> Vec<Found> {
    transfer::wanting(case).iter().filter_map(finding).collect()
}

fn finding(transfer: &Transfer<'_>) -> Option<Found> {
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
        .remedy(
            "set both at both ends; where they are set, a router on the way removes the options",
        )
        .change(super::sysctl("net.ipv4.tcp_window_scaling", 1))
        .change(super::sysctl("net.ipv4.tcp_sack", 1));
    Some(found)
}

/// Share of the time at a full receive window from which on it limits. To be calibrated.
const DECIDES: f64 = 0.25;
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
