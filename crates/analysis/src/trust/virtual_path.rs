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

fn check(test: &Test<'_>) -> Vec<Finding> {
    let sentence = software_path::kind(test).map(|kind| {
        format!("virtual link ({kind}): not a hardware result; test between two hosts for that")
    });
    sentence.map(|sentence| Finding::note(None, sentence)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;

    #[test]
    fn a_path_in_software_is_said_to_be_one() {
        let mut record = test_record::udp();
        assert_eq!(test_record::found(&RULE, &record), []);
        for host in &mut record.hosts {
            host.inventory.boot = Some("the same".to_owned());
        }
        assert!(test_record::noted(&RULE, &record).contains("(both ends on one host)"));
        test_record::in_software(&mut record);
        assert!(
            test_record::noted(&RULE, &record)
                .starts_with("virtual link (veth): not a hardware result")
        );
        record.peer.as_mut().expect("it is known").address =
            "127.0.0.1:5201".parse().expect("an address");
        assert!(test_record::noted(&RULE, &record).contains("(loopback)"));
    }
}
