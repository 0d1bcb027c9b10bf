//! A mesh of processes that something else started, e.g. a Job of Kubernetes. They are numbered:
//! number 0 listens and coordinates, the others connect to it and become its agents. All prove that
//! they have one key.

use std::collections::BTreeMap;
use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, SyncSender};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow};
use campaign::mesh::message::Hello;
use campaign::mesh::{Channel, MeshHost};
use linux::clock;
use session::sealed::{self, SealedReader, SealedWriter};
use session::tuning::SharedKey;

use super::coordinate;
use crate::commands::mesh_agent;
use crate::exit::UsageError;
use crate::flags::MeshFlags;

/// An agent that has joined.
struct Member {
    hello: Hello,
    address: IpAddr,
    /// The address of number 0 at which the agent found it.
    of_first: IpAddr,
    reader: BufReader<SealedReader>,
    writer: SealedWriter,
}

/// Coordinates, or joins at `at`, by the number of this process.
pub(super) fn run(flags: &MeshFlags, at: &str) -> anyhow::Result<ExitCode> {
    let nodes = flags.job.nodes.unwrap_or_default();
    let number = env::var(NUMBER).ok().and_then(|text| text.parse().ok());
    let number: u32 = number.filter(|number| *number < nodes).ok_or_else(|| {
        UsageError(format!("{NUMBER} is no number below {nodes}: --join is for indexed jobs"))
    })?;
    let key = env::var(KEY).map_err(|_| UsageError(format!("{KEY} has no key")))?;
    let key = SharedKey::parse(&key).map_err(|why| UsageError(format!("{KEY}: {why}")))?;
    let name = env::var("NODE_NAME").ok().filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| format!("node{number}"));
    if number > 0 {
        let (reader, writer) = join(at, &key, &Hello { number, name })?;
        return Ok(mesh_agent::run_over(BufReader::with_capacity(4096, reader), writer));
    }
    let (_, port) = at.rsplit_once(':').unwrap_or_default();
    let port = port.parse().map_err(|_| UsageError(format!("{at} has no port")))?;
    let members = gather(port, nodes, key)?;
    let (hosts, channels) = hosts_of(nodes, name, members);
    coordinate(flags, &hosts, |_| channels)
}

/// Connects to number 0, which may start later than this process.
fn join(at: &str, key: &SharedKey, hello: &Hello) -> anyhow::Result<(SealedReader, SealedWriter)> {
    let until = clock::monotonic() + JOIN_LIMIT;
    loop {
        let tried = at.to_socket_addrs().and_then(|mut all| {
            let to = all.next().ok_or(io::ErrorKind::NotFound)?;
            sealed::join(to, key, PROOF_LIMIT)
        });
        match tried {
            Ok((reader, mut writer)) => {
                let line = serde_json::to_string(hello)? + "\n";
                writer.write_all(line.as_bytes())?;
                return Ok((reader, writer));
            }
            Err(error) if clock::monotonic() > until => {
                return Err(error).with_context(|| format!("cannot join the mesh at {at}"));
            }
            Err(_) => thread::sleep(Duration::from_millis(500)),
        }
    }
}

/// Waits for the others, as long as they may take to start.
fn gather(port: u16, nodes: u32, key: SharedKey) -> anyhow::Result<BTreeMap<u32, Member>> {
    let any = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
    let listener = TcpListener::bind(any).or_else(|_| TcpListener::bind(("0.0.0.0", port)));
    let listener = listener.with_context(|| format!("cannot listen at port {port}"))?;
    let (joined, joins) = mpsc::sync_channel(1);
    thread::spawn(move || admit_all(&listener, &key, &joined));
    let mut members = BTreeMap::new();
    let until = clock::monotonic() + JOIN_LIMIT;
    while members.len() + 1 < nodes as usize {
        let left = until.saturating_sub(clock::monotonic());
        let Ok(member) = joins.recv_timeout(left) else { break };
        let member: Member = member;
        let number = member.hello.number;
        // The first process of a number counts.
        if (1..nodes).contains(&number) {
            members.entry(number).or_insert(member);
        }
    }
    if members.is_empty() {
        return Err(anyhow!("nobody joined the mesh within {} s", JOIN_LIMIT.as_secs()));
    }
    Ok(members)
}

/// Has those who connect prove the key, until nobody wants more of them.
fn admit_all(listener: &TcpListener, key: &SharedKey, joined: &SyncSender<Member>) {
    let (unproven, is_over) = (Mutex::new(Unproven::default()), AtomicBool::new(false));
    let unproven = || unproven.lock().expect("no holder panics");
    thread::scope(|scope| {
        while !is_over.load(Relaxed) {
            let Ok((socket, from)) = listener.accept() else {
                // An error of one connection, or no descriptor is left for a while (accept(2)).
                thread::sleep(ACCEPT_REST);
                continue;
            };
            // Without a second handle it could not be ended for another.
            let Ok(handle) = socket.try_clone() else { continue };
            let number = unproven().add(from.ip().to_canonical(), handle);
            let (unproven, is_over) = (&unproven, &is_over);
            let proof = thread::Builder::new().spawn_scoped(scope, move || {
                let member = admit(socket, key);
                unproven().remove(number);
                // Who does not prove it is no member, whatever the reason.
                if member.is_ok_and(|member| joined.send(member).is_err()) {
                    is_over.store(true, Relaxed);
                }
            });
            // The system has no thread for it now.
            if proof.is_err() {
                unproven().remove(number);
            }
        }
    });
}

