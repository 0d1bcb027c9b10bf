//! `foreign-traffic`: somebody else used the test's interface.

use super::{Finding, Rule, Test};
use crate::evidence::{Flowing, HostView};
use crate::facts::foreign_traffic;
use crate::words::{self, percent};
use measurement::ByteSize;
use measurement::host::Family;

pub(super) const RULE: Rule = Rule { page: &foreign_traffic::PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    test.hosts.iter().flat_map(|host| finding(test, host)).collect()
}

fn finding(test: &Test<'_>, host: &HostView<'_>) -> Vec<Finding> {
    if !host.reports(Family::INTERFACE) {
        let what = format!("cross traffic on interfaces of {}", words::host(host.role()));
        return vec![Finding::unchecked(what, "it reports no interface counters")];
    }
    let own = host.interfaces().iter().filter(|name| !is_reported_already(test, host, name));
    own.filter_map(|name| {
        let (flowing, foreign) = foreign_traffic::most(test, host, name)?;
        let way = match flowing {
            Flowing::In => "received",
            Flowing::Out => "sent",
        };
        let sentence = format!(
            "cross traffic: at least {} ({}) that {name} of {} {way} was not the test's; stop it, \
             or test again",
            ByteSize::from_bytes(foreign.least).expanded(),
            percent(foreign_traffic::part(&foreign)),
            words::host(host.role())
        );
        Some(Finding::suspect(Some(host.role()), sentence))
    })
    .collect()
}

/// Both ends on one loopback see the same.
fn is_reported_already(test: &Test<'_>, host: &HostView<'_>, name: &str) -> bool {
    let is_loopback = |host: &HostView<'_>| {
        host.interface(name).is_some_and(|one| one.kind.as_deref() == Some("loopback"))
    };
    let earlier = test.hosts.iter().take_while(|other| !std::ptr::eq(*other, host));
    is_loopback(host)
        && earlier.into_iter().any(|other| {
            other.is_same_kernel(host) && other.interfaces().iter().any(|own| own == name)
        })
}

#[cfg(test)]
mod tests {
    use measurement::Role;
    use measurement::host::counter;

    use super::*;
    use crate::test_record;

    #[test]
    fn traffic_of_others_makes_it_suspect() {
        for mut record in [test_record::udp(), test_record::tcp()] {
            assert_eq!(test_record::found(&RULE, &record), []);
            let host = test_record::host(&mut record, &Role::Peer);
            test_record::grow(host, counter::INTERFACE_RX_BYTES.on("eth0"), 200_000_000);
            let text = test_record::suspected(&RULE, &record);
            assert!(text.contains("that eth0 of the server received"), "{text}");
        }
    }

    #[test]
    fn what_others_tested_at_the_server_has_a_rule_of_its_own() {
        let mut record = test_record::udp();
        let host = test_record::host(&mut record, &Role::Peer);
        test_record::grow(host, counter::INTERFACE_RX_BYTES.on("eth0"), 200_000_000);
        let bytes = 70_000_000;
        record.reported.shared =
            vec![measurement::record::Neighbour { address: None, tests: 1, bytes }];
        assert_eq!(test_record::found(&RULE, &record), []);
    }

    #[test]
    fn a_host_that_does_not_tell_is_named() {
        let mut record = test_record::udp();
        test_record::host(&mut record, &Role::Here).series.remove(Family::INTERFACE);
        assert!(test_record::unchecked(&RULE, &record).contains("interfaces of this host"));
    }
}
