//! Hosts that exist for one run, and what joins them. Nothing else sends there.

use std::fmt;
use std::fs;
use std::net::Ipv4Addr;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use lab::{Host, Impairment, Link, LinkSpec, Relayed, Routed, Shape};

use crate::interface::Counters;
use crate::workload::{Direction, Traffic, Workload};

/// The network path from client to server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Path {
    /// Loopback of one host
    #[value(name = "lo")]
    Loopback,
    /// A virtual Ethernet pair between two hosts
    Veth,
}

/// The virtual hosts of client and server, and the link between them. Over loopback both are one
/// host.
#[derive(Debug)]
pub struct Topology {
    path: Path,
    joint: Joint,
}

/// What joins them.
#[derive(Debug)]
enum Joint {
    Cable(Box<Link>),
    Router(Box<Routed>),
    Relay(Box<Relayed>),
}

/// Gets the rights to create network namespaces. To be called before the first thread starts.
///
/// # Errors
/// The system permits no network namespaces.
pub fn prepare() -> Result<()> {
    match lab::prepare() {
        lab::Access::Forbidden { reason } => bail!("cannot make hosts to run on: {reason}"),
        _ => Ok(()),
    }
}

impl Topology {
    /// Hosts for a comparison, without shaping. Tail loss probes are off (`tcp_early_retrans`), so
    /// that each byte passes the interface once and its counters can be compared with what programs
    /// report.
    ///
    /// # Errors
    /// The hosts cannot be made.
    pub fn create(path: Path) -> Result<Self> {
        let topology = Self::cable(path, &LinkSpec::default())?;
        without_loss_probes(topology.client())?;
        without_loss_probes(topology.server())?;
        Ok(topology)
    }

    /// Makes `name` the congestion control of every connection between the hosts, by their routes
    /// (`congctl`, ip-route(8)): whatever a program may set, as it has given up its privileges, or
    /// sets too late, as pacing that another algorithm began goes on.
    ///
    /// # Errors
    /// ip(8) is missing, or the kernel has no such algorithm.
    pub fn set_congestion(&self, name: &str) -> Result<()> {
        let (near, far) = self.ends();
        for host in [near, far] {
            let loopback =
                "local 127.0.0.1 dev lo table local proto kernel scope host src 127.0.0.1";
            let (network, interface, own) = (network(host), host.interface(), host.ipv4());
            let link = format!("{network} dev {interface} proto kernel scope link src {own}");
            for route in [loopback, &link] {
                let mut ip = host.command("ip");
                ip.args(["route", "replace"]).args(route.split(' ')).args(["congctl", name]);
                let status = ip.status().context("cannot run ip(8)")?;
                ensure!(status.success(), "ip route replace {route} congctl {name}: {status}");
            }
        }
        Ok(())
    }

    /// Two hosts with a link of `spec` between them. With a path over loopback only the first host
    /// is used.
    ///
    /// # Errors
    /// The hosts cannot be created.
    pub fn cable(path: Path, spec: &LinkSpec) -> Result<Self> {
        let link = Link::create(spec).context(REFUSED)?;
        Ok(Self { path, joint: Joint::Cable(Box::new(link)) })
    }

    /// Two hosts with a router between them; `spec` shapes the link of the server.
    ///
    /// # Errors
    /// The hosts cannot be created.
    pub fn router(spec: &LinkSpec) -> Result<Self> {
        let routed = Routed::create(spec).context(REFUSED)?;
        Ok(Self { path: Path::Veth, joint: Joint::Router(Box::new(routed)) })
    }

    /// Two hosts with a relay between them that impairs frames: `there` applies to what the client
    /// sends, `back` to what the server sends.
    ///
    /// # Errors
    /// The hosts cannot be created.
    pub fn relay(spec: &LinkSpec, there: Impairment, back: Impairment) -> Result<Self> {
        let relayed = Relayed::create(spec, there, back, SEED).context(REFUSED)?;
        Ok(Self { path: Path::Veth, joint: Joint::Relay(Box::new(relayed)) })
    }

    /// The near end and the far one.
    fn ends(&self) -> (&Host, &Host) {
        match &self.joint {
            Joint::Cable(link) => (&link.near, &link.far),
            Joint::Router(routed) => (&routed.near, &routed.far),
            Joint::Relay(relayed) => (&relayed.near, &relayed.far),
        }
    }

    /// The host on which the client runs.
    pub fn client(&self) -> &Host {
        self.ends().0
    }

    /// The host on which the server runs.
    pub fn server(&self) -> &Host {
        match self.path {
            Path::Loopback => self.ends().0,
            Path::Veth => self.ends().1,
        }
    }

    /// The router, as the host with the interface towards the client, and as that towards the
    /// server.
    ///
    /// # Errors
    /// The topology has no router.
    pub fn router_ends(&self) -> Result<(&Host, &Host)> {
        match &self.joint {
            Joint::Cable(_) | Joint::Relay(_) => bail!("there is no router"),
            Joint::Router(routed) => Ok((&routed.router_near, &routed.router_far)),
        }
    }

