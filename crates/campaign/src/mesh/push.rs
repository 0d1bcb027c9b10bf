//! Copies this program to hosts that have none of its version, over the connection by which it then
//! runs there.

use std::io::{self, ErrorKind, Read, Write};
use std::process::Child;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use std::{env, fs, thread};

use linux::clock;
use linux::event::StopSignals;
use sha2::{Digest, Sha256};

use super::{Channel, Engine, MeshHost, Ssh};

/// This program, to be copied to hosts.
#[derive(Debug)]
pub struct Push {
    program: Vec<u8>,
    /// The name of the copy: it has the version and what tells builds apart.
    name: String,
}

impl Push {
    /// Reads the file of this process.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of_this_program() -> io::Result<Self> {
        let program = fs::read("/proc/self/exe")?;
        let digest: [u8; 32] = Sha256::digest(&program).into();
        let build = digest.first_chunk().map_or(0, |first| u64::from_be_bytes(*first));
        Ok(Self { name: format!("linerate-{VERSION}-{build:016x}"), program })
    }

    /// Starts an agent on each host, a few at the same time: `program` if it is there in this
    /// version, else a copy, which stays for the next mesh. A signal of `interrupts` ends that.
    ///
    /// # Errors
    /// For each host: ssh ended, the host cannot run or store the copy, or that took too long.
    pub fn start(
        &self,
        ssh: &Ssh,
        hosts: &[MeshHost],
        program: &str,
        interrupts: &StopSignals,
    ) -> Vec<io::Result<Channel>> {
        let (script, size) = (script(), self.program.len().to_string());
        let words = ["sh", "-c", &script, "sh", program, &self.name, &size, VERSION];
        let words = words.map(str::to_owned);
        let start = |host: &MeshHost| {
            if interrupts.is_pending() {
                return Err(ErrorKind::Interrupted.into());
            }
            self.start_on(Channel::start(&mut ssh.command(host, &words))?, interrupts)
        };
        let a_few = |hosts: &[MeshHost]| -> Vec<_> {
            thread::scope(|scope| {
                let threads: Vec<_> =
                    hosts.iter().map(|host| scope.spawn(move || start(host))).collect();
                let failed = |_| Err(io::Error::other("its thread ended in the middle"));
                threads.into_iter().map(|thread| thread.join().unwrap_or_else(failed)).collect()
            })
        };
        hosts.chunks(AT_ONCE).flat_map(a_few).collect()
    }

    fn start_on(&self, mut channel: Channel, interrupts: &StopSignals) -> io::Result<Channel> {
        let (orders, answers) = (&mut channel.orders, &mut channel.answers);
        let process = channel.process.as_mut();
        let prepared = within(LIMIT, interrupts, process, || self.prepare(orders, answers));
        let Err(error) = prepared else { return Ok(channel) };
        let said = complaint(channel).filter(|_| !says_all(&error));
        Err(said.map_or(error, io::Error::other))
    }

    /// Sends the program if the host asks for it.
    fn prepare(&self, orders: &mut dyn Write, answers: &mut dyn Read) -> io::Result<()> {
        loop {
            let said = said(answers)?;
            match said.split(' ').collect::<Vec<_>>()[..] {
                ["ready"] => return Ok(()),
                ["wanted", machine] if is_this(machine) => {
                    orders.write_all(&self.program)?;
                    orders.flush()?;
                }
                ["wanted", machine] => {
                    let this = env::consts::ARCH;
                    let text = format!(
                        "it is {machine}, and this linerate is for {this}: install linerate there"
                    );
                    return Err(io::Error::new(ErrorKind::Unsupported, text));
                }
                _ => return Err(io::Error::other("it cannot store linerate in ~/.cache/linerate")),
            }
        }
    }
}

/// Whether this program runs on a machine as uname(1) names it.
fn is_this(machine: &str) -> bool {
    match env::consts::ARCH {
        "arm" => machine.starts_with("armv"),
        "x86" => matches!(machine, "i386" | "i486" | "i586" | "i686"),
        this => machine == this,
    }
}

/// The next line of the script on the host: lines that its login prints are left out.
fn said(answers: &mut dyn Read) -> io::Result<String> {
    for _ in 0..MOST_LINES {
        if let Some(said) = line(answers)?.strip_prefix(MARK) {
            return Ok(said.to_owned());
        }
    }
    Err(io::Error::other("its login prints too much"))
}

/// A line, and no byte after it: the rest is of the agent.
fn line(answers: &mut dyn Read) -> io::Result<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < LONGEST {
        answers.read_exact(&mut byte)?;
        match byte {
            [b'\n'] => break,
            [byte] => line.push(byte),
        }
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

/// Does something with a process, which is ended if that takes too long, or by a signal.
fn within<T: Send>(
    limit: Duration,
    interrupts: &StopSignals,
    process: Option<&mut Child>,
    act: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let deadline = clock::monotonic() + limit;
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let acting = scope.spawn(move || {
            let _done = done;
            act()
        });
        let ended = loop {
            if interrupts.is_pending() {
                break Some(ErrorKind::Interrupted.into());
            }
            if is_done.recv_timeout(TICK) != Err(RecvTimeoutError::Timeout) {
                break None;
            }
            if clock::monotonic() > deadline {
                let text = format!("linerate was not there within {} s", limit.as_secs());
                break Some(io::Error::new(ErrorKind::TimedOut, text));
            }
        };
        if let Some(process) = process.filter(|_| ended.is_some()) {
            _ = process.kill();
        }
        let acted = acting.join().unwrap_or_else(|_| Err(io::Error::other("a thread ended")));
        ended.map_or(acted, Err)
    })
}

