//! Proof: tests that are held in every state, and clients that are killed, keep nobody out and
//! leave nothing behind. The limits of the server are the defaults, with which it ends many of them,
//! and then so high that it holds a thousand at once.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
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
use super::server::{Capacity, LOCAL, PORT};
use super::topology::{Host, Star};
use crate::Verdict;
use crate::ask::{Direction, Transport};

pub(super) fn run(siege: &Siege) -> anyhow::Result<Verdict> {
    if siege.short {
        return scene(siege, "held", Capacity::Default, &SHORT);
    }
    let usual = scene(siege, "held", Capacity::Default, &WHOLE)?;
    let full = scene(siege, "held: a thousand at once", Capacity::Ample, &FULL)?;
    Ok(if [usual, full].contains(&Verdict::Failed) { Verdict::Failed } else { Verdict::Passed })
}

fn scene(
    siege: &Siege,
    name: &'static str,
    capacity: Capacity,
    counts: &Counts,
) -> anyhow::Result<Verdict> {
    let mut star = Star::new()?;
    let besiegers = besiegers(&mut star, capacity, counts.connections)?;
    let mut fixture = Fixture::start(siege, name, &star.server, capacity, &ALL[..3])?;
    fixture.limits.note(&format!("before: {}", fixture.before.describe()));
    hold(&mut fixture, &besiegers, counts)?;
    mix(&mut fixture, counts.mixed)?;
    kill(&fixture, counts.killed)?;
    fixture.close(RETURN)
}

/// How many there are.
struct Counts {
    connections: usize,
    /// After which one that was closed comes back.
    pause: Duration,
    /// Those that are open at once, at least: the server ends some, which come again.
    held: Limit,
    starts: usize,
    mixed: usize,
    killed: usize,
}

const WHOLE: Counts = Counts {
    connections: 1_000,
    pause: Duration::from_millis(500),
    held: Limit::None,
    starts: 100,
    mixed: 300,
    killed: 200,
};
const FULL: Counts = Counts {
    connections: 2_000,
    pause: Duration::from_secs(2),
    held: Limit::AtLeast(1_000.0),
    ..WHOLE
};
const SHORT: Counts = Counts { connections: 300, starts: 20, mixed: 16, killed: 12, ..WHOLE };

/// A host from which tests are held.
struct Besieger {
    host: Host,
    server: SocketAddr,
    count: usize,
    script: fn(usize) -> Script,
}

/// The hosts from which `count` tests are held: the server's own, or, if its capacity is ample, two
/// of other networks, since the server gives no network all that it has.
fn besiegers(star: &mut Star, capacity: Capacity, count: usize) -> anyhow::Result<Vec<Besieger>> {
    if capacity != Capacity::Ample {
        return Ok(vec![Besieger {
            host: star.server.clone(),
            server: LOCAL,
            count,
            script: |slot| Script { from: Some(address(slot)), ..held(slot) },
        }]);
    }
    let spoke = |_| {
        let spoke = star.add()?;
        let server = SocketAddr::new(spoke.server_address.into(), PORT);
        Ok(Besieger { host: spoke.client, server, count: count / 2, script: held })
    };
    (0..2).map(spoke).collect()
}

/// Holds tests in every state; one that the server has ended comes again.
fn hold(fixture: &mut Fixture, besiegers: &[Besieger], counts: &Counts) -> anyhow::Result<()> {
    let counters = STATES.map(|_| Counters::default());
    during(besiegers, counts.pause, &counters, &mut || {
        let deadline = Instant::now() + GATHERING;
        let begun = || sum(&counters, |counters| &counters.begun);
        while begun() < counts.connections as u64 && Instant::now() < deadline {
            thread::sleep(POLL_INTERVAL);
        }
        let open = sum(&counters, |counters| &counters.open);
        fixture.limits.count("connections held", open, counts.held);
        fixture.limits.note(&format!("during: {}", fixture.server.footprint()?.describe()));
        fixture.try_starts(counts.starts)
    })
}

/// Does `work` while all of them hold their tests.
fn during(
    besiegers: &[Besieger],
    pause: Duration,
    counters: &[Counters],
    work: &mut dyn FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let Some((one, others)) = besiegers.split_first() else { return work() };
    let Besieger { server, count, .. } = *one;
    let crowd = Crowd { server, count, spacing: SPACING, again: Some(pause), counters };
    crowd.run_during(&one.host, one.script, || during(others, pause, counters, work))
}

/// The script of one slot: states in turn, each in both dialects.
fn held(slot: usize) -> Script {
    let round = slot / STATES.len();
    let dialect = if round.is_multiple_of(2) { Dialect::Iperf3 } else { Dialect::Own };
    Script::new(STATES[slot % STATES.len()](dialect))
}

/// The address of one slot: one of eight.
fn address(slot: usize) -> IpAddr {
    let last = u8::try_from(slot / STATES.len() % ADDRESSES + 1).unwrap_or(1);
    Ipv4Addr::new(127, 0, 1, last).into()
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
