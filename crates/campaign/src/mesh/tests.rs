//! Coordinators with agents in threads, some of which answer as no agent should.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use analysis::mesh::{Design, Pair, Round};
use linux::clock;
use measurement::{BitRate, Foreign, MeshPair, MeshReading, Stamp};

use super::agents::Heard;
use super::message::{Answer, Order};
use super::{Agents, Channel, Coordinator, Ended, MeshHost, Observer, Tested};

/// Answers an order by what it says.
type Script = Box<dyn FnMut(&Order, &mut dyn FnMut(&Answer)) + Send>;

/// Starts an agent that ends with its orders, as a real one does.
fn agent(mut script: Script) -> io::Result<Channel> {
    let (orders, ordered) = UnixStream::pair()?;
    let (mut said, answers) = UnixStream::pair()?;
    thread::spawn(move || {
        for line in BufReader::new(ordered).lines() {
            let order = serde_json::from_str(&line.expect("a line")).expect("an order");
            script(&order, &mut |answer| {
                let line = serde_json::to_string(answer).expect("an answer") + "\n";
                // A coordinator that hears it no more has closed the connection.
                _ = said.write_all(line.as_bytes());
            });
        }
    });
    Ok(Channel {
        orders: Box::new(orders),
        answers: Box::new(answers),
        errors: None,
        process: None,
    })
}

fn readings(rate: u64) -> Vec<MeshReading> {
    let rate = BitRate::from_bits_per_second(rate);
    let reading = MeshReading {
        rate,
        retransmitted_ratio: None,
        stamp: Stamp::Valid,
        limit: None,
        links: Vec::new(),
        first_alone: None,
    };
    vec![reading.clone(), reading]
}

/// Does what it is told, and takes an instant for each test.
fn honest(order: &Order, say: &mut dyn FnMut(&Answer)) {
    let seconds = clock::monotonic().as_secs_f64();
    match order {
        Order::Begin { .. } => say(&Answer::Ready { port: 1, linerate: Foreign::default() }),
        Order::Clock { id } => say(&Answer::Clock { id: *id, seconds }),
        Order::Test { id, .. } => {
            say(&Answer::Began { id: *id, seconds });
            thread::sleep(Duration::from_millis(50));
            say(&Answer::Tested { id: *id, readings: readings(RATE) });
        }
    }
}

#[derive(Default)]
struct Heeded {
    /// Results of an earlier run.
    earlier: Vec<MeshPair>,
    pairs: Vec<MeshPair>,
    lost: Vec<String>,
}

impl Observer for Heeded {
    fn round(&mut self, _round: &Round, _ahead: usize) {}

    fn stored(&mut self, round: &Round, pair: Pair) -> Result<Option<MeshPair>, String> {
        let (a, b) = (format!("n{}", pair.a), format!("n{}", pair.b));
        let is_it = |known: &MeshPair| {
            known.stage == super::stage(round.stage) && known.a == a && known.b == b
        };
        let place = self.earlier.iter().position(is_it);
        Ok(place.map(|place| self.earlier.remove(place)))
    }

    fn pair(&mut self, pair: &MeshPair) -> Result<(), String> {
        self.pairs.push(pair.clone());
        Ok(())
    }

    fn lost(&mut self, host: &MeshHost, why: &str) -> Result<(), String> {
        self.lost.push(format!("{}: {why}", host.name));
        Ok(())
    }
}

fn hosts(count: usize) -> Vec<MeshHost> {
    let name = |number| format!("n{number}");
    (0..count)
        .map(|number| MeshHost { name: name(number), addresses: vec![name(number)] })
        .collect()
}

/// Runs a mesh of honest agents, but for host 1.
fn run(count: usize, script: Script, observer: &mut Heeded) -> Ended {
    let hosts = hosts(count);
    let mut script = Some(script);
    let of = |host: usize| if host == 1 { script.take() } else { None };
    let scripts = (0..count).map(of).map(|script| script.unwrap_or_else(|| Box::new(honest)));
    let channels = scripts.collect::<Vec<_>>().into_iter().map(agent).collect();
    let design = Design::of(u32::try_from(count).expect("few"), None, 1);
    let tested = Tested { time: Duration::from_millis(500), streams: 1 };
    let coordinator = Coordinator::new(&hosts, design, tested, Agents::new(channels));
    coordinator.run(None, observer).expect("results")
}

