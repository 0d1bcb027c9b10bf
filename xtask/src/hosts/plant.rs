//! What is planted on a host: programs that are busy, and a quota for a group of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use testbed::process::Running;

/// Scheduling policy of a loop (sched(7)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Class {
    #[default]
    Normal,
    /// First in, first out, above all normal ones.
    RealTime,
}

/// A loop that is pinned to one CPU and leaves it to nobody.
pub(crate) fn busy_on(cpu: u32, class: Class) -> Result<Running> {
    // It ends with this process, even if that is killed.
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]);
    if class == Class::RealTime {
        command.args(["chrt", "--fifo", REAL_TIME_PRIORITY]);
    }
    command.args(["taskset", "-c", &cpu.to_string()]);
    command.args(["sh", "-c", BUSY]);
    Running::start(command)
}

/// Two loops for each CPU, wherever they run.
pub(crate) fn busy_everywhere() -> Result<Vec<Running>> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let start = |_| {
        let mut command = Command::new("sh");
        command.args(["-c", BUSY]);
        Running::start(command)
    };
    (0..2 * cpus).map(start).collect()
}

/// A real-time loop on each CPU that takes so many hundredths of each millisecond: what runs beside it
/// is slower, as on a slower CPU.
pub(crate) fn slower(percent: u32) -> Result<Vec<Running>> {
    let start = |cpu: usize| {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--", "chrt", "--fifo", REAL_TIME_PRIORITY]);
        command.args(["taskset", "-c", &cpu.to_string(), "perl", "-e", PART_OF_EACH_MILLISECOND]);
        command.arg(percent.to_string());
        Running::start(command)
    };
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    (0..cpus).map(start).collect()
}

/// A control group with a quota of CPU time; it is removed with this value.
pub(crate) struct Group {
    folder: PathBuf,
}

impl Group {
    /// So many hundredths of a CPU; none: no controller of CPU time can be given to a group here.
    pub(crate) fn with_percent(percent: u32) -> Result<Option<Self>> {
        let Some(controller) = controller() else { return Ok(None) };
        let number = GROUPS.fetch_add(1, Ordering::Relaxed);
        let name = format!("linerate-proof-{}-{number}", std::process::id());
        let group = Self { folder: Path::new(controller.root).join(name) };
        fs::create_dir(&group.folder).context("cannot make a control group")?;
        let quota = (controller.quota)(percent * PERIOD_MICROS / 100);
        fs::write(group.folder.join(controller.file), quota)
            .context("cannot set the quota of a group")?;
        Ok(Some(group))
    }

    /// Where a process writes its number to become one of the group's.
    pub(crate) fn door(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Who still runs in it keeps it, and there is nobody left to tell.
        _ = fs::remove_dir(&self.folder);
    }
}

/// Where groups are made, and how one gets a share of a CPU (sched-bwc.rst, cgroup-v2.rst).
struct Controller {
    root: &'static str,
    file: &'static str,
    /// What to write for so many microseconds in each period.
    quota: fn(u32) -> String,
}

fn controller() -> Option<Controller> {
    let is_one = Path::new(VERSION_1).join("cpu.cfs_quota_us").exists();
    let given = fs::read_to_string(Path::new(VERSION_2).join("cgroup.subtree_control"));
    let is_two = given.is_ok_and(|names| names.split_whitespace().any(|name| name == "cpu"));
    match (is_one, is_two) {
        (true, _) => Some(Controller {
            root: VERSION_1,
            file: "cpu.cfs_quota_us",
            quota: |micros| micros.to_string(),
        }),
        (false, true) => Some(Controller {
            root: VERSION_2,
            file: "cpu.max",
            quota: |micros| format!("{micros} {PERIOD_MICROS}"),
        }),
        (false, false) => None,
    }
}

/// So that two groups have two names.
static GROUPS: AtomicU32 = AtomicU32::new(0);
/// The kernel's default.
const PERIOD_MICROS: u32 = 100_000;

const VERSION_1: &str = "/sys/fs/cgroup/cpu";
const VERSION_2: &str = "/sys/fs/cgroup";
const REAL_TIME_PRIORITY: &str = "10";
const BUSY: &str = "while :; do :; done";
/// In Perl, which every Debian has.
const PART_OF_EACH_MILLISECOND: &str = "use Time::HiRes qw(time sleep); my $busy = shift(@ARGV) / 1e5; \
    while (1) { my $end = time + $busy; 1 while time < $end; sleep(1e-3 - $busy); }";
