//! Meshes of simulated hosts.

use std::collections::{BTreeMap, HashSet};

use super::*;

/// A fabric: the rate of a test, by the pairs that are tested at once.
struct Fabric<'a> {
    rate: &'a dyn Fn(HostId, HostId, &Round) -> f64,
}

impl Fabric<'_> {
    /// Runs a mesh to its end; returns it with its rounds.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate")]
    fn run(&self, design: Design) -> (Mesh, Vec<Round>) {
        let mut mesh = Mesh::new(design);
        let mut rng = Rng::with_seed(3);
        let mut rounds = Vec::new();
        while let Some(round) = mesh.next_round() {
            for pair in &round.pairs {
                let mut reading = |from, to| {
                    let noise = 1.0 + 0.04 * (rng.f64() - 0.5);
                    let rate = 1e9 * (self.rate)(from, to, &round) * noise;
                    let rate = BitRate::from_bits_per_second(rate as u64);
                    Reading { rate, is_lossy: false }
                };
                let both = [reading(pair.a, pair.b), reading(pair.b, pair.a)];
                mesh.record(&round, *pair, PairResult::Measured(both));
            }
            rounds.push(round);
            assert!(rounds.len() < 1000, "no end");
        }
        (mesh, rounds)
    }

    fn parts(&self, design: Design) -> Vec<Part> {
        let (mesh, _) = self.run(design);
        mesh.findings().culprits.into_iter().map(|culprit| culprit.part).collect()
    }
}

fn eight() -> Design {
    Design::of(8, None, 1)
}

#[test]
fn a_clean_fabric_has_no_culprit_and_each_pair_is_tested_once() {
    let (mesh, rounds) = Fabric { rate: &|_, _, _| 1.0 }.run(eight());
    let findings = mesh.findings();
    assert_eq!(findings.culprits, []);
    assert_eq!((rounds.len(), mesh.tests()), (7, 56));
    assert_eq!(findings.bisection_pairs, 4);
    let typical = findings.typical.bits_per_second() as f64;
    assert!((0.97e9..1.03e9).contains(&typical), "{typical}");
    assert!((3.9e9..4.1e9).contains(&(findings.bisection.bits_per_second() as f64)));
}

/// Share of the line rate from one host to another in a round.
type Rate<'a> = dyn Fn(HostId, HostId, &Round) -> f64 + 'a;

