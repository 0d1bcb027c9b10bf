//! How many tests run and how many wait.

use std::collections::{HashMap, HashSet, VecDeque};

use measurement::TestPlan;

use super::client_prefix::ClientPrefix;
use super::metrics::Refusal;

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
}

impl Order {
    /// One test at a time without a queue and without other limits, as in iperf3.
    pub const ONE: Self = Self {
        running: 1,
        waiting: 0,
        per_address: usize::MAX,
        starts: u32::MAX,
        memory: u64::MAX,
    };
}

/// What a test takes of the server as long as it is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) memory: u64,
    pub(crate) descriptors: u64,
    pub(crate) threads: u64,
}

impl Cost {
    const fn plus(self, other: Self) -> Self {
        Self {
            memory: self.memory.saturating_add(other.memory),
            descriptors: self.descriptors.saturating_add(other.descriptors),
            threads: self.threads.saturating_add(other.threads),
        }
    }

    const fn minus(self, other: Self) -> Self {
        Self {
            memory: self.memory.saturating_sub(other.memory),
            descriptors: self.descriptors.saturating_sub(other.descriptors),
            threads: self.threads.saturating_sub(other.threads),
        }
    }

    /// What one client may have of it: half, and three quarters of the descriptors, of
    /// which a test of very many streams takes most, and others need few.
    pub(crate) const fn of_one_client(self) -> Self {
        Self {
            memory: self.memory / 2,
            descriptors: self.descriptors / 4 * 3,
            threads: self.threads / 2,
        }
    }

    /// The first resource of which this is more than there is.
    const fn excess(self, most: Self) -> Option<Refusal> {
        if self.memory > most.memory {
            Some(Refusal::Memory)
        } else if self.descriptors > most.descriptors {
            Some(Refusal::Descriptors)
        } else if self.threads > most.threads {
            Some(Refusal::Threads)
        } else {
            None
        }
    }
}

/// How a test counts for the limits on concurrent tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TestClass {
    /// The test runs in one of the places for concurrent tests, or waits for one.
    Regular,
    /// The test is a probe of the round-trip time, which runs beside these.
    Probe,
}

impl TestClass {
    /// The class of a test.
    pub(crate) fn for_plan(plan: &TestPlan) -> Self {
        let is_probe = plan.exchange.is_some_and(|exchange| exchange.is_probe());
        if is_probe && plan.streams == 1 { Self::Probe } else { Self::Regular }
    }
}

/// Position of a waiting test in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueuePlace {
    /// Tests that come before it, including those that run.
    pub(crate) ahead: u32,
    /// Tests before it that run now.
    pub(crate) running: u32,
}

/// The tests that run and that wait; every test has a number of its own.
#[derive(Debug)]
pub(crate) struct Admission {
    order: Order,
    /// All that there is.
    most: Cost,
    running: HashSet<u64>,
    waiting: VecDeque<(u64, ClientPrefix)>,
    /// Probes that run beside them.
    beside: HashSet<u64>,
    of_client: HashMap<ClientPrefix, Share>,
    taken: Cost,
}

/// What one client has of the server.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    tests: usize,
    probes: usize,
    taken: Cost,
}

impl Admission {
    pub(crate) fn new(order: Order, most: Cost) -> Self {
        Self {
            order,
            most,
            running: HashSet::new(),
            waiting: VecDeque::new(),
            beside: HashSet::new(),
            of_client: HashMap::new(),
            taken: Cost::default(),
        }
    }

    /// Why a test of `client` cannot be taken now, whatever it needs.
    pub(crate) fn objection(&self, client: ClientPrefix) -> Option<Refusal> {
        let order = &self.order;
        if self.running.len() + self.waiting.len() >= order.running + order.waiting {
            return Some(Refusal::Busy);
        }
        let would_wait = self.running.len() >= order.running;
        let waits = self.waiting.iter().filter(|(_, other)| *other == client).count();
        let takes_the_queue = would_wait && waits >= (order.waiting / SHARES).max(1);
        let tests = self.of_client.get(&client).map_or(0, |share| share.tests);
        (takes_the_queue || tests >= order.per_address).then_some(Refusal::Address)
    }

