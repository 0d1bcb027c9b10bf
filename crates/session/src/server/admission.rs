//! How many tests run and how many wait, and which of them makes room when there is none.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use measurement::Timestamp;
use protocol::iperf3::QueuePlace;

use super::client_prefix::ClientOrigin;
use super::cost::{Cost, Need};
use super::fair_queue::in_turn;
use super::metrics::Refusal;
use super::shares::{Lack, Shares};
use super::stay::{Displacement, Stay, Yielding};
use super::test_class::TestClass;

/// Limits on the tests that a server runs and queues at the same time: their number in all and per
/// client address, their starts per second, and their memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Number of tests that run at the same time.
    pub running: usize,
    /// Number of tests that may wait in the queue.
    pub waiting: usize,
    /// Number of tests of one address that may run or wait (IPv6: of one /64).
    pub per_address: usize,
    /// Number of tests that one address may start per second.
    pub starts: u32,
    /// Memory for the payload of all tests in bytes.
    pub memory: u64,
    /// Which tests are ended when another client needs their place; none: no test is.
    pub yielding: Option<Yielding>,
}

impl Order {
    /// One test at a time without a queue and without other limits, as in iperf3.
    pub const ONE: Self = Self {
        running: 1,
        waiting: 0,
        per_address: usize::MAX,
        starts: u32::MAX,
        memory: u64::MAX,
        yielding: None,
    };
}

/// A client that asks for a test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newcomer {
    pub(crate) number: u64,
    pub(crate) client: ClientOrigin,
    pub(crate) class: TestClass,
    pub(crate) need: Need,
}

/// A test that has to make room, and why.
pub(crate) type Displaced = (u64, Displacement);

/// The tests that run and that wait; every test has a number of its own.
#[derive(Debug)]
pub(crate) struct Admission {
    order: Order,
    seats: BTreeMap<u64, Seat>,
    /// Those that run in a place.
    running: HashSet<u64>,
    /// Those that wait, as they will get their turn.
    waiting: Vec<u64>,
    shares: Shares,
}

/// What one test has.
#[derive(Debug)]
struct Seat {
    client: ClientOrigin,
    class: TestClass,
    /// What it has taken so far.
    cost: Cost,
    stay: Arc<Stay>,
}

impl Admission {
    pub(crate) fn new(order: Order, most: Cost) -> Self {
        Self {
            order,
            seats: BTreeMap::new(),
            running: HashSet::new(),
            waiting: Vec::new(),
            shares: Shares::new(most),
        }
    }

    /// Why a test of `client` cannot be taken now, whatever it needs.
    pub(crate) fn objection(&self, client: ClientOrigin, now: Timestamp) -> Option<Refusal> {
        let is_full = self.is_full(TestClass::Regular);
        if is_full && self.who_yields_a_place(client, TestClass::Regular, now).is_none() {
            return Some(Refusal::Busy);
        }
        self.objection_to(client, TestClass::Regular)
    }

    /// Whether no further test can run or wait.
    fn is_full(&self, class: TestClass) -> bool {
        match class {
            TestClass::Regular => {
                let places = self.order.running + self.order.waiting;
                self.running.len() + self.waiting.len() >= places
            }
            TestClass::Probe => self.probes() >= MOST_PROBES,
        }
    }

    fn probes(&self) -> usize {
        self.seats.len() - self.running.len() - self.waiting.len()
    }

    /// Why `client` may have no further test, as many as it has. A probe never waits: the test that
    /// it goes with would wait for it.
    fn objection_to(&self, client: ClientOrigin, class: TestClass) -> Option<Refusal> {
        let own = self.shares.of_client(client).count(class);
        let has_its_share = match class {
            TestClass::Regular => own >= self.order.per_address || self.fills_the_queue(client),
            TestClass::Probe => own >= self.order.per_address.clamp(1, MOST_PROBES_OF_ONE),
        };
        has_its_share.then_some(Refusal::Address)
    }

    /// Whether the next test of a client would wait, and the client has its part of the queue.
    fn fills_the_queue(&self, client: ClientOrigin) -> bool {
        let own = |number: &&u64| {
            self.seats.get(number).is_some_and(|seat| seat.client.prefix == client.prefix)
        };
        let would_wait = self.running.len() >= self.order.running;
        let share = (self.order.waiting / QUEUE_SHARES).max(1);
        would_wait && self.waiting.iter().filter(own).count() >= share
    }

