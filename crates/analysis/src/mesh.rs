//! Tests between many hosts: which pairs are tested when ([`Mesh`]), and which host, link or
//! switch is slow by their results ([`Findings`]). Pure: simulations and real hosts run the same code.
//!
//! It goes in stages. The survey tests all pairs, or a random sample of them, and never two over one
//! shared uplink that is known. Then all hosts send across switches at once, which shows uplinks with
//! less capacity than their hosts. Suspects are tested again alone, until their cause is decided, and
//! those that are slow only beside others are tested beside each other.

mod culprits;
mod estimate;
mod evidence;
mod loss;
mod schedule;
mod sharing;
#[cfg(test)]
mod simulated;
mod suspects;
mod topology;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fastrand::Rng;
use measurement::{BitRate, IntoSet, Order};

pub use culprits::{Culprit, Findings, Part};
pub use loss::Loss;
use schedule::Matchings;
pub use schedule::tournament;
pub use topology::{HostId, SwitchId, Topology};

/// A pair of hosts that is tested in both directions, first from `a` to `b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pair {
    /// The host that sends first.
    pub a: HostId,
    /// The other host.
    pub b: HostId,
}

/// Why a pair is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Each host with others; with a topology one test per uplink.
    Survey,
    /// All hosts at once, across switches.
    Load,
    /// A suspect with a host that is not one, while nothing else is tested over its links.
    Alone,
    /// Two suspects at once, each with another host.
    Together,
}

/// Pairs that are tested at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// Why.
    pub stage: Stage,
    /// Its number, from 0.
    pub number: u32,
    /// The pairs.
    pub pairs: Vec<Pair>,
}

/// Result of one direction of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Rate that arrived.
    pub rate: BitRate,
    /// Whether segments were lost on the way.
    pub is_lossy: bool,
}

/// Result of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PairResult {
    /// Both directions were tested: from `a` to `b`, then from `b` to `a`.
    Measured([Reading; 2]),
    /// The result cannot be trusted; the pair is tested again.
    Invalid,
    /// The test failed, although both hosts answer.
    Failed,
}

/// What a [`Mesh`] tests, and how long it goes on.
#[derive(Clone, Debug)]
pub struct Design {
    /// Number of hosts.
    pub hosts: u32,
    /// Switches, if known.
    pub topology: Option<Topology>,
    /// Random rounds in place of all pairs. None: all pairs.
    pub sample: Option<u32>,
    /// For choices at random: the same number gives the same rounds.
    pub seed: u64,
}

impl Design {
    /// All pairs of up to [`MOST_OF_ALL_PAIRS`] hosts, else [`SAMPLE_ROUNDS`] random rounds.
    pub fn of(hosts: u32, topology: Option<Topology>, seed: u64) -> Self {
        let sample = (hosts > MOST_OF_ALL_PAIRS).then_some(SAMPLE_ROUNDS);
        Self { hosts, topology, sample, seed }
    }
}

/// One direction of a test that ended.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    from: HostId,
    to: HostId,
    /// Natural logarithm of the rate in bit/s.
    log_rate: f32,
    round: u32,
    stage: Stage,
    is_lossy: bool,
    /// The second of the two tests of its pair, at the time of the second tests of the others.
    is_second: bool,
}

/// Tests between all hosts: says what to test next, and takes the results.
#[derive(Debug)]
pub struct Mesh {
    design: Design,
    rng: Rng,
    stage: Stage,
    queue: VecDeque<(Stage, Vec<Pair>)>,
    rounds: u32,
    /// Random rounds of the survey, and how many pairs of hosts that answer there were.
    sample: Matchings,
    drawn: usize,
    /// Random rounds of the survey so far.
    matchings: u32,
    /// Batches of tests alone so far.
    batches: u32,
    samples: Vec<Sample>,
    lost: Vec<bool>,
    /// Rounds with INVALID results, and their pairs.
    again: Vec<(Round, Vec<Pair>)>,
    /// How often such were tested again, at the end of this part.
    repeats: u32,
    /// Tests that were planned, and whether there is a result.
    planned: BTreeMap<(Stage, Pair), bool>,
}

