//! `link-flap`: the link went away and came back.

use super::{Finding, Page, Rule, RuleId, Test};
use crate::words::{self, counted};
use measurement::host::counter;

pub(crate) const PAGE: Page = Page {
    id: RuleId::LinkFlap,
    title: "Link flap",
    what: "An interface of the test lost its carrier or found it during the result.",
    why: "For that time nothing was measured.",
    evidence: "`carrier_changes` (`/sys/class/net/*/statistics` and its neighbours).",
    remedy: "Cable, port, power saving.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    let all = test
        .hosts
        .iter()
        .flat_map(|host| host.interfaces().iter().map(move |interface| (host, interface)));
    all.filter_map(|(host, interface)| {
        let changes = host.growth(counter::INTERFACE_CARRIER_CHANGES.on(interface))?;
        let sentence = format!(
            "link flap: {interface} of {} changed its carrier {}; check cable, port and power \
             saving",
            words::host(host.role()),
            counted(changes, "time")
        );
        (changes > 0).then(|| Finding::invalid(Some(host.role()), sentence))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use measurement::Role;

    use super::*;
    use crate::test_record;

    #[test]
    fn a_link_that_flapped_makes_it_invalid() {
        let mut record = test_record::udp();
        assert_eq!(test_record::found(&RULE, &record), []);
        let host = test_record::host(&mut record, &Role::Here);
        test_record::grow(host, counter::INTERFACE_CARRIER_CHANGES.on("eth0"), 2);
        assert!(test_record::refuted(&RULE, &record).contains(
            "eth0 of this host changed its carrier 2 \
        times"
        ));
    }
}
