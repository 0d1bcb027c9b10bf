//! `virtual-path`: the path was software.

use super::{Finding, Page, Rule, RuleId, Test};
use crate::facts::software_path;

pub(crate) const PAGE: Page = Page {
    id: RuleId::VirtualPath,
    title: "Virtual path, not a hardware result",
    what: "Both ends are on one host: a loopback, a pair of virtual interfaces, two namespaces.",
    why: "What was measured is copying within one kernel: no link, no device, no interrupt \
           took part.",
    evidence: "The kind of the interface, the addresses, what tells one start of a kernel from \
           another.",
    remedy: "Two hosts.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(evidence: &Test<'_>) -> Vec<Finding> {
    let text = software_path::kind(evidence).map(|kind| {
        format!("virtual link ({kind}): not a hardware result; test between two hosts for that")
    });
    text.map(|text| Finding::note(None, text)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene;

    #[test]
    fn a_path_in_software_is_said_to_be_one() {
        let mut record = scene::udp();
        assert_eq!(scene::found(&RULE, &record), []);
        for host in &mut record.hosts {
            host.inventory.boot = Some("the same".to_owned());
        }
        assert!(scene::noted(&RULE, &record).contains("(both ends on one host)"));
        scene::in_software(&mut record);
        assert!(
            scene::noted(&RULE, &record).starts_with("virtual link (veth): not a hardware result")
        );
        record.peer.as_mut().expect("it is known").address =
            "127.0.0.1:5201".parse().expect("an address");
        assert!(scene::noted(&RULE, &record).contains("(loopback)"));
    }
}
