//! `packet-filter-cost`: filters take the CPU, or drop.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::load;

const PAGE: Page = Page {
    id: RuleId::PacketFilterCost,
    title: "CPU time for packet filters (netfilter, BPF)",
    what: "A host's CPU was full, and at least 5 % of its busy time went to firewall rules or \
           connection tracking.",
    why: "Every packet is compared with one rule after another; hundreds of them cost more than \
          all else.",
    evidence: "Samples of `ipt_do_table`, `nft_do_chain`, `nf_conntrack_in` and their like; drops \
               of connection tracking.",
    remedy: "Fewer rules, sets and maps in place of lists, a flowtable, `notrack` for this \
             traffic.",
    source: "nft(8), iptables(8)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Offload, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    let part = |full: &load::Full<'_>| full.share_of_rows(|row| is_of_a_filter(&row.symbol));
    let heavy = load::heavy(case, part, load::unusual(LEAST), WORK).into_iter();
    heavy.map(|(_, found)| found.remedy(REMEDY)).collect()
}

fn is_of_a_filter(symbol: &str) -> bool {
    SYMBOLS.iter().any(|known| symbol.starts_with(known))
}

/// Of `net/netfilter`, `net/ipv4/netfilter` and `net/bridge/netfilter`; matches and targets of
/// iptables have names that end in `_mt` and `_tg`.
const SYMBOLS: [&str; 10] =
    ["nf_", "nft_", "ipt_", "ip6t_", "ebt_", "xt_", "conntrack_", "tcp_mt", "udp_mt", "__nf_"];
const REMEDY: &str = "accept the test first (iptables -I INPUT 1 -p tcp --dport 5201 -j ACCEPT), \
                      use sets, or notrack";
/// What the CPU does, as the finding says it.
const WORK: &str = "runs packet filters";
/// Share of the busy time. To be calibrated.
const LEAST: f64 = 0.05;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| crate::test_record::full_in(record, "ipt_do_table", 30))
    .silent(|record| crate::test_record::full_in(record, "ipt_do_table", 2));
