//! The process that changes settings of this host for clients of a server. It alone has the key and
//! the right to change settings; the server passes it bytes and is not believed.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use host::tuning::{self, TuningError};
use linux::event::StopSignals;
use linux::landlock::{self, Access};
use linux::namespace::may_configure_network;
use linux::poll::{self, PollFd};
use linux::privileges::{KeptCapabilities, drop_privileges};
use linux::seccomp::{self, Work};
use linux::{clock, entropy};
use measurement::Timestamp;
use measurement::remedy::SettingKind;
use session::server::{LinkMessage, MOST_BYTES};
use session::tuning::{HostSide, SharedKey};

use super::super::tuned::{Reply, Tuned};
use crate::exit;
use crate::shared_key;

/// Runs in the process, whose standard input is the socket to the server.
pub(crate) fn run(state: &Path, key: &Path, kinds: &[SettingKind]) -> ExitCode {
    let link = match io::stdin().as_fd().try_clone_to_owned() {
        Ok(link) => UnixStream::from(link),
        Err(error) => return exit::complain(&exit::failed(error.to_string())),
    };
    // A stop signal is for the server too; here what was changed is undone first.
    let Ok(stop) = StopSignals::open() else { return ExitCode::from(exit::FAILED) };
    let mut helper = match prepare(state, key, kinds) {
        Ok((key, tuned)) => Helper { link, key, guests: BTreeMap::new(), tuned },
        Err(text) => {
            let report = LinkMessage::Report { from: String::new(), text };
            _ = (&link).write_all(&report.encode());
            return ExitCode::from(exit::FAILED);
        }
    };
    helper.send(&LinkMessage::Ready);
    // The end of the link is the end of the server, however it came.
    _ = helper.serve(&stop);
    helper.close_all();
    ExitCode::SUCCESS
}

/// Reads the key, undoes what an earlier process has left, and gives up all rights but that to change
/// settings of the network.
fn prepare(state: &Path, key: &Path, kinds: &[SettingKind]) -> Result<(SharedKey, Tuned), String> {
    if !may_configure_network() {
        return Err("--allow-tune takes root, to change settings".to_owned());
    }
    let key = shared_key::read(key)?;
    match tuning::undo(state) {
        // A tuning of this host by itself is under way.
        Ok(_) | Err(TuningError::Busy { .. }) => {}
        Err(error) => return Err(error.to_string()),
    }
    tuning::prepare(state).map_err(|error| error.to_string())?;
    let tuned = Tuned::new(state, kinds)?;
    // A service is stopped by systemd, which asks for more.
    if !kinds.contains(&SettingKind::Services) {
        let dropped = drop_privileges(None, KeptCapabilities::AdministrateNetwork);
        dropped.map_err(|error| format!("cannot give up capabilities: {error}"))?;
        seal(state);
    }
    Ok((key, tuned))
}

/// Shuts the file system but for settings and their journal, and gives up system calls, as far as the
/// kernel can.
fn seal(state: &Path) {
    let reads = SHOWN.map(Path::new);
    let writes = [SETTINGS.map(Path::new).as_slice(), &[state]].concat();
    let access = Access { reads: &reads, writes: &writes, ..Access::default() };
    _ = (landlock::restrict(&access), seccomp::allow_only(Work::Tune));
}

struct Helper {
    link: UnixStream,
    key: SharedKey,
    guests: BTreeMap<u32, Guest>,
    tuned: Tuned,
}

/// A connection of a client.
struct Guest {
    side: HostSide,
    from: String,
}

impl Helper {
    /// Serves until the server ends, or a signal comes.
    fn serve(&mut self, stop: &StopSignals) -> io::Result<()> {
        self.link.set_nonblocking(true)?;
        let mut input = Vec::new();
        loop {
            let next = self.guests.values().map(|guest| guest.side.deadline()).min();
            let mut watches = [PollFd::readable(self.link.as_fd()), PollFd::readable(stop.as_fd())];
            poll::wait(&mut watches, next.map(|at| at.since(now())))?;
            if watches[1].ready().is_readable() && stop.arrived() {
                return Ok(());
            }
            // What came while a setting was made counts, before the silence does.
            self.read(&mut input)?;
            self.end_the_silent();
        }
    }

