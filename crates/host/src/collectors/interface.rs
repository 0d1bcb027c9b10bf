//! `interface.IF.FIELD`: what each interface counts, by the names of `struct
//! rtnl_link_stats64` (Documentation/networking/statistics.rst), e.g.
//! `interface.eth0.rx_missed_errors`, and `interface.IF.carrier_changes`.
//!
//! Netlink reports the namespace of the thread that reads first; `/sys/class/net` shows that of
//! the process that mounted it. A captured host has only the latter.

use linux::netlink::RouteSocket;
use measurement::Gap;
use measurement::host::{Counter, Family, counter};

use super::{Collector, ReadOutcome};
use crate::source::gap;
use crate::{Reading, Tree};

#[derive(Default)]
pub(super) struct Interfaces {
    route: Option<RouteSocket>,
}

impl Collector for Interfaces {
    fn family(&self) -> Family {
        Family::INTERFACE
    }

    fn read(&mut self, tree: &Tree, into: &mut Reading) -> Result<ReadOutcome, Gap> {
        if tree.is_live() {
            self.ask(into)
                .map(|()| ReadOutcome::Complete)
                .map_err(|error| gap("counters of interfaces", &error, "there is no netlink"))
        } else {
            Ok(of_files(tree, into))
        }
    }
}

impl Interfaces {
    fn ask(&mut self, into: &mut Reading) -> std::io::Result<()> {
        let route = match &mut self.route {
            Some(route) => route,
            none => none.insert(RouteSocket::open()?),
        };
        for link in route.links()? {
            let interface = &link.name;
            for (field, count) in link.named_counters() {
                let name = format_args!("interface.{interface}.{field}");
                into.counter(Counter::from_text(name), count);
            }
            if let Some(changes) = link.carrier_changes {
                into.counter(counter::INTERFACE_CARRIER_CHANGES.on(interface), changes.into());
            }
        }
        Ok(())
    }
}

fn of_files(tree: &Tree, into: &mut Reading) -> ReadOutcome {
    let mut outcome = ReadOutcome::Nothing;
    let number = |path: String| tree.text(&path).ok()?.trim().parse().ok();
    for interface in tree.names(FOLDER).unwrap_or_default() {
        let folder = format!("{FOLDER}/{interface}");
        for field in tree.names(&format!("{folder}/statistics")).unwrap_or_default() {
            if let Some(count) = number(format!("{folder}/statistics/{field}")) {
                let name = format_args!("interface.{interface}.{field}");
                into.counter(Counter::from_text(name), count);
                outcome = ReadOutcome::Complete;
            }
        }
        if let Some(changes) = number(format!("{folder}/carrier_changes")) {
            into.counter(counter::INTERFACE_CARRIER_CHANGES.on(&interface), changes);
        }
    }
    outcome
}

const FOLDER: &str = "sys/class/net";

#[cfg(test)]
mod tests {
    use super::super::tests::{captured, reading};
    use super::*;

    #[test]
    fn loopback_of_this_namespace_is_counted() {
        let reading = reading(|into| {
            let outcome = Interfaces::default().read(&Tree::live(), into);
            assert_eq!(outcome, Ok(ReadOutcome::Complete));
        });
        assert!(reading.counters().any(|(name, _)| name == "interface.lo.rx_bytes"));
    }

    #[test]
    fn a_captured_host_has_the_counters_of_its_files() {
        let folder = captured(&[
            ("sys/class/net/eth0/statistics/rx_bytes", "1234\n"),
            ("sys/class/net/eth0/statistics/rx_dropped", "5\n"),
            ("sys/class/net/eth0/carrier_changes", "3\n"),
        ]);
        let reading = reading(|into| {
            let outcome = Interfaces::default().read(&Tree::captured(folder.path()), into);
            assert_eq!(outcome, Ok(ReadOutcome::Complete));
        });
        let counters: Vec<_> = reading.counters().collect();
        assert_eq!(
            counters,
            [
                ("interface.eth0.rx_bytes", 1234),
                ("interface.eth0.rx_dropped", 5),
                ("interface.eth0.carrier_changes", 3)
            ]
        );
    }
}
