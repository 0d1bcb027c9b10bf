//! Links that are really made, on the kernel that runs the tests.
//!
//! This test has its own `main`: only a process that never started a thread can
//! enter a user namespace, and so the tests run for any user, not just root.
//! They are skipped, and the reason is printed, where the system forbids links.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a test harness reports on stdout")]
#![expect(clippy::disallowed_methods, reason = "a test measures time")]

use std::error::Error;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, SocketAddrV6, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use linerate_lab::{
    Access, Host, Impairment, LabError, Link, LinkSpec, Rate, Relayed, Routed, Shape,
};
use linux::namespace::{self, NetworkNamespace};
use linux::netlink::RouteSocket;

mod harness;

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> std::process::ExitCode {
    harness::run(&[
        ("a_child_runs_in_the_namespace_of_its_host", a_child_runs_in_the_namespace_of_its_host),
        ("tcp_passes_over_every_address_at_once", tcp_passes_over_every_address_at_once),
        ("a_shape_limits_both_directions", a_shape_limits_both_directions),
        ("what_queues_the_packets_to_a_host_is_found", what_queues_the_packets_to_a_host_is_found),
        ("an_mtu_is_that_of_both_ends", an_mtu_is_that_of_both_ends),
        ("a_link_too_small_for_ipv6_has_none", a_link_too_small_for_ipv6_has_none),
        ("two_links_do_not_know_each_other", two_links_do_not_know_each_other),
        ("a_refusal_names_operation_and_cause", a_refusal_names_operation_and_cause),
        ("counters_grow_with_traffic", counters_grow_with_traffic),
        ("a_deleted_link_is_gone", a_deleted_link_is_gone),
        ("nothing_is_left_after_a_drop", nothing_is_left_after_a_drop),
        ("a_rehearsal_happens_to_a_copy", a_rehearsal_happens_to_a_copy),
        ("a_router_forwards_between_two_hosts", a_router_forwards_between_two_hosts),
        (
            "the_far_link_of_a_router_is_shaped_both_ways",
            the_far_link_of_a_router_is_shaped_both_ways,
        ),
        ("a_relay_delays_what_it_carries", a_relay_delays_what_it_carries),
        ("a_relay_carries_much_at_a_delay", a_relay_carries_much_at_a_delay),
        ("a_relay_loses_what_it_is_told_to_lose", a_relay_loses_what_it_is_told_to_lose),
        ("preparing_again_changes_nothing", preparing_again_changes_nothing),
    ])
}

fn a_router_forwards_between_two_hosts() -> Outcome {
    let routed = Routed::create(&LinkSpec::default())?;
    let to = SocketAddr::from((routed.far.ipv4(), 7));
    let listener = routed.far.run(|| TcpListener::bind(to))??;
    let mut sender = routed.near.run(|| TcpStream::connect(to))??;
    sender.write_all(b"through")?;
    drop(sender);
    let mut text = String::new();
    listener.accept()?.0.read_to_string(&mut text)?;
    assert_eq!(text, "through");
    assert!(routed.router_near.link()?.statistics.received_bytes > 0);
    assert!(routed.router_far.link()?.statistics.sent_bytes > 0);
    Ok(())
}

fn the_far_link_of_a_router_is_shaped_both_ways() -> Outcome {
    let shape = Rate::from_bits_per_second(50_000_000).map(Shape::with_rate);
    let routed = Routed::create(&LinkSpec { shape, ..LinkSpec::default() })?;
    let Routed { near, router_near, router_far, far } = &routed;
    let is_shaped = |host: &Host| -> Result<bool, Box<dyn Error>> {
        let shown = host.command("tc").args(["qdisc", "show", "dev", host.interface()]).output()?;
        Ok(String::from_utf8_lossy(&shown.stdout).contains("tbf"))
    };
    for (host, expected) in [(near, false), (router_near, false), (router_far, true), (far, true)] {
        assert_eq!(is_shaped(host)?, expected, "{}", host.interface());
    }
    Ok(())
}

/// A delay in each direction.
fn relayed(millis: u64, loss: f64) -> Result<Relayed, LabError> {
    let delay = Duration::from_millis(millis);
    let forward = Impairment { delay, loss, ..Impairment::default() };
    let reverse = Impairment { delay, ..Impairment::default() };
    Relayed::create(&LinkSpec::default(), forward, reverse, 1)
}

