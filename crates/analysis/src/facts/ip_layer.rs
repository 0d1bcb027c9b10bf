//! Packets that entered the IP layer of a host and did not leave it, though no counter of drops
//! has them: the difference of counters that are neighbours on the way of a packet. Rules of a
//! packet filter (`iptables`, `nft`) count for themselves alone.

use measurement::Role;
use measurement::host::counter::{self, Both};
use measurement::host::{Counter, Family};

use crate::evidence::{Growth, HostView};

/// Packets received and then neither delivered nor forwarded, without those dropped for a reason
/// that is counted (RFC 4293): dropped by a packet filter, at the hooks PREROUTING, INPUT or
/// FORWARD. Of all traffic of the host; a packet that was joined of several counts once.
pub(crate) fn filtered_in(host: &HostView<'_>) -> Growth {
    Growth::of(host, |grown| {
        let both = |counters: Both| sum(grown, &counters.each());
        let known = KNOWN.iter().map(|counters| both(*counters)).fold(0, u64::saturating_add);
        let joined = both(counter::IP_REASM_REQDS).saturating_sub(both(counter::IP_REASM_OKS));
        let unfit = if is_on_the_way(host) { grown(counter::IP_FRAG_FAILS.v4) } else { 0 };
        both(counter::IP_IN_RECEIVES)
            .saturating_sub(both(counter::IP_IN_DELIVERS))
            .saturating_sub(known)
            .saturating_sub(joined)
            .saturating_sub(unfit)
            .saturating_sub(grown(counter::IP_REVERSE_PATH_FILTER))
    })
}

/// Packets of this host that its packet filter dropped at the hook OUTPUT: given to the IP layer,
/// and not sent by it. Nothing where the kernel does not count both.
pub(crate) fn filtered_out(host: &HostView<'_>) -> Growth {
    let is_counted = host.growth(counter::IP_OUT_TRANSMITS.v4).is_some_and(|sent| sent > 0);
    if !is_counted {
        return Growth::default();
    }
    Growth::of(host, |grown| {
        grown(counter::IP_OUT_REQUESTS.v4)
            .saturating_add(grown(counter::IP_FORW_DATAGRAMS.v4))
            .saturating_sub(grown(counter::IP_OUT_TRANSMITS.v4))
    })
}

/// Packets that an observed host received and did not forward, though no counter of errors has
/// them. `ForwDatagrams` counts a packet behind the hook FORWARD or, as Linux 6.18 does, before it
/// (`net/ipv4/ip_forward.c`); there `OutTransmits` tells what passed.
pub(crate) fn not_forwarded(host: &HostView<'_>) -> Growth {
    filtered_in(host).plus(behind_the_hook(host))
}

/// What was forwarded by `ForwDatagrams` and not sent, without packets that were too big, nor the
/// message for each of them (RFC 1191), which a filter on output may drop.
fn behind_the_hook(host: &HostView<'_>) -> Growth {
    let (dropped, others) = (filtered_out(host), too_big(host).plus(too_big(host)));
    let least = dropped.least.saturating_sub(others.most).min(forwarded(host));
    let most = dropped.most.saturating_sub(others.least).min(forwarded(host));
    Growth { least: least.min(most), most }
}

/// Packets that went on, of those that an observed host received.
pub(crate) fn passed_on(host: &HostView<'_>) -> u64 {
    forwarded(host).saturating_sub(behind_the_hook(host).most)
}

/// Packets that an observed host was to forward and found larger than the MTU of the next link,
/// with the bit DF, or over IPv6.
pub(crate) fn too_big(host: &HostView<'_>) -> Growth {
    Growth::of(host, |grown| {
        grown(counter::IP_FRAG_FAILS.v4).saturating_add(grown(counter::IP_IN_TOO_BIG_ERRORS.v6))
    })
}

/// Packets that the IP layer received; none: the host does not report it.
pub(crate) fn received(host: &HostView<'_>) -> Option<u64> {
    let counters = counter::IP_IN_RECEIVES.each();
    host.reports(Family::SNMP).then(|| sum(&|one| host.growth(one).unwrap_or(0), &counters))
}

/// Packets that the IP layer forwarded.
fn forwarded(host: &HostView<'_>) -> u64 {
    let counters = [counter::IP_FORW_DATAGRAMS.v4, counter::IP_OUT_FORW_DATAGRAMS.v6];
    sum(&|one| host.growth(one).unwrap_or(0), &counters)
}

fn sum(grown: &dyn Fn(Counter<'_>) -> u64, counters: &[Counter<'_>]) -> u64 {
    counters.iter().map(|counter| grown(*counter)).fold(0, u64::saturating_add)
}

const fn is_on_the_way(host: &HostView<'_>) -> bool {
    matches!(host.role(), Role::Observed(_))
}

/// Counters of what went on, or was dropped for a reason that is counted (RFC 4293).
const KNOWN: [Both; 9] = [
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
    use super::*;
    use crate::evidence::Evidence;
    use crate::test_record;

    fn growth(counters: &[(Counter<'_>, u64)], of: fn(&HostView<'_>) -> Growth) -> u64 {
        let mut record = test_record::udp();
        let host = test_record::host(&mut record, &Role::Peer);
        for (counter, by) in counters {
            test_record::grow(host, *counter, *by);
        }
        let test = Evidence::from_record(&record);
        let growth = of(test.host(&Role::Peer).expect("it is there"));
        assert_eq!(growth.least, growth.most, "nothing is omitted");
        growth.most
    }

    #[test]
    fn what_came_in_and_reached_nobody_was_turned_away() {
        let counters = [
            (counter::IP_IN_RECEIVES.v4, 1_000),
            (counter::IP_IN_DELIVERS.v4, 800),
            (counter::IP_FORW_DATAGRAMS.v4, 40),
            (counter::IP_REASM_REQDS.v4, 30),
            (counter::IP_REASM_OKS.v4, 10),
        ];
        assert_eq!(growth(&counters, filtered_in), 140);
    }

    #[test]
    fn a_packet_that_is_counted_before_the_hook_is_missed_behind_it() {
        // As a router of Linux 6.18 counted what `iptables -A FORWARD` dropped.
        let counters = [
            (counter::IP_IN_RECEIVES.v4, 28_352),
            (counter::IP_IN_DELIVERS.v4, 11),
            (counter::IP_FORW_DATAGRAMS.v4, 28_341),
            (counter::IP_OUT_REQUESTS.v4, 9),
            (counter::IP_OUT_TRANSMITS.v4, 27_797),
        ];
        assert_eq!(growth(&counters, not_forwarded), 553);
    }

    #[test]
    fn a_message_that_was_dropped_on_output_was_not_to_be_forwarded() {
        let counters = [
            (counter::IP_IN_RECEIVES.v4, 29_524),
            (counter::IP_IN_DELIVERS.v4, 9),
            (counter::IP_FORW_DATAGRAMS.v4, 29_515),
            (counter::IP_FRAG_FAILS.v4, 29_500),
            (counter::IP_OUT_REQUESTS.v4, 29_509),
            (counter::IP_OUT_TRANSMITS.v4, 24),
        ];
        assert_eq!(growth(&counters, behind_the_hook), 0);
    }

    #[test]
    fn what_the_ip_layer_was_given_and_did_not_send_was_filtered_on_output() {
        let given = (counter::IP_OUT_REQUESTS.v4, 1_000);
        assert_eq!(growth(&[given, (counter::IP_OUT_TRANSMITS.v4, 980)], filtered_out), 20);
        assert_eq!(
            growth(&[given], filtered_out),
            0,
            "an older kernel does not count what it sent"
        );
    }
}
