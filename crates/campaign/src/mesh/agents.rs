//! The agents of a mesh, as the coordinator has them: a channel to each, and one queue of what they
//! say.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::Duration;

use linux::clock;
use measurement::Foreign;

use super::message::{Answer, LONGEST_LINE, Order};

/// The way to an agent and back.
pub struct Channel {
    /// Takes orders; it is closed when the mesh ends, by which the agent ends too.
    pub orders: Box<dyn Write + Send>,
    /// Has answers.
    pub answers: Box<dyn Read + Send>,
    /// Has why the agent ended, if it says so.
    pub errors: Option<Box<dyn Read + Send>>,
    /// The process that was started for it; none: there is none.
    pub process: Option<Child>,
}

impl Channel {
    /// Starts a process with the agent, of which no signal of the terminal is.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = piped.process_group(0).spawn()?;
        let missing = || io::Error::other("a pipe is missing");
        let orders = process.stdin.take().ok_or_else(missing)?;
        let answers = process.stdout.take().ok_or_else(missing)?;
        let errors = process.stderr.take().map(|errors| Box::new(errors) as Box<dyn Read + Send>);
        Ok(Self {
            orders: Box::new(orders),
            answers: Box::new(answers),
            errors,
            process: Some(process),
        })
    }
}

/// What an agent said, and when that was heard.
#[derive(Debug)]
pub(super) enum Heard {
    Answer(Answer, Duration),
    /// It is gone, and why.
    Gone(String),
}

/// Channels to all agents.
pub struct Agents {
    orders: Vec<Option<Box<dyn Write + Send>>>,
    /// Whether each is heard no more.
    dropped: Vec<Arc<AtomicBool>>,
    processes: Vec<Option<Child>>,
    /// Those that could not be started, and why.
    unstarted: VecDeque<(usize, String)>,
    /// Has few places: agents that say more than is heard wait.
    heard: Option<Receiver<(usize, Heard)>>,
    /// Keeps the queue open while there is no thread.
    said: SyncSender<(usize, Heard)>,
}

impl Agents {
    /// Listens to agents: the first channel is that of the first host. An agent that could not be
    /// started is gone.
    pub fn new(channels: Vec<io::Result<Channel>>) -> Self {
        let (said, heard) = mpsc::sync_channel(MOST_UNHEARD);
        let mut agents = Self {
            orders: Vec::new(),
            dropped: channels.iter().map(|_| Arc::default()).collect(),
            processes: Vec::new(),
            unstarted: VecDeque::new(),
            heard: Some(heard),
            said,
        };
        for (host, channel) in channels.into_iter().enumerate() {
            let (orders, process) = match channel {
                Ok(channel) => agents.listen(host, channel),
                Err(error) => {
                    let why = format!("cannot start its agent: {error}");
                    agents.unstarted.push_back((host, why));
                    (None, None)
                }
            };
            agents.orders.push(orders);
            agents.processes.push(process);
        }
        agents
    }

    fn listen(
        &mut self,
        host: usize,
        channel: Channel,
    ) -> (Option<Box<dyn Write + Send>>, Option<Child>) {
        let Channel { orders, answers, errors, process } = channel;
        let (said, dropped) = (self.said.clone(), Arc::clone(&self.dropped[host]));
        let thread = thread::Builder::new().stack_size(STACK);
        let started = thread.spawn(move || {
            let why = hear(answers, &|answer| {
                !dropped.load(Ordering::Relaxed) && said.send((host, answer)).is_ok()
            });
            let why = errors.and_then(last_line).unwrap_or(why);
            _ = said.send((host, Heard::Gone(why)));
        });
        if let Err(error) = started {
            self.unstarted.push_back((host, format!("cannot start a thread: {error}")));
        }
        (Some(orders), process)
    }

    /// Tells an agent what to do; one that does not take it is gone, and says so.
    pub(super) fn tell(&mut self, host: usize, order: &Order) {
        let Some(Some(orders)) = self.orders.get_mut(host) else { return };
        let line = serde_json::to_string(order).unwrap_or_default() + "\n";
        let told = orders.write_all(line.as_bytes()).and_then(|()| orders.flush());
        if told.is_err() {
            self.orders[host] = None;
        }
    }

    /// Waits for what the next agent says.
    pub(super) fn hear(&mut self, limit: Duration) -> Option<(usize, Heard)> {
        if let Some((host, why)) = self.unstarted.pop_front() {
            return Some((host, Heard::Gone(why)));
        }
        self.heard.as_ref()?.recv_timeout(limit).ok()
    }

    /// Has nothing more to do with an agent: it is not heard any more, either.
    pub(super) fn drop_agent(&mut self, host: usize) {
        if let Some(dropped) = self.dropped.get(host) {
            dropped.store(true, Ordering::Relaxed);
        }
        if let Some(orders) = self.orders.get_mut(host) {
            *orders = None;
        }
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        // An agent ends when its input does. No thread waits any more for a place in the queue.
        self.orders.clear();
        self.heard = None;
        let end = clock::monotonic() + PATIENCE;
        for process in self.processes.iter_mut().flatten() {
            while matches!(process.try_wait(), Ok(None)) {
                if clock::monotonic() > end {
                    _ = process.kill();
                    _ = process.wait();
                    break;
                }
                thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

/// Passes on all answers; returns why there are no more.
fn hear(answers: impl Read, pass: &impl Fn(Heard) -> bool) -> String {
    let mut answers = BufReader::with_capacity(4096, answers);
    // A login may print something before the agent does.
    let (mut may_skip, mut skipped) = (MOST_SKIPPED, None);
    loop {
        let mut line = Vec::new();
        match (&mut answers).take(LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(0) => return skipped.unwrap_or_else(|| "its agent has ended".to_owned()),
            Err(error) => return format!("cannot hear its agent: {error}"),
            Ok(_) if line.last() != Some(&b'\n') => return "its agent was cut off".to_owned(),
            Ok(_) => {}
        }
        match serde_json::from_slice(&line) {
            Ok(Answer::Unable { error }) => return error.into_text(),
            Ok(answer) => {
                (may_skip, skipped) = (0, None);
                if !pass(Heard::Answer(answer, clock::monotonic())) {
                    return String::new();
                }
            }
            Err(_) if may_skip > 0 => {
                may_skip -= 1;
                skipped = Some(no_answer(&line));
            }
            Err(_) => return no_answer(&line),
        }
    }
}

fn no_answer(line: &[u8]) -> String {
    let said = String::from_utf8_lossy(line);
    format!("it answers with \"{}\"", Foreign::begin(&said, 100))
}

/// The last line of what a program printed as its errors.
pub(super) fn last_line(errors: Box<dyn Read + Send>) -> Option<String> {
    let mut text = Vec::new();
    _ = errors.take(MOST_ERRORS).read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(Foreign::begin(line, 200).into_text())
}

/// A thread that reads lines needs little; there is one for each host.
const STACK: usize = 256 * 1024;
const MOST_ERRORS: u64 = 4096;
/// Lines before the first answer of an agent.
const MOST_SKIPPED: u32 = 100;
/// Answers that nobody has heard yet, each of at most [`LONGEST_LINE`] bytes.
const MOST_UNHEARD: usize = 64;
/// How long all agents together may take to end.
const PATIENCE: Duration = Duration::from_secs(5);