    /// The IPv4 address of the server.
    pub fn address(&self) -> Ipv4Addr {
        match self.path {
            Path::Loopback => Ipv4Addr::LOCALHOST,
            Path::Veth => self.server().ipv4(),
        }
    }

    /// The MTU of the path in bytes. `None`: the kernel does not report it (`net.ipv6.conf.*.mtu`,
    /// which is that of the link).
    pub fn mtu(&self) -> Option<u32> {
        let (host, interface) = self.ingress(Direction::Reverse)[0];
        let path = format!("/proc/sys/net/ipv6/conf/{interface}/mtu");
        host.run(|| fs::read_to_string(path)).ok()?.ok()?.trim().parse().ok()
    }

    /// Bytes of headers of each packet of `workload`, as the interfaces count them: loopback
    /// without the link layer (`eth_type_trans` before `dev_lstats_add` in drivers/net/loopback.c),
    /// veth with it (`veth_xmit` in drivers/net/veth.c). Datagrams that are segmented later (GSO)
    /// have them once.
    pub fn headers(&self, workload: &Workload) -> u64 {
        let link = if self.path == Path::Veth { ETHERNET } else { 0 };
        link + IPV4 + if workload.traffic == Traffic::Udp { UDP } else { TCP + TIMESTAMPS }
    }

    /// Receive counters of the interfaces on which payload of `direction` arrives, added up.
    ///
    /// # Errors
    /// The kernel does not report them (`/proc/thread-self/net/dev`).
    pub fn received(&self, direction: Direction) -> Result<Counters> {
        let counters = self.ingress(direction).into_iter().map(|(host, name)| received(host, name));
        let counters: Vec<Counters> = counters.collect::<Result<_>>()?;
        counters.into_iter().reduce(|one, other| one + other).context("no interface")
    }

    /// The interfaces on which payload of a direction arrives. What is sent on loopback is received
    /// there.
    fn ingress(&self, direction: Direction) -> Vec<(&Host, &str)> {
        let (near, far) = (self.client(), self.server());
        match (self.path, direction) {
            (Path::Loopback, _) => vec![(near, "lo")],
            (Path::Veth, Direction::Send) => vec![(far, far.interface())],
            (Path::Veth, Direction::Reverse) => vec![(near, near.interface())],
            (Path::Veth, Direction::Both) => {
                vec![(near, near.interface()), (far, far.interface())]
            }
        }
    }
}

/// The network of a host's address on the link.
fn network(host: &Host) -> String {
    let mask = u32::MAX << (32 - u32::from(lab::IPV4_PREFIX_LENGTH));
    let network = Ipv4Addr::from(u32::from(host.ipv4()) & mask);
    format!("{network}/{}", lab::IPV4_PREFIX_LENGTH)
}

/// A link that is shaped to `mbps` Mbit/s.
///
/// # Errors
/// `mbps` is 0.
pub fn limited(mbps: u64) -> Result<LinkSpec> {
    let rate = lab::Rate::from_bits_per_second(mbps * 1_000_000).context("a rate above zero")?;
    Ok(LinkSpec { shape: Some(Shape::with_rate(rate)), ..LinkSpec::default() })
}

fn received(host: &Host, interface: &str) -> Result<Counters> {
    // Of the thread's network; /proc/net would be that of the process.
    let text = host.run(|| fs::read_to_string("/proc/thread-self/net/dev"))??;
    Counters::read(&text, interface).with_context(|| format!("no counters of {interface}"))
}

/// Lets each byte pass the interface once.
///
/// With thousands of streams an acknowledgement is often late, since the receiver has not
/// come round to the stream. The sender takes that for a loss and sends the tail again
/// (RFC 8985, section 7): on loopback up to 64 KiB, together a tenth of all that passes.
fn without_loss_probes(host: &Host) -> Result<()> {
    let write = || fs::write(EARLY_RETRANSMISSION, "0");
    host.run(write)?.with_context(|| format!("cannot write {EARLY_RETRANSMISSION}"))
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loopback => "lo",
            Self::Veth => "veth",
        })
    }
}

const REFUSED: &str = "cannot make the hosts";
/// The same decisions of a relay in each run.
const SEED: u64 = 20_260_101;
/// Documentation/networking/ip-sysctl.rst; each network namespace has its own.
const EARLY_RETRANSMISSION: &str = "/proc/sys/net/ipv4/tcp_early_retrans";
/// Without VLAN or checksum.
const ETHERNET: u64 = 14;
/// RFC 791, section 3.1, without options.
const IPV4: u64 = 20;
/// RFC 9293, section 3.1, without options.
const TCP: u64 = 20;
/// RFC 768.
const UDP: u64 = 8;
/// RFC 7323, section 3.2, padded to words.
const TIMESTAMPS: u64 = 12;