    /// Why a probe of a client that has so much cannot be taken. It never waits: the test that
    /// it goes with would wait for it.
    fn objection_to_probe(&self, own: Share) -> Option<Refusal> {
        let each = self.order.per_address.clamp(1, MOST_PROBES_OF_ONE);
        if self.beside.len() >= MOST_PROBES {
            return Some(Refusal::Busy);
        }
        (own.probes >= each).then_some(Refusal::Address)
    }

    /// Takes a test in, to run or to wait. No client gets more than its part.
    pub(crate) fn enter(
        &mut self,
        number: u64,
        client: ClientPrefix,
        cost: Cost,
        class: TestClass,
    ) -> Result<(), Refusal> {
        let own = self.of_client.get(&client).copied().unwrap_or_default();
        let (taken, own_taken) = (self.taken.plus(cost), own.taken.plus(cost));
        let too_much =
            taken.excess(self.most).or_else(|| own_taken.excess(self.most.of_one_client()));
        let objection = match class {
            TestClass::Regular => self.objection(client),
            TestClass::Probe => self.objection_to_probe(own),
        };
        if let Some(why) = objection.or(too_much) {
            return Err(why);
        }
        self.taken = taken;
        if class == TestClass::Probe {
            self.of_client
                .insert(client, Share { probes: own.probes + 1, taken: own_taken, ..own });
            self.beside.insert(number);
            return Ok(());
        }
        self.of_client.insert(client, Share { tests: own.tests + 1, taken: own_taken, ..own });
        self.waiting.push_back((number, client));
        self.promote();
        Ok(())
    }

    /// What one client may have, all its tests together.
    pub(crate) const fn part(&self) -> Cost {
        self.most.of_one_client()
    }

    /// A test has ended, or waits no more.
    pub(crate) fn leave(&mut self, number: u64, client: ClientPrefix, cost: Cost) {
        let was_beside = self.beside.remove(&number);
        if !self.running.remove(&number) {
            self.waiting.retain(|(other, _)| *other != number);
        }
        self.taken = self.taken.minus(cost);
        if let Some(own) = self.of_client.get_mut(&client) {
            let count = if was_beside { &mut own.probes } else { &mut own.tests };
            *count = count.saturating_sub(1);
            own.taken = own.taken.minus(cost);
            if own.tests == 0 && own.probes == 0 {
                self.of_client.remove(&client);
            }
        }
        self.promote();
    }

    fn promote(&mut self) {
        while self.running.len() < self.order.running {
            let Some((next, _)) = self.waiting.pop_front() else { return };
            self.running.insert(next);
        }
    }

    /// Where a test stands that waits; none: it waits no more.
    pub(crate) fn place(&self, number: u64) -> Option<QueuePlace> {
        let before = self.waiting.iter().position(|(other, _)| *other == number)?;
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let running = self.running.len();
        Some(QueuePlace { ahead: count(before + running), running: count(running) })
    }

    /// The numbers of those that wait.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = u64> + '_ {
        self.waiting.iter().map(|(number, _)| *number)
    }
}

