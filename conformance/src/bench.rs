//! The bench: a link, a server at its far end and a client at its near end.

use std::fs;
use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use lab::{Access, Host, Link, LinkSpec};

use crate::ask::{Ask, Family};
use crate::child::{Ended, Running};
use crate::program::Installed;

/// Two hosts and nothing else.
pub(crate) struct Bench {
    pub(crate) link: Link,
}

/// What both programs left behind.
pub(crate) struct Played {
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
    pub(crate) fn play(
        &self,
        client: &Installed,
        server: &Installed,
        ask: &Ask,
    ) -> anyhow::Result<Played> {
        let mut serving = Running::start(server.server(&self.link.far))?;
        await_listener(&self.link.far, PORT, &mut serving)?;
        let running =
            Running::start(client.client(&self.link.near, ask, self.server_address(ask)?))?;
        let client = running.finish(ask.patience())?;
        let server = serving.finish(SERVER_PATIENCE)?;
        Ok(Played { client, server })
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

/// Waits until `server` listens on `port` of `host`.
pub(crate) fn await_listener(host: &Host, port: u16, server: &mut Running) -> anyhow::Result<()> {
    let deadline = Instant::now() + LISTEN_PATIENCE;
    while !listens(host, port)? {
        if !server.is_running() || Instant::now() > deadline {
            bail!("a server does not come to listen");
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Whether some program of the host listens on a port, as of proc(5).
fn listens(host: &Host, port: u16) -> anyhow::Result<bool> {
    let tables = host.run(|| {
        ["/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"]
            .map(|path| fs::read_to_string(path).unwrap_or_default())
    })?;
    Ok(tables.iter().flat_map(|table| table.lines()).any(|line| is_listener(line, port)))
}

fn is_listener(line: &str, port: u16) -> bool {
    let mut fields = line.split_whitespace().skip(1);
    let local = fields.next().unwrap_or_default();
    local.ends_with(&format!(":{port:04X}")) && fields.nth(1) == Some(LISTEN)
}

/// 5201 (clause 2.1).
const PORT: u16 = 5201;
/// `TCP_LISTEN` of `net/tcp_states.h`.
const LISTEN: &str = "0A";
const POLL_INTERVAL: Duration = Duration::from_millis(3);
const LISTEN_PATIENCE: Duration = Duration::from_secs(3);
/// How long a server may outlive its client.
const SERVER_PATIENCE: Duration = Duration::from_millis(2500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_told_from_a_connection() {
        let line = "   0: 00000000:1451 00000000:0000 0A 00000000:00000000 00:00000000";
        assert!(is_listener(line, PORT));
        assert!(!is_listener(&line.replace("0A", "01"), PORT));
        assert!(!is_listener(&line.replace("1451", "1452"), PORT));
    }
}
