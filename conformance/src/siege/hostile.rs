//! Proof: peers that are silent, slow or mad hold up nobody but themselves.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use testbed::process::Running;

use super::Siege;
use super::client::{ALL, ELSEWHERE, ENDLESS, Good};
use super::fixture::Fixture;
use super::limits::{Limit, LimitTable, Unit, median, worst};
use super::peers::{Counters, Crowd, sum};
use super::random::Random;
use super::script::{COOKIE_LENGTH, PARAM_EXCHANGE, Script, Session, Stage, Step, framed};
use super::server::{Capacity, LOCAL};
use super::topology::Star;
use crate::Verdict;
use crate::ask::{Direction, Transport};

pub(super) fn run(siege: &Siege) -> anyhow::Result<Verdict> {
    // Some kinds are closed at once and come again: two thirds are open at any moment.
    let (count, rounds) = if siege.short { (200, 1) } else { (1560, 5) };
    let clients = if siege.short { &ALL[..3] } else { &ALL[..] };
    let star = Star::new()?;
    let mut fixture = Fixture::start(siege, "hostile", &star.server, Capacity::Ample, clients)?;
    fixture.limits.note(&format!("before: {}", fixture.before.describe()));
    let counters = KINDS.map(|_| Counters::default());
    let (spacing, again) = (SPACING, Some(PAUSE));
    let crowd = Crowd { server: LOCAL, count, spacing, again, counters: &counters };
    let mut random = Random::from_seed(siege.seed());
    crowd.run_during(
        &star.server,
        |slot| hostile(slot, &mut random),
        || besiege(&mut fixture, &counters, (count, rounds)),
    )?;
    fixture.close(RETURN)
}

/// Runs good clients while the crowd is there.
fn besiege(
    fixture: &mut Fixture,
    counters: &[Counters],
    (count, rounds): (usize, usize),
) -> anyhow::Result<()> {
    await_crowd(counters, count);
    let stopped = stop_clients(fixture)?;
    let open = || sum(counters, |counters| &counters.open);
    fixture.limits.count("hostile connections open", open(), Limit::None);
    fixture.limits.count("real iperf3 that were stopped", stopped.len() as u64, Limit::None);
    for client in ALL.iter().chain(&ELSEWHERE) {
        run_client(fixture, client, rounds)?;
    }
    fixture.limits.count("hostile connections open at the end", open(), Limit::None);
    fixture.limits.note(&format!("during: {}", fixture.server.footprint()?.describe()));
    note(&fixture.limits, counters);
    drop(stopped);
    Ok(())
}

/// What became of each kind.
fn note(limits: &LimitTable, counters: &[Counters]) {
    for ((name, _), counters) in KINDS.iter().zip(counters) {
        limits.note(&format!(
            "{name:<46} {:>4} open of {:>6} begun, {:>6} closed by the server, {:>6} with a word",
            counters.open.load(Relaxed),
            counters.begun.load(Relaxed),
            counters.closed.load(Relaxed),
            counters.refused.load(Relaxed)
        ));
    }
}

/// Waits until nearly all are there or have been, and a little longer for what they are
/// about to say.
fn await_crowd(counters: &[Counters], count: usize) {
    let deadline = Instant::now() + GATHERING;
    while sum(counters, |counters| &counters.begun) < count as u64 && Instant::now() < deadline {
        thread::sleep(POLL_INTERVAL);
    }
    thread::sleep(SETTLING);
}

/// Real clients that stop in the middle of what they do. Dropped, they are killed.
fn stop_clients(fixture: &Fixture) -> anyhow::Result<Vec<Running>> {
    let local = LOCAL.ip().to_string();
    let mut stopped = Vec::new();
    for index in 0..STOPPED {
        let client = &ENDLESS[index % ENDLESS.len()];
        let command = client.command(&fixture.programs, fixture.server.host(), &local);
        let running = Running::captured(command)?;
        let after = STOP_AFTER[index % STOP_AFTER.len()];
        thread::sleep(after);
        running.signal("STOP")?;
        stopped.push(running);
    }
    Ok(stopped)
}

/// Runs a good client so many times.
fn run_client(fixture: &mut Fixture, client: &Good, rounds: usize) -> anyhow::Result<()> {
    let (mut times, mut complaint) = (Vec::new(), None);
    for _ in 0..rounds {
        let tried = fixture.run(client)?;
        if !tried.is_well() {
            complaint = Some(tried.words());
            break;
        }
        times.push(tried.seconds());
    }
    let what = format!("{} of 1 s, worst of {rounds}", client.name);
    let limits = &mut fixture.limits;
    if let Some(words) = complaint {
        limits.fail(&what, &words);
        return Ok(());
    }
    limits.add(&what, worst(&times), Unit::Seconds, client.limit());
    if rounds > 1 {
        limits.note(&format!("median {:.3} s", median(&times)));
    }
    Ok(())
}

/// The script of one slot: kinds in turn, from the good client's address and from others.
fn hostile(slot: usize, random: &mut Random) -> Script {
    let (_, kind) = KINDS[slot % KINDS.len()];
    let steps = kind(random);
    Script {
        from: (slot / KINDS.len() % 2 == 1).then(|| other_address(slot)),
        ..Script::new(steps)
    }
}

/// 127.0.x.y, but not 127.0.0.1.
fn other_address(slot: usize) -> IpAddr {
    let [.., high, low] = (slot as u64 + 2).to_be_bytes();
    Ipv4Addr::new(127, 0, high, low).into()
}

type Kind = fn(&mut Random) -> Vec<Step>;

