//! The bench: a link, a server at its far end and a client at its near end.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, bail};
use lab::{Access, Link, LinkSpec};
use testbed::port::await_listener;
use testbed::process::{Ended, Running};

use crate::ask::{Ask, Family};
use crate::program::Installed;

/// Two hosts and nothing else.
pub(crate) struct Bench {
    pub(crate) link: Link,
}

/// What both programs left behind.
pub(crate) struct BothEnds {
    pub(crate) client: Ended,
    pub(crate) server: Ended,
}

/// Fails where the system permits no links.
pub(crate) fn require(access: Access) -> anyhow::Result<()> {
    match access {
        Access::Forbidden { reason } => bail!("no network namespaces on this system: {reason}"),
        Access::Privileged | Access::UserNamespace => Ok(()),
    }
}

impl Bench {
    pub(crate) fn new(spec: &LinkSpec) -> anyhow::Result<Self> {
        Ok(Self { link: Link::create(spec).context("cannot make a link")? })
    }

    /// Runs one test; the client may take `ask.patience()`.
    pub(crate) fn run(
        &self,
        client: &Installed,
        server: &Installed,
        ask: &Ask,
    ) -> anyhow::Result<BothEnds> {
        let mut serving = Running::captured(server.server(&self.link.far))?;
        await_listener(Some(&self.link.far), PORT, &mut serving)?;
        let running =
            Running::captured(client.client(&self.link.near, ask, self.server_address(ask)?))?;
        let client = running.finish(ask.patience())?;
        let server = serving.finish(SERVER_PATIENCE)?;
        Ok(BothEnds { client, server })
    }

    fn server_address(&self, ask: &Ask) -> anyhow::Result<IpAddr> {
        match ask.family {
            Family::Ipv4 => Ok(self.link.far.ipv4().into()),
            Family::Ipv6 => {
                Ok(self.link.far.ipv6().context("this system has IPv6 switched off")?.into())
            }
        }
    }
}

/// 5201 (clause 2.1).
const PORT: u16 = 5201;
/// How long a server may outlive its client.
const SERVER_PATIENCE: Duration = Duration::from_millis(2500);
