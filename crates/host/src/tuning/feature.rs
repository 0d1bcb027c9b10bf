//! Features of a network device, such as offloads (`ethtool -K`): GRO, LRO, GSO, TSO, checksums,
//! scatter-gather, forwarding of UDP by GRO. What is set and restored is whether they are wanted;
//! what is shown is whether they are active.

use std::io;

use linux::netlink::ethtool::Feature;
use measurement::remedy::{Setting, Switch};

use super::adjustable::{Adjustable, Value};
use super::kernel::Kernel;
use super::{Refusal, Risk};

/// The features that a name stands for, and their new state.
#[derive(Debug)]
pub(super) struct Features {
    interface: String,
    name: String,
    state: Switch,
}

impl Features {
    pub(super) fn new(interface: &str, name: &str, state: Switch) -> Self {
        Self { interface: interface.to_owned(), name: name.to_owned(), state }
    }

    /// The features of the device that the name stands for.
    fn all(&self, kernel: &Kernel) -> io::Result<Vec<Feature>> {
        let index = kernel.interface_index(&self.interface)?;
        let all = kernel.ethtool()?.features(index)?;
        Ok(all.into_iter().filter(|feature| stands_for(&self.name, &feature.name)).collect())
    }

    fn set<'a>(
        &self,
        kernel: &Kernel,
        states: impl Iterator<Item = (&'a str, bool)>,
    ) -> io::Result<()> {
        let index = kernel.interface_index(&self.interface)?;
        kernel.ethtool()?.set_features(index, &states.collect::<Vec<_>>())
    }
}

impl Adjustable for Features {
    /// Features of one group are one target.
    fn targets(&self) -> Vec<String> {
        let name = group(&self.name).map_or(self.name.as_str(), |group| group.pattern);
        vec![format!("feature {name} of {}", self.interface)]
    }

    fn read(&self, kernel: &Kernel) -> Result<Value, Refusal> {
        let what = format!("feature {} of {}", self.name, self.interface);
        let all = self.all(kernel).map_err(|source| Refusal::reading(&what, source))?;
        if all.is_empty() {
            return Err(Refusal::Absent { what });
        }
        let changeable: Vec<_> = all.iter().filter(|feature| !feature.fixed).collect();
        if changeable.is_empty() {
            return Err(Refusal::Fixed { what });
        }
        let wanted = |feature: &&Feature| format!("{}={}", feature.name, switch(feature.wanted));
        let exact = changeable.iter().map(wanted).collect::<Vec<_>>().join(" ");
        Ok(Value { exact, shown: shown(&changeable) })
    }

    fn write(&self, kernel: &Kernel) -> io::Result<()> {
        let all = self.all(kernel)?;
        let changeable = all.iter().filter(|feature| !feature.fixed);
        let state = self.state == Switch::On;
        self.set(kernel, changeable.map(|feature| (feature.name.as_str(), state)))
    }

    fn restore(&self, kernel: &Kernel, exact: &str) -> io::Result<()> {
        self.set(kernel, states(exact))
    }

    fn is_set(&self, shown: &str) -> bool {
        shown == self.state.name()
    }

    fn undo_commands(&self, exact: &str) -> Vec<String> {
        let command = |(feature, state): (&str, bool)| {
            let state = if state { Switch::On } else { Switch::Off };
            let (interface, feature) = (self.interface.clone(), feature.to_owned());
            Setting::Feature { interface, feature, state }.to_string()
        };
        states(exact).map(command).collect()
    }

    fn exact_of(&self, shown: &str) -> Option<String> {
        matches!(shown, "on" | "off").then(|| format!("{}={shown}", self.name))
    }

    fn risks(&self) -> &'static [Risk] {
        // Drivers of which a feature changes the rings reset the device.
        &[Risk::LinkReset]
    }

    fn interface(&self) -> Option<&str> {
        Some(&self.interface)
    }

    fn rewriters(&self) -> &'static [&'static str] {
        &["NetworkManager", "tuned"]
    }
}

fn states(exact: &str) -> impl Iterator<Item = (&str, bool)> {
    exact.split(' ').filter_map(|word| {
        let (name, state) = word.split_once('=')?;
        Some((name, state == "on"))
    })
}

/// One state if all have it, else each with its own.
fn shown(features: &[&Feature]) -> String {
    match features {
        [first, rest @ ..] if rest.iter().all(|one| one.on == first.on) => {
            switch(first.on).to_owned()
        }
        _ => {
            let each = |one: &&Feature| format!("{} {}", one.name, switch(one.on));
            features.iter().map(each).collect::<Vec<_>>().join(", ")
        }
    }
}

const fn switch(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

/// Whether a name of ethtool(8) or of the kernel stands for a feature of the kernel.
fn stands_for(name: &str, feature: &str) -> bool {
    let named = GROUPS.iter().find(|group| group.names.contains(&name));
    named.map_or(name == feature, |group| group.has(feature))
}

/// The group that a name of ethtool(8) stands for, or that a feature is in.
fn group(name: &str) -> Option<&'static Group> {
    GROUPS.iter().find(|group| group.names.contains(&name) || group.has(name))
}

/// Names of ethtool(8) for features of the kernel, which have a common beginning and end.
struct Group {
    names: [&'static str; 2],
    pattern: &'static str,
}

impl Group {
    fn has(&self, feature: &str) -> bool {
        match self.pattern.split_once('*') {
            None => self.pattern == feature,
            Some((first, last)) => {
                let rest = feature.strip_prefix(first);
                rest.is_some_and(|rest| rest.ends_with(last))
            }
        }
    }
}

/// ethtool(8), `off_flag_def` in its source, and `netdev_features_strings` in net/ethtool/common.c.
const GROUPS: [Group; 12] = [
    Group { names: ["rx", "rx-checksumming"], pattern: "rx-checksum" },
    Group { names: ["tx", "tx-checksumming"], pattern: "tx-checksum-*" },
    Group { names: ["sg", "scatter-gather"], pattern: "tx-scatter-gather*" },
    Group { names: ["tso", "tcp-segmentation-offload"], pattern: "tx-tcp*-segmentation" },
    Group { names: ["gso", "generic-segmentation-offload"], pattern: "tx-generic-segmentation" },
    Group { names: ["gro", "generic-receive-offload"], pattern: "rx-gro" },
    Group { names: ["lro", "large-receive-offload"], pattern: "rx-lro" },
    Group { names: ["rxvlan", "rx-vlan-offload"], pattern: "rx-vlan-hw-parse" },
    Group { names: ["txvlan", "tx-vlan-offload"], pattern: "tx-vlan-hw-insert" },
    Group { names: ["ntuple", "ntuple-filters"], pattern: "rx-ntuple-filter" },
    Group { names: ["rxhash", "receive-hashing"], pattern: "rx-hashing" },
    Group { names: ["ufo", "udp-fragmentation-offload"], pattern: "tx-udp-fragmentation" },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ethtool_stand_for_features_of_the_kernel() {
        assert!(
            stands_for("tso", "tx-tcp6-segmentation") && stands_for("tso", "tx-tcp-segmentation")
        );
        assert!(!stands_for("tso", "tx-udp-segmentation") && !stands_for("tx-tcp", "tso"));
        assert!(stands_for("rx-udp-gro-forwarding", "rx-udp-gro-forwarding"));
        let targets = |name| Features::new("eth0", name, Switch::Off).targets();
        assert_eq!(targets("tso"), targets("tx-tcp-ecn-segmentation"));
        assert_ne!(targets("tso"), targets("gso"));
    }
}