fn a_relay_delays_what_it_carries() -> Outcome {
    let mut relayed = relayed(20, 0.0)?;
    let to = SocketAddr::from((relayed.far.ipv4(), 7));
    let listener = relayed.far.run(|| TcpListener::bind(to))??;
    let start = Instant::now();
    let mut sender = relayed.near.run(|| TcpStream::connect(to))??;
    // The neighbour is asked for first, and then the handshake takes a round trip.
    assert!(start.elapsed() >= Duration::from_millis(40), "{:?}", start.elapsed());
    sender.write_all(b"through")?;
    drop(sender);
    let mut text = String::new();
    listener.accept()?.0.read_to_string(&mut text)?;
    assert_eq!(text, "through");
    let [forward, reverse] = relayed.stop()?;
    assert!(forward.forwarded > 0 && reverse.forwarded > 0, "{forward:?} {reverse:?}");
    Ok(())
}

/// Far less than a quiet machine carries: a bound that noise does not reach.
fn a_relay_carries_much_at_a_delay() -> Outcome {
    let relayed = relayed(10, 0.0)?;
    let to = SocketAddr::from((relayed.far.ipv4(), 7));
    let listener = relayed.far.run(|| TcpListener::bind(to))??;
    let mut sender = relayed.near.run(|| TcpStream::connect(to))??;
    let (mut receiver, _) = listener.accept()?;
    let bytes = 64 << 20;
    let start = Instant::now();
    let sending = thread::spawn(move || sender.write_all(&vec![7; bytes]));
    let arrived = io::copy(&mut receiver, &mut io::sink())?;
    sending.join().expect("the sender does not panic")?;
    let rate = arrived as f64 * 8.0 / start.elapsed().as_secs_f64();
    println!("{:.0} Mbit/s at 10 ms each way", rate / 1e6);
    assert_eq!(arrived, bytes as u64);
    assert!(rate > 100e6, "{rate}");
    Ok(())
}

fn a_relay_loses_what_it_is_told_to_lose() -> Outcome {
    let mut relayed = relayed(0, 0.2)?;
    let to = SocketAddr::from((relayed.far.ipv4(), 7));
    let receiver = relayed.far.run(|| UdpSocket::bind(to))??;
    let sender = relayed.near.run(|| UdpSocket::bind((relayed.near.ipv4(), 0)))??;
    receiver.set_read_timeout(Some(Duration::from_secs(1)))?;
    // Read meanwhile: a buffer holds only some hundreds.
    let reading =
        thread::spawn(move || std::iter::from_fn(|| receiver.recv(&mut [0; 9]).ok()).count());
    for _ in 0..1_000 {
        sender.send_to(b"datagram", to)?;
        thread::sleep(Duration::from_micros(100));
    }
    let arrived = reading.join().expect("the reader does not panic");
    let [forward, _] = relayed.stop()?;
    assert!((700..900).contains(&arrived), "{arrived}");
    assert!((100..300).contains(&forward.lost), "{forward:?}");
    assert_eq!(forward.queue_drops, 0);
    Ok(())
}

fn a_child_runs_in_the_namespace_of_its_host() -> Outcome {
    let link = Link::create(&LinkSpec::default())?;
    for host in [&link.near, &link.far] {
        let output = host.command("readlink").arg("/proc/self/ns/net").output()?;
        let expected = format!("net:[{}]\n", host.namespace().inode()?);
        assert_eq!(String::from_utf8(output.stdout)?, expected);
    }
    assert_ne!(link.near.namespace().inode()?, link.far.namespace().inode()?);
    Ok(())
}

fn tcp_passes_over_every_address_at_once() -> Outcome {
    let link = Link::create(&LinkSpec::default())?;
    let start = Instant::now();
    for (address, seen_from_near) in addresses_of_far(&link) {
        let received = transfer(&link, address, seen_from_near, Amount::Bytes(1 << 20))?;
        assert_eq!(received.bytes, 1 << 20, "{address}");
    }
    // A lost handshake is repeated after a second; none may be lost.
    assert!(start.elapsed() < Duration::from_millis(900), "{:?}", start.elapsed());
    Ok(())
}

