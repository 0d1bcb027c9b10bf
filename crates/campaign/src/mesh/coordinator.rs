//! Runs the rounds of a mesh on agents ([`Coordinator`]).

use std::collections::HashMap;
use std::time::Duration;

use analysis::mesh::{Design, HostId, Mesh, Pair, PairResult, Reading, Round, Stage};
use linux::event::StopSignals;
use linux::{clock, entropy};
use measurement::{BitRate, MeshLimit, MeshPair, MeshReading, Stamp};

use super::agents::{Agents, Heard};
use super::message::{Answer, Order};
use super::{Ended, Limit, Links, MeshHost, named};

/// Hears what happens while a mesh runs.
pub trait Observer {
    /// A round begins; so many are known to follow.
    fn round(&mut self, round: &Round, ahead: usize);
    /// The result of a pair of an earlier run, once: it is not tested again then.
    ///
    /// # Errors
    /// It cannot be read, which ends the mesh.
    fn stored(&mut self, round: &Round, pair: Pair) -> Result<Option<MeshPair>, String>;
    /// A pair was tested: it is to be stored.
    ///
    /// # Errors
    /// It cannot be stored, which ends the mesh.
    fn pair(&mut self, pair: &MeshPair) -> Result<(), String>;
    /// A host does not answer any more.
    ///
    /// # Errors
    /// As above.
    fn lost(&mut self, host: &MeshHost, why: &str) -> Result<(), String>;
}

/// What all tests of a mesh have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tested {
    /// Length of each direction.
    pub time: Duration,
    /// Parallel streams.
    pub streams: u32,
}

/// Runs a mesh.
pub struct Coordinator<'a> {
    hosts: &'a [MeshHost],
    tested: Tested,
    agents: Agents,
    ports: Vec<Option<u16>>,
    /// Of the clock of each agent to this one, in seconds, and the round trip by which it is known.
    offsets: Vec<(f64, f64)>,
    ended: Ended,
    next_id: u64,
    /// How often each agent answered what it was not asked.
    unasked: Vec<u32>,
}

/// A test that was ordered, of the first host of the pair.
struct Pending {
    pair: Pair,
    began: Option<f64>,
}

impl Pending {
    fn is_asked_of(&self, host: usize) -> bool {
        self.pair.a as usize == host
    }
}

impl<'a> Coordinator<'a> {
    /// A mesh of these hosts; `agents` has one for each, in their order.
    pub fn new(hosts: &'a [MeshHost], design: Design, tested: Tested, agents: Agents) -> Self {
        let count = hosts.len();
        let matrix = if count <= MOST_IN_MATRIX { count * count } else { 0 };
        let mesh = Mesh::new(design);
        let ended = Ended {
            mesh,
            rounds: 0,
            stored: 0,
            skew: Duration::ZERO,
            without_clock: Vec::new(),
            rates: vec![None; matrix],
            limits: Vec::new(),
            failures: Vec::new(),
            links: Links::default(),
            was_interrupted: false,
        };
        let (ports, offsets) = (vec![None; count], vec![(0.0, f64::INFINITY); count]);
        let unasked = vec![0; count];
        Self { hosts, tested, agents, ports, offsets, ended, next_id: 0, unasked }
    }

    /// Runs all rounds, to their end or until a signal of `interrupts` comes.
    ///
    /// # Errors
    /// A result cannot be stored, or fewer than two agents answer.
    pub fn run(
        mut self,
        interrupts: Option<&StopSignals>,
        observer: &mut dyn Observer,
    ) -> Result<Ended, String> {
        let stop = || interrupts.is_some_and(StopSignals::arrived);
        self.await_ready(&stop, observer)?;
        self.compare_clocks(observer)?;
        while !self.ended.was_interrupted {
            let Some(round) = self.ended.mesh.next_round() else { break };
            observer.round(&round, self.ended.mesh.rounds_ahead());
            self.play(&round, &stop, observer)?;
        }
        Ok(self.ended)
    }

