//! What the kernel says of the sockets and threads of a program.

use std::net::IpAddr;
use std::process::Command;

use testbed::sockets::{self, Socket};

use crate::support::until;

/// Addresses at which the host of this process has TCP listeners at `port`.
pub(crate) fn listeners(pid: u32, port: u16) -> Vec<IpAddr> {
    let mut sockets = sockets::of_process(pid, &["tcp", "tcp6"]);
    sockets.retain(Socket::listens);
    addresses(&sockets, port)
}

/// Addresses at which the host of this process has UDP sockets at `port`.
pub(crate) fn datagram_sockets(pid: u32, port: u16) -> Vec<IpAddr> {
    addresses(&sockets::of_process(pid, &["udp", "udp6"]), port)
}

fn addresses(sockets: &[Socket], port: u16) -> Vec<IpAddr> {
    let local = sockets.iter().map(|socket| socket.local);
    local.filter(|local| local.port() == port).map(|local| local.ip()).collect()
}

/// What ss(8) says of each connection from or to `port`, one a line.
pub(crate) fn connections(port: u16) -> Vec<String> {
    ss("t", port)
}

/// The same of sockets for datagrams.
pub(crate) fn datagram_flows(port: u16) -> Vec<String> {
    ss("u", port)
}

fn ss(transport: &str, port: u16) -> Vec<String> {
    let mut command = Command::new("ss");
    command.arg(format!("-HOnimoe{transport}")).arg("--tos");
    let output = command.arg(format!("( sport = :{port} or dport = :{port} )")).output();
    let output = output.expect("ss runs: it is in Debian's package iproute2");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().map(str::to_owned).collect()
}

/// Waits until all of these words are in the line of one connection from or to `port`.
pub(crate) fn await_connection(port: u16, words: &[&str]) -> String {
    until(&format!("connection with {words:?}"), || line_with(connections(port), words))
}

/// The local end in a line of ss(8), `address:port`. The state may stand before it.
pub(crate) fn local_of(line: &str) -> &str {
    ends(line).next().unwrap_or_default()
}

/// The other end.
pub(crate) fn peer_of(line: &str) -> &str {
    ends(line).nth(1).unwrap_or_default()
}

fn ends(line: &str) -> impl Iterator<Item = &str> {
    line.split_whitespace().filter(|word| word.contains(':'))
}

/// Whether the line is the server's end of a connection to its port.
pub(crate) fn is_at_the_server(line: &str, port: u16) -> bool {
    local_of(line).ends_with(&format!(":{port}"))
}

fn line_with(lines: Vec<String>, words: &[&str]) -> Option<String> {
    lines.into_iter().find(|line| words.iter().all(|word| line.contains(word)))
}

/// The number that follows `name`.
pub(crate) fn number_after(line: &str, name: &str) -> Option<u64> {
    let rest = line.split_once(name)?.1;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The CPUs that each thread may run on, as the kernel lists them (proc_pid_status(5)).
pub(crate) fn allowed_cpus(pid: u32) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.filter_map(|thread| status_field(&thread.path(), "Cpus_allowed_list")).collect()
}

/// The parent of a process.
pub(crate) fn parent(pid: u32) -> Option<u32> {
    status_field(format!("/proc/{pid}").as_ref(), "PPid")?.parse().ok()
}

/// The session of a process, which ends with its terminal (setsid(2)).
pub(crate) fn session(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the name in brackets: state, parent, group, session (proc_pid_stat(5)).
    stat.rsplit_once(')')?.1.split_whitespace().nth(3)?.parse().ok()
}

fn status_field(process: &std::path::Path, name: &str) -> Option<String> {
    let status = std::fs::read_to_string(process.join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.strip_prefix(':').map(|value| value.trim().to_owned())
}
