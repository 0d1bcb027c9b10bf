//! A simulated fabric: hosts at leaf switches, whose uplinks lead to spines, with planted faults.

use analysis::mesh::{Design, HostId, Mesh, Pair, PairResult, Reading, Round, SwitchId, Topology};
use fastrand::Rng;
use measurement::BitRate;

use super::Size;

/// Hosts, switches and what is wrong with them.
pub(super) struct Fabric {
    hosts: u32,
    topology: Option<Topology>,
    per_leaf: u32,
    /// Slow in both directions.
    pub(super) interfaces: Vec<HostId>,
    /// Lossy toward the host.
    pub(super) cables: Vec<HostId>,
    /// With half the capacity of the hosts below.
    pub(super) uplinks: Vec<SwitchId>,
    /// Whether one of the spines is congested.
    pub(super) has_slow_spine: bool,
    /// Each two hosts behind one port, with the rate of one host in each direction.
    pub(super) shared: Vec<[HostId; 2]>,
    /// Hosts that do not answer, and from which round on.
    pub(super) dead: Vec<(HostId, u32)>,
    rng: Rng,
}

impl Fabric {
    pub(super) fn plant(size: &Size, seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let leaves = size.hosts.div_ceil(size.per_leaf);
        let mut leaf: Vec<_> = (0..leaves).collect();
        rng.shuffle(&mut leaf);
        let uplinks: Vec<_> = leaf.into_iter().take(size.uplinks as usize).collect();
        let mut hosts: Vec<_> = (0..size.hosts).collect();
        rng.shuffle(&mut hosts);
        // The two are below one switch: hosts follow each other by switch.
        let shared: Vec<_> =
            hosts.iter().take(size.shared as usize).map(|host| [*host, *host ^ 1]).collect();
        hosts.retain(|host| !shared.as_flattened().contains(host));
        let mut hosts = hosts.into_iter();
        let mut take = |count: u32| hosts.by_ref().take(count as usize).collect::<Vec<_>>();
        let (interfaces, cables) = (take(size.interfaces), take(size.cables));
        // Half of them from the start on, the others from a later round on.
        let dead = take(size.hosts / 100).into_iter().map(|host| (host, (host % 2) * 20)).collect();
        Self {
            hosts: size.hosts,
            topology: (leaves > 1).then(|| Topology::leaves(size.hosts, size.per_leaf)),
            per_leaf: size.per_leaf,
            interfaces,
            cables,
            uplinks,
            has_slow_spine: size.spines > 0,
            shared,
            dead,
            rng,
        }
    }

    /// Runs a mesh to its end; returns it with the number of its rounds.
    pub(super) fn run(&mut self, seed: u64) -> (Mesh, u32) {
        let mut mesh = Mesh::new(Design::of(self.hosts, self.topology.clone(), seed));
        let mut rounds = 0;
        while let Some(round) = mesh.next_round() {
            rounds += 1;
            self.play(&round, &mut mesh);
        }
        (mesh, rounds)
    }

    fn play(&mut self, round: &Round, mesh: &mut Mesh) {
        let there: Vec<_> = round.pairs.iter().map(|pair| (pair.a, pair.b)).collect();
        let back: Vec<_> = round.pairs.iter().map(|pair| (pair.b, pair.a)).collect();
        let (there, back) = (self.load(there), self.load(back));
        for pair in &round.pairs {
            let result = match self.died(*pair, round.number) {
                Some(host) => {
                    mesh.lose(host);
                    PairResult::Failed
                }
                // An instant of other load makes one in two hundred results INVALID.
                None if self.rng.u32(0..200) == 0 => PairResult::Invalid,
                None => PairResult::Measured([
                    self.reading(pair.a, pair.b, &there),
                    self.reading(pair.b, pair.a, &back),
                ]),
            };
            mesh.record(round, *pair, result);
        }
    }

    fn died(&self, pair: Pair, round: u32) -> Option<HostId> {
        let of = |host| self.dead.iter().any(|(dead, from)| *dead == host && round >= *from);
        [pair.a, pair.b].into_iter().find(|host| of(*host))
    }

    fn load(&self, tests: Vec<(HostId, HostId)>) -> Load {
        let mut busy = vec![[0; 2]; self.hosts.div_ceil(self.per_leaf) as usize];
        for (from, to) in &tests {
            let (up, down) = (from / self.per_leaf, to / self.per_leaf);
            if up != down {
                busy[up as usize][0] += 1;
                busy[down as usize][1] += 1;
            }
        }
        Load { busy, tests }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate")]
    fn reading(&mut self, from: HostId, to: HostId, load: &Load) -> Reading {
        let is_bad = |of: &[HostId], host| of.contains(&host);
        let mut share: f64 = 1.0;
        if is_bad(&self.interfaces, from) || is_bad(&self.interfaces, to) {
            share = share.min(0.6);
        }
        let is_lossy = is_bad(&self.cables, to);
        if is_lossy {
            share = share.min(0.6);
        }
        share = self.shared.iter().map(|two| load.share_of(*two, from, to)).fold(share, f64::min);
        let (up, down) = (from / self.per_leaf, to / self.per_leaf);
        if up != down {
            for (leaf, way) in [(up, 0), (down, 1)] {
                share = share.min(self.uplink_share(leaf, load.busy[leaf as usize][way]));
            }
            // Addresses and ports of a flow choose its spine; ports are new each time.
            if self.has_slow_spine && self.rng.u32(0..SPINES) == 0 {
                share = share.min(0.5);
            }
        }
        let rate = (LINE_RATE * share * self.noise()) as u64;
        Reading { rate: BitRate::from_bits_per_second(rate), is_lossy }
    }

    fn uplink_share(&self, leaf: u32, tests: u32) -> f64 {
        let part = if self.uplinks.contains(&leaf) { 0.5 } else { 1.0 };
        (f64::from(self.per_leaf) * part / f64::from(tests.max(1))).min(1.0)
    }

    /// A few percent, and one test in a hundred that something else slows down.
    fn noise(&mut self) -> f64 {
        let normal = (0..12).map(|_| self.rng.f64()).sum::<f64>() - 6.0;
        let transient = if self.rng.u32(0..100) == 0 { 0.5 + self.rng.f64() / 2.0 } else { 1.0 };
        (0.03 * normal).exp() * transient
    }
}

/// The tests that send at the same time.
struct Load {
    /// Tests over the uplink of each leaf: upward, and downward.
    busy: Vec<[u32; 2]>,
    /// Who sends to whom.
    tests: Vec<(HostId, HostId)>,
}

impl Load {
    /// What a test has of the port that two hosts share.
    fn share_of(&self, two: [HostId; 2], from: HostId, to: HostId) -> f64 {
        let way = |from: &HostId, to: &HostId| (two.contains(from), two.contains(to));
        let this = way(&from, &to);
        if this.0 == this.1 {
            return 1.0;
        }
        1.0 / self.tests.iter().filter(|(from, to)| way(from, to) == this).count().max(1) as f64
    }
}

const SPINES: u32 = 8;
/// Of each link to a host, in bit/s.
const LINE_RATE: f64 = 25e9;
