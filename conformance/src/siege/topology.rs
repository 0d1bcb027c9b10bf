//! The star: the server's host, alone or with clients' hosts on links of their own.
//!
//! Unlike a link of crate `lab` it has any number of ends, and each can be cut off
//! while packets are on their way.

use std::ffi::OsStr;
use std::fs;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use linux::namespace::NetworkNamespace;
use linux::netlink::RouteSocket;

/// A network namespace that is a host.
#[derive(Clone, Debug)]
pub(super) struct Host {
    namespace: NetworkNamespace,
}

/// The server's host, with the links that lead to it.
pub(super) struct Star {
    pub(super) server: Host,
    spokes: u8,
}

/// A client's host at the end of a link to the server's.
pub(super) struct Spoke {
    pub(super) client: Host,
    pub(super) client_address: Ipv4Addr,
    pub(super) server_address: Ipv4Addr,
    /// The name of the interface at the server's host.
    pub(super) interface: String,
}

impl Star {
    /// A server's host with loopback alone.
    pub(super) fn new() -> anyhow::Result<Self> {
        Ok(Self { server: Host::new()?, spokes: 0 })
    }

    /// Adds a client's host.
    pub(super) fn add(&mut self) -> anyhow::Result<Spoke> {
        self.spokes = self.spokes.checked_add(1).context("too many links")?;
        let network = |host| Ipv4Addr::new(10, 201, self.spokes, host);
        let spoke = Spoke {
            client: Host::new()?,
            client_address: network(2),
            server_address: network(1),
            interface: format!("spoke{}", self.spokes),
        };
        let name = &spoke.interface;
        let (mut here, mut there) = (self.server.route()?, spoke.client.route()?);
        here.create_veth(name, UPLINK, spoke.client.namespace.as_fd())
            .context("cannot make a pair of interfaces")?;
        let address = "cannot address an interface";
        here.add_address(name, spoke.server_address.into(), 24).context(address)?;
        there.add_address(UPLINK, spoke.client_address.into(), 24).context(address)?;
        here.set_up(name).context("cannot set a link up")?;
        there.set_up(UPLINK).context("cannot set a link up")?;
        await_link(&mut here, name)?;
        Ok(spoke)
    }

    /// Deletes a client's link, and with it the interfaces of both ends.
    pub(super) fn cut(&self, spoke: &Spoke) -> anyhow::Result<()> {
        self.server.route()?.delete_link(&spoke.interface).context("cannot delete a link")
    }

    /// Bytes that left the server's host through one interface.
    pub(super) fn sent_through(&self, interface: &str) -> anyhow::Result<u64> {
        let link = self.server.route()?.link(interface);
        Ok(link.context("cannot read an interface's counters")?.statistics.sent_bytes)
    }
}

impl Host {
    /// A host whose interfaces have no addresses but those that they are given.
    fn new() -> anyhow::Result<Self> {
        let namespace = NetworkNamespace::create().context("cannot make a namespace")?;
        let host = Self { namespace };
        // The kernel's own neighbour discovery would be in the counters. A system
        // without IPv6 has no such file, and needs none.
        _ = host.set("ipv6/conf/all/disable_ipv6", "1");
        _ = host.set("ipv6/conf/default/disable_ipv6", "1");
        host.route()?.set_up("lo").context("cannot set loopback up")?;
        Ok(host)
    }

    /// A command whose process will run on this host.
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        self.namespace.apply_to(&mut command);
        command
    }

    /// Runs `work` on a thread of this host and waits for it.
    pub(super) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> anyhow::Result<T> {
        self.namespace.run(work).context("cannot enter a namespace")
    }

    /// Sets a parameter of this host's network (`/proc/sys/net`), and of no other.
    pub(super) fn set(&self, name: &str, value: &str) -> anyhow::Result<()> {
        let path = format!("/proc/sys/net/{name}");
        self.run(|| fs::write(&path, value))?.with_context(|| format!("cannot write {path}"))
    }

    /// A file below `/proc/net` as this host shows it.
    pub(super) fn table(&self, name: &str) -> anyhow::Result<String> {
        self.run(|| fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default())
    }

    fn route(&self) -> anyhow::Result<RouteSocket> {
        self.run(RouteSocket::open)?.context("cannot configure a namespace")
    }
}

fn await_link(route: &mut RouteSocket, name: &str) -> anyhow::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !route.link(name).context("cannot read an interface's state")?.operational {
        if Instant::now() > deadline {
            bail!("the link {name} does not come up");
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// The interface of a client's host.
pub(super) const UPLINK: &str = "uplink0";
const PATIENCE: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(2);