/// What a hostile peer may be like.
const KINDS: [(&str, Kind); 26] = [
    ("silence", |_| vec![Step::Hold]),
    ("half a cookie", |_| vec![Step::Cookie(COOKIE_LENGTH / 2), Step::Hold]),
    ("cookie", |_| vec![Step::Cookie(COOKIE_LENGTH), Step::Hold]),
    ("cookie, HTTP", |_| says(HTTP.to_vec())),
    ("HTTP", |_| vec![Step::Send(HTTP.to_vec()), Step::Hold]),
    ("random bytes", |random| vec![Step::Send(random.bytes(200)), Step::Hold]),
    ("cookie, JSON of 4 GiB", |_| says(vec![0xff; 4])),
    ("cookie, malformed JSON", |_| says(framed(b"{\"tcp\":tru,,\"omit\":}"))),
    // Deeper than any parser should follow, below and above the limit of the length.
    ("cookie, JSON 60,000 deep", |_| says(framed("[".repeat(60_000).as_bytes()))),
    ("cookie, JSON 100,000 deep", |_| says(framed("{\"a\":".repeat(100_000).as_bytes()))),
    ("parameters of TCP", |_| tcp(Direction::Send).silent_from(Stage::Asked)),
    ("parameters of UDP reverse", |_| udp(Direction::Reverse).silent_from(Stage::Asked)),
    ("TCP running, sends nothing", |_| tcp(Direction::Send).silent_from(Stage::Running)),
    ("TCP running, reads nothing", |_| tcp(Direction::Reverse).silent_from(Stage::Running)),
    ("TCP running, neither", |_| tcp(Direction::Both).silent_from(Stage::Running)),
    ("UDP running, sends nothing", |_| udp(Direction::Send).silent_from(Stage::Running)),
    ("UDP running, reads nothing", |_| udp(Direction::Reverse).silent_from(Stage::Running)),
    ("TEST_END", |_| tcp(Direction::Both).silent_from(Stage::Ended)),
    ("half of the results", |_| half_of_the_results()),
    ("results, but no IPERF_DONE", |_| tcp(Direction::Send).silent_from(Stage::Told)),
    ("iperf2, half a header", |_| holds(iperf2(REVERSE, 0x0400)[..40].to_vec())),
    ("iperf2, sends nothing", |_| holds(iperf2(PLAIN, 0))),
    ("iperf2, one of 1,024 connections", |_| holds(iperf2(MANY, 0))),
    ("iperf2 reverse, reads nothing", |_| holds(iperf2(REVERSE, 0x0400))),
    ("iperf2 full-duplex, neither", |_| holds(iperf2(REVERSE, 0x0800))),
    ("iperf2, half a request", |_| holds(iperf2(REQUEST, 0)[..48].to_vec())),
];

const fn tcp(direction: Direction) -> Session {
    Session::new(Transport::Tcp, direction).with_streams(2)
}

const fn udp(direction: Direction) -> Session {
    Session::new(Transport::Udp, direction).with_streams(2)
}

/// Says something where the parameters are expected.
fn says(bytes: Vec<u8>) -> Vec<Step> {
    let cookie = Step::Cookie(COOKIE_LENGTH);
    vec![cookie, Step::Await(PARAM_EXCHANGE), Step::Send(bytes), Step::Hold]
}

fn half_of_the_results() -> Vec<Step> {
    let mut steps = tcp(Direction::Send).silent_from(Stage::Told);
    for step in steps.iter_mut().rev().take(2) {
        if let Step::Send(bytes) = step {
            bytes.truncate(bytes.len() / 2);
        }
    }
    steps
}

fn holds(bytes: Vec<u8>) -> Vec<Step> {
    vec![Step::Send(bytes), Step::Hold]
}

/// The header of an iperf2 client (docs/protocol/iperf2.md, section 3): flags, number of connections,
/// and the upper flags; for ten minutes.
fn iperf2((flags, number): (u32, u32), upper: u32) -> Vec<u8> {
    let mut words = [0; 15];
    (words[0], words[1], words[5], words[8]) = (flags, number, u32::MAX - 60_000, upper << 16);
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

const PLAIN: (u32, u32) = (0x4001_0078, 1);
const MANY: (u32, u32) = (0x4001_0078, 1_024);
const REVERSE: (u32, u32) = (0x4401_0078, 1);
/// Flags and length of a request of `--bounceback`.
const REQUEST: (u32, u32) = (0x0080_0000, 100);
const HTTP: &[u8] = b"GET / HTTP/1.1\r\nHost: example.org\r\nUser-Agent: Mozilla/5.0\r\n\r\n";
/// Real clients that are stopped, and when.
const STOPPED: usize = 16;
const STOP_AFTER: [Duration; 4] = [
    Duration::from_millis(3),
    Duration::from_millis(10),
    Duration::from_millis(40),
    Duration::from_millis(250),
];
const SPACING: Duration = Duration::from_millis(2);
/// After which one that was closed comes back.
const PAUSE: Duration = Duration::from_millis(200);
const GATHERING: Duration = Duration::from_secs(8);
const SETTLING: Duration = Duration::from_secs(1);
const RETURN: Duration = Duration::from_secs(15);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_places_come_from_the_good_clients_address() {
        let mut random = Random::from_seed(1);
        let scripts: Vec<_> = (0..KINDS.len() * 2).map(|slot| hostile(slot, &mut random)).collect();
        let others = scripts.iter().filter(|script| script.from.is_some()).count();
        assert_eq!(others, KINDS.len());
        assert!(scripts.iter().all(|script| script.from != Some(Ipv4Addr::LOCALHOST.into())));
    }

    #[test]
    fn every_kind_ends_in_silence() {
        let mut random = Random::from_seed(1);
        assert!(KINDS.iter().all(|(_, kind)| kind(&mut random).last() == Some(&Step::Hold)));
    }
}
