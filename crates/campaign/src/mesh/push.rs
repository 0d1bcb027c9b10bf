//! Copies this program to hosts that have none, over the connection by which it then runs there.

use std::io::{self, Read, Write};
use std::process::Child;
use std::sync::mpsc;
use std::time::Duration;
use std::{env, fs, thread};

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
        Ok(Self { name: format!("linerate-{}-{build:016x}", env!("CARGO_PKG_VERSION")), program })
    }

    /// Starts an agent on each host, a few at the same time: `program` if it is there, else a copy,
    /// which stays for the next mesh.
    pub fn start(&self, ssh: &Ssh, hosts: &[MeshHost], program: &str) -> Vec<io::Result<Channel>> {
        let start = |host: &MeshHost| self.start_on(ssh, host, program);
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

    fn start_on(&self, ssh: &Ssh, host: &MeshHost, program: &str) -> io::Result<Channel> {
        let words =
            ["sh", "-c", SCRIPT, "sh", program, &self.name, &self.program.len().to_string()];
        let words = words.map(str::to_owned);
        let mut channel = Channel::start(&mut ssh.command(host, &words))?;
        let (orders, answers) = (&mut channel.orders, &mut channel.answers);
        let process = channel.process.as_mut();
        let prepared = within(LIMIT, process, || self.prepare(orders, answers));
        match prepared {
            Ok(()) => Ok(channel),
            Err(error) => Err(complaint(channel).map_or(error, io::Error::other)),
        }
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
                        "it is {machine}, this linerate is for {this}: install linerate there"
                    );
                    return Err(io::Error::other(text));
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

/// What the host says next, without what its login prints.
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

/// Does something with a process, which is ended if that takes too long.
fn within<T>(
    limit: Duration,
    process: Option<&mut Child>,
    act: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T>
where
    T: Send,
{
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let acting = scope.spawn(move || {
            let _done = done;
            act()
        });
        let is_late = is_done.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
        if let Some(process) = process.filter(|_| is_late) {
            process.kill()?;
        }
        let acted = acting.join().unwrap_or_else(|_| Err(io::Error::other("a thread ended")));
        let text = format!("linerate was not there within {} s", limit.as_secs());
        if is_late { Err(io::Error::other(text)) } else { acted }
    })
}

/// Why a process ended, if it said so.
fn complaint(channel: Channel) -> Option<String> {
    let Channel { orders, answers, errors, process } = channel;
    drop((orders, answers));
    let said = errors.and_then(super::agents::last_line);
    process.map(|mut process| process.wait());
    said
}

/// For a POSIX shell: the program, the name of the copy, its size.
const SCRIPT: &str = r#"
if found=$(command -v "$1"); then echo "linerate-push ready"; exec "$found" mesh-agent; fi
umask 077
folder=${XDG_CACHE_HOME:-$HOME/.cache}/linerate
copy=$folder/$2-$(uname -m)
part=$copy.$(uname -n).$$
if [ ! -x "$copy" ]; then
    mkdir -p "$folder" || { echo "linerate-push failed"; exit 1; }
    echo "linerate-push wanted $(uname -m)"
    head -c "$3" > "$part" && [ "$(wc -c < "$part")" -eq "$3" ] && chmod 700 "$part" &&
        mv -f "$part" "$copy" || { rm -f "$part"; echo "linerate-push failed"; exit 1; }
fi
echo "linerate-push ready"
exec "$copy" mesh-agent
"#;
const MARK: &str = "linerate-push ";
/// Lines that a login may print before.
const MOST_LINES: usize = 100;
const LONGEST: usize = 4096;
/// Hosts that are prepared at the same time.
const AT_ONCE: usize = 16;
/// How long a host may take: some megabytes go there.
const LIMIT: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
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
}
