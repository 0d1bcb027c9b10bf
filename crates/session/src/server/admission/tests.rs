//! Who gets a place, who waits, and who makes room.

use std::net::Ipv4Addr;
use std::time::Duration;

use measurement::BitRate;

use super::*;

const YIELDING: Yielding = Yielding {
    below: BitRate::from_bits_per_second(10_000),
    after: Some(Duration::from_secs(600)),
};
const ORDER: Order = Order {
    running: 1,
    waiting: 2,
    per_address: 2,
    starts: 1,
    memory: 0,
    yielding: Some(YIELDING),
};
const MOST: Cost = Cost { memory: 100, descriptors: 100, threads: 100 };
const COST: Cost = Cost { memory: 1, descriptors: 1, threads: 1 };

/// A server's admission, the time, and the stays of its tests.
struct Scene {
    admission: Admission,
    now: Timestamp,
}

impl Scene {
    fn new(order: Order) -> Self {
        Self { admission: Admission::new(order, MOST), now: Timestamp::from_nanos(1) }
    }

    fn enter(&mut self, number: u64, client: ClientOrigin) -> Result<Vec<Displaced>, Refusal> {
        self.enter_with(number, client, base(COST), TestClass::Regular).map(|(_, gone)| gone)
    }

    fn enter_with(
        &mut self,
        number: u64,
        client: ClientOrigin,
        need: Need,
        class: TestClass,
    ) -> Result<(Arc<Stay>, Vec<Displaced>), Refusal> {
        self.admission.enter(&Newcomer { number, client, class, need }, self.now)
    }

    /// Enters a test that moves what it must.
    fn enter_busy(&mut self, number: u64, client: ClientOrigin) {
        let entered = self.enter_with(number, client, base(COST), TestClass::Regular);
        let (stay, displaced) = entered.expect("taken");
        assert_eq!(displaced, []);
        stay.prove();
        stay.be_busy_until(self.now.after(Duration::from_secs(3600)));
    }

    fn leave(&mut self, number: u64) {
        self.admission.leave(number, self.now);
    }

    fn wait(&mut self, span: Duration) {
        self.now = self.now.after(span);
    }
}

fn base(base: Cost) -> Need {
    Need { base, ..Need::default() }
}

/// One of a network of its own.
fn client(last: u8) -> ClientOrigin {
    ClientOrigin::of(Ipv4Addr::new(10, 0, last, 1).into())
}

const fn places(running: usize) -> Order {
    Order { running, waiting: 0, per_address: 100, ..ORDER }
}

#[test]
fn they_run_in_the_order_in_which_they_came() {
    let mut scene = Scene::new(ORDER);
    for number in [1, 2, 3] {
        scene.enter_busy(number, client(u8::try_from(number).expect("small")));
    }
    assert_eq!(scene.enter(4, client(4)), Err(Refusal::Busy));
    assert_eq!(scene.admission.place(1), None);
    assert_eq!(scene.admission.place(3), Some(QueuePlace { ahead: 2, running: 1 }));
    scene.leave(1);
    assert_eq!(scene.admission.place(2), None);
    assert_eq!(scene.admission.place(3), Some(QueuePlace { ahead: 1, running: 1 }));
    scene.leave(3);
    scene.enter(5, client(5)).expect("there is room again");
    scene.leave(2);
    assert_eq!(scene.admission.place(5), None);
}

#[test]
fn one_client_takes_neither_all_places_nor_the_whole_queue() {
    let mut scene = Scene::new(Order { running: 3, ..ORDER });
    for (number, last) in [(1, 1), (2, 1)] {
        scene.enter_busy(number, client(last));
    }
    assert_eq!(scene.enter(3, client(1)), Err(Refusal::Address));
    scene.enter_busy(4, client(2));
    scene.enter(5, client(3)).expect("waits");
    assert_eq!(scene.enter(6, client(3)), Err(Refusal::Address));
    scene.enter(7, client(4)).expect("waits");
}

#[test]
fn a_probe_takes_no_place_but_what_it_needs() {
    let mut scene = Scene::new(ORDER);
    let mut probe = |number, last| {
        scene.enter_with(number, client(last), base(COST), TestClass::Probe).map(|_| ())
    };
    probe(1, 1).expect("taken");
    for number in [3, 4] {
        probe(number, 2).expect("taken");
    }
    assert_eq!(probe(5, 2), Err(Refusal::Address), "each client has but a few");
    scene.enter_busy(2, client(1));
    assert_eq!(scene.admission.place(2), None, "it runs at once");
    assert_eq!(scene.admission.place(3), None, "a probe never waits");
    for number in [4, 2, 1, 3] {
        scene.leave(number);
    }
    assert!(scene.admission.shares.is_empty());
}

#[test]
fn a_test_that_needs_more_than_one_client_may_have_is_refused_at_once() {
    let mut scene = Scene::new(places(9));
    for (cost, why) in [
        (Cost { memory: 51, ..COST }, Refusal::Memory),
        (Cost { descriptors: 76, ..COST }, Refusal::Descriptors),
        (Cost { threads: 51, ..COST }, Refusal::Threads),
    ] {
        let refused = scene.enter_with(1, client(1), base(cost), TestClass::Regular);
        assert_eq!(refused.map(|_| ()), Err(why));
    }
    assert_eq!(scene.admission.part(), Cost { memory: 50, descriptors: 75, threads: 50 });
}