    /// Waits until all agents answer, or are gone.
    fn await_ready(
        &mut self,
        stop: &dyn Fn() -> bool,
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        let key = key()?;
        for host in 0..self.hosts.len() {
            self.agents.tell(host, &Order::Begin { key: key.clone() });
        }
        let deadline = clock::monotonic() + START_LIMIT;
        let is_waiting = |this: &Self| {
            let hosts = (0..).zip(&this.ports);
            { hosts }.any(|(host, port)| port.is_none() && !this.ended.mesh.is_lost(host))
        };
        while is_waiting(self) && clock::monotonic() < deadline {
            if stop() {
                self.ended.was_interrupted = true;
                return Ok(());
            }
            match self.agents.hear(TICK) {
                Some((host, Heard::Answer(Answer::Ready { port, .. }, _)))
                    if self.ports[host].is_none() && !self.is_lost(host) =>
                {
                    self.ports[host] = Some(port);
                }
                Some((host, Heard::Gone(why))) => self.lose(host, &why, observer)?,
                Some((host, Heard::Answer(..))) => self.unasked(host, observer)?,
                None => {}
            }
        }
        for host in 0..self.hosts.len() {
            if self.ports[host].is_none() {
                self.lose(host, "its agent does not answer", observer)?;
            }
        }
        let answering = self.ports.iter().flatten().count();
        if answering < 2 {
            return Err("fewer than two hosts answer".to_owned());
        }
        Ok(())
    }

    /// Asks each agent for its time a few times: the answer with the shortest round trip counts.
    fn compare_clocks(&mut self, observer: &mut dyn Observer) -> Result<(), String> {
        for question in 0..CLOCK_QUESTIONS {
            let mut asked = HashMap::new();
            for host in 0..self.hosts.len() {
                // One that is silent keeps the others waiting once.
                if self.ports[host].is_some() && (question == 0 || self.has_clock(host)) {
                    let id = self.id();
                    self.agents.tell(host, &Order::Clock { id });
                    asked.insert(id, (host, clock::monotonic()));
                }
            }
            let deadline = clock::monotonic() + CLOCK_LIMIT;
            while !asked.is_empty() && clock::monotonic() < deadline {
                match self.agents.hear(TICK) {
                    Some((host, Heard::Answer(Answer::Clock { id, seconds }, at))) => {
                        match asked.get(&id) {
                            Some((of, from)) if *of == host => {
                                self.note_clock(host, seconds, *from, at);
                                asked.remove(&id);
                            }
                            _ => self.unasked(host, observer)?,
                        }
                    }
                    Some((host, Heard::Gone(why))) => {
                        self.lose(host, &why, observer)?;
                        asked.retain(|_, (of, _)| *of != host);
                    }
                    Some((host, Heard::Answer(..))) => self.unasked(host, observer)?,
                    None => {}
                }
            }
        }
        let silent = (0..self.hosts.len()).filter(|host| !self.has_clock(*host));
        let silent = silent.filter(|host| self.ports[*host].is_some());
        self.ended.without_clock = silent.filter_map(|host| HostId::try_from(host).ok()).collect();
        Ok(())
    }

    /// Whether the clock of an agent is known.
    fn has_clock(&self, host: usize) -> bool {
        self.offsets[host].1.is_finite()
    }

    fn note_clock(&mut self, host: usize, seconds: f64, from: Duration, at: Duration) {
        let trip = at.saturating_sub(from).as_secs_f64();
        if trip < self.offsets[host].1 {
            let middle = from.as_secs_f64() + trip / 2.0;
            self.offsets[host] = (seconds - middle, trip);
        }
    }

    /// Takes note that an agent answered what it was not asked. A few late answers are; an agent that
    /// goes on is lost.
    fn unasked(&mut self, host: usize, observer: &mut dyn Observer) -> Result<(), String> {
        self.unasked[host] = self.unasked[host].saturating_add(1);
        if self.unasked[host] > MOST_UNASKED {
            self.lose(host, "it answers what it was not asked", observer)?;
        }
        Ok(())
    }

