//! `linerate serve status`, and the socket at which a server answers it: a Unix socket with an
//! abstract address (unix(7)), which needs no file and is gone with the server.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixListener, UnixStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::anyhow;
use linux::privileges::user_id;
use measurement::server_status::ServerStatus;
use measurement::{Order, json};
use session::server::StatusBoard;
use socket2::{Domain, SockAddr, Socket, Type};

use crate::flags::StatusFlags;
use crate::{output, terminal};

/// The socket of a server, bound before it gives up its privileges.
pub(super) struct StatusSocket {
    listener: UnixListener,
    address: SocketAddr,
    /// Who started the server.
    owner: u32,
}

impl StatusSocket {
    /// Binds the socket of the server at `address`. None: the kernel has no such sockets, or another
    /// program has taken its name; the server then cannot be asked.
    pub(super) fn bind(address: SocketAddr) -> Option<Self> {
        let name = UnixAddress::from_abstract_name(format!("{NAME}{address}")).ok()?;
        let listener = UnixListener::bind_addr(&name).ok()?;
        Some(Self { listener, address, owner: user_id() })
    }

    /// Answers whoever asks, on a thread of its own.
    ///
    /// # Errors
    /// There is no thread for it.
    pub(super) fn start(self, board: Arc<StatusBoard>) -> io::Result<()> {
        let work = move || {
            loop {
                match self.listener.accept() {
                    Ok((client, _)) => self.answer(client, &board),
                    Err(_) => thread::sleep(PAUSE),
                }
            }
        };
        let thread = thread::Builder::new().name("status".to_owned());
        thread.stack_size(linux::process::STACK_BYTES).spawn(work).map(drop)
    }

    /// Answers root, and who started the server; nobody else hears who tests.
    fn answer(&self, mut client: UnixStream, board: &StatusBoard) {
        let asker = linux::privileges::peer_user_id(&client);
        if !asker.is_ok_and(|asker| asker == ROOT || asker == self.owner) {
            return;
        }
        let status = ServerStatus { address: self.address, tests: board.tests() };
        // One that does not read its answer has none.
        if client.set_write_timeout(Some(PATIENCE)).is_ok() {
            _ = client.write_all(&json::text(&status));
        }
    }
}

/// Prints the tests of the servers on this host.
pub(super) fn run(flags: &StatusFlags) -> anyhow::Result<ExitCode> {
    let names = names(&fs::read_to_string(SOCKETS).unwrap_or_default(), flags.port);
    if names.is_empty() {
        return Err(match flags.port {
            Some(port) => anyhow!("no linerate serve runs on port {port}: type linerate serve"),
            None => anyhow!("no linerate serve runs on this host: type linerate serve"),
        });
    }
    let (servers, mut silent): (Vec<_>, Vec<_>) =
        names.iter().map(|name| ask(name)).partition(Result::is_ok);
    let servers: Vec<ServerStatus> = servers.into_iter().flatten().collect();
    let failed = if servers.is_empty() { silent.pop() } else { None };
    tell(silent.into_iter().filter_map(Result::err).collect());
    if let Some(Err(why)) = failed {
        return Err(why);
    }
    let mut text = Vec::new();
    if flags.json {
        report::status::write_json(&servers, &mut text)?;
    } else {
        report::status::write(&servers, terminal::room(), &mut text)?;
    }
    output::print_text(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Says which sockets have no answer; whoever runs programs on this host can make any number.
fn tell(silent: Vec<anyhow::Error>) {
    let more = silent.len().saturating_sub(MOST_NOTES);
    for why in silent.into_iter().take(MOST_NOTES) {
        _ = writeln!(anstream::stderr(), "linerate: {why}");
    }
    if more > 0 {
        _ = writeln!(anstream::stderr(), "linerate: {more} more have no answer");
    }
}

/// Asks the server with this address of its socket, unless another user has the socket: every program
/// may take such a name, and is then what answers.
fn ask(name: &str) -> anyhow::Result<ServerStatus> {
    let server = name.strip_prefix(NAME).unwrap_or(name);
    let failed = |error: io::Error| {
        let why = session::reason(&error);
        anyhow!("cannot ask the server at {server}: {why}")
    };
    let mut stream = connect(name).map_err(failed)?;
    let owner = linux::privileges::peer_user_id(&stream).map_err(failed)?;
    if owner != ROOT && owner != user_id() {
        return Err(anyhow!(
            "user {owner} has the socket of the server at {server}: to ask it, type sudo -u \
             '#{owner}' linerate serve status"
        ));
    }
    let text = read_until(&mut stream, Instant::now() + PATIENCE).map_err(failed)?;
    if text.is_empty() {
        return Err(anyhow!(
            "the server at {server} answers only root and the user who started it: type sudo \
             linerate serve status"
        ));
    }
    let status = str::from_utf8(&text).ok().and_then(|text| json::read(text).ok());
    status.ok_or_else(|| anyhow!("the server at {server} is of another version"))
}

/// Connects, and does not wait for one that has too many askers (`EAGAIN`, connect(2)).
fn connect(name: &str) -> io::Result<UnixStream> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.connect(&SockAddr::unix(format!("\0{name}"))?)?;
    socket.set_nonblocking(false)?;
    Ok(OwnedFd::from(socket).into())
}

/// All of an answer, which ends in time and is no longer than the largest.
fn read_until(stream: &mut UnixStream, until: Instant) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut part = [0; 4096];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part) {
            Ok(0) => return Ok(text),
            Ok(length) => text.extend_from_slice(&part[..length]),
            Err(error)
                if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            Err(error) => return Err(error),
        }
        if text.len() > MOST_BYTES {
            return Err(io::Error::other("its answer is too long"));
        }
    }
}

