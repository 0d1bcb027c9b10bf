//! Proof: no order, length or content of what a peer sends brings the server down.
//!
//! Valid sessions are mutated by a seeded sequence and run against a live server.

use std::thread;
use std::time::Duration;

use super::Siege;
use super::client::{ALL, SECOND};
use super::fixture::Fixture;
use super::footprint::await_return;
use super::limits::{Limit, LimitTable, Unit};
use super::peers::{Counters, Crowd, sum};
use super::random::Random;
use super::script::{COOKIE_LENGTH, Claim, Script, Session, Step};
use super::server::{Capacity, LOCAL};
use super::topology::{Host, Star};
use crate::Verdict;
use crate::ask::{Direction, Transport};

pub(super) fn run(siege: &Siege) -> anyhow::Result<Verdict> {
    let (star, seed) = (Star::new()?, siege.seed());
    let mut fixture = Fixture::start(siege, "mutator", &star.server, Capacity::Ample, &ALL[..3])?;
    fixture.limits.note(&format!("--seed {seed}"));
    let mut random = Random::from_seed(seed);
    let time = siege.time(Duration::from_secs(60), Duration::from_secs(6)) / 2;
    // What the allocator keeps after the first half is its own; what grows after that
    // is lost.
    let first = send_mutants(&star.server, &mut random, time)?;
    let (_, between) = await_return(fixture.server.usage(), fixture.before, RETURN)?;
    let second = send_mutants(&star.server, &mut random, time)?;
    report(&mut fixture.limits, &[first, second]);
    if fixture.server.is_alive() {
        fixture.try_client(&SECOND, "right after it")?;
    }
    let grown = between.mebibytes() - fixture.before.mebibytes();
    let what = "resident memory after the first half, grown by";
    fixture.limits.add(what, grown, Unit::Mebibytes, Limit::None);
    fixture.before.resident = between.resident;
    fixture.close(RETURN)
}

/// Lets mutants loose for some time.
fn send_mutants(host: &Host, random: &mut Random, time: Duration) -> anyhow::Result<Counters> {
    let counters = Counters::default();
    let crowd = Crowd {
        server: LOCAL,
        count: PARALLEL,
        spacing: SPACING,
        again: Some(PAUSE),
        counters: std::slice::from_ref(&counters),
    };
    let wait = || {
        thread::sleep(time);
        Ok(())
    };
    crowd.run_during(host, |_| mutant(random), wait)?;
    Ok(counters)
}

fn report(limits: &mut LimitTable, counters: &[Counters]) {
    let sum = |count| sum(counters, count);
    limits.count("mutated sessions", sum(|counters| &counters.begun), Limit::AtLeast(1.0));
    limits.note(&format!(
        "{} were closed by the server, {} of them with a word; {} ended by themselves",
        sum(|counters| &counters.closed),
        sum(|counters| &counters.refused),
        sum(|counters| &counters.finished)
    ));
}

/// A session with one to four things wrong, and now and then none.
fn mutant(random: &mut Random) -> Script {
    let transport = *random.one_of(&[Transport::Tcp, Transport::Udp]);
    let directions = [Direction::Send, Direction::Reverse, Direction::Both];
    let session = Session {
        seconds: 1,
        ..Session::new(transport, *random.one_of(&directions))
            .with_streams(1 + random.below(4))
            .with_flow(Duration::from_millis(random.below(120) as u64))
    };
    let mut steps = session.whole();
    for _ in 0..random.below(5) {
        let mutation = *random.one_of(&MUTATIONS);
        mutation(&mut steps, random);
    }
    let longest = *random.one_of(&[600, 600, 600, 4000]);
    let patience = Duration::from_millis(100 + random.below(longest) as u64);
    Script { patience: Some(patience), ..Script::new(steps) }
}

type Mutation = fn(&mut Vec<Step>, &mut Random);

const MUTATIONS: [Mutation; 14] = [
    |steps, random| flip_bits(steps, random),
    |steps, random| flip_bits(steps, random),
    |steps, random| cut_bytes(steps, random),
    cut_steps,
    repeat_step,
    |steps, random| swap_steps(steps, random),
    leave_step_out,
    insert_bytes,
    insert_state,
    delay,
    hang_up,
    wrong_streams,
    more_streams,
    silence,
];