    fn read(&mut self, input: &mut Vec<u8>) -> io::Result<()> {
        let mut buffer = [0; MOST_BYTES];
        loop {
            match self.link.read(&mut buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => input.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
            while let Some(message) = LinkMessage::take(input)? {
                self.handle(message)?;
            }
        }
    }

    fn handle(&mut self, message: LinkMessage) -> io::Result<()> {
        match message {
            LinkMessage::Opened { connection, from } => {
                let side = HostSide::new(&self.key, entropy::random()?, now());
                self.guests.insert(connection, Guest { side, from });
                self.flush(connection);
            }
            LinkMessage::Bytes { connection, bytes } => self.hear(connection, &bytes),
            LinkMessage::Closed { connection } => self.leave(connection, "it ended the connection"),
            LinkMessage::Ready | LinkMessage::Report { .. } | LinkMessage::Stranger { .. } => {}
        }
        Ok(())
    }

    fn hear(&mut self, connection: u32, bytes: &[u8]) {
        let Some(guest) = self.guests.get_mut(&connection) else { return };
        let was_proved = guest.side.is_proved();
        let requests = match guest.side.receive(bytes, now()) {
            Ok(requests) => requests,
            Err(broken) => return self.end(connection, &format!("refused: {broken}")),
        };
        if guest.side.is_proved() && !was_proved {
            self.report(connection, "has the key");
        }
        for request in requests {
            let Reply { answer, reports } = self.tuned.answer(connection, request);
            for text in &reports {
                self.report(connection, text);
            }
            if let (Some(answer), Some(guest)) = (answer, self.guests.get_mut(&connection)) {
                guest.side.answer(&answer);
            }
        }
        self.flush(connection);
    }

    fn end_the_silent(&mut self) {
        let now = now();
        let silent = self.guests.iter().filter(|(_, guest)| guest.side.deadline() <= now);
        let silent: Vec<_> = silent.map(|(number, _)| *number).collect();
        for connection in silent {
            self.end(connection, "nothing was heard of it in time");
        }
    }

    /// Ends a connection, and undoes first what it has changed.
    fn end(&mut self, connection: u32, why: &str) {
        self.leave(connection, why);
        self.send(&LinkMessage::Closed { connection });
    }

    fn leave(&mut self, connection: u32, why: &str) {
        let undone = self.tuned.end(connection);
        let Some(Guest { side, from }) = self.guests.get(&connection) else { return };
        if side.is_proved() {
            for text in &undone {
                self.report(connection, text);
            }
            self.report(connection, why);
        } else {
            let (from, text) = (from.clone(), why.to_owned());
            self.send(&LinkMessage::Stranger { from, text });
        }
        self.guests.remove(&connection);
    }

    fn close_all(&mut self) {
        let all: Vec<_> = self.guests.keys().copied().collect();
        for connection in all {
            self.leave(connection, "the server ends");
        }
    }

    fn report(&self, connection: u32, text: &str) {
        let from = self.guests.get(&connection).map(|guest| guest.from.clone()).unwrap_or_default();
        self.send(&LinkMessage::Report { from, text: text.to_owned() });
    }

    fn flush(&mut self, connection: u32) {
        let Some(guest) = self.guests.get_mut(&connection) else { return };
        let output = guest.side.take_output();
        for bytes in output.chunks(MOST_BYTES) {
            self.send(&LinkMessage::Bytes { connection, bytes: bytes.to_owned() });
        }
    }

    /// Sends to the server; to one that takes nothing, nothing.
    fn send(&self, message: &LinkMessage) {
        let bytes = message.encode();
        let (mut rest, until) = (&bytes[..], clock::monotonic() + PATIENCE);
        while !rest.is_empty() && clock::monotonic() < until {
            match (&self.link).write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let mut room = [PollFd::writable(self.link.as_fd())];
                    _ = poll::wait(&mut room, Some(PATIENCE));
                }
                // It is noticed when it is read.
                Err(_) => return,
            }
        }
        if !rest.is_empty() {
            // Half a message would spoil all that follow.
            _ = self.link.shutdown(std::net::Shutdown::Both);
        }
    }
}

fn now() -> Timestamp {
    Timestamp::from_nanos(u64::try_from(clock::monotonic().as_nanos()).unwrap_or(u64::MAX))
}

/// Where the kernel tells of the host, and of processes that change settings.
const SHOWN: [&str; 2] = ["/proc", "/sys"];
/// Where it takes settings.
const SETTINGS: [&str; 3] = ["/proc/sys", "/proc/irq", "/sys"];
/// For a server to take what is sent.
const PATIENCE: Duration = Duration::from_secs(1);
