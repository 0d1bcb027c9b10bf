//! Reduces the evidence that is sent to the peer of a test: in size, and to what concerns the
//! test.

use std::cmp::Reverse;
use std::collections::HashMap;

use measurement::host::Family;
use measurement::profile::Mode;
use measurement::{HostEvidence, Inventory, Order, Profile, ProfileRow, Task};

/// Limits the size of the evidence on a host that is sent in the results of a test: the CPU profile
/// keeps its 600 largest rows, and no call chains.
#[must_use]
pub fn limit_size(mut evidence: HostEvidence) -> HostEvidence {
    evidence.profile = evidence.profile.map(|profile| Profile {
        rows: profile.rows.into_iter().take(MOST_ROWS).collect(),
        stacks: Vec::new(),
        ..profile
    });
    evidence
}

/// Limits the evidence on a host to what the peer of a test may see: no host name, addresses,
/// routes or names of other processes, and only the interfaces that carried the test.
#[must_use]
pub fn limit_to_test(mut evidence: HostEvidence) -> HostEvidence {
    let carried = std::mem::take(&mut evidence.interfaces);
    let concerns = |name: &str| carried.iter().any(|one| one == name);
    let Inventory { interfaces, irqs, routes, host, .. } = &mut evidence.inventory;
    interfaces.retain(|interface| concerns(&interface.name));
    for interface in interfaces {
        interface.addresses.clear();
    }
    irqs.retain(|irq| irq.interface.as_deref().is_some_and(concerns));
    routes.clear();
    host.clear();
    // `interface.eth0.rx_bytes`: the second part is the interface's name.
    let is_of_another_interface = |name: &str| {
        let mut parts = name.split('.');
        let family = parts.next().unwrap_or_default();
        OF_INTERFACES.iter().any(|one| one.as_str() == family)
            && !parts.next().is_some_and(concerns)
    };
    evidence.series.retain(|name| !is_of_another_interface(name));
    evidence.interfaces = carried;
    evidence.profile = evidence.profile.map(without_others);
    evidence
}

/// Removes the names of other processes and of their functions from a profile.
fn without_others(profile: Profile) -> Profile {
    let mut rows: HashMap<ProfileRow, u64> = HashMap::new();
    for row in profile.rows {
        let count = row.count;
        *rows.entry(ProfileRow { count: 0, ..discreet(row) }).or_default() += count;
    }
    let rows = rows.into_iter().map(|(row, count)| ProfileRow { count, ..row });
    let mut rows: Vec<_> = rows.collect();
    rows.order_by(|a, b| Reverse(a.count).cmp(&Reverse(b.count)).then_with(|| a.cmp(b)));
    Profile { rows, stacks: Vec::new(), ..profile }
}

fn discreet(row: ProfileRow) -> ProfileRow {
    if row.mode == Mode::Kernel || row.task == Task::Own {
        return row;
    }
    ProfileRow { symbol: "user".to_owned(), module: None, within: None, ..row }
}

/// Families whose names have an interface as their second part.
const OF_INTERFACES: [Family; 3] = [Family::INTERFACE, Family::QDISC, Family::NIC];
/// Some 100 bytes each; results may have 512 KiB for all evidence (clause 5.4).
const MOST_ROWS: usize = 600;

#[cfg(test)]
mod tests {
    use measurement::host::{Interface, counter};
    use measurement::profile::FoldedStack;

    use super::*;

    #[test]
    fn a_peer_gets_what_concerns_the_test_and_no_names() {
        let interface = |name: &str| Interface {
            name: name.to_owned(),
            addresses: vec!["192.0.2.1/24".to_owned()],
            ..Interface::default()
        };
        let mut evidence =
            HostEvidence { interfaces: vec!["eth0".to_owned()], ..HostEvidence::default() };
        evidence.inventory.host = "secret".to_owned();
        evidence.inventory.interfaces = vec![interface("eth0"), interface("wg0")];
        let received = counter::INTERFACE_RX_BYTES;
        for name in [received.on("eth0"), received.on("wg0"), counter::CPU_USER.on(0)] {
            evidence.series.put(name, vec![1, 2]);
        }
        let sent = limit_to_test(evidence);
        let text = serde_json::to_string(&sent).expect("serialises");
        assert!(text.contains("eth0") && text.contains("cpu.0.user_ns"), "{text}");
        for hidden in ["secret", "wg0", "192.0.2.1"] {
            assert!(!text.contains(hidden), "{text}");
        }
    }

    #[test]
    fn a_peer_learns_that_another_process_ran_and_not_which() {
        let row = |task, mode, symbol: &str| ProfileRow {
            task,
            mode,
            symbol: symbol.to_owned(),
            module: (mode == Mode::User).then(|| "secretd".to_owned()),
            count: 3,
            ..ProfileRow::default()
        };
        let rows = vec![
            row(Task::Other, Mode::User, "secret_key"),
            row(Task::Other, Mode::User, "secret_hash"),
            row(Task::Other, Mode::Kernel, "memcpy"),
        ];
        let stacks = vec![FoldedStack { frames: "secretd;memcpy".to_owned(), count: 1 }];
        let profile = Some(Profile { rows, stacks, ..Profile::default() });
        let sent = limit_to_test(HostEvidence { profile, ..HostEvidence::default() });
        let text = serde_json::to_string(&sent).expect("serialises");
        assert!(!text.contains("secret") && text.contains("memcpy"), "{text}");
        let rows = &sent.profile.expect("it is kept").rows;
        assert_eq!(rows.iter().map(|row| row.count).collect::<Vec<_>>(), [6, 3]);
    }

    #[test]
    fn what_is_sent_has_a_bound_and_no_stacks() {
        let rows = vec![ProfileRow::default(); 5_000];
        let stacks = vec![FoldedStack::default()];
        let profile = Some(Profile { rows, stacks, ..Profile::default() });
        let sent = limit_size(HostEvidence { profile, ..HostEvidence::default() });
        let profile = sent.profile.expect("it is kept");
        assert!(profile.rows.len() == MOST_ROWS && profile.stacks.is_empty());
    }
}
