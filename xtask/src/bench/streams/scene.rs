//! Where a run takes place: hosts of its own, and the way between them.

use std::fmt;
use std::fs;
use std::net::Ipv4Addr;

use anyhow::{Context, Result};
use clap::ValueEnum;
use lab::{Host, Link, LinkSpec};

use super::contender::Task;
use super::interface::{Counters, Headers};
use super::workload::Direction;

/// The way from client to server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::bench) enum Route {
    /// Loopback of one host
    Lo,
    /// A virtual Ethernet pair between two hosts
    Veth,
}

/// Hosts that exist for one run.
#[derive(Debug)]
pub(in crate::bench) struct Scene {
    route: Route,
    link: Link,
}

impl Scene {
    /// Makes the hosts. Loopback is that of the first: nobody else sends there.
    pub(in crate::bench) fn create(route: Route) -> Result<Self> {
        let link = Link::create(&LinkSpec::default()).context("cannot make the hosts of a run")?;
        let scene = Self { route, link };
        without_loss_probes(scene.client())?;
        without_loss_probes(scene.server())?;
        Ok(scene)
    }

    /// Where the client runs.
    pub(in crate::bench) fn client(&self) -> &Host {
        &self.link.near
    }

    /// Where the server runs.
    pub(in crate::bench) fn server(&self) -> &Host {
        match self.route {
            Route::Lo => &self.link.near,
            Route::Veth => &self.link.far,
        }
    }

    /// The server's address.
    pub(in crate::bench) fn address(&self) -> Ipv4Addr {
        match self.route {
            Route::Lo => Ipv4Addr::LOCALHOST,
            Route::Veth => self.link.far.ipv4(),
        }
    }

    /// Bytes of the largest packet, if the kernel tells (IPv6 takes the link's for its own).
    pub(in crate::bench) fn mtu(&self) -> Option<u32> {
        let interface = match self.route {
            Route::Lo => "lo",
            Route::Veth => self.link.near.interface(),
        };
        let path = format!("/proc/sys/net/ipv6/conf/{interface}/mtu");
        self.client().run(|| fs::read_to_string(path)).ok()?.ok()?.trim().parse().ok()
    }

    /// What a packet of the task has beside its payload on that interface.
    pub(super) fn headers(&self, task: &Task) -> Headers {
        match (self.route, task.workload.length) {
            (Route::Lo, None) => Headers::WITHOUT_ETHERNET,
            (Route::Veth, None) => Headers::WITH_ETHERNET,
            (Route::Lo, Some(_)) => Headers::UDP_WITHOUT_ETHERNET,
            (Route::Veth, Some(_)) => Headers::UDP_WITH_ETHERNET,
        }
    }

    /// What the interfaces have received that those receive on who receive.
    pub(super) fn received(&self, direction: Direction) -> Result<Counters> {
        let Link { near, far, .. } = &self.link;
        match (self.route, direction) {
            // What is sent on loopback is received there.
            (Route::Lo, _) => received(near, "lo"),
            (Route::Veth, Direction::Send) => received(far, far.interface()),
            (Route::Veth, Direction::Reverse) => received(near, near.interface()),
            (Route::Veth, Direction::Both) => {
                Ok(received(near, near.interface())? + received(far, far.interface())?)
            }
        }
    }
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

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Lo => "lo",
            Self::Veth => "veth",
        })
    }
}

/// Documentation/networking/ip-sysctl.rst; each network namespace has its own.
const EARLY_RETRANSMISSION: &str = "/proc/sys/net/ipv4/tcp_early_retrans";