    /// Takes a test in, to run or to wait; gives its stay, and the tests that make room for it. No
    /// client gets more than its part.
    pub(crate) fn enter(
        &mut self,
        newcomer: &Newcomer,
        now: Timestamp,
    ) -> Result<(Arc<Stay>, Vec<Displaced>), Refusal> {
        let Newcomer { number, client, class, need } = *newcomer;
        if let Some(why) = need.whole().excess(self.part()) {
            return Err(why);
        }
        if let Some(why) = self.objection_to(client, class) {
            return Err(why);
        }
        let mut displaced = Vec::new();
        if self.is_full(class) {
            let yields = self.who_yields_a_place(client, class, now).ok_or(Refusal::Busy)?;
            displaced.push(self.displace(yields));
        }
        displaced.extend(self.make_room(client, need.whole(), now)?);
        let stay = Arc::new(Stay::default());
        let seat = Seat { client, class, cost: need.base, stay: Arc::clone(&stay) };
        self.shares.enter(client, class, need.base);
        self.seats.insert(number, seat);
        match class {
            TestClass::Regular => self.waiting.push(number),
            TestClass::Probe => self.begin(number, now),
        }
        self.promote(now);
        displaced.extend(self.relieve(now));
        Ok((stay, displaced))
    }

    /// What one client may have, all its tests together.
    pub(crate) const fn part(&self) -> Cost {
        self.shares.part()
    }

    /// Test `number` takes `more`; gives the tests that make room for it.
    pub(crate) fn grow(
        &mut self,
        number: u64,
        more: Cost,
        now: Timestamp,
    ) -> Result<Vec<Displaced>, Refusal> {
        let Some(client) = self.seats.get(&number).map(|seat| seat.client) else {
            // It has been told already to make room.
            return Ok(Vec::new());
        };
        let displaced = self.make_room(client, more, now)?;
        if let Some(seat) = self.seats.get_mut(&number) {
            seat.cost = seat.cost.plus(more);
            self.shares.take(client, more);
        }
        Ok(displaced)
    }

    /// Lets others make room until `client` can take `more`.
    fn make_room(
        &mut self,
        client: ClientOrigin,
        more: Cost,
        now: Timestamp,
    ) -> Result<Vec<Displaced>, Refusal> {
        let mut displaced = Vec::new();
        loop {
            let why = match self.shares.lack(client, more) {
                None => return Ok(displaced),
                Some(Lack::OfShare(why) | Lack::OfAll(why)) => why,
            };
            let yields = self.who_yields(why, client, now);
            displaced.push(self.displace(yields.ok_or(why)?));
        }
    }

    /// Those that do nothing while others wait for their place make room.
    pub(crate) fn relieve(&mut self, now: Timestamp) -> Vec<Displaced> {
        let mut displaced = Vec::new();
        while !self.waiting.is_empty()
            && let Some(yields) = self.weakest(TestClass::Regular, now)
        {
            displaced.push(self.displace(yields));
            self.promote(now);
        }
        displaced
    }

    /// Gives the place and all that it has taken of a test to others.
    fn displace(&mut self, displaced: Displaced) -> Displaced {
        self.remove(displaced.0);
        displaced
    }

    /// A test has ended, or waits no more.
    pub(crate) fn leave(&mut self, number: u64, now: Timestamp) {
        self.remove(number);
        self.promote(now);
    }

    fn remove(&mut self, number: u64) {
        let Some(seat) = self.seats.remove(&number) else { return };
        self.shares.leave(seat.client, seat.class, seat.cost);
        self.running.remove(&number);
        self.waiting.retain(|other| *other != number);
    }

    /// Those whose turn it is run.
    fn promote(&mut self, now: Timestamp) {
        let free = self.order.running.saturating_sub(self.running.len());
        for _ in 0..free.min(self.waiting.len()) {
            self.take_turns();
            let next = self.waiting.remove(0);
            self.running.insert(next);
            self.begin(next, now);
        }
        self.take_turns();
    }

    fn take_turns(&mut self) {
        if self.waiting.len() < 2 {
            return;
        }
        let (waiting, seats) = (&mut self.waiting, &self.seats);
        // Numbers count as they came.
        waiting.sort_unstable();
        let origin = |number: &u64| Some((*number, seats.get(number)?.client));
        let running = self.running.iter().filter_map(origin).map(|(_, client)| client);
        *waiting = in_turn(running, waiting.iter().filter_map(origin));
    }

    fn begin(&self, number: u64, now: Timestamp) {
        if let (Some(seat), Some(yielding)) = (self.seats.get(&number), &self.order.yielding) {
            seat.stay.begin(now, yielding);
        }
    }

    /// Where a test stands that waits; none: it waits no more.
    pub(crate) fn place(&self, number: u64) -> Option<QueuePlace> {
        let before = self.waiting.iter().position(|other| *other == number)?;
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let running = self.running.len();
        Some(QueuePlace { ahead: count(before + running), running: count(running) })
    }

    /// The numbers of those that wait.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = u64> + '_ {
        self.waiting.iter().copied()
    }
}

