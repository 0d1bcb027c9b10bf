//! Packets that came into a host and reached no socket, though no counter of drops has them:
//! rules of a firewall (`iptables`, `nft`) count for themselves alone.

use measurement::host::counter::{self, Both};

use measurement::{Direction, Ledger};

use crate::evidence::{Evidence, HostView, receiver};

/// Whether as many packets as no counter explains came into the receiver and reached nothing
/// there.
pub(crate) fn dropped_the_rest(
    evidence: &Evidence<'_>,
    direction: Direction,
    ledger: &Ledger,
) -> bool {
    let turned_away = evidence.host(&receiver(direction)).map_or(0, by_its_rules);
    ledger.remainder_least > 0 && turned_away >= ledger.remainder_least / 10 * 9
}

/// How many packets; 0 where the host does not report it. Of all traffic of the host, and a
/// packet that was joined of several counts once.
fn by_its_rules(host: &HostView<'_>) -> u64 {
    let both = |counters: Both| -> u64 {
        let grown = counters.each().into_iter().filter_map(|counter| host.growth(counter));
        grown.fold(0, u64::saturating_add)
    };
    let elsewhere = ELSEWHERE.iter().map(|counters| both(*counters)).fold(0, u64::saturating_add);
    let joined = both(counter::IP_REASM_REQDS).saturating_sub(both(counter::IP_REASM_OKS));
    both(counter::IP_IN_RECEIVES)
        .saturating_sub(both(counter::IP_IN_DELIVERS))
        .saturating_sub(elsewhere)
        .saturating_sub(joined)
}

/// What went on, or was dropped for a reason that is counted (RFC 4293).
const ELSEWHERE: [Both; 9] = [
    counter::IP_FORW_DATAGRAMS,
    counter::IP_OUT_FORW_DATAGRAMS,
    counter::IP_IN_HDR_ERRORS,
    counter::IP_IN_ADDR_ERRORS,
    counter::IP_IN_NO_ROUTES,
    counter::IP_IN_TOO_BIG_ERRORS,
    counter::IP_IN_TRUNCATED_PKTS,
    counter::IP_IN_UNKNOWN_PROTOS,
    counter::IP_IN_DISCARDS,
];

#[cfg(test)]
mod tests {
    use measurement::Role;
    use measurement::host::counter;

    use super::*;
    use crate::test_record;

    #[test]
    fn what_came_in_and_reached_nobody_was_turned_away() {
        let mut record = test_record::udp();
        let host = test_record::host(&mut record, &Role::Peer);
        let counters = [
            counter::IP_IN_RECEIVES,
            counter::IP_IN_DELIVERS,
            counter::IP_FORW_DATAGRAMS,
            counter::IP_REASM_REQDS,
        ];
        for (counters, by) in counters.into_iter().zip([1_000, 800, 40, 30]) {
            test_record::grow(host, counters.v4, by);
        }
        test_record::grow(host, counter::IP_REASM_OKS.v4, 10);
        let test = Evidence::from_record(&record);
        let host = test.host(&Role::Peer).expect("it is there");
        assert_eq!(by_its_rules(host), 140);
    }
}
