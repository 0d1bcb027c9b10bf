//! `udp-pacing-without-fq`: the kernel was asked to space datagrams, and nothing there does.

use super::{Finding, Page, Rule, RuleId, Test};
use crate::accounts::Flow;
use crate::evidence::HostView;
use crate::words;

pub(crate) const PAGE: Page = Page {
    id: RuleId::UdpPacingWithoutFq,
    title: "Kernel pacing of UDP without fq",
    what: "`SO_MAX_PACING_RATE` is set on a UDP socket whose root qdisc is not `fq`.",
    why: "Only `fq` obeys it for UDP (TCP spaces by itself since Linux 4.13), so that the rate \
           is accepted and inert.",
    evidence: "The plan, and the qdiscs of the sender's interface.",
    remedy: "`fq`, or a rate that linerate keeps (-b).",
    source: "tc-fq(8)",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    if !test.is_udp() || test.record.plan.options.socket_rate.is_none() {
        return Vec::new();
    }
    test.flows.iter().filter_map(|flow| finding(test, flow)).collect()
}

fn finding(test: &Test<'_>, flow: &Flow<'_>) -> Option<Finding> {
    let role = flow.sender();
    let host = test.host(&role)?;
    let (interface, queue) = host.interfaces().iter().find_map(|name| unpaced(host, name))?;
    let sentence = format!(
        "{queue} on {interface} of {} does not pace UDP; tc qdisc replace dev {interface} root \
         fq, or use -b",
        words::host(&role)
    );
    Some(Finding::suspect(Some(&role), sentence))
}

/// An interface whose qdiscs are known and none is `fq`: below `mq` it is no root.
fn unpaced<'a>(host: &HostView<'a>, name: &'a str) -> Option<(&'a str, &'a str)> {
    let queues = &host.interface(name)?.queueing;
    let root = queues.iter().find(|queue| queue.parent == "root").or(queues.first())?;
    let is_paced = queues.iter().any(|queue| queue.kind == "fq");
    (!is_paced).then_some((name, root.kind.as_str()))
}

#[cfg(test)]
mod tests {
    use measurement::{BitRate, Role};

    use super::*;
    use crate::test_record;

    #[test]
    fn a_rate_that_nothing_keeps_makes_it_suspect() {
        let mut record = test_record::udp();
        assert_eq!(test_record::found(&RULE, &record), []);
        record.plan = test_record::plan_with(&record.plan, |draft| {
            draft.options.socket_rate = Some(BitRate::from_bits_per_second(1_000_000));
        });
        let text = test_record::suspected(&RULE, &record);
        assert!(
            text.contains("fq_codel on eth0 of this host does not pace UDP; tc qdisc replace"),
            "{text}"
        );
        let host = test_record::host(&mut record, &Role::Here);
        host.inventory.interfaces[0].queueing[0].kind = "fq".to_owned();
        assert_eq!(test_record::found(&RULE, &record), []);
    }
}