fn flip_bits(steps: &mut [Step], random: &mut Random) {
    let Some(bytes) = some_bytes(steps, random) else { return };
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        bytes[at] ^= 1 << random.below(8);
    }
}

fn cut_bytes(steps: &mut [Step], random: &mut Random) {
    if random.below(4) == 0 {
        steps[0] = Step::Cookie(random.below(COOKIE_LENGTH));
    } else if let Some(bytes) = some_bytes(steps, random) {
        bytes.truncate(random.below(bytes.len()));
    }
}

fn cut_steps(steps: &mut Vec<Step>, random: &mut Random) {
    steps.truncate(1 + random.below(steps.len()));
}

fn repeat_step(steps: &mut Vec<Step>, random: &mut Random) {
    let at = random.below(steps.len());
    for _ in 0..=random.below(4) {
        steps.insert(at, steps[at].clone());
    }
}

fn swap_steps(steps: &mut [Step], random: &mut Random) {
    let (a, b) = (random.below(steps.len()), random.below(steps.len()));
    steps.swap(a, b);
}

fn leave_step_out(steps: &mut Vec<Step>, random: &mut Random) {
    if steps.len() > 1 {
        steps.remove(random.below(steps.len()));
    }
}

fn insert_bytes(steps: &mut Vec<Step>, random: &mut Random) {
    let count = 1 + random.below(*random.clone().one_of(&[8, 100, 5000]));
    let bytes = random.bytes(count);
    insert(steps, random, Step::Send(bytes));
}

fn insert_state(steps: &mut Vec<Step>, random: &mut Random) {
    let state = random.below(20);
    insert(steps, random, Step::Send(vec![u8::try_from(state).unwrap_or_default()]));
}

fn delay(steps: &mut Vec<Step>, random: &mut Random) {
    let time = Duration::from_millis(random.below(800) as u64);
    insert(steps, random, Step::Pause(time));
}

fn hang_up(steps: &mut Vec<Step>, random: &mut Random) {
    let end = random.one_of(&[Step::Close, Step::Reset]).clone();
    insert(steps, random, end);
}

fn wrong_streams(steps: &mut Vec<Step>, random: &mut Random) {
    let transport = *random.one_of(&[Transport::Tcp, Transport::Udp]);
    insert(steps, random, Step::Stream(transport, Claim::Wrong));
}

/// Anywhere: also before there is a test, and when it runs.
fn more_streams(steps: &mut Vec<Step>, random: &mut Random) {
    for _ in 0..=random.below(8) {
        let transport = *random.one_of(&[Transport::Tcp, Transport::Udp]);
        insert(steps, random, Step::Stream(transport, Claim::Own));
    }
}

fn silence(steps: &mut Vec<Step>, random: &mut Random) {
    insert(steps, random, Step::Hold);
}

fn insert(steps: &mut Vec<Step>, random: &mut Random, step: Step) {
    let at = random.below(steps.len() + 1);
    steps.insert(at, step);
}

/// The bytes of some step that sends more than none.
fn some_bytes<'a>(steps: &'a mut [Step], random: &mut Random) -> Option<&'a mut Vec<u8>> {
    let mut sending: Vec<_> = steps
        .iter_mut()
        .filter_map(|step| match step {
            Step::Send(bytes) if !bytes.is_empty() => Some(bytes),
            _ => None,
        })
        .collect();
    let at = random.below(sending.len());
    (at < sending.len()).then(|| sending.swap_remove(at))
}

const PARALLEL: usize = 128;
const SPACING: Duration = Duration::from_millis(5);
const PAUSE: Duration = Duration::from_millis(1);
const RETURN: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_mutants() {
        let draw = |seed| {
            let mut random = Random::from_seed(seed);
            (0..50).map(|_| mutant(&mut random).steps).collect::<Vec<_>>()
        };
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
    }

    #[test]
    fn every_mutation_bears_a_script_of_one_step() {
        let mut random = Random::from_seed(5);
        for mutation in MUTATIONS {
            for only in [Step::Hold, Step::Send(vec![1])] {
                let mut steps = vec![only];
                mutation(&mut steps, &mut random);
                assert!(!steps.is_empty());
            }
        }
    }
}
