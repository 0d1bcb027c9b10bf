//! Tunings whose answer is known: misconfigurations that were planted, of which the remedy is kept;
//! clean hosts, on which nothing changes; and tunings that are killed, after which all is as before.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use measurement::TuneRecord;
use testbed::process::Running;
use testbed::topology::Path;

use super::Outcome;
use crate::command;
use crate::hosts::{Testbed, UnderTest};
use crate::output::say;

/// Runs the tunings.
pub(super) fn run(under_test: &UnderTest) -> Result<Vec<Outcome>> {
    let (clean, kills) = if under_test.short { (1, 3) } else { (10, 200) };
    let mut outcomes = Vec::new();
    let faults = FAULTS.iter().take(if under_test.short { 1 } else { FAULTS.len() });
    for fault in faults {
        outcomes.push(planted(under_test, fault)?);
    }
    outcomes.push(left_alone(under_test, clean)?);
    outcomes.push(killed(under_test, kills)?);
    Ok(outcomes)
}

/// A misconfiguration of the client's host.
struct Fault {
    name: &'static str,
    /// Program and arguments that plant it.
    plant: (&'static str, &'static str),
    /// Part of a command that the tuning has to keep.
    remedy: &'static str,
}

const FAULTS: [Fault; 4] = [
    Fault {
        name: "TSO off",
        plant: ("ethtool", "-K near0 tso off"),
        remedy: "ethtool -K near0 tso on",
    },
    Fault {
        name: "TSO and GSO off",
        plant: ("ethtool", "-K near0 tso off gso off"),
        remedy: "ethtool -K near0 tso on",
    },
    Fault {
        name: "scatter-gather off",
        plant: ("ethtool", "-K near0 sg off"),
        remedy: "ethtool -K near0",
    },
    Fault {
        name: "TX checksum offload off",
        plant: ("ethtool", "-K near0 tx off"),
        remedy: "ethtool -K near0 tx on",
    },
];

/// The remedy is kept, and its gain is shown.
fn planted(under_test: &UnderTest, fault: &Fault) -> Result<Outcome> {
    let bed = Bed::new(under_test)?;
    let (program, words) = fault.plant;
    bed.hosts.near_prints(program, words)?;
    let mut record = bed.tune(TUNING)?;
    for _ in 1..TIMES {
        if !record.kept.is_empty() {
            break;
        }
        // Other processes of the machine may be what the verdict names.
        say(format!("{}: again, after {:?}", fault.name, record.verdict));
        record = bed.tune(TUNING)?;
    }
    let kept = record.kept.iter().map(|one| one.change.command()).collect::<Vec<_>>();
    let goal = record.check.as_ref().and_then(|check| check.metrics.first()?.effect);
    let low = goal.and_then(|effect| effect.interval).map_or(0.0, |interval| interval.low);
    let is_kept = kept.iter().any(|command| command.contains(fault.remedy));
    let gain = goal.map_or(0.0, |effect| (effect.ratio - 1.0) * 100.0);
    Ok(Outcome {
        name: format!("{}: kept {}, {gain:+.0} %", fault.name, kept.join("; ")),
        right: is_kept && low > 1.0,
    })
}

/// A clean host is left as it is.
fn left_alone(under_test: &UnderTest, times: u32) -> Result<Outcome> {
    let bed = Bed::new(under_test)?;
    let before = bed.settings()?;
    let mut alike = 0;
    for _ in 0..times {
        bed.tune(TUNING)?;
        alike += u32::from(bed.settings()? == before);
    }
    Ok(Outcome { name: format!("clean host: as before {alike} of {times}"), right: alike == times })
}

/// Killed at any instant a tuning leaves, 5 s later, what was there before.
fn killed(under_test: &UnderTest, times: u32) -> Result<Outcome> {
    let bed = Bed::new(under_test)?;
    bed.hosts.near_prints("ethtool", "-K near0 tso off")?;
    let before = bed.settings()?;
    let mut random = Rng::with_seed(1);
    let mut alike = 0;
    for _ in 0..times {
        let tuning = Running::captured(bed.command("--yes -t 100ms --pairs 4"))?;
        thread::sleep(Duration::from_millis(random.u64(0..4_000)));
        tuning.signal("KILL").ok();
        let since = Instant::now();
        let mut is_alike = bed.settings()? == before;
        while !is_alike && since.elapsed() < BACK {
            thread::sleep(Duration::from_millis(50));
            is_alike = bed.settings()? == before;
        }
        alike += u32::from(is_alike);
        drop(tuning);
    }
    Ok(Outcome { name: format!("killed: as before {alike} of {times}"), right: alike == times })
}

/// Hosts, a server, and a directory for the journal.
struct Bed<'a> {
    hosts: Testbed<'a>,
    _server: Running,
    state: PathBuf,
}

impl<'a> Bed<'a> {
    fn new(under_test: &'a UnderTest) -> Result<Self> {
        let hosts = Testbed::new(under_test, Path::Veth)?;
        let server = hosts.serve("")?;
        let state = std::env::temp_dir().join(format!("linerate-tune-{}", std::process::id()));
        Ok(Self { hosts, _server: server, state })
    }

    fn command(&self, words: &str) -> std::process::Command {
        let words = format!("{words} --no-store --state {}", self.state.display());
        self.hosts.linerate("tune", &words)
    }

    fn tune(&self, words: &str) -> Result<TuneRecord> {
        let ended = Running::captured(self.command(words))?.finish(LONGEST)?;
        serde_json::from_str(&ended.stdout)
            .with_context(|| format!("no record of a tuning: {}", ended.complaint()))
    }

    /// Offloads, queueing, MTU and variables of the client's namespace.
    fn settings(&self) -> Result<String> {
        let mut shell = self.hosts.near().command("sh");
        shell.args(["-c", SETTINGS]);
        let text = command::output(&mut shell)?;
        ensure!(!text.is_empty(), "no settings can be read");
        Ok(text)
    }
}

impl Drop for Bed<'_> {
    fn drop(&mut self) {
        // A folder of temporary files is no place where a leftover does harm.
        _ = std::fs::remove_dir_all(&self.state);
    }
}

const SETTINGS: &str = "ethtool -k near0; ip link show near0 | grep -o 'mtu [0-9]*'; tc qdisc show; \
                        sysctl net.ipv4 net.core 2>/dev/null; true";
const TUNING: &str = "--yes -t 500ms --pairs 16";
/// Tunings that may find nothing, of one fault.
const TIMES: u32 = 3;
const LONGEST: Duration = Duration::from_secs(600);
/// By when all is as before.
const BACK: Duration = Duration::from_secs(5);
