//! The counters of a watch are exact: with real sockets and queues in namespaces of its own, where
//! no other traffic is counted.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a test harness reports on stdout")]

extern crate lab as linerate_lab;

use std::error::Error;
use std::fs;
use std::net::UdpSocket;

use lab::{Link, LinkSpec, Rate, Shape};
use linerate_host::{Subject, Tree, Watch};
use linux::netlink::{Qdisc, RouteSocket};
use measurement::host::{EachCounter, Family, counter};
use measurement::{HostEvidence, Role, Timestamp};
use testbed::wait::eventually;

#[path = "../../lab/tests/harness/mod.rs"]
mod harness;

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> std::process::ExitCode {
    harness::run(&[
        (
            "what_a_full_socket_drops_is_counted_exactly",
            what_a_full_socket_drops_is_counted_exactly,
        ),
        ("what_a_full_queue_drops_is_counted_exactly", what_a_full_queue_drops_is_counted_exactly),
        ("a_watch_sees_its_own_namespace", a_watch_sees_its_own_namespace),
        ("the_driver_of_an_interface_counts", the_driver_of_an_interface_counts),
    ])
}

fn what_a_full_socket_drops_is_counted_exactly() -> Outcome {
    let link = Link::create(&LinkSpec::default())?;
    let (dropped, evidence) = link.near.run(|| {
        let receiver = UdpSocket::bind("127.0.0.1:0")?;
        let sender = UdpSocket::bind("127.0.0.1:0")?;
        let to = receiver.local_addr()?;
        let evidence = watched(Subject::default(), || {
            // More than the buffer of any system's default holds.
            for _ in 0..20_000 {
                sender.send_to(&[0; 1400], to)?;
            }
            Ok(())
        })?;
        Ok::<_, std::io::Error>((linux::socket_memory(&receiver)?.drops, evidence))
    })??;
    assert!(dropped > 0);
    assert_eq!(evidence.series.growth(counter::UDP_RCVBUF_ERRORS.v4), Some(dropped.into()));
    assert_eq!(evidence.series.growth(counter::UDP_IN_ERRORS.v4), Some(dropped.into()));
    assert_eq!(evidence.series.growth(counter::UDP_OUT_DATAGRAMS.v4), Some(20_000));
    Ok(())
}

fn what_a_full_queue_drops_is_counted_exactly() -> Outcome {
    let rate = Rate::from_bits_per_second(20_000_000).ok_or("a rate")?;
    let spec = LinkSpec { shape: Some(Shape::with_rate(rate)), ..LinkSpec::default() };
    let link = Link::create(&spec)?;
    let interface = link.near.interface().to_owned();
    let to = (link.far.ipv4(), 9);
    let subject = Subject { interfaces: vec![interface.clone()], ..Subject::default() };
    let evidence = link.near.run(|| {
        // One socket may have less in the queue than the queue holds.
        let sender = |_| UdpSocket::bind((link.near.ipv4(), 0));
        let senders = (0..8).map(sender).collect::<Result<Vec<_>, _>>()?;
        // Whose address it is has been asked for before anything is counted.
        senders[0].send_to(&[0; 100], to)?;
        eventually("an address", has_neighbour);
        watched(subject, || {
            for sender in senders.iter().cycle().take(SENT) {
                sender.send_to(&[0; 1400], to)?;
            }
            eventually("an empty queue", || queue_is_empty(&interface));
            Ok(())
        })
    })??;
    let series = &evidence.series;
    let grown = |each: EachCounter<'_>| series.growth_of_all(each.within(&interface));
    let (drops, packets) =
        (grown(counter::QDISC_DROPS).ok_or("read")?, grown(counter::QDISC_PACKETS).ok_or("read")?);
    assert!(drops > 0, "{series:?}");
    // What an end says by itself now and then goes through the queue as well.
    let sent = usize::try_from(drops + packets)?;
    assert!((SENT..SENT + 50).contains(&sent), "{drops} + {packets} of {SENT}");
    assert!(grown(counter::QDISC_BYTES).is_some_and(|bytes| bytes >= packets * 60));
    // The interface is read a moment before the queue.
    let left = series.growth(counter::INTERFACE_TX_PACKETS.on(&interface)).ok_or("read")?;
    assert!(left.abs_diff(packets) < 5, "the queue let {packets} through, {left} were sent");
    Ok(())
}

fn a_watch_sees_its_own_namespace() -> Outcome {
    let link = Link::create(&LinkSpec::default())?;
    let evidence = link.near.run(|| {
        let sender = UdpSocket::bind((link.near.ipv4(), 0))?;
        watched(Subject::default(), || sender.send_to(&[0; 100], (link.far.ipv4(), 9)).map(|_| ()))
    })??;
    let of_interfaces = evidence.series.counters().filter_map(|(name, _)| {
        let mut parts = name.split('.');
        (parts.next() == Some("interface")).then(|| parts.next()).flatten()
    });
    let own = [link.near.interface(), "lo"];
    let seen: Vec<&str> = of_interfaces.collect();
    assert!(seen.contains(&link.near.interface()), "{seen:?}");
    assert!(seen.iter().all(|interface| own.contains(interface)), "{seen:?}");
    Ok(())
}

fn the_driver_of_an_interface_counts() -> Outcome {
    let link = Link::create(&LinkSpec::default())?;
    let interfaces = vec![link.near.interface().to_owned()];
    let evidence =
        link.near.run(|| watched(Subject { interfaces, ..Subject::default() }, || Ok(())))??;
    // That of virtual Ethernet has always counted something.
    assert!(evidence.series.has_read(Family::NIC), "{:?}", evidence.gaps);
    Ok(())
}

/// Whether the kernel knows the Ethernet address of a neighbour: ATF_COM (arp(7)).
fn has_neighbour() -> bool {
    let known = fs::read_to_string("/proc/thread-self/net/arp").expect("IPv4 has neighbours");
    known.lines().skip(1).any(|line| line.split_whitespace().nth(2) == Some("0x2"))
}

fn queue_is_empty(interface: &str) -> bool {
    let mut route = RouteSocket::open().expect("netlink");
    let index = route.interface_index(interface).expect("it is there");
    let is_empty = |one: &Qdisc| {
        one.index != index || one.statistics.is_none_or(|counted| counted.backlog_packets == 0)
    };
    route.qdiscs().expect("netlink").iter().all(is_empty)
}

/// What a watch of the calling thread's namespace saw while `work` was done.
fn watched(
    subject: Subject,
    work: impl FnOnce() -> std::io::Result<()>,
) -> std::io::Result<HostEvidence> {
    let now = || {
        Timestamp::from_nanos(
            u64::try_from(linux::clock::monotonic().as_nanos()).unwrap_or(u64::MAX),
        )
    };
    let mut watch = Watch::new(Tree::live(), subject);
    watch.sample_all(now());
    work()?;
    watch.sample_all(now());
    let evidence = watch.finish(Role::Here);
    assert!(evidence.series.is_whole());
    Ok(evidence)
}

const SENT: usize = 5_000;
