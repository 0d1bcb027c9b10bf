//! Proof: what a client held is free again soon after it is gone, however it went.
//!
//! A host vanishes when its link is deleted: no packet says so. A process vanishes by
//! SIGKILL: the kernel then closes its sockets.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use super::Siege;
use super::client::{ALL, ENDLESS, Good, SECOND};
use super::fixture::Fixture;
use super::limits::{Limit, Unit};
use super::peers::{Counters, hold};
use super::script::{Session, Stage, Step};
use super::server::Capacity;
use super::topology::{Host, Spoke, Star};
use crate::Verdict;
use crate::ask::{Direction, Transport};
use anyhow::bail;
use testbed::process::Running;
use testbed::sockets;

pub(super) fn run(siege: &Siege) -> anyhow::Result<Verdict> {
    let states: Vec<State> =
        states().into_iter().filter(|one| one.is_short || !siege.short).collect();
    let mut star = Star::new()?;
    let spokes = states.iter().map(|_| star.add()).collect::<anyhow::Result<Vec<_>>>()?;
    let home = star.add()?;
    let mut fixture = Fixture::start(siege, "vanished", &star.server, Capacity::Ample, &ALL[..3])?;
    fixture.limits.note(&format!("before: {}", fixture.before.describe()));

    hosts(&mut fixture, &star, &states, &spokes)?;
    fixture.judge(LIMIT)?;
    processes(&mut fixture, &home)?;
    fixture.close(KILLED_LIMIT)
}

/// A session that is about to lose its client.
struct State {
    name: &'static str,
    /// Part of a short run.
    is_short: bool,
    steps: Vec<Step>,
}

fn states() -> Vec<State> {
    let tcp = |direction| Session::new(Transport::Tcp, direction).with_streams(2);
    let udp = |direction| Session::new(Transport::Udp, direction);
    let long = |session: Session| session.with_flow(FOR_EVER).up_to(Stage::Running);
    let briefly = |stage| tcp(Direction::Send).with_flow(BRIEFLY).silent_from(stage);
    let state = |name, is_short, steps| State { name, is_short, steps };
    vec![
        state("before the cookie", false, tcp(Direction::Send).silent_from(Stage::Connected)),
        state("after the cookie", false, tcp(Direction::Send).silent_from(Stage::Named)),
        state("after the parameters", true, tcp(Direction::Send).silent_from(Stage::Asked)),
        state("half of the streams open", false, tcp(Direction::Both).silent_from(Stage::HalfOpen)),
        state("TCP, sending", true, long(tcp(Direction::Send))),
        state("TCP, receiving", true, long(tcp(Direction::Reverse))),
        state("TCP, both ways", false, long(tcp(Direction::Both))),
        state("UDP, sending", false, long(udp(Direction::Send))),
        state("UDP, receiving", false, long(udp(Direction::Reverse))),
        state("after TEST_END, before the results", false, briefly(Stage::Ended)),
        state("with the server's results unread", false, briefly(Stage::Told)),
    ]
}

/// All states at one time, each on a link of its own; then all links go.
fn hosts(
    fixture: &mut Fixture,
    star: &Star,
    states: &[State],
    spokes: &[Spoke],
) -> anyhow::Result<()> {
    let counters = Counters::default();
    let sessions = spokes.iter().zip(states.iter().map(|state| &*state.steps));
    hold(sessions, &counters, || {
        await_settled(&counters, states.len() as u64)?;
        let held_before = held(&star.server)?;
        let cut_at = Instant::now();
        for spoke in spokes {
            star.cut(spoke)?;
        }
        for client in [&SECOND, &ALL[4]] {
            fixture.try_client(client, "right after it")?;
        }
        let addresses: Vec<_> = spokes.iter().map(|spoke| spoke.client_address).collect();
        let mut freed = await_freed(&star.server, &addresses, cut_at)?;
        freed.retain(|client, _| held_before.contains(&(*client).into()));
        for (state, spoke) in states.iter().zip(spokes) {
            report(fixture, state, spoke, cut_at, freed.get(&spoke.client_address));
        }
        Ok(())
    })
}

fn await_settled(counters: &Counters, count: u64) -> anyhow::Result<()> {
    let deadline = Instant::now() + GATHERING;
    while counters.settled.load(Relaxed) < count {
        if Instant::now() > deadline {
            // What is there is worth a look all the same, if there is something.
            return match counters.settled.load(Relaxed) {
                0 => bail!("no session gets to its state"),
                _ => Ok(()),
            };
        }
        thread::sleep(POLL_INTERVAL);
    }
    thread::sleep(BRIEFLY);
    Ok(())
}