/// Who makes room.
impl Admission {
    /// Which test makes room for one of `client` that finds no place.
    fn who_yields_a_place(
        &self,
        client: ClientOrigin,
        class: TestClass,
        now: Timestamp,
    ) -> Option<Displaced> {
        self.order.yielding?;
        self.weakest(class, now)
            .or_else(|| self.last_of_the_queue(client, class))
            .or_else(|| self.unproven(client, class))
            .or_else(|| self.surplus(client, class))
    }

    /// A test that has done nothing for long, or has run for long: of those, one whose client and
    /// whose network have most.
    fn weakest(&self, class: TestClass, now: Timestamp) -> Option<Displaced> {
        self.order.yielding?;
        let weak = self.placed(class).filter_map(|(number, seat)| {
            let why = seat.stay.weakness(now)?;
            Some((self.weight(seat), (*number, why)))
        });
        weak.max_by_key(|(weight, _)| *weight).map(|(_, displaced)| displaced)
    }

    /// A test that has moved nothing yet, of a client or a network that has more than `client`
    /// would have: the others could shut the server by beginning anew again and again.
    fn unproven(&self, client: ClientOrigin, class: TestClass) -> Option<Displaced> {
        let own = self.shares.of_client(client).count(class) + 1;
        let neighbours = self.shares.of_network(client).count(class) + 1;
        let has_more = |seat: &Seat| {
            let (tests, all) = self.weight(seat);
            tests > own || (all > neighbours && seat.client.network != client.network)
        };
        let candidates =
            self.placed(class).filter(|(_, seat)| !seat.stay.is_proven() && has_more(seat));
        candidates.max_by_key(|(_, seat)| self.weight(seat)).map(|one| self.for_its_share(one))
    }

    /// A test of a client that has more than a quarter of many places, for one that would have
    /// no more than half as many.
    fn surplus(&self, client: ClientOrigin, class: TestClass) -> Option<Displaced> {
        let is_large = self.order.running >= LEAST_PLACES && self.order.waiting == 0;
        let own = self.shares.of_client(client).count(class) + 1;
        if class != TestClass::Regular || !is_large {
            return None;
        }
        let most = (self.order.running / LARGE_SHARES).max(2 * own - 1);
        let large = self.placed(class).filter(|(_, seat)| self.weight(seat).0 > most);
        large.max_by_key(|(_, seat)| self.weight(seat)).map(|one| self.for_its_share(one))
    }

    /// The last that waits, if `client` has less than its client.
    fn last_of_the_queue(&self, client: ClientOrigin, class: TestClass) -> Option<Displaced> {
        let last = self.waiting.last().filter(|_| class == TestClass::Regular)?;
        let (number, seat) = self.seats.get_key_value(last)?;
        let own = self.shares.of_client(client).count(class) + 1;
        (self.weight(seat).0 > own).then(|| self.for_its_share((number, seat)))
    }

    /// Which test makes room for one of `client`, which lacks something.
    fn who_yields(&self, why: Refusal, client: ClientOrigin, now: Timestamp) -> Option<Displaced> {
        self.order.yielding?;
        let large = self.seats.iter().filter(|(_, seat)| seat.client.prefix != client.prefix);
        let weak = large.filter_map(|(number, seat)| {
            let takes = Some(seat.cost.of(why)).filter(|takes| *takes > 0)?;
            Some((takes, (*number, seat.stay.weakness(now)?)))
        });
        weak.filter(|(_, (number, _))| !self.waiting.contains(number))
            .max_by_key(|(takes, _)| *takes)
            .map(|(_, displaced)| displaced)
    }

    /// The tests that have a place of that class.
    fn placed(&self, class: TestClass) -> impl Iterator<Item = (&u64, &Seat)> {
        let has_place = move |number: &u64| match class {
            TestClass::Regular => self.running.contains(number),
            TestClass::Probe => true,
        };
        self.seats.iter().filter(move |(number, seat)| seat.class == class && has_place(number))
    }

    /// How many tests its client and its network have.
    fn weight(&self, seat: &Seat) -> (usize, usize) {
        let (own, all) = (self.shares.of_client(seat.client), self.shares.of_network(seat.client));
        (own.count(seat.class), all.count(seat.class))
    }

    fn for_its_share(&self, (number, seat): (&u64, &Seat)) -> Displaced {
        let tests = self.weight(seat).0;
        let all = match seat.class {
            TestClass::Regular => self.running.len() + self.waiting.len(),
            TestClass::Probe => self.probes(),
        };
        (*number, Displacement::Share { tests, all })
    }
}

/// Probes that run at one time, and those of one client among them.
const MOST_PROBES: usize = 64;
const MOST_PROBES_OF_ONE: usize = 8;
/// One client takes no more of the queue than one of so many parts.
const QUEUE_SHARES: usize = 4;
/// Of so many places one client keeps no more than one of so many parts when others have less.
const LEAST_PLACES: usize = 16;
const LARGE_SHARES: usize = 4;

#[cfg(test)]
mod tests;