/// Probes that run at one time, and those of one client among them.
const MOST_PROBES: usize = 64;
const MOST_PROBES_OF_ONE: usize = 8;
/// One client takes no more of the queue than one of so many parts.
const SHARES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: Order = Order { running: 1, waiting: 2, per_address: 2, starts: 1, memory: 0 };
    const MOST: Cost = Cost { memory: 100, descriptors: 100, threads: 100 };
    const COST: Cost = Cost { memory: 10, descriptors: 1, threads: 1 };

    fn client(last: u8) -> ClientPrefix {
        ClientPrefix::containing(std::net::Ipv4Addr::new(10, 0, 0, last).into())
    }

    #[test]
    fn they_run_in_the_order_in_which_they_came() {
        let mut admission = Admission::new(ORDER, MOST);
        for number in [1, 2, 3] {
            let client = client(u8::try_from(number).expect("small"));
            admission.enter(number, client, COST, TestClass::Regular).expect("taken");
        }
        assert_eq!(admission.enter(4, client(4), COST, TestClass::Regular), Err(Refusal::Busy));
        assert_eq!(admission.place(1), None);
        assert_eq!(admission.place(3), Some(QueuePlace { ahead: 2, running: 1 }));
        admission.leave(1, client(1), COST);
        assert_eq!(admission.place(2), None);
        assert_eq!(admission.place(3), Some(QueuePlace { ahead: 1, running: 1 }));
        admission.leave(3, client(3), COST);
        admission.enter(5, client(5), COST, TestClass::Regular).expect("there is room again");
        admission.leave(2, client(2), COST);
        assert_eq!(admission.place(5), None);
    }

    #[test]
    fn one_client_takes_neither_all_places_nor_the_whole_queue() {
        let mut admission = Admission::new(Order { running: 3, ..ORDER }, MOST);
        admission.enter(1, client(1), COST, TestClass::Regular).expect("taken");
        admission.enter(2, client(1), COST, TestClass::Regular).expect("taken");
        assert_eq!(admission.enter(3, client(1), COST, TestClass::Regular), Err(Refusal::Address));
        admission.enter(4, client(2), COST, TestClass::Regular).expect("taken");
        admission.enter(5, client(3), COST, TestClass::Regular).expect("waits");
        assert_eq!(admission.enter(6, client(3), COST, TestClass::Regular), Err(Refusal::Address));
        admission.enter(7, client(4), COST, TestClass::Regular).expect("waits");
    }

    #[test]
    fn a_probe_takes_no_place_but_what_it_needs() {
        let mut admission = Admission::new(ORDER, MOST);
        admission.enter(1, client(1), COST, TestClass::Probe).expect("taken");
        admission.enter(2, client(1), COST, TestClass::Regular).expect("taken");
        assert_eq!(admission.place(2), None, "it runs at once");
        admission.enter(3, client(2), COST, TestClass::Probe).expect("taken");
        assert_eq!(admission.place(3), None, "a probe never waits");
        admission.enter(4, client(2), COST, TestClass::Probe).expect("taken");
        let third = admission.enter(5, client(2), COST, TestClass::Probe);
        assert_eq!(third, Err(Refusal::Address), "each client has but a few");
        admission.leave(4, client(2), COST);
        admission.leave(2, client(1), COST);
        assert_eq!(admission.taken.memory, 20);
        admission.leave(1, client(1), COST);
        admission.leave(3, client(2), COST);
        assert_eq!(admission.taken, Cost::default());
        assert!(admission.of_client.is_empty());
    }

    #[test]
    fn all_together_have_their_limits_and_each_has_a_part_of_them() {
        let order = Order { running: 9, per_address: 9, ..ORDER };
        let mut admission = Admission::new(order, MOST);
        admission.enter(1, client(1), COST, TestClass::Regular).expect("taken");
        let large = Cost { memory: 45, ..COST };
        assert_eq!(admission.enter(2, client(1), large, TestClass::Regular), Err(Refusal::Memory));
        admission.enter(2, client(2), large, TestClass::Regular).expect("taken");
        admission.enter(3, client(3), large, TestClass::Regular).expect("taken");
        assert_eq!(admission.enter(4, client(4), COST, TestClass::Regular), Err(Refusal::Memory));
        admission.leave(3, client(3), large);
        let wide = Cost { descriptors: 76, ..COST };
        assert_eq!(
            admission.enter(4, client(4), wide, TestClass::Regular),
            Err(Refusal::Descriptors)
        );
        assert_eq!(admission.part(), Cost { memory: 50, descriptors: 75, threads: 50 });
        let busy = Cost { threads: 51, ..COST };
        assert_eq!(admission.enter(4, client(4), busy, TestClass::Regular), Err(Refusal::Threads));
        admission.leave(1, client(1), COST);
        admission.leave(2, client(2), large);
        assert_eq!(admission.taken, Cost::default());
        assert!(admission.of_client.is_empty());
    }
}
