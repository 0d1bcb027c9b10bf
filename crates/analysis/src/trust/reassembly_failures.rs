//! `reassembly-failures`: datagrams travelled in fragments, and some could not be put together.

use super::{Finding, Page, Rule, RuleId, Test};
use crate::evidence::HostView;
use crate::words::{self, counted};
use measurement::host::{Counter, counter};

pub(crate) const PAGE: Page = Page {
    id: RuleId::ReassemblyFailures,
    title: "IP reassembly failures",
    what: "A datagram is longer than the MTU, and reassembly or cutting failed.",
    why: "One lost fragment loses the whole datagram, so that the loss is a multiple of the \
           link's; and fragments of a datagram that fails are gone too.",
    evidence: "Length against MTU; `ReasmFails` and `FragFails` (snmp_counter.rst).",
    remedy: "A shorter length.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    if !test.is_udp() {
        return Vec::new();
    }
    test.ends().filter_map(|host| finding(test, host)).collect()
}

fn finding(test: &Test<'_>, host: &HostView<'_>) -> Option<Finding> {
    let stream = test.record.streams.first()?;
    let known = host.interfaces().iter().filter_map(|name| host.interface(name));
    let mtu = u64::from(known.map(|one| one.mtu).filter(|mtu| *mtu > 0).min()?);
    let network =
        if stream.peer.is_some_and(|peer| peer.ip().to_canonical().is_ipv6()) { 40 } else { 20 };
    let length = stream.block.bytes();
    let pieces = length.saturating_add(UDP_HEADER).div_ceil(mtu.saturating_sub(network).max(1));
    let failed = FAILURES.iter().filter_map(|counter| host.growth(*counter));
    let failed = failed.fold(0, u64::saturating_add);
    (pieces > 1 && failed > 0).then(|| {
        let sentence = format!(
            "datagrams of {} are sent in {pieces} fragments (MTU {mtu}); {} on {}: use -l {} or \
             less",
            stream.block.expanded(),
            counted(failed, "fragmentation failure"),
            words::host(host.role()),
            mtu.saturating_sub(network + UDP_HEADER)
        );
        Finding::suspect(Some(host.role()), sentence)
    })
}

const FAILURES: [Counter<'static>; 4] = [
    counter::IP_REASM_FAILS.v4,
    counter::IP_FRAG_FAILS.v4,
    counter::IP_REASM_FAILS.v6,
    counter::IP_FRAG_FAILS.v6,
];
const UDP_HEADER: u64 = 8;

#[cfg(test)]
mod tests {
    use measurement::{ByteSize, Role};

    use super::*;
    use crate::test_record;

    #[test]
    fn fragments_that_are_not_put_together_make_it_suspect() {
        let mut record = test_record::udp();
        test_record::grow(
            test_record::host(&mut record, &Role::Peer),
            counter::IP_REASM_FAILS.v4,
            7,
        );
        assert_eq!(test_record::found(&RULE, &record), [], "those of others");
        record.streams[0].block = ByteSize::from_bytes(8_000);
        let text = test_record::suspected(&RULE, &record);
        assert!(
            text.contains("are sent in 6 fragments (MTU 1500); 7 fragmentation failures"),
            "{text}"
        );
        assert!(text.ends_with("use -l 1472 or less"), "{text}");
    }
}
