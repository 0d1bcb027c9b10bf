//! Datagrams lost in known places, and where linerate says that they went.

use std::time::Duration;

use anyhow::{Context, Result};
use lab::Host;
use measurement::Ledger;
use measurement::judgement::Place;

use super::Outcome;
use crate::hosts::{Testbed, UnderTest, ledger, lost_in, run_client};
use crate::packages;
use testbed::topology::Path;

/// Every case.
pub(super) fn run(under_test: &UnderTest) -> Result<Vec<Outcome>> {
    packages::provide(&[("iptables-legacy", "iptables"), ("tc", "iproute2")])?;
    let rounds = if under_test.short { 1 } else { 10 };
    let mut cases = Vec::new();
    for path in [Path::Veth, Path::Loopback] {
        for round in 1..=rounds {
            cases.push(in_the_socket(under_test, path, round)?);
        }
    }
    for round in 1..=rounds {
        let path = if round % 2 == 0 { Path::Loopback } else { Path::Veth };
        cases.push(in_a_coalescing_socket(under_test, path, round)?);
    }
    cases.push(in_the_firewall(under_test)?);
    cases.push(in_the_queue(under_test)?);
    cases.push(in_queue_and_socket(under_test)?);
    cases.push(in_queue_and_firewall(under_test)?);
    cases.push(in_the_queue_of_a_router(under_test)?);
    Ok(cases)
}

/// A small receive buffer: nothing else loses anything.
fn in_the_socket(under_test: &UnderTest, path: Path, round: u32) -> Result<Outcome> {
    let bed = Testbed::new(under_test, path)?;
    let before = socket_drops(&bed)?;
    let record = bed.run(&format!("{SMALL_BUFFER} --engine sendmmsg,recvmmsg"))?;
    let told = socket_drops(&bed)? - before;
    let ledger = ledger(&record)?;
    let right = ledger.remainder == 0
        && ledger.remainder_most == 0
        && lost_in(ledger, Place::ReceiverSocket) == ledger.lost()
        && ledger.lost() == told
        && told > 0
        && is_conserved(ledger);
    let name = format!("a small buffer, {path:?} {round}");
    Ok(Outcome::show(name, format!("{}; the kernel counted {told}", show(ledger)), right))
}

/// The same where one drop of the socket may be many datagrams.
fn in_a_coalescing_socket(under_test: &UnderTest, path: Path, round: u32) -> Result<Outcome> {
    let bed = Testbed::new(under_test, path)?;
    let before = socket_drops(&bed)?;
    let server = bed.serve("")?;
    let client = bed.client(&format!("{SMALLEST_BUFFER} --engine gso,gro"));
    // A reader that never stops may well be fast enough.
    let record = run_client(client, Duration::from_millis(400), || server.pause(NAP))?.record;
    let told = socket_drops(&bed)? - before;
    let ledger = ledger(&record)?;
    let right =
        ledger.remainder_least == 0 && ledger.lost() >= told && told > 0 && is_conserved(ledger);
    let name = format!("a small buffer and UDP_GRO, {path:?} {round}");
    Ok(Outcome::show(name, format!("{}; the kernel counted {told}", show(ledger)), right))
}

/// iptables drops one in a hundred where the datagrams arrive.
fn in_the_firewall(under_test: &UnderTest) -> Result<Outcome> {
    let bed = Testbed::new(under_test, Path::Veth)?;
    drop_at_random(&bed, "0.01")?;
    let seconds = if under_test.short { 2 } else { 5 };
    let record = bed.run(&format!("{ON_ITS_OWN} -b 80M -l 200 -t {seconds}s"))?;
    let planted = dropped_by_iptables(&bed)?;
    let ledger = ledger(&record)?;
    let filtered = lost_in(ledger, Place::ReceiverFirewall);
    let share = 100.0 * filtered as f64 / ledger.sent.max(1) as f64;
    let beside = 100.0 * filtered.abs_diff(planted) as f64 / ledger.sent.max(1) as f64;
    let right = beside <= 0.1 && (0.8..1.2).contains(&share) && is_conserved(ledger);
    let seen =
        format!("{}: {share:.3} % in the firewall; iptables dropped {planted}", show(ledger));
    Ok(Outcome::show("1 % lost at random", seen, right))
}

