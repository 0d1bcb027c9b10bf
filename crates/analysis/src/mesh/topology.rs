//! Which hosts share which links: a tree of switches, as Slurm's `topology.conf` has it.

use std::collections::HashMap;

/// A host, by its place in the list of hosts.
pub type HostId = u32;
/// A switch, by its place in the topology; it also stands for its uplink.
pub type SwitchId = u32;

/// A tree of switches with hosts as leaves. The uplink of a switch is shared by all hosts below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    switches: Vec<String>,
    parents: Vec<Option<SwitchId>>,
    /// The switch of each host.
    of_host: Vec<Option<SwitchId>>,
}

impl Topology {
    /// Reads a topology: a line `CHILD PARENT` for each host and each switch; `#` starts a comment.
    /// Hosts that are not in it share no link.
    ///
    /// # Errors
    /// A line is not of two words, a child has two parents, or switches form a circle.
    pub fn parse(text: &str, hosts: &[String]) -> Result<Self, String> {
        let ids = hosts.iter().zip(0..).map(|(name, id)| (name.as_str(), id));
        let ids: HashMap<&str, HostId> = ids.collect();
        let mut topology = Self { of_host: vec![None; hosts.len()], ..Self::default() };
        let mut known = HashMap::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<_> = line.split_whitespace().collect();
            let (child, parent) = match words[..] {
                [] => continue,
                [child, parent] => (child, parent),
                _ => return Err(format!("line {} is not CHILD PARENT", number + 1)),
            };
            let parent = topology.switch(parent, &mut known);
            let place = if let Some(host) = ids.get(child) {
                topology.of_host.get_mut(*host as usize)
            } else {
                let child = topology.switch(child, &mut known);
                topology.parents.get_mut(child as usize)
            };
            let was = place.and_then(|place| place.replace(parent));
            if was.is_some() {
                return Err(format!("line {}: {child} has two parents", number + 1));
            }
        }
        topology.check()
    }

    /// Leaf switches with `hosts_per_leaf` hosts each, below one core: what simulations use.
    pub fn leaves(hosts: u32, hosts_per_leaf: u32) -> Self {
        let leaves = hosts.div_ceil(hosts_per_leaf.max(1));
        let mut switches: Vec<_> = (1..=leaves).map(|leaf| format!("leaf{leaf}")).collect();
        switches.push("core".to_owned());
        let mut parents = vec![Some(leaves); leaves as usize];
        parents.push(None);
        let of_host = (0..hosts).map(|host| Some(host / hosts_per_leaf.max(1))).collect();
        Self { switches, parents, of_host }
    }

    fn switch(&mut self, name: &str, known: &mut HashMap<String, SwitchId>) -> SwitchId {
        *known.entry(name.to_owned()).or_insert_with(|| {
            self.switches.push(name.to_owned());
            self.parents.push(None);
            u32::try_from(self.switches.len() - 1).unwrap_or(u32::MAX)
        })
    }

    fn check(self) -> Result<Self, String> {
        for (switch, name) in (0..).zip(&self.switches) {
            if self.upward(Some(switch)).take(self.switches.len() + 1).count() > self.switches.len()
            {
                return Err(format!("the switches above {name} form a circle"));
            }
        }
        Ok(self)
    }

    fn upward(&self, from: Option<SwitchId>) -> impl Iterator<Item = SwitchId> + '_ {
        std::iter::successors(from, |switch| self.parents.get(*switch as usize).copied().flatten())
    }

    /// Names of the switches.
    pub fn switches(&self) -> &[String] {
        &self.switches
    }

    /// The switch that a host is at.
    pub fn switch_of(&self, host: HostId) -> Option<SwitchId> {
        self.of_host.get(host as usize).copied().flatten()
    }

    /// The hosts right below a switch.
    pub fn hosts_of(&self, switch: SwitchId) -> impl Iterator<Item = HostId> + '_ {
        let of = (0..).zip(&self.of_host).filter(move |(_, of)| **of == Some(switch));
        of.map(|(host, _)| host)
    }

    /// Whether traffic between two hosts passes through another switch than their own.
    pub fn is_across(&self, a: HostId, b: HostId) -> bool {
        self.switch_of(a) != self.switch_of(b)
    }

    /// The uplinks that traffic between two hosts crosses, from either host upward.
    pub fn links(&self, a: HostId, b: HostId) -> (Vec<SwitchId>, Vec<SwitchId>) {
        let mut from: Vec<_> = self.upward(self.switch_of(a)).collect();
        let mut to: Vec<_> = self.upward(self.switch_of(b)).collect();
        while let (Some(one), Some(other)) = (from.last(), to.last()) {
            if one != other {
                break;
            }
            from.pop();
            to.pop();
        }
        (from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_path_crosses_the_uplinks_below_the_common_switch() {
        let text = "a leaf1 # first rack\nb leaf1\nc leaf2\n\nleaf1 spine\nleaf2 spine\n";
        let topology = Topology::parse(text, &names("a b c d")).expect("a tree");
        assert_eq!(topology.switches(), ["leaf1", "leaf2", "spine"]);
        assert_eq!(topology.links(0, 1), (vec![], vec![]));
        assert_eq!(topology.links(0, 2), (vec![0], vec![1]));
        assert!(!topology.is_across(0, 1) && topology.is_across(1, 2));
        assert_eq!(topology.switch_of(3), None);
        assert_eq!(topology.hosts_of(0).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        let parse = |text| Topology::parse(text, &names("a b")).expect_err("refused");
        assert_eq!(parse("a\n"), "line 1 is not CHILD PARENT");
        assert_eq!(parse("a x\na y\n"), "line 2: a has two parents");
        assert_eq!(parse("x y\ny x\n"), "the switches above y form a circle");
    }
}
