//! A program under comparison, with its server running.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

use super::dialect::{self, Dialect, Task};
use super::process::Process;
use crate::command;

/// A program and its server, which ends with this value.
pub(super) struct Program {
    /// As it calls itself.
    pub(super) name: String,
    /// How it is spoken to.
    pub(super) dialect: &'static dyn Dialect,
    path: PathBuf,
    port: u16,
    server: Child,
}

impl Program {
    /// Asks it for its name and starts its server on a free port of loopback.
    pub(super) fn start(path: PathBuf) -> Result<Self> {
        let version = command::output(Command::new(&path).arg("--version"))?;
        let dialect = dialect::of(&version);
        let port = free_port().context("cannot find a free port")?;
        let server = Command::new(&path)
            .args(dialect.server(port))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start the server of {}", path.display()))?;
        Ok(Self { name: name(&version), dialect, path, port, server })
    }

    /// A client of its server.
    pub(super) fn client(&self, task: Task) -> Command {
        let mut client = Command::new(&self.path);
        client.args(self.dialect.client(self.port, task)).stdin(Stdio::null());
        client
    }

    /// Its server.
    pub(super) fn server(&self) -> Process {
        Process::new(self.server.id())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself; there is nobody left to tell.
        _ = self.server.kill();
        _ = self.server.wait();
    }
}

/// The first two words, e.g. `iperf 3.12`.
pub(super) fn name(version: &str) -> String {
    version.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

/// A port that is free for TCP and UDP now.
pub(crate) fn free_port() -> std::io::Result<u16> {
    let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = tcp.local_addr()?.port();
    UdpSocket::bind((Ipv4Addr::LOCALHOST, port))?;
    Ok(port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_two_words() {
        assert_eq!(name("iperf 3.12 (cJSON 1.7.15)\nLinux x\n"), "iperf 3.12");
    }

    #[test]
    fn there_is_a_free_port() {
        assert!(free_port().expect("loopback is there") > 0);
    }
}