/// Connections that have not proved the key, by number as they came.
#[derive(Default)]
struct Unproven {
    count: u64,
    all: BTreeMap<u64, (IpAddr, TcpStream)>,
}

impl Unproven {
    /// Adds a connection, and returns its number. If there are [`AT_ONCE`] already, the oldest of the
    /// address with the most of them is closed: a stranger keeps out nobody but itself.
    fn add(&mut self, address: IpAddr, socket: TcpStream) -> u64 {
        while self.all.len() >= AT_ONCE {
            let Some(oldest) = self.oldest_of_the_most() else { break };
            self.all.remove(&oldest).into_iter().for_each(|(_, other)| {
                // It may have ended itself.
                _ = other.shutdown(Shutdown::Both);
            });
        }
        self.count += 1;
        self.all.insert(self.count, (address, socket));
        self.count
    }

    fn remove(&mut self, number: u64) {
        self.all.remove(&number);
    }

    fn oldest_of_the_most(&self) -> Option<u64> {
        let mut counts = BTreeMap::<_, usize>::new();
        for (address, _) in self.all.values() {
            *counts.entry(*address).or_default() += 1;
        }
        let (most, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        self.all.iter().find(|(_, (address, _))| *address == most).map(|(number, _)| *number)
    }
}

fn admit(socket: TcpStream, key: &SharedKey) -> io::Result<Member> {
    let (reader, writer) = sealed::admit(socket, key, PROOF_LIMIT)?;
    let (theirs, ours) = reader.addresses()?;
    let mut reader = BufReader::with_capacity(4096, reader);
    let mut line = Vec::new();
    (&mut reader).take(LONGEST_HELLO).read_until(b'\n', &mut line)?;
    let hello: Hello = serde_json::from_slice(&line)?;
    let (address, of_first) = (theirs.ip().to_canonical(), ours.ip().to_canonical());
    Ok(Member { hello, address, of_first, reader, writer })
}

/// All hosts by number, with their agents; those that did not join have none.
fn hosts_of(
    nodes: u32,
    name: String,
    mut members: BTreeMap<u32, Member>,
) -> (Vec<MeshHost>, Vec<io::Result<Channel>>) {
    let of_first = members.values().next().map(|member| member.of_first.to_string());
    let mut hosts = vec![MeshHost { name, addresses: vec![of_first.unwrap_or_default()] }];
    let mut channels = vec![own_agent()];
    for number in 1..nodes {
        let joined = members.remove(&number).map(Member::into_host);
        let (host, channel) = joined.unwrap_or_else(|| missing(number));
        hosts.push(host);
        channels.push(channel);
    }
    name_apart(&mut hosts);
    (hosts, channels)
}

/// A host that did not join.
fn missing(number: u32) -> (MeshHost, io::Result<Channel>) {
    let name = format!("node{number}");
    let why = format!("it did not join within {} s", JOIN_LIMIT.as_secs());
    (MeshHost { addresses: vec![name.clone()], name }, Err(io::Error::other(why)))
}

impl Member {
    fn into_host(self) -> (MeshHost, io::Result<Channel>) {
        let host = MeshHost { name: shown(&self.hello), addresses: vec![self.address.to_string()] };
        let channel = Channel {
            orders: Box::new(self.writer),
            answers: Box::new(self.reader),
            errors: None,
            process: None,
        };
        (host, Ok(channel))
    }
}

fn own_agent() -> io::Result<Channel> {
    Channel::start(Command::new(env::current_exe()?).arg("mesh-agent"))
}

fn shown(hello: &Hello) -> String {
    let letters = hello.name.chars().filter(char::is_ascii_graphic).take(63);
    letters.collect()
}

/// Hosts with one name, e.g. several pods on a node, get their numbers to it.
fn name_apart(hosts: &mut [MeshHost]) {
    let mut known = BTreeMap::new();
    for host in hosts.iter() {
        *known.entry(host.name.clone()).or_insert(0) += 1;
    }
    for (number, host) in hosts.iter_mut().enumerate() {
        if known.get(&host.name).is_some_and(|count| *count > 1) || host.name.is_empty() {
            host.name = format!("{}#{number}", host.name);
        }
    }
}

/// Set by Kubernetes in the pods of an indexed Job.
const NUMBER: &str = "JOB_COMPLETION_INDEX";
const KEY: &str = "LINERATE_MESH_KEY";
/// How long pods may take until all run: nodes pull the image.
const JOIN_LIMIT: Duration = Duration::from_secs(600);
const PROOF_LIMIT: Duration = Duration::from_secs(10);
/// Connections that may prove the key at the same time.
const AT_ONCE: usize = 32;
/// Pause after a connection that could not be accepted.
const ACCEPT_REST: Duration = Duration::from_millis(10);
const LONGEST_HELLO: u64 = 1024;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn the_address_with_the_most_connections_makes_room() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let connect = || {
            let to = listener.local_addr().expect("bound");
            let socket = TcpStream::connect(to).expect("it listens");
            listener.accept().expect("a connection");
            socket
        };
        let [stranger, member] = [1, 2].map(|last| IpAddr::from([192, 0, 2, last]));
        let mut unproven = Unproven::default();
        let of_member = unproven.add(member, connect());
        for _ in 0..10 * AT_ONCE {
            unproven.add(stranger, connect());
        }
        assert_eq!(unproven.all.len(), AT_ONCE);
        assert!(unproven.all.contains_key(&of_member));
        let numbers: Vec<_> = unproven.all.keys().skip(1).copied().collect();
        assert_eq!(numbers.first(), Some(&(unproven.count + 2 - AT_ONCE as u64)));
    }
}
