//! One test between two programs: a server at the far end of a link, a client at the near end.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::Context;
use testbed::port::await_listener;
use testbed::process::{Ended, Running};
use testbed::topology::Topology;
use testbed::workload::PORT;

use crate::ask::{Ask, Family};
use crate::program::Installed;

/// What both programs left behind.
pub(crate) struct BothEnds {
    pub(crate) client: Ended,
    pub(crate) server: Ended,
}

/// Runs one test; the client may take `ask.patience()`.
pub(crate) fn run(
    hosts: &Topology,
    client: &Installed,
    server: &Installed,
    ask: &Ask,
) -> anyhow::Result<BothEnds> {
    let mut serving = Running::captured(server.server(hosts.server()))?;
    await_listener(Some(hosts.server()), PORT, &mut serving)?;
    let command = client.client(hosts.client(), ask, server_address(hosts, ask.family)?);
    let client = Running::captured(command)?.finish(ask.patience())?;
    let server = serving.finish(SERVER_PATIENCE)?;
    Ok(BothEnds { client, server })
}

fn server_address(hosts: &Topology, family: Family) -> anyhow::Result<IpAddr> {
    match family {
        Family::Ipv4 => Ok(hosts.address().into()),
        Family::Ipv6 => {
            Ok(hosts.server().ipv6().context("this system has IPv6 switched off")?.into())
        }
    }
}

/// How long a server may outlive its client.
const SERVER_PATIENCE: Duration = Duration::from_millis(2500);