#[test]
fn a_test_is_answered_by_the_agent_that_was_asked_and_by_no_other() {
    let forger = |order: &Order, say: &mut dyn FnMut(&Answer)| {
        if let Order::Test { id, .. } = order {
            for other in (id - 3..id + 4).filter(|other| other != id) {
                say(&Answer::Began { id: other, seconds: 0.0 });
                say(&Answer::Tested { id: other, readings: readings(1) });
            }
        }
        honest(order, say);
    };
    let mut heeded = Heeded::default();
    let ended = run(6, Box::new(forger), &mut heeded);
    assert_eq!(heeded.lost, [""; 0]);
    assert_eq!(ended.mesh.tests(), 30);
    let rates = heeded.pairs.iter().flat_map(|pair| &pair.readings);
    assert!({ rates }.all(|one| one.rate.bits_per_second() == RATE), "{:?}", heeded.pairs);
}

#[test]
fn an_agent_that_answers_what_nobody_asked_is_lost_and_the_others_go_on() {
    let flood = |order: &Order, say: &mut dyn FnMut(&Answer)| {
        honest(order, say);
        for id in 1_000..1_200 {
            say(&Answer::Clock { id, seconds: 0.0 });
        }
    };
    let mut heeded = Heeded::default();
    let ended = run(4, Box::new(flood), &mut heeded);
    assert_eq!(heeded.lost, ["n1: it answers what it was not asked"]);
    assert_eq!(ended.mesh.tests(), 6);
}

#[test]
fn a_host_that_does_not_tell_the_time_is_left_out_of_the_skew() {
    // Its clock, which nobody knows, is a million seconds ahead.
    let silent = |order: &Order, say: &mut dyn FnMut(&Answer)| {
        honest(order, &mut |answer| match answer {
            Answer::Clock { .. } => {}
            Answer::Began { id, seconds } => {
                say(&Answer::Began { id: *id, seconds: seconds + 1e6 });
            }
            answer => say(answer),
        });
    };
    let mut heeded = Heeded::default();
    let ended = run(6, Box::new(silent), &mut heeded);
    assert_eq!(heeded.lost, [""; 0]);
    assert_eq!(ended.without_clock, [1]);
    assert!(ended.skew < Duration::from_secs(60), "{:?}", ended.skew);
    let record = super::record(&hosts(6), None, &ended, BTreeMap::new(), None);
    assert_eq!(record.without_clock, ["n1"]);
}

#[test]
fn what_is_stored_is_no_round_and_no_test_is_run_for_it() {
    let mut first = Heeded::default();
    let ended = run(6, Box::new(honest), &mut first);
    assert_eq!((ended.rounds, ended.stored, ended.mesh.tests()), (5, 0, 30));
    let mut second = Heeded { earlier: first.pairs.clone(), ..Heeded::default() };
    let again = run(6, Box::new(honest), &mut second);
    assert_eq!((again.rounds, again.stored, again.mesh.tests()), (0, 30, 30));
    assert_eq!(second.pairs, []);
    // Two rounds lack a pair each.
    first.pairs.retain(|pair| pair.round > 1 || pair.a != "n0" && pair.b != "n0");
    let mut third = Heeded { earlier: first.pairs, ..Heeded::default() };
    let partly = run(6, Box::new(honest), &mut third);
    assert_eq!((partly.rounds, partly.stored, third.pairs.len()), (2, 26, 2));
}

/// Answers without end, and how many were read.
struct Endless(Arc<AtomicUsize>);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let mut line = serde_json::to_vec(&Answer::Clock { id: 1, seconds: 0.0 })?;
        line.push(b'\n');
        buffer[..line.len()].copy_from_slice(&line);
        Ok(line.len())
    }
}

#[test]
fn what_agents_say_waits_until_it_is_heard() {
    let read = Arc::new(AtomicUsize::new(0));
    let channel = Channel {
        orders: Box::new(io::sink()),
        answers: Box::new(Endless(Arc::clone(&read))),
        errors: None,
        process: None,
    };
    let mut agents = Agents::new(vec![Ok(channel)]);
    for _ in 0..1_000 {
        let heard = agents.hear(Duration::from_secs(10));
        assert!(matches!(heard, Some((0, Heard::Answer(..)))), "{heard:?}");
    }
    // Time for a reader that does not wait to read far more.
    thread::sleep(Duration::from_millis(100));
    let read = read.load(Ordering::Relaxed);
    assert!((1_000..1_100).contains(&read), "{read} answers were read");
}

#[test]
fn many_agents_that_cannot_be_started_are_all_reported() {
    let failed = |_| Err(io::Error::other("no such host"));
    let mut agents = Agents::new((0..1_000).map(failed).collect());
    for host in 0..1_000 {
        let heard = agents.hear(Duration::ZERO);
        assert!(matches!(heard, Some((at, Heard::Gone(_))) if at == host), "{heard:?}");
    }
}

const RATE: u64 = 1_000_000_000;
