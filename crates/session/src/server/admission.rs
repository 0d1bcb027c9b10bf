//! How many tests run and how many wait.

use std::collections::{HashMap, HashSet, VecDeque};

use protocol::iperf3::Place;

use super::address::Household;
use super::tally::Refusal;

/// How many clients are served, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Tests that run at one time.
    pub running: usize,
    /// Tests that wait for their turn beside them.
    pub waiting: usize,
    /// Tests of one address that run or wait (IPv6: of one /64).
    pub per_address: usize,
    /// Tests that one address may begin in a second.
    pub starts: u32,
    /// Bytes of memory for the payload of all tests.
    pub memory: u64,
}

impl Order {
    /// One test at a time, and nobody waits, as with iperf3.
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
pub(super) struct Cost {
    pub(super) memory: u64,
    pub(super) descriptors: u64,
}

/// Who runs and who waits; every test has a number of its own.
#[derive(Debug)]
pub(super) struct Admission {
    order: Order,
    /// Descriptors for all tests.
    descriptors: u64,
    running: HashSet<u64>,
    waiting: VecDeque<u64>,
    of_client: HashMap<Household, usize>,
    taken: Cost,
}

impl Admission {
    pub(super) fn new(order: Order, descriptors: u64) -> Self {
        Self {
            order,
            descriptors,
            running: HashSet::new(),
            waiting: VecDeque::new(),
            of_client: HashMap::new(),
            taken: Cost::default(),
        }
    }

    /// Why a test of `client` cannot be taken now, whatever it needs.
    pub(super) fn objection(&self, client: Household) -> Option<Refusal> {
        if self.running.len() + self.waiting.len() >= self.order.running + self.order.waiting {
            Some(Refusal::Busy)
        } else if self.of_client.get(&client).is_some_and(|count| *count >= self.order.per_address)
        {
            Some(Refusal::Address)
        } else {
            None
        }
    }

    /// Takes a test in, to run or to wait.
    pub(super) fn enter(
        &mut self,
        number: u64,
        client: Household,
        cost: Cost,
    ) -> Result<(), Refusal> {
        if let Some(why) = self.objection(client) {
            return Err(why);
        }
        let taken = Cost {
            memory: self.taken.memory.saturating_add(cost.memory),
            descriptors: self.taken.descriptors.saturating_add(cost.descriptors),
        };
        if taken.memory > self.order.memory {
            return Err(Refusal::Memory);
        } else if taken.descriptors > self.descriptors {
            return Err(Refusal::Descriptors);
        }
        self.taken = taken;
        *self.of_client.entry(client).or_default() += 1;
        self.waiting.push_back(number);
        self.promote();
        Ok(())
    }

    /// A test has ended, or waits no more.
    pub(super) fn leave(&mut self, number: u64, client: Household, cost: Cost) {
        if !self.running.remove(&number) {
            self.waiting.retain(|other| *other != number);
        }
        self.taken.memory = self.taken.memory.saturating_sub(cost.memory);
        self.taken.descriptors = self.taken.descriptors.saturating_sub(cost.descriptors);
        if let Some(count) = self.of_client.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                self.of_client.remove(&client);
            }
        }
        self.promote();
    }

    fn promote(&mut self) {
        while self.running.len() < self.order.running {
            let Some(next) = self.waiting.pop_front() else { return };
            self.running.insert(next);
        }
    }

    /// Where a test stands that waits; none: it waits no more.
    pub(super) fn place(&self, number: u64) -> Option<Place> {
        let before = self.waiting.iter().position(|other| *other == number)?;
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let running = self.running.len();
        Some(Place { ahead: count(before + running), running: count(running) })
    }

    /// The numbers of those that wait.
    pub(super) fn waiting(&self) -> impl Iterator<Item = u64> + '_ {
        self.waiting.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: Order = Order { running: 1, waiting: 2, per_address: 2, starts: 1, memory: 100 };
    const COST: Cost = Cost { memory: 10, descriptors: 1 };

    fn client(last: u8) -> Household {
        Household::of(std::net::Ipv4Addr::new(10, 0, 0, last).into())
    }

    #[test]
    fn they_run_in_the_order_in_which_they_came() {
        let mut admission = Admission::new(ORDER, 100);
        for number in [1, 2, 3] {
            let client = client(u8::try_from(number).expect("small"));
            admission.enter(number, client, COST).expect("taken");
        }
        assert_eq!(admission.enter(4, client(4), COST), Err(Refusal::Busy));
        assert_eq!(admission.place(1), None);
        assert_eq!(admission.place(3), Some(Place { ahead: 2, running: 1 }));
        admission.leave(1, client(1), COST);
        assert_eq!(admission.place(2), None);
        assert_eq!(admission.place(3), Some(Place { ahead: 1, running: 1 }));
        admission.leave(3, client(3), COST);
        admission.enter(5, client(5), COST).expect("there is room again");
        admission.leave(2, client(2), COST);
        assert_eq!(admission.place(5), None);
    }

    #[test]
    fn one_address_and_all_memory_have_their_limits() {
        let mut admission = Admission::new(ORDER, 100);
        admission.enter(1, client(1), COST).expect("taken");
        admission.enter(2, client(1), COST).expect("taken");
        assert_eq!(admission.enter(3, client(1), COST), Err(Refusal::Address));
        let large = Cost { memory: 90, descriptors: 1 };
        assert_eq!(admission.enter(3, client(2), large), Err(Refusal::Memory));
        let wide = Cost { memory: 1, descriptors: 100 };
        assert_eq!(admission.enter(3, client(2), wide), Err(Refusal::Descriptors));
        admission.leave(2, client(1), COST);
        admission.enter(3, client(2), large).expect("the memory is free again");
        admission.leave(1, client(1), COST);
        admission.leave(3, client(2), large);
        assert_eq!(admission.taken, Cost::default());
        assert!(admission.of_client.is_empty());
    }
}