/// A link of 50 Mbit/s is offered twice as much.
fn in_the_queue(under_test: &UnderTest) -> Result<Outcome> {
    let bed = Testbed::shaped(under_test, 50)?;
    let record = bed.run(&format!("{CROWD} -b 12500K -l 1000 -t 2s"))?;
    let planted = dropped_by_the_queue(&bed)?;
    let ledger = ledger(&record)?;
    let queue = lost_in(ledger, Place::SenderQueue);
    let right = is_near(queue, planted) && is_near(queue, ledger.lost()) && is_conserved(ledger);
    Ok(Outcome::show("a full queue", format!("{}; tc counted {planted}", show(ledger)), right))
}

/// The queue drops some, and the socket some of those that pass while nobody reads: a small
/// buffer (-w) would be the sender's too, who would then wait and never fill the queue.
fn in_queue_and_socket(under_test: &UnderTest) -> Result<Outcome> {
    let bed = Testbed::shaped(under_test, 80)?;
    let before = socket_drops(&bed)?;
    let server = bed.serve("")?;
    let client = bed.client(&format!("{CROWD} -b 15M -l 1000 -t 6s"));
    let record =
        run_client(client, Duration::from_millis(1200), || server.pause(STANDSTILL))?.record;
    let (in_queue, in_socket) = (dropped_by_the_queue(&bed)?, socket_drops(&bed)? - before);
    let ledger = ledger(&record)?;
    let places = [
        (lost_in(ledger, Place::SenderQueue), in_queue),
        (lost_in(ledger, Place::ReceiverSocket), in_socket),
    ];
    let right = places.iter().all(|(said, planted)| is_near(*said, *planted) && *planted > 0)
        && is_conserved(ledger);
    let seen = format!("{}; tc counted {in_queue}, the socket {in_socket}", show(ledger));
    Ok(Outcome::show("a full queue and a reader that stops", seen, right))
}

/// The queue drops some, and iptables one in twenty of those that pass.
fn in_queue_and_firewall(under_test: &UnderTest) -> Result<Outcome> {
    let bed = Testbed::shaped(under_test, 50)?;
    drop_at_random(&bed, "0.05")?;
    let record = bed.run(&format!("{CROWD} -b 12500K -l 1000 -t 3s"))?;
    let (in_queue, by_filter) = (dropped_by_the_queue(&bed)?, dropped_by_iptables(&bed)?);
    let ledger = ledger(&record)?;
    let queue = lost_in(ledger, Place::SenderQueue);
    let filtered = lost_in(ledger, Place::ReceiverFirewall);
    let right = is_near(queue, in_queue) && is_near(filtered, by_filter) && is_conserved(ledger);
    let seen = format!("{}; tc counted {in_queue}, iptables {by_filter}", show(ledger));
    Ok(Outcome::show("a full queue and 5 % lost at random", seen, right))
}

/// A router has the narrow link, and a linerate there is asked what it saw.
fn in_the_queue_of_a_router(under_test: &UnderTest) -> Result<Outcome> {
    let bed = Testbed::routed(under_test, 50)?;
    let (router, beyond) = bed.router()?;
    let _observer = bed.serve_on_router("--observe")?;
    let words = format!("{ON_ITS_OWN} -b 60M -l 1000 -t 3s --observe {}", router.ipv4());
    let record = bed.run(&words)?;
    let planted = dropped_by(beyond)?;
    let ledger = ledger(&record)?;
    let queue = lost_in(ledger, Place::ObservedQueue);
    let named = ledger.drops.iter().find(|dropped| dropped.place == Place::ObservedQueue);
    let named = named.map_or("", |dropped| dropped.counter.as_str());
    let right = is_near(queue, planted)
        && is_near(queue, ledger.lost())
        && named.contains(beyond.interface())
        && planted > 0
        && is_conserved(ledger);
    let seen = format!("{} ({named}); tc there counted {planted}", show(ledger));
    Ok(Outcome::show("a full queue of a router that is observed", seen, right))
}