fn a_shape_limits_both_directions() -> Outcome {
    let shape = Rate::from_bits_per_second(100_000_000).map(Shape::with_rate);
    let mut link = Link::create(&LinkSpec { shape, ..LinkSpec::default() })?;
    for direction in ["near to far", "far to near"] {
        let address = (link.far.ipv4(), 0).into();
        let received = transfer(&link, address, address, Amount::Time(Duration::from_secs(2)))?;
        let megabits = received.megabits_per_second();
        println!("  {direction}: {megabits:.1} Mbit/s");
        assert!((80.0..105.0).contains(&megabits), "{direction}: {megabits:.1} Mbit/s");
        std::mem::swap(&mut link.near, &mut link.far);
    }
    Ok(())
}

fn what_queues_the_packets_to_a_host_is_found() -> Outcome {
    let shape = Rate::from_bits_per_second(100_000_000).map(Shape::with_rate);
    for (shape, expected) in [(shape, "tbf"), (None, "noqueue")] {
        let link = Link::create(&LinkSpec { shape, ..LinkSpec::default() })?;
        let mut route = link.near.run(RouteSocket::open)??;
        let interface = route.output_interface(link.far.ipv4().into())?;
        assert_eq!(interface, link.near.scope_id());
        assert_eq!(route.root_qdisc(interface)?.as_deref(), Some(expected));
    }
    Ok(())
}

fn an_mtu_is_that_of_both_ends() -> Outcome {
    let link = Link::create(&LinkSpec { mtu: Some(9000), ..LinkSpec::default() })?;
    assert_eq!((link.near.link()?.mtu, link.far.link()?.mtu), (9000, 9000));
    Ok(())
}

fn a_link_too_small_for_ipv6_has_none() -> Outcome {
    let link = Link::create(&LinkSpec { mtu: Some(1000), ..LinkSpec::default() })?;
    assert_eq!((link.near.ipv6(), link.far.link_local()), (None, None));
    let address = (link.far.ipv4(), 0).into();
    assert_eq!(transfer(&link, address, address, Amount::Bytes(1 << 16))?.bytes, 1 << 16);
    Ok(())
}

fn two_links_do_not_know_each_other() -> Outcome {
    let (one, other) = (Link::create(&LinkSpec::default())?, Link::create(&LinkSpec::default())?);
    let _listener = one.far.run(|| TcpListener::bind((one.far.ipv4(), 5201)))??;
    let port = (other.far.ipv4(), 5201).into();
    let connect =
        |link: &Link| link.near.run(|| TcpStream::connect_timeout(&port, Duration::from_secs(1)));
    assert!(connect(&one)?.is_ok());
    assert!(connect(&other)?.is_err());
    Ok(())
}

fn a_refusal_names_operation_and_cause() -> Outcome {
    let refusal = Link::create(&LinkSpec { mtu: Some(9), ..LinkSpec::default() }).err();
    let Some(LabError::SetMtu { mtu: 9, source, .. }) = refusal else {
        return Err(format!("{refusal:?}").into());
    };
    println!("  {source}");
    assert_eq!(source.kind(), io::ErrorKind::InvalidInput);
    Ok(())
}

fn counters_grow_with_traffic() -> Outcome {
    let link = Link::create(&LinkSpec::default())?;
    let before = link.near.link()?.statistics;
    let address = (link.far.ipv4(), 0).into();
    transfer(&link, address, address, Amount::Bytes(1 << 20))?;
    let after = link.near.link()?.statistics;
    assert!(after.sent_bytes - before.sent_bytes >= 1 << 20);
    assert!(after.received_packets > before.received_packets);
    Ok(())
}

fn a_deleted_link_is_gone() -> Outcome {
    let link = Link::create(&LinkSpec::default())?;
    let mut route = link.near.run(RouteSocket::open)??;
    route.delete_link(link.near.interface())?;
    assert!(link.near.link().is_err());
    assert!(link.far.link().is_err());
    Ok(())
}

fn nothing_is_left_after_a_drop() -> Outcome {
    let descriptors = open_descriptors()?;
    let link = Link::create(&LinkSpec::default())?;
    // A namespace that is held on purpose shows what becomes of the other: an
    // end of the pair cannot outlive its peer.
    let held = link.near.namespace().clone();
    let interface = link.near.interface().to_owned();
    drop(link);
    let mut route = held.run(RouteSocket::open)??;
    wait_until("the far namespace is removed", || route.link(&interface).is_err())?;
    drop((held, route));
    assert_eq!(open_descriptors()?, descriptors);
    Ok(())
}