/// A session is freed when no socket of the server leads to its client and, if it was
/// logged, the log says so.
fn report(
    fixture: &mut Fixture,
    state: &State,
    spoke: &Spoke,
    cut_at: Instant,
    freed: Option<&Freed>,
) {
    let (limits, events) = (&mut fixture.limits, fixture.server.events());
    let what = format!("freed: {}", state.name);
    match freed {
        Some(Freed::After(time)) => {
            let limit = Limit::AtMost(LIMIT.as_secs_f64());
            limits.add(&what, time.as_secs_f64(), Unit::Seconds, limit);
        }
        None => limits.fail(&what, "the server did not hold it when the link went"),
        Some(Freed::Never) => {
            limits.fail(&what, &format!("not within {} s", PATIENCE.as_secs()));
        }
    }
    let end = events.iter().find(|event| {
        let is_its = event.client().is_some_and(|client| client.ip() == spoke.client_address);
        is_its && (event.is("ended") || event.is("refused"))
    });
    if let Some(end) = end {
        let place = ["/test/ending/error", "/why/reason", "/why", "/test/ending/state"];
        let why = place.iter().find_map(|place| end.value.pointer(place)?.as_str());
        let after = end.at.saturating_duration_since(cut_at).as_secs_f64();
        limits.note(&format!("logged after {after:.3} s: {}", why.unwrap_or("no reason")));
    }
}

/// Real clients that are killed in the middle of a test.
fn processes(fixture: &mut Fixture, home: &Spoke) -> anyhow::Result<()> {
    let (limits, programs) = (&mut fixture.limits, &fixture.programs);
    let address = home.server_address.to_string();
    let start = |client: &Good| Running::captured(client.command(programs, &home.client, &address));
    let mut running = ENDLESS.iter().map(start).collect::<anyhow::Result<Vec<_>>>()?;
    thread::sleep(UNDER_WAY);
    let count = running.iter_mut().filter_map(|one| one.is_running().then_some(())).count();
    let all = Limit::Exactly(ENDLESS.len() as f64);
    limits.count("clients running when they were killed", count as u64, all);
    let killed_at = Instant::now();
    drop(running);
    let freed = await_freed(fixture.server.host(), &[home.client_address], killed_at)?;
    match freed.get(&home.client_address) {
        Some(Freed::After(time)) => {
            let limit = Limit::AtMost(KILLED_LIMIT.as_secs_f64());
            limits.add("freed: all that were killed", time.as_secs_f64(), Unit::Seconds, limit);
        }
        _ => limits.fail("freed: all that were killed", "they were not held, or still are"),
    }
    Ok(())
}

/// When the last socket towards a client was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freed {
    After(Duration),
    Never,
}

fn await_freed(
    host: &Host,
    clients: &[Ipv4Addr],
    since: Instant,
) -> anyhow::Result<BTreeMap<Ipv4Addr, Freed>> {
    let mut freed: BTreeMap<_, _> = clients.iter().map(|client| (*client, Freed::Never)).collect();
    loop {
        let held = held(host)?;
        let now = since.elapsed();
        for (client, when) in &mut freed {
            if *when == Freed::Never && !held.contains(&(*client).into()) {
                *when = Freed::After(now);
            }
        }
        if now > PATIENCE || !freed.values().any(|when| *when == Freed::Never) {
            return Ok(freed);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// The clients that some socket of a process leads to.
fn held(host: &Host) -> anyhow::Result<Vec<IpAddr>> {
    let sockets = host.run(|| sockets::of_thread(&["tcp", "tcp6", "udp", "udp6"]))?;
    let held = sockets.iter().filter(|socket| socket.inode != 0);
    Ok(held.map(|socket| socket.peer.ip().to_canonical()).collect())
}

/// Of a host that vanishes.
const LIMIT: Duration = Duration::from_secs(10);
/// Of a process that is killed.
const KILLED_LIMIT: Duration = Duration::from_secs(2);
/// How long a proof goes on to look.
const PATIENCE: Duration = Duration::from_secs(25);
const FOR_EVER: Duration = Duration::from_secs(3600);
const BRIEFLY: Duration = Duration::from_millis(300);
const UNDER_WAY: Duration = Duration::from_millis(1500);
const GATHERING: Duration = Duration::from_secs(4);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_has_three_states() {
        assert_eq!(states().iter().filter(|state| state.is_short).count(), 3);
    }
}