    fn is_lost(&self, host: usize) -> bool {
        HostId::try_from(host).map_or(true, |id| self.ended.mesh.is_lost(id))
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Takes note that a host is lost.
    fn lose(&mut self, host: usize, why: &str, observer: &mut dyn Observer) -> Result<(), String> {
        let id = HostId::try_from(host).unwrap_or(HostId::MAX);
        self.ports[host] = None;
        self.agents.drop_agent(host);
        if self.ended.mesh.is_lost(id) {
            return Ok(());
        }
        self.ended.mesh.lose(id);
        observer.lost(&self.hosts[host], why)
    }

    /// Runs the tests of a round that are not stored, all at once.
    fn play(
        &mut self,
        round: &Round,
        stop: &dyn Fn() -> bool,
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        let mut pending = self.begin(round, observer)?;
        self.ended.rounds += u32::from(!pending.is_empty());
        let mut starts = Vec::new();
        // Two directions; of several links first those of one.
        let directions = if self.hosts.iter().any(|host| host.addresses.len() > 1) { 4 } else { 2 };
        let deadline = clock::monotonic() + self.tested.time * directions + TEST_LIMIT;
        while !pending.is_empty() && clock::monotonic() < deadline {
            if stop() {
                self.ended.was_interrupted = true;
                return Ok(());
            }
            let Some((host, heard)) = self.agents.hear(TICK) else { continue };
            match heard {
                Heard::Answer(Answer::Began { id, seconds }, _) => match pending.get_mut(&id) {
                    Some(test) if test.is_asked_of(host) && test.began.is_none() => {
                        test.began = Some(seconds - self.offsets[host].0);
                        starts.extend(test.began.filter(|_| self.has_clock(host)));
                    }
                    _ => self.unasked(host, observer)?,
                },
                Heard::Answer(Answer::Tested { id, readings }, _) => {
                    self.answered(round, &mut pending, (host, id), Ok(readings), observer)?;
                }
                Heard::Answer(Answer::Failed { id, error }, _) => {
                    self.answered(
                        round,
                        &mut pending,
                        (host, id),
                        Err(error.into_text()),
                        observer,
                    )?;
                }
                Heard::Gone(why) => self.lose(host, &why, observer)?,
                Heard::Answer(_, _) => self.unasked(host, observer)?,
            }
            self.leave_out(round, &mut pending, host, observer)?;
        }
        self.note_skew(&starts);
        self.give_up(round, pending, observer)
    }

    /// Takes the result of a test from the host that was asked for it, and from no other.
    fn answered(
        &mut self,
        round: &Round,
        pending: &mut HashMap<u64, Pending>,
        (host, id): (usize, u64),
        result: Result<Vec<MeshReading>, String>,
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        if !pending.get(&id).is_some_and(|test| test.is_asked_of(host)) {
            return self.unasked(host, observer);
        }
        let test = pending.remove(&id);
        test.map_or(Ok(()), |test| self.keep(round, test.pair, result, observer))
    }

    /// Ends the tests of a host if it is lost.
    fn leave_out(
        &mut self,
        round: &Round,
        pending: &mut HashMap<u64, Pending>,
        host: usize,
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        if !self.is_lost(host) {
            return Ok(());
        }
        let is_of = |pair: Pair| [pair.a, pair.b].iter().any(|of| *of as usize == host);
        let ended: Vec<_> = pending.extract_if(|_, test| is_of(test.pair)).collect();
        for (_, test) in ended {
            let why = format!("{} was lost", self.hosts[host].name);
            self.keep(round, test.pair, Err(why), observer)?;
        }
        Ok(())
    }

    /// Has the tests of a round begun that are not stored.
    fn begin(
        &mut self,
        round: &Round,
        observer: &mut dyn Observer,
    ) -> Result<HashMap<u64, Pending>, String> {
        let mut stored = Vec::new();
        for pair in &round.pairs {
            stored.push(observer.stored(round, *pair)?);
        }
        // Tests that load what they share say nothing one by one.
        if matches!(round.stage, Stage::Load | Stage::Together)
            && stored.iter().any(Option::is_none)
        {
            stored.fill_with(|| None);
        }
        let mut pending = HashMap::new();
        for (pair, stored) in round.pairs.iter().zip(stored) {
            if let Some(stored) = stored {
                self.ended.stored += 2;
                self.note(round, *pair, &stored);
            } else {
                let id = self.id();
                self.order(id, round.stage, *pair);
                pending.insert(id, Pending { pair: *pair, began: None });
            }
        }
        Ok(pending)
    }

    /// Hosts that did not end their test in time do not count on.
    fn give_up(
        &mut self,
        round: &Round,
        pending: HashMap<u64, Pending>,
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        for test in pending.into_values() {
            self.keep(round, test.pair, Err("no result in time".to_owned()), observer)?;
            self.lose(test.pair.a as usize, "it did not end its test in time", observer)?;
        }
        Ok(())
    }

    fn order(&mut self, id: u64, stage: Stage, pair: Pair) {
        let (from, to) = (&self.hosts[pair.a as usize], &self.hosts[pair.b as usize]);
        let port = self.ports[pair.b as usize].unwrap_or_default();
        let links = from.addresses.len().min(to.addresses.len());
        let place = |address: &String| {
            let is_ipv6 = address.contains(':');
            if is_ipv6 { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
        };
        let order = Order::Test {
            id,
            name: from.name.clone(),
            peer: to.name.clone(),
            to: to.addresses.iter().take(links).map(place).collect(),
            first_alone: stage == Stage::Survey,
            seconds: self.tested.time.as_secs_f64(),
            streams: self.tested.streams,
        };
        self.agents.tell(pair.a as usize, &order);
    }

    /// Stores the result of a pair, and takes note of it.
    fn keep(
        &mut self,
        round: &Round,
        pair: Pair,
        result: Result<Vec<MeshReading>, String>,
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        let (readings, error) = match result {
            Ok(readings) => (readings, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let name = |host: HostId| self.hosts[host as usize].name.clone();
        let (stage, round_number) = (named::stage(round.stage), round.number);
        let (a, b) = (name(pair.a), name(pair.b));
        let kept = MeshPair { stage, round: round_number, a, b, readings, error };
        observer.pair(&kept)?;
        self.note(round, pair, &kept);
        Ok(())
    }

    fn note(&mut self, round: &Round, pair: Pair, kept: &MeshPair) {
        let result = match &kept.readings[..] {
            [there, back] if [there, back].iter().all(|one| one.stamp != Stamp::Invalid) => {
                PairResult::Measured([reading(there), reading(back)])
            }
            [_, _] => PairResult::Invalid,
            _ => PairResult::Failed,
        };
        self.ended.mesh.record(round, pair, result);
        if let [there, back] = &kept.readings[..] {
            if round.stage == Stage::Survey && matches!(result, PairResult::Measured(_)) {
                self.note_rate(pair.a, pair.b, there.rate);
                self.note_rate(pair.b, pair.a, back.rate);
                self.ended.links.note(pair, &kept.readings);
            }
            for (from, reading) in [(pair.a, there), (pair.b, back)] {
                if let Some(limit) = &reading.limit {
                    self.note_limit(pair, kept, (from, reading.rate, limit));
                }
            }
        }
        let failures = &mut self.ended.failures;
        failures.retain(|(of, _)| *of != pair);
        if let Some(error) = kept.error.as_ref().filter(|_| failures.len() < MOST_FAILURES) {
            failures.push((pair, error.clone()));
        }
    }

    fn note_rate(&mut self, from: HostId, to: HostId, rate: BitRate) {
        let place = from as usize * self.hosts.len() + to as usize;
        if let Some(known) = self.ended.rates.get_mut(place) {
            *known = Some(rate);
        }
    }

    fn note_limit(
        &mut self,
        pair: Pair,
        kept: &MeshPair,
        (from, rate, limit): (HostId, BitRate, &MeshLimit),
    ) {
        let host = match &limit.host {
            Some(name) if *name == kept.a => pair.a,
            Some(name) if *name == kept.b => pair.b,
            _ => return,
        };
        let of = (host, host == from, limit.rule.clone());
        let limits = &mut self.ended.limits;
        let place = limits.binary_search_by(|known| known.of.cmp(&of)).unwrap_or_else(|place| {
            let new = Limit { of, count: 0, slowest: rate, text: limit.text.clone() };
            limits.insert(place, new);
            place
        });
        let known = &mut limits[place];
        known.count += 1;
        if rate < known.slowest {
            known.slowest = rate;
            known.text.clone_from(&limit.text);
        }
    }

    fn note_skew(&mut self, starts: &[f64]) {
        let first = starts.iter().copied().fold(f64::INFINITY, f64::min);
        let last = starts.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if last > first {
            let skew = Duration::try_from_secs_f64(last - first).unwrap_or_default();
            self.ended.skew = self.ended.skew.max(skew);
        }
    }
}

/// A key that nobody else knows: 128 random bits in hexadecimal digits.
fn key() -> Result<String, String> {
    let random: [u8; 16] =
        entropy::random().map_err(|error| format!("no random bytes: {error}"))?;
    Ok(random.map(|byte| format!("{byte:02x}")).concat())
}

fn reading(of: &MeshReading) -> Reading {
    let is_lossy = of.retransmitted_ratio.is_some_and(|share| share > LOSSY);
    Reading { rate: of.rate, is_lossy }
}

/// Up to so many hosts the rates of all pairs are kept in memory.
const MOST_IN_MATRIX: usize = 64;
/// Pairs without a result of which it is kept why.
const MOST_FAILURES: usize = 1_000;
/// A share of segments that is sent again on a path that damages or drops them.
const LOSSY: f64 = 0.002;
const TICK: Duration = Duration::from_millis(100);
/// How long agents may take to start.
const START_LIMIT: Duration = Duration::from_secs(30);
/// How long a test may take beyond its two directions.
const TEST_LIMIT: Duration = Duration::from_secs(15);
const CLOCK_LIMIT: Duration = Duration::from_secs(2);
const CLOCK_QUESTIONS: u32 = 3;
/// Answers that an agent may give to what it was not asked, or is not asked any more.
const MOST_UNASKED: u32 = 64;