#[test]
fn streams_that_are_announced_take_nothing_before_they_come() {
    let each = Cost { descriptors: 1, ..Cost::default() };
    let many = Need { base: COST, each, streams: 70, workers: Cost::default() };
    let mut scene = Scene::new(places(9));
    for number in 1..=3 {
        let last = u8::try_from(number).expect("small");
        let entered = scene.enter_with(number, client(last), many, TestClass::Regular);
        assert_eq!(entered.expect("taken").1, []);
    }
    let mut came = 0;
    while scene.admission.grow(1, each, scene.now).is_ok() {
        came += 1;
    }
    assert!((70..=75).contains(&came), "{came}");
    scene.enter(4, client(4)).expect("there is room for a test of one stream");
    assert_eq!(scene.admission.grow(4, each, scene.now), Ok(vec![]));
    assert_eq!(scene.admission.grow(77, each, scene.now), Ok(vec![]), "it has gone already");
    for number in 1..=4 {
        scene.leave(number);
    }
    assert!(scene.admission.shares.is_empty());
}

#[test]
fn what_an_idle_test_holds_goes_to_who_needs_it() {
    let each = Cost { descriptors: 1, ..Cost::default() };
    let mut scene = Scene::new(places(9));
    scene.enter_with(1, client(1), base(each.times(70)), TestClass::Regular).expect("taken");
    let many = base(each.times(40));
    let refused = scene.enter_with(2, client(2), many, TestClass::Regular);
    assert_eq!(refused.map(|_| ()), Err(Refusal::Descriptors), "the other has just come");
    scene.wait(Duration::from_secs(2));
    let (_, displaced) =
        scene.enter_with(2, client(2), many, TestClass::Regular).expect("there is room");
    assert_eq!(displaced, [(1, Displacement::Idle)]);
}

#[test]
fn an_idle_test_makes_room_and_a_busy_one_does_not() {
    let mut scene = Scene::new(places(2));
    scene.enter_busy(1, client(1));
    assert_eq!(scene.enter(2, client(2)), Ok(vec![]));
    assert_eq!(scene.enter(3, client(3)), Err(Refusal::Busy), "it has just begun");
    assert_eq!(scene.admission.objection(client(3), scene.now), Some(Refusal::Busy));
    scene.wait(Duration::from_secs(2));
    assert_eq!(scene.admission.objection(client(3), scene.now), None);
    assert_eq!(scene.enter(3, client(3)), Ok(vec![(2, Displacement::Idle)]));
    scene.leave(2);
    scene.wait(Duration::from_secs(600));
    assert_eq!(scene.enter(4, client(4)), Ok(vec![(3, Displacement::Idle)]));
    assert_eq!(scene.enter(5, client(5)), Ok(vec![(1, Displacement::Overtime)]));
}

#[test]
fn an_idle_test_makes_room_for_those_in_the_queue() {
    let mut scene = Scene::new(ORDER);
    scene.enter(1, client(1)).expect("runs");
    scene.enter(2, client(2)).expect("waits");
    assert_eq!(scene.admission.relieve(scene.now), []);
    scene.wait(Duration::from_secs(2));
    assert_eq!(scene.admission.relieve(scene.now), [(1, Displacement::Idle)]);
    assert_eq!(scene.admission.place(2), None, "it runs");
    scene.wait(Duration::from_secs(2));
    assert_eq!(scene.admission.relieve(scene.now), [], "nobody waits");
    assert_eq!(scene.enter(3, client(3)), Ok(vec![(2, Displacement::Idle)]), "at once");
}

#[test]
fn clients_that_begin_anew_again_and_again_do_not_shut_the_server() {
    let mut scene = Scene::new(places(4));
    for number in 1..=4 {
        scene.enter(number, client(u8::from(number > 2))).expect("taken");
    }
    let share = Displacement::Share { tests: 2, all: 4 };
    let displaced = scene.enter(5, client(7)).expect("one of those makes room");
    assert_eq!(displaced.iter().map(|(_, why)| *why).collect::<Vec<_>>(), [share]);
    assert_eq!(scene.enter(6, client(7)), Err(Refusal::Busy), "it would have as many");
}

#[test]
fn who_has_a_quarter_of_many_places_leaves_some_to_who_has_few() {
    let mut scene = Scene::new(places(16));
    for number in 0..16 {
        scene.enter_busy(number, client(u8::try_from(number / 5).expect("small")));
    }
    for number in 16..=17 {
        let displaced = scene.enter(number, client(9)).expect("taken");
        assert!(matches!(displaced[..], [(_, Displacement::Share { tests: 5, all: 16 })]));
    }
    assert_eq!(scene.enter(18, client(9)), Err(Refusal::Busy), "it would have three");
}

#[test]
fn without_yielding_nobody_makes_room() {
    let mut scene = Scene::new(Order { yielding: None, ..places(1) });
    scene.enter(1, client(1)).expect("taken");
    scene.wait(Duration::from_secs(3600));
    assert_eq!(scene.enter(2, client(2)), Err(Refusal::Busy));
}

#[test]
fn who_waits_with_many_leaves_a_place_of_the_queue_to_who_has_none() {
    let mut scene = Scene::new(Order { waiting: 8, per_address: 9, ..ORDER });
    scene.enter_busy(1, client(1));
    for number in 2..=9 {
        scene.enter(number, client(u8::try_from(number / 2).expect("small"))).expect("waits");
    }
    let displaced = scene.enter(10, client(9)).expect("waits");
    assert!(matches!(displaced[..], [(_, Displacement::Share { tests: 3, all: 9 })]));
    assert_eq!(scene.admission.place(10).map(|place| place.ahead), Some(4), "after one of each");
}