#[test]
fn a_host_is_told_by_its_directions_and_a_pair_from_its_hosts() {
    let slow = |is_slow: bool| if is_slow { 0.6 } else { 1.0 };
    let cases: [(&Rate<'_>, Vec<Part>); 4] = [
        (&|from, to, _| slow(from == 3 || to == 3), vec![Part::Host(3)]),
        (&|from, _, _| slow(from == 3), vec![Part::Sender(3)]),
        (&|_, to, _| slow(to == 3), vec![Part::Receiver(3)]),
        (&|from, to, _| slow((from, to) == (2, 5)), vec![Part::Path(2, 5)]),
    ];
    for (rate, expected) in cases {
        assert_eq!(Fabric { rate }.parts(eight()), expected);
    }
}

#[test]
fn two_slow_hosts_are_both_named() {
    let rate = |from: HostId, to: HostId, _: &Round| {
        let of = |host| if host == 1 || host == 6 { 0.6 } else { 1.0 };
        f64::min(of(from), of(to))
    };
    let mut parts = Fabric { rate: &rate }.parts(eight());
    parts.sort_by_key(|part| format!("{part:?}"));
    assert_eq!(parts, [Part::Host(1), Part::Host(6)]);
}

#[test]
fn hosts_that_share_a_port_are_told_from_slow_ones() {
    // Hosts 2 and 5 share a link, and have half of it when both are in tests with others.
    let rate = |from: HostId, to: HostId, round: &Round| {
        let shares = |host| host == 2 || host == 5;
        let crosses = |pair: &&Pair| shares(pair.a) != shares(pair.b);
        let busy = round.pairs.iter().filter(crosses).count();
        if shares(from) == shares(to) { 1.0 } else { 1.0 / busy.max(1) as f64 }
    };
    assert_eq!(Fabric { rate: &rate }.parts(eight()), [Part::Shared(vec![2, 5])]);
}

#[test]
fn hosts_that_share_a_port_of_two_directions_are_named_wherever_they_are() {
    let twos = |hosts: u32| {
        (0..hosts).flat_map(move |one| (one + 1..hosts).map(move |other| vec![one, other]))
    };
    let threes = [vec![0, 1, 2], vec![2, 5, 7], vec![1, 4, 6]].into_iter();
    for shared in twos(8).chain(threes) {
        // They have a part each of the link where several send at the same time, or several receive.
        let rate = |from: HostId, to: HostId, round: &Round| {
            let shares = |host| shared.contains(&host);
            let is_first = round.pairs.iter().any(|pair| pair.a == from);
            let way = |pair: &Pair| if is_first { (pair.a, pair.b) } else { (pair.b, pair.a) };
            let same = |way: &(HostId, HostId)| {
                (shares(way.0), shares(way.1)) == (shares(from), shares(to))
            };
            let crosses = shares(from) != shares(to);
            let busy = round.pairs.iter().map(way).filter(same).count();
            if crosses { 1.0 / busy.max(1) as f64 } else { 1.0 }
        };
        let parts = Fabric { rate: &rate }.parts(eight());
        assert_eq!(parts, [Part::Shared(shared.clone())]);
    }
}

#[test]
fn a_host_with_loss_is_told_where_its_rate_holds() {
    // Segments to host 3 are lost; of the others in one test of ten.
    let losses = |often: u32| {
        let mut mesh = Mesh::new(eight());
        let mut rng = Rng::with_seed(9);
        while let Some(round) = mesh.next_round() {
            for pair in &round.pairs {
                let mut reading = |to: HostId| Reading {
                    rate: BitRate::from_bits_per_second(1_000_000_000),
                    is_lossy: to == 3 || rng.u32(0..10) < often,
                };
                let both = [reading(pair.b), reading(pair.a)];
                mesh.record(&round, *pair, PairResult::Measured(both));
            }
        }
        mesh.findings().losses
    };
    for often in [0, 1] {
        let [loss] = losses(often)[..] else { panic!("one host") };
        assert_eq!((loss.host, loss.sends, loss.lossy, loss.tests), (3, false, 7, 7));
    }
    assert_eq!(losses(9), [], "all have it");
}

#[test]
fn an_uplink_is_told_from_its_hosts() {
    let topology = Topology::leaves(16, 4);
    let known = topology.clone();
    let rate = move |from: HostId, to: HostId, round: &Round| {
        let crosses = |pair: &&Pair| {
            let (up, down) = known.links(pair.a, pair.b);
            up.contains(&1) || down.contains(&1)
        };
        let busy = round.pairs.iter().filter(crosses).count() as f64;
        let is_behind = |host| known.switch_of(host) == Some(1);
        // Two of the four hosts fill it.
        if is_behind(from) == is_behind(to) { 1.0 } else { f64::min(1.0, 2.0 / busy) }
    };
    assert_eq!(Fabric { rate: &rate }.parts(Design::of(16, Some(topology), 1)), [Part::Uplink(1)]);
}

#[test]
fn a_lost_host_is_left_out_and_an_invalid_pair_is_tested_again() {
    let mut mesh = Mesh::new(eight());
    let mut tested: BTreeMap<Pair, u32> = BTreeMap::new();
    while let Some(round) = mesh.next_round() {
        for pair in &round.pairs {
            *tested.entry(*pair).or_default() += 1;
            let rate = BitRate::from_bits_per_second(1_000_000_000);
            let reading = Reading { rate, is_lossy: false };
            let is_first = tested[pair] == 1 && round.number == 1;
            let result =
                if is_first { PairResult::Invalid } else { PairResult::Measured([reading; 2]) };
            mesh.record(&round, *pair, result);
        }
        if round.number == 2 {
            mesh.lose(4);
        }
    }
    let findings = mesh.findings();
    assert_eq!(findings.lost, [4]);
    assert_eq!(findings.culprits, []);
    assert!(findings.untested >= 4);
    let others: HashSet<_> = tested.keys().filter(|pair| pair.a != 4 && pair.b != 4).collect();
    assert_eq!(others.len(), 21);
    assert!(tested.values().any(|times| *times == 2));
}

/// Runs a mesh whose results are INVALID the first `times` times, of each stage and pair; returns how
/// often each was tested.
fn run_invalid(
    rate: &Rate<'_>,
    design: Design,
    times: u32,
) -> (Mesh, BTreeMap<(Stage, Pair), u32>) {
    let mut mesh = Mesh::new(design);
    let mut tested: BTreeMap<(Stage, Pair), u32> = BTreeMap::new();
    for rounds in 0.. {
        assert!(rounds < 1000, "no end");
        let Some(round) = mesh.next_round() else { break };
        for pair in &round.pairs {
            let count = tested.entry((round.stage, *pair)).or_default();
            *count += 1;
            let reading = |from, to| Reading {
                rate: bits_per_second(1e9 * rate(from, to, &round)),
                is_lossy: false,
            };
            let both = [reading(pair.a, pair.b), reading(pair.b, pair.a)];
            let is_invalid = *count <= times;
            let result = if is_invalid { PairResult::Invalid } else { PairResult::Measured(both) };
            mesh.record(&round, *pair, result);
        }
    }
    (mesh, tested)
}

#[test]
fn an_invalid_result_is_tested_again_in_every_stage() {
    let shared = |from: HostId, to: HostId, round: &Round| {
        let shares = |host| host == 2 || host == 5;
        let crosses = |pair: &&Pair| shares(pair.a) != shares(pair.b);
        let busy = round.pairs.iter().filter(crosses).count();
        if shares(from) == shares(to) { 1.0 } else { 1.0 / busy.max(1) as f64 }
    };
    let leaves = Design::of(16, Some(Topology::leaves(16, 4)), 1);
    let cases: [(&Rate<'_>, Design, &[Stage]); 2] = [
        (&shared, eight(), &[Stage::Survey, Stage::Alone, Stage::Together]),
        (&|_, _, _| 1.0, leaves, &[Stage::Survey, Stage::Load]),
    ];
    for (rate, design, stages) in cases {
        let (mesh, tested) = run_invalid(rate, design, 1);
        for stage in stages {
            let of = tested.iter().filter(|((of, _), _)| of == stage);
            let counts: Vec<_> = of.map(|(_, count)| *count).collect();
            assert!(!counts.is_empty() && counts.iter().all(|count| *count > 1), "{stage:?}");
        }
        assert!(mesh.untested().is_empty(), "{:?}", mesh.untested());
    }
}

#[test]
fn a_mesh_whose_every_result_is_invalid_ends() {
    let leaves = Design::of(16, Some(Topology::leaves(16, 4)), 1);
    for design in [eight(), leaves] {
        let hosts = design.hosts;
        let (mesh, tested) = run_invalid(&|_, _, _| 1.0, design, u32::MAX);
        assert_eq!((mesh.tests(), mesh.findings().culprits), (0, vec![]));
        let surveyed = tested.iter().filter(|((stage, _), _)| *stage == Stage::Survey);
        assert!({ surveyed }.all(|(_, count)| *count == 3), "{tested:?}");
        let pairs = usize::try_from(hosts * (hosts - 1) / 2).expect("few");
        assert!(mesh.untested().len() >= pairs);
    }
}

#[test]
fn a_sample_has_the_same_pairs_whatever_hosts_are_lost() {
    let surveyed = |lost: &[HostId]| {
        let mut mesh = Mesh::new(Design::of(100, None, 7));
        for host in lost {
            mesh.lose(*host);
        }
        let rounds = std::iter::from_fn(|| mesh.next_round());
        let rounds = rounds.take_while(|round| round.stage == Stage::Survey);
        rounds.flat_map(|round| round.pairs).collect::<Vec<_>>()
    };
    let (lost, others) = ([3, 20, 31, 40, 52, 63, 70, 96], [8, 14, 25, 36, 49, 77, 80, 81]);
    let (first, second) = (surveyed(&lost), surveyed(&others));
    // Eight hosts that are lost cost 32 of 200 pairs: a fifth round makes up for that.
    assert!(first.len() > 200 && second.len() > 200, "{} {}", first.len(), second.len());
    let known: HashSet<_> = first.iter().collect();
    let is_new = |pair: &&Pair| !known.contains(pair);
    let was_lost = |pair: &Pair| [pair.a, pair.b].iter().any(|host| lost.contains(host));
    assert!(second.iter().filter(is_new).all(was_lost));
    let either_way =
        first.iter().chain(&second).map(|pair| (pair.a.min(pair.b), pair.a.max(pair.b)));
    let once: HashSet<_> = first.iter().chain(&second).collect();
    assert_eq!(either_way.collect::<HashSet<_>>().len(), once.len());
}

#[test]
fn the_same_seed_gives_the_same_rounds() {
    let rounds = |seed| Fabric { rate: &|_, _, _| 1.0 }.run(Design::of(100, None, seed)).1;
    assert_eq!(rounds(5), rounds(5));
    assert_ne!(rounds(5), rounds(6));
}