impl Mesh {
    /// Starts with the survey.
    pub fn new(design: Design) -> Self {
        let queue = match design.sample {
            Some(_) => VecDeque::new(),
            None => surveyed(tournament(design.hosts), design.topology.as_ref()),
        };
        Self {
            rng: Rng::with_seed(design.seed),
            stage: Stage::Survey,
            queue,
            rounds: 0,
            sample: Matchings::new(design.hosts, design.seed),
            drawn: 0,
            matchings: 0,
            batches: 0,
            samples: Vec::new(),
            lost: vec![false; design.hosts as usize],
            again: Vec::new(),
            repeats: 0,
            planned: BTreeMap::new(),
            design,
        }
    }

    /// The pairs to test next, all at the same time. Pairs with a host that was lost are left out.
    /// None: all that can be decided is.
    pub fn next_round(&mut self) -> Option<Round> {
        loop {
            while let Some((stage, mut pairs)) = self.queue.pop_front() {
                for pair in &pairs {
                    self.planned.entry((stage, *pair)).or_default();
                }
                pairs.retain(|pair| !self.is_lost(pair.a) && !self.is_lost(pair.b));
                if !pairs.is_empty() {
                    self.rounds += 1;
                    return Some(Round { stage, number: self.rounds - 1, pairs });
                }
            }
            if !self.advance() {
                return None;
            }
        }
    }

    /// Takes the result of a pair of a round.
    pub fn record(&mut self, round: &Round, pair: Pair, result: PairResult) {
        match result {
            PairResult::Measured([there, back]) => {
                self.samples.push(sample(round, pair.a, pair.b, there, false));
                self.samples.push(sample(round, pair.b, pair.a, back, true));
                self.planned.insert((round.stage, pair), true);
            }
            PairResult::Invalid => self.note_invalid(round, pair),
            PairResult::Failed => {}
        }
    }

    fn note_invalid(&mut self, round: &Round, pair: Pair) {
        match self.again.last_mut() {
            Some((known, pairs)) if known.number == round.number => pairs.push(pair),
            _ => self.again.push((round.clone(), vec![pair])),
        }
    }

    /// Takes note that a host does not answer any more: it is tested no further.
    pub fn lose(&mut self, host: HostId) {
        if let Some(lost) = self.lost.get_mut(host as usize) {
            *lost = true;
        }
    }

    /// Whether a host was lost.
    pub fn is_lost(&self, host: HostId) -> bool {
        self.lost.get(host as usize).copied().unwrap_or(true)
    }

    /// Directions that were tested: two for each pair.
    pub fn tests(&self) -> usize {
        self.samples.len()
    }

    /// Rounds that are known to follow.
    pub fn rounds_ahead(&self) -> usize {
        let matchings = self.design.sample.unwrap_or_default().saturating_sub(self.matchings);
        self.queue.len() + if self.stage == Stage::Survey { matchings as usize } else { 0 }
    }

    /// Directions of the survey with a rate below `least`, the slowest first.
    pub fn below(&self, least: BitRate) -> Vec<(HostId, HostId, BitRate)> {
        let surveyed = self.samples.iter().filter(|sample| sample.stage == Stage::Survey);
        let rate = |sample: &Sample| {
            (sample.from, sample.to, bits_per_second(f64::from(sample.log_rate).exp()))
        };
        let mut below: Vec<_> = surveyed.map(rate).filter(|(_, _, rate)| *rate < least).collect();
        below.order_by_key(|(_, _, rate)| *rate);
        below
    }

    /// Pairs that were to be tested so far, in any stage, and have no result.
    pub fn untested(&self) -> BTreeSet<Pair> {
        let without = self.planned.iter().filter(|(_, has_result)| !**has_result);
        without.map(|((_, pair), _)| *pair).into_set()
    }

