//! Proof: clients that take much of a server and use nothing of it do not shut it for others.
//! Its limits are the defaults.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use super::Siege;
use super::client::{ALL, SECOND};
use super::fixture::Fixture;
use super::limits::{Limit, Unit};
use super::peers::{Counters, Crowd};
use super::script::{Dialect, Script, Session, Stage, Step};
use super::server::{Capacity, LOCAL};
use super::topology::Star;
use crate::Verdict;
use crate::ask::{Direction, Transport};

pub(super) fn run(siege: &Siege) -> anyhow::Result<Verdict> {
    let mut missed = false;
    for scene in &SCENES {
        missed |= scene.run(siege)? == Verdict::Failed;
    }
    Ok(if missed { Verdict::Failed } else { Verdict::Passed })
}

/// A way in which peers occupy a server without moving payload.
struct Scene {
    name: &'static str,
    capacity: Capacity,
    /// How many tests are asked for, and from how many addresses.
    tests: usize,
    addresses: usize,
    steps: fn(usize) -> Vec<Step>,
}

const SCENES: [Scene; 3] = [
    Scene {
        name: "shut: streams announced by two addresses",
        capacity: Capacity::Default,
        tests: 8,
        addresses: 2,
        steps: announced,
    },
    Scene {
        name: "shut: all places held with a byte in five seconds",
        capacity: Capacity::Default,
        tests: 258,
        addresses: 3,
        steps: trickle,
    },
    Scene {
        name: "shut: the queue held with a byte in five seconds",
        capacity: Capacity::Queue,
        tests: 1,
        addresses: 1,
        steps: trickle,
    },
];

/// 10,000 streams, of which none is opened.
fn announced(_: usize) -> Vec<Step> {
    let session = Session::new(Transport::Tcp, Direction::Send).with_streams(10_000);
    let mut steps = session.of(Dialect::Own).up_to(Stage::Asked);
    steps.push(Step::Hold);
    steps
}

/// A test in every other dialect, half of them in which the server would send.
fn trickle(slot: usize) -> Vec<Step> {
    let dialect = if slot.is_multiple_of(2) { Dialect::Iperf3 } else { Dialect::Own };
    let mut steps = Session::new(Transport::Tcp, Direction::Send).of(dialect).up_to(Stage::Running);
    steps.push(Step::Trickle(TRICKLE));
    steps
}

impl Scene {
    fn run(&self, siege: &Siege) -> anyhow::Result<Verdict> {
        let star = Star::new()?;
        let mut fixture = Fixture::start(siege, self.name, &star.server, self.capacity, &ALL[..3])?;
        let counters = [Counters::default()];
        let crowd = Crowd {
            server: LOCAL,
            count: self.tests,
            spacing: SPACING,
            again: None,
            counters: &counters,
        };
        let script = |slot: usize| Script {
            from: Some(address(slot * self.addresses / self.tests)),
            ..Script::new((self.steps)(slot))
        };
        let starts = if siege.short { 20 } else { 100 };
        crowd.run_during(&star.server, script, || {
            let most = self.tests.min(PLACES) as u64;
            self.await_held(&mut fixture, &counters[0], most)?;
            fixture.try_starts(starts)?;
            fixture.try_client(&SECOND, "during it")
        })?;
        fixture.close(RETURN)
    }

    /// Waits until all are held, and longer than a test counts as busy that does nothing.
    fn await_held(
        &self,
        fixture: &mut Fixture,
        counters: &Counters,
        most: u64,
    ) -> anyhow::Result<()> {
        let deadline = Instant::now() + GATHERING;
        while counters.settled.load(Relaxed) < most && Instant::now() < deadline {
            thread::sleep(POLL_INTERVAL);
        }
        let held = counters.settled.load(Relaxed);
        fixture.limits.count("tests held", held, Limit::AtLeast(most as f64));
        thread::sleep(IDLE);
        let grown = fixture.server.footprint()?.mebibytes() - fixture.before.mebibytes();
        if self.tests > LEAST_COMPARED {
            let each = grown * 1024.0 / most as f64;
            let most = Limit::AtMost(MOST_KIBIBYTES);
            fixture.limits.add("KiB of memory for each", each, Unit::Count, most);
        }
        fixture.limits.note(&format!("during: {}", fixture.server.footprint()?.describe()));
        Ok(())
    }
}

/// 127.0.1.1 and on.
fn address(index: usize) -> IpAddr {
    Ipv4Addr::new(127, 0, 1, u8::try_from(index + 1).unwrap_or(u8::MAX)).into()
}

/// Places of a server by default.
const PLACES: usize = 256;
/// With fewer tests the memory of one is lost in that of the server.
const LEAST_COMPARED: usize = 100;
const MOST_KIBIBYTES: f64 = 256.0;
const TRICKLE: Duration = Duration::from_secs(5);
const SPACING: Duration = Duration::from_millis(5);
const GATHERING: Duration = Duration::from_secs(10);
const IDLE: Duration = Duration::from_secs(3);
const RETURN: Duration = Duration::from_secs(15);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