/// Whether an error says more than standard error, on which are warnings and banners of ssh, too.
fn says_all(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Ends a process. Returns why it ended by itself, if it said so.
fn complaint(channel: Channel) -> Option<String> {
    let Channel { orders, answers, errors, process } = channel;
    drop((orders, answers));
    // A ProxyCommand may keep standard error open for longer than ssh.
    let (said, is_said) = mpsc::channel();
    thread::spawn(move || said.send(errors.and_then(super::agents::last_line)));
    let said = is_said.recv_timeout(PATIENCE).ok().flatten();
    if let Some(mut process) = process {
        _ = process.kill();
        _ = process.wait();
    }
    said
}

/// The script as one line: csh permits no more in quotes.
fn script() -> String {
    SCRIPT.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// For a POSIX shell: the program, the name of the copy, its size, the version. Single quotes and
/// exclamation marks, which a login shell could change, are not in it.
const SCRIPT: &str = r#"
found=$(command -v "$1") &&
    [ "$("$found" --version < /dev/null 2> /dev/null | head -n 1 | cut -d " " -f 1,2)" =
        "linerate $4" ] &&
    echo "linerate-push ready" && exec "$found" mesh-agent;
umask 077;
folder=${XDG_CACHE_HOME:-$HOME/.cache}/linerate;
copy=$folder/$2-$(uname -m);
part=$copy.$(uname -n).$$;
[ -x "$copy" ] || {
    mkdir -p "$folder" && echo "linerate-push wanted $(uname -m)" &&
    head -c "$3" > "$part" && [ "$(wc -c < "$part")" -eq "$3" ] &&
    chmod 700 "$part" && mv -f "$part" "$copy";
} || { rm -f "$part"; echo "linerate-push failed"; exit 1; };
echo "linerate-push ready"; exec "$copy" mesh-agent
"#;
const VERSION: &str = env!("CARGO_PKG_VERSION");
const MARK: &str = "linerate-push ";
/// Lines that a login may print before.
const MOST_LINES: usize = 100;
const LONGEST: usize = 4096;
/// Hosts that are prepared at the same time.
const AT_ONCE: usize = 16;
/// How long a host may take: some megabytes go there.
const LIMIT: Duration = Duration::from_secs(120);
/// How often a signal is looked for.
const TICK: Duration = Duration::from_millis(100);
/// How long the rest of what a process says may take.
const PATIENCE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_host_is_sent_the_program_once_and_what_it_prints_before_does_not_matter() {
        let push = Push { program: b"program".to_vec(), name: "linerate-0-0".to_owned() };
        let prepare = |answers: &str| {
            let mut sent = Vec::new();
            let done = push.prepare(&mut sent, &mut answers.as_bytes());
            (sent, done.map_err(|error| error.to_string()))
        };
        assert_eq!(prepare("Welcome\nlinerate-push ready\nrest"), (Vec::new(), Ok(())));
        let wanted = format!("linerate-push wanted {}\n", env::consts::ARCH);
        let (sent, done) = prepare(&format!("{wanted}linerate-push ready\n"));
        assert_eq!((&sent[..], done), (&b"program"[..], Ok(())));
        let (sent, done) = prepare("linerate-push wanted pdp11\n");
        assert!(sent.is_empty());
        assert!(done.is_err_and(|why| why.contains("it is pdp11")));
        let (_, done) = prepare(&format!("{wanted}linerate-push failed\n"));
        assert!(done.is_err_and(|why| why.contains("cannot store")));
        assert!(prepare(&"text\n".repeat(1_000)).1.is_err());
        assert!(prepare("linerate-push rea").1.is_err());
    }

    #[test]
    fn a_process_that_takes_too_long_or_is_interrupted_is_ended() {
        let kind = |limit: Duration, interrupts: &StopSignals| {
            let mut channel = Channel::start(Command::new("sleep").arg("60")).expect("sleep(1)");
            let (answers, process) = (&mut channel.answers, channel.process.as_mut());
            let ended = within(limit, interrupts, process, || line(answers));
            ended.expect_err("no line").kind()
        };
        let interrupts = StopSignals::manual().expect("eventfd(2)");
        assert_eq!(kind(Duration::ZERO, &interrupts), ErrorKind::TimedOut);
        interrupts.notify();
        assert_eq!(kind(LIMIT, &interrupts), ErrorKind::Interrupted);
        // It is the same for the next one.
        assert_eq!(kind(LIMIT, &interrupts), ErrorKind::Interrupted);
    }

    #[test]
    fn any_login_shell_passes_the_script_on() {
        assert!(!script().contains(['\n', '\'', '!', '\\']), "{}", script());
    }
}
