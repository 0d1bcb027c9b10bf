//! Proof: tests that are held in every state, and clients that are killed, keep nobody out and
//! leave nothing behind. The limits of the server are the defaults.

use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use testbed::process::Running;

use super::Siege;
use super::client::{ALL, ENDLESS, Good, Tried};
use super::fixture::Fixture;
use super::limits::Limit;
use super::peers::{Counters, Crowd, sum};
use super::script::{Dialect, Script, Session, Stage, Step};
use super::server::{Capacity, LOCAL};
use super::topology::Star;
use crate::Verdict;
use crate::ask::{Direction, Transport};

pub(super) fn run(siege: &Siege) -> anyhow::Result<Verdict> {
    let counts = if siege.short { SHORT } else { WHOLE };
    let star = Star::new()?;
    let mut fixture = Fixture::start(siege, "held", &star.server, Capacity::Default, &ALL[..3])?;
    fixture.limits.note(&format!("before: {}", fixture.before.describe()));
    hold(&mut fixture, &star, &counts)?;
    mix(&mut fixture, counts.mixed)?;
    kill(&fixture, counts.killed)?;
    fixture.close(RETURN)
}

/// How many there are.
struct Counts {
    connections: usize,
    starts: usize,
    mixed: usize,
    killed: usize,
}

const WHOLE: Counts = Counts { connections: 1_000, starts: 100, mixed: 300, killed: 200 };
const SHORT: Counts = Counts { connections: 300, starts: 20, mixed: 16, killed: 12 };

/// Holds tests in every state; one that the server has ended comes again.
fn hold(fixture: &mut Fixture, star: &Star, counts: &Counts) -> anyhow::Result<()> {
    let counters = STATES.map(|_| Counters::default());
    let crowd = Crowd {
        server: LOCAL,
        count: counts.connections,
        spacing: SPACING,
        again: Some(PAUSE),
        counters: &counters,
    };
    crowd.run_during(&star.server, held, || {
        let deadline = Instant::now() + GATHERING;
        let begun = || sum(&counters, |counters| &counters.begun);
        while begun() < counts.connections as u64 && Instant::now() < deadline {
            thread::sleep(POLL_INTERVAL);
        }
        let open = sum(&counters, |counters| &counters.open);
        fixture.limits.count("connections held", open, Limit::None);
        fixture.limits.note(&format!("during: {}", fixture.server.footprint()?.describe()));
        fixture.try_starts(counts.starts)
    })
}

/// The script of one slot: states in turn, each in both dialects, from eight addresses.
fn held(slot: usize) -> Script {
    let round = slot / STATES.len();
    let dialect = if round.is_multiple_of(2) { Dialect::Iperf3 } else { Dialect::Own };
    let last = u8::try_from(round % ADDRESSES + 1).unwrap_or(1);
    let from: IpAddr = Ipv4Addr::new(127, 0, 1, last).into();
    Script { from: Some(from), ..Script::new(STATES[slot % STATES.len()](dialect)) }
}

/// The states in which a test can be held.
const STATES: [fn(Dialect) -> Vec<Step>; 8] = [
    |_| vec![Step::Hold],
    |dialect| tcp(dialect).silent_from(Stage::Named),
    |dialect| tcp(dialect).silent_from(Stage::Asked),
    |dialect| tcp(dialect).silent_from(Stage::HalfOpen),
    |dialect| tcp(dialect).silent_from(Stage::Running),
    |dialect| tcp(dialect).silent_from(Stage::Ended),
    |dialect| tcp(dialect).silent_from(Stage::Told),
    |dialect| tcp(dialect).silent_from(Stage::Done),
];

const fn tcp(dialect: Dialect) -> Session {
    Session::new(Transport::Tcp, Direction::Both).with_streams(2).of(dialect)
}

/// Real clients of every kind, some at a time.
fn mix(fixture: &mut Fixture, count: usize) -> anyhow::Result<()> {
    let (mut well, mut complaint) = (0, None);
    for batch in (0..count).collect::<Vec<_>>().chunks(AT_A_TIME) {
        let commands = batch.iter().map(|index| command(fixture, &ALL[index % ALL.len()]));
        let running = commands.map(Running::captured).collect::<anyhow::Result<Vec<_>>>()?;
        for one in running {
            let tried = Tried(one.finish(PATIENCE)?);
            well += u64::from(tried.is_well());
            complaint = complaint.or_else(|| (!tried.is_well()).then(|| tried.words()));
        }
    }
    fixture.limits.count("mixed tests that were well", well, Limit::Exactly(count as f64));
    fixture.limits.note(&complaint.unwrap_or_default());
    Ok(())
}

/// Real clients that are killed in the middle of a test.
fn kill(fixture: &Fixture, count: usize) -> anyhow::Result<()> {
    for batch in (0..count).collect::<Vec<_>>().chunks(AT_A_TIME) {
        let commands = batch.iter().map(|index| command(fixture, &ENDLESS[index % ENDLESS.len()]));
        let running = commands.map(Running::captured).collect::<anyhow::Result<Vec<_>>>()?;
        thread::sleep(UNDER_WAY);
        // Dropped, they are killed.
        drop(running);
    }
    Ok(())
}

fn command(fixture: &Fixture, client: &Good) -> Command {
    client.command(&fixture.programs, fixture.server.host(), &LOCAL.ip().to_string())
}

const ADDRESSES: usize = 8;
const AT_A_TIME: usize = 20;
const SPACING: Duration = Duration::from_millis(3);
/// After which one that was closed comes back.
const PAUSE: Duration = Duration::from_millis(500);
const GATHERING: Duration = Duration::from_secs(8);
const UNDER_WAY: Duration = Duration::from_millis(700);
const PATIENCE: Duration = Duration::from_secs(20);
const RETURN: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_held_in_both_dialects() {
        let scripts: Vec<_> = (0..2 * STATES.len()).map(|slot| held(slot).steps).collect();
        assert!(scripts.iter().all(|steps| steps.last() == Some(&Step::Hold)));
        assert_ne!(scripts[2], scripts[2 + STATES.len()], "the parameters");
    }
}