fn preparing_again_changes_nothing() -> Outcome {
    let before = fs::read_link("/proc/self/ns/net")?;
    assert_eq!(linerate_lab::prepare(), Access::Privileged);
    assert_eq!(fs::read_link("/proc/self/ns/net")?, before);
    Ok(())
}

fn a_rehearsal_happens_to_a_copy() -> Outcome {
    // A joined thread takes a moment to leave the list of threads.
    wait_until("the process has one thread", || namespace::try_in_fork(|| Ok(())).is_ok())?;
    let mut calls = 0;
    let refusal = namespace::try_in_fork(|| {
        calls += 1;
        Err(format!("call {calls}"))
    });
    assert_eq!(refusal.map_err(|error| error.to_string()), Err("call 1".to_owned()));
    assert_eq!(calls, 0);
    let before = fs::read_link("/proc/self/ns/net")?;
    namespace::try_in_fork(|| {
        let elsewhere = NetworkNamespace::create().and_then(|created| created.enter());
        elsewhere.map_err(|error| error.to_string())
    })?;
    assert_eq!(fs::read_link("/proc/self/ns/net")?, before);
    Ok(())
}

/// The addresses of the far end: as it binds them, as the near end reaches them.
fn addresses_of_far(link: &Link) -> Vec<(SocketAddr, SocketAddr)> {
    let scoped = |address: IpAddr, host: &Host| match address {
        IpAddr::V6(address) if address.is_unicast_link_local() => {
            SocketAddrV6::new(address, 0, 0, host.scope_id()).into()
        }
        _ => SocketAddr::new(address, 0),
    };
    let ipv6 = link.far.ipv6().into_iter().chain(link.far.link_local());
    let addresses = ipv6.map(IpAddr::from).chain([link.far.ipv4().into()]);
    addresses.map(|address| (scoped(address, &link.far), scoped(address, &link.near))).collect()
}

#[derive(Clone, Copy)]
enum Amount {
    Bytes(u64),
    Time(Duration),
}

struct Received {
    bytes: u64,
    elapsed: Duration,
}

impl Received {
    fn megabits_per_second(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.elapsed.as_secs_f64() / 1e6
    }
}

/// Sends over TCP from the near to the far end; what the far end received.
fn transfer(
    link: &Link,
    bind_to: SocketAddr,
    mut connect_to: SocketAddr,
    amount: Amount,
) -> Result<Received, Box<dyn Error>> {
    let listener = link.far.run(|| TcpListener::bind(bind_to))??;
    connect_to.set_port(listener.local_addr()?.port());
    let outgoing = link.near.run(|| TcpStream::connect_timeout(&connect_to, PATIENCE))??;
    let (incoming, _) = listener.accept()?;
    thread::scope(|scope| {
        let sender = scope.spawn(|| link.near.run(|| send(outgoing, amount)));
        let received = link.far.run(|| receive(incoming))?;
        sender.join().map_err(|_| "the sender panicked")???;
        Ok(received?)
    })
}

fn send(mut stream: TcpStream, amount: Amount) -> io::Result<()> {
    let (block, start) = ([0; 1 << 14], Instant::now());
    let mut sent = 0;
    while match amount {
        Amount::Bytes(bytes) => sent < bytes,
        Amount::Time(time) => start.elapsed() < time,
    } {
        stream.write_all(&block)?;
        sent += block.len() as u64;
    }
    Ok(())
}

fn receive(mut stream: TcpStream) -> io::Result<Received> {
    let (mut block, start) = (vec![0; 1 << 16], Instant::now());
    let mut bytes = 0;
    loop {
        match stream.read(&mut block)? {
            0 => return Ok(Received { bytes, elapsed: start.elapsed() }),
            count => bytes += count as u64,
        }
    }
}

fn open_descriptors() -> io::Result<usize> {
    Ok(fs::read_dir("/proc/self/fd")?.count())
}

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) -> Outcome {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() > PATIENCE {
            return Err(format!("waited {PATIENCE:?} until {what}").into());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

const PATIENCE: Duration = Duration::from_secs(10);