/// The addresses of servers' sockets in the text of `/proc/net/unix` (proc(5)), each once: of all
/// servers, or of those on a port.
fn names(sockets: &str, port: Option<u16>) -> Vec<String> {
    let paths = sockets.lines().filter_map(|line| line.split_whitespace().nth(7));
    let mut names: Vec<_> = paths
        .filter_map(|path| path.strip_prefix('@'))
        .filter(|name| {
            let address = name.strip_prefix(NAME).and_then(|text| text.parse().ok());
            let is_wanted = |address: SocketAddr| port.is_none_or(|port| address.port() == port);
            address.is_some_and(is_wanted)
        })
        .map(str::to_owned)
        .collect();
    names.order();
    names.dedup();
    names
}

/// Before the address of the server.
const NAME: &str = "linerate/serve/";
const SOCKETS: &str = "/proc/net/unix";
const ROOT: u32 = 0;
/// For an answer to be made and read, the whole of it.
const PATIENCE: Duration = Duration::from_secs(5);
/// After an error of accept(2).
const PAUSE: Duration = Duration::from_millis(100);
/// More than the largest answer: of 512 tests.
const MOST_BYTES: usize = 1 << 20;
/// Sockets without an answer that are named one by one.
const MOST_NOTES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_found_among_the_sockets_of_the_host() {
        let line = |path: &str| format!("0000000000000000: 00000002 0 10000 1 1 4711 {path}\n");
        let sockets = "Num RefCount Protocol Flags Type St Inode Path\n".to_owned()
            + &line("@linerate/serve/[::]:5201")
            + &line("@linerate/serve/[::]:5201")
            + &line("@linerate/serve/127.0.0.1:5300")
            + &line("@linerate/serve/not-an-address")
            + &line("/run/linerate/serve/1.2.3.4:5201");
        let both = ["linerate/serve/127.0.0.1:5300", "linerate/serve/[::]:5201"];
        assert_eq!(names(&sockets, None), both);
        assert_eq!(names(&sockets, Some(5300)), both[..1]);
        assert!(names(&sockets, Some(1)).is_empty() && names("", None).is_empty());
    }

    #[test]
    fn an_answer_that_does_not_end_is_cut_off_by_time_and_by_size() {
        let answer = |what: fn(UnixStream), patience| {
            let (mut near, far) = UnixStream::pair().expect("a pair");
            let writer = thread::spawn(move || what(far));
            let read = read_until(&mut near, Instant::now() + patience);
            drop(near);
            writer.join().expect("it ends with its reader");
            read.map(|text| text.len()).map_err(|error| session::reason(&error))
        };
        let trickle = |mut far: UnixStream| {
            while far.write_all(b" ").is_ok() {
                thread::sleep(Duration::from_millis(1));
            }
        };
        let flood = |mut far: UnixStream| while far.write_all(&[b' '; 1 << 12]).is_ok() {};
        let word = |mut far: UnixStream| far.write_all(b"{}").expect("written");
        assert_eq!(answer(trickle, Duration::from_millis(100)), Err("timed out".to_owned()));
        assert_eq!(answer(flood, PATIENCE), Err("its answer is too long".to_owned()));
        assert_eq!(answer(word, PATIENCE), Ok(2));
    }
}