/// Within two in a hundred, or a handful.
fn is_near(said: u64, planted: u64) -> bool {
    said.abs_diff(planted) * 50 <= planted.max(250)
}

fn is_conserved(ledger: &Ledger) -> bool {
    let placed: u64 = ledger.drops.iter().map(|dropped| dropped.datagrams).sum();
    let sum = ledger.received + ledger.late + ledger.in_flight + placed + ledger.remainder;
    sum == ledger.sent
}

fn show(ledger: &Ledger) -> String {
    let drops = ledger.drops.iter().filter(|dropped| dropped.datagrams > 0);
    let drops: Vec<_> = drops
        .map(|dropped| format!("{} in {:?}", dropped.datagrams, dropped.place))
        .chain([format!("{}..{} elsewhere", ledger.remainder_least, ledger.remainder_most)])
        .collect();
    format!("{} of {} lost: {}", ledger.lost(), ledger.sent, drops.join(", "))
}

/// `RcvbufErrors` of the host on which the server runs: nothing but the test runs there.
fn socket_drops(bed: &Testbed) -> Result<u64> {
    let text = bed.far_prints("cat", "/proc/net/snmp")?;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = (lines.next().context("no Udp")?, lines.next().context("no Udp")?);
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    let (_, value) = pairs.find(|(name, _)| *name == "RcvbufErrors").context("no RcvbufErrors")?;
    value.parse().context("RcvbufErrors is no number")
}

fn drop_at_random(bed: &Testbed, probability: &str) -> Result<()> {
    let rule = "-A INPUT -p udp -m length --length 150: -m statistic --mode random --probability";
    bed.far_prints("iptables-legacy", &format!("{rule} {probability} -j DROP")).map(drop)
}

fn dropped_by_iptables(bed: &Testbed) -> Result<u64> {
    let text = bed.far_prints("iptables-legacy", "-L INPUT -v -x -n")?;
    let rule = text.lines().find(|line| line.contains("DROP")).context("no rule")?;
    let count = rule.split_whitespace().next().context("no count")?;
    count.parse().context("the count is no number")
}

fn dropped_by_the_queue(bed: &Testbed) -> Result<u64> {
    dropped_by(bed.near())
}

fn dropped_by(host: &Host) -> Result<u64> {
    let words = ["-s", "qdisc", "show", "dev", host.interface()];
    let text = crate::command::output(host.command("tc").args(words))?;
    let (_, rest) = text.split_once("dropped ").context("tc tells no drops")?;
    let count: String = rest.chars().take_while(char::is_ascii_digit).collect();
    count.parse().context("tc tells no number")
}

/// Far more than a buffer of so few datagrams holds until it is read.
pub(super) const SMALL_BUFFER: &str = "--udp --send -b 400M -l 1000 -w 6K -t 1s";
/// What the kernel gives at least: datagrams that come together are few reads.
const SMALLEST_BUFFER: &str = "--udp --send -b 400M -l 1000 -w 1K -t 1s";
/// Together they fill a queue: one alone would wait for room in its own buffer.
const CROWD: &str = "--udp --send --engine sendmmsg,recvmmsg -P 8";
/// Beyond what a buffer of 4 MiB, which the kernel doubles (socket(7)), holds of 10 Mbit/s.
const STANDSTILL: Duration = Duration::from_secs(4);
/// Beyond what the smallest buffer holds.
const NAP: Duration = Duration::from_millis(50);
/// Each datagram on its own.
const ON_ITS_OWN: &str = "--udp --send --engine sendmmsg,recvmmsg";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_is_two_in_a_hundred_or_a_handful() {
        assert!(is_near(1_020, 1_000) && !is_near(1_030, 1_000));
        assert!(is_near(0, 5) && !is_near(0, 6));
    }
}