    /// Hosts that were lost.
    pub fn lost(&self) -> impl Iterator<Item = HostId> + '_ {
        (0..self.design.hosts).filter(|host| self.is_lost(*host))
    }

    /// Names what is slow by all results so far.
    pub fn findings(&self) -> Findings {
        culprits::find(self)
    }

    /// Plans further rounds; false: there are none.
    fn advance(&mut self) -> bool {
        if self.stage == Stage::Survey && self.draw() {
            return true;
        }
        if self.repeats < MOST_REPEATS && !self.again.is_empty() {
            self.repeats += 1;
            self.queue = self.repeated();
            return true;
        }
        self.repeats = 0;
        self.again.clear();
        match self.stage {
            Stage::Survey => {
                self.stage = Stage::Load;
                self.load();
                true
            }
            Stage::Load => {
                self.stage = Stage::Alone;
                true
            }
            Stage::Alone => self.suspects_alone(),
            Stage::Together => false,
        }
    }

    /// Draws the next random round of a sampled survey; false: there is none.
    fn draw(&mut self) -> bool {
        let Some(rounds) = self.design.sample else { return false };
        // Partners of lost hosts rest: where those are many, further rounds make up for that.
        let wanted = rounds as usize * (self.live().len() / 2);
        let is_short = self.drawn * 20 < wanted * 19 && self.matchings < rounds.saturating_mul(2);
        if self.matchings >= rounds && !is_short {
            return false;
        }
        self.matchings += 1;
        let pairs = self.sample.draw();
        let live = |pair: &&Pair| !self.is_lost(pair.a) && !self.is_lost(pair.b);
        self.drawn += pairs.iter().filter(live).count();
        self.queue = surveyed(vec![pairs], self.design.topology.as_ref());
        true
    }

    /// INVALID pairs again, with those of their rounds that make the load under which they were.
    fn repeated(&mut self) -> VecDeque<(Stage, Vec<Pair>)> {
        let again = std::mem::take(&mut self.again);
        let topology = self.design.topology.as_ref();
        let one_by_one = || again.iter().flat_map(|(_, pairs)| pairs).copied().collect();
        match self.stage {
            Stage::Survey => surveyed(vec![one_by_one()], topology),
            Stage::Alone => {
                let rounds = suspects::again(self, &one_by_one());
                rounds.into_iter().map(|pairs| (Stage::Alone, pairs)).collect()
            }
            Stage::Load | Stage::Together => {
                let rounds = again.into_iter();
                rounds
                    .map(|(round, pairs)| (round.stage, schedule::beside(round, &pairs, topology)))
                    .collect()
            }
        }
    }

    /// All hosts at once, if switches are known.
    fn load(&mut self) {
        let live = self.live();
        let Some(topology) = &self.design.topology else { return };
        let rounds = if live.len() > MOST_WITH_LOAD_ROUNDS { 1 } else { LOAD_ROUNDS };
        for _ in 0..rounds {
            let pairs = schedule::across(&live, topology, &mut self.rng);
            self.queue.push_back((Stage::Load, pairs));
        }
    }

    fn suspects_alone(&mut self) -> bool {
        self.batches += 1;
        let rounds = if self.batches <= MOST_BATCHES { suspects::alone(self) } else { Vec::new() };
        if rounds.is_empty() {
            self.stage = Stage::Together;
            let rounds = suspects::together(self);
            self.queue.extend(rounds.into_iter().map(|pairs| (Stage::Together, pairs)));
            return !self.queue.is_empty();
        }
        self.queue.extend(rounds.into_iter().map(|pairs| (Stage::Alone, pairs)));
        true
    }

    fn live(&self) -> Vec<HostId> {
        (0..self.design.hosts).filter(|host| !self.is_lost(*host)).collect()
    }
}

fn surveyed(rounds: Vec<Vec<Pair>>, topology: Option<&Topology>) -> VecDeque<(Stage, Vec<Pair>)> {
    let split = rounds.into_iter().flat_map(|pairs| schedule::split(pairs, topology));
    split.map(|pairs| (Stage::Survey, pairs)).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "a logarithm to seven digits is enough")]
fn sample(round: &Round, from: HostId, to: HostId, reading: Reading, is_second: bool) -> Sample {
    let rate = reading.rate.bits_per_second().max(1);
    let log_rate = (rate as f64).ln() as f32;
    let (round, stage) = (round.number, round.stage);
    Sample { from, to, log_rate, round, stage, is_lossy: reading.is_lossy, is_second }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn bits_per_second(rate: f64) -> BitRate {
    BitRate::from_bits_per_second(rate as u64)
}

/// Up to so many hosts all pairs are tested: 2016 pairs in 63 rounds.
pub const MOST_OF_ALL_PAIRS: u32 = 64;
/// Random rounds of the survey of more hosts: each host sends and receives so often.
pub const SAMPLE_ROUNDS: u32 = 4;
/// How often INVALID pairs are tested again at the end of a part: the survey, all hosts at once, a
/// batch of suspects alone, suspects together.
const MOST_REPEATS: u32 = 2;
/// Rounds with all hosts at once, of up to so many hosts; of more there is one.
const LOAD_ROUNDS: u32 = 3;
const MOST_WITH_LOAD_ROUNDS: usize = 2_000;
/// Batches of tests of suspects alone.
const MOST_BATCHES: u32 = 12;
