//! A controller and eight nodes of Slurm, each in a network namespace of its own at one bridge, with
//! a munged, a configuration and a state of their own.

use std::cell::RefCell;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use measurement::MeshRecord;
use testbed::process::{Running, keep_no_history};

use super::await_that;
use crate::command;
use crate::output::say;
use crate::packages::{self, Needed};

pub(super) const NODES: usize = 8;

/// Programs of Slurm, munge and util-linux, and the packages that have them.
const NEEDED: [Needed; 5] = [
    ("slurmctld", "slurmctld"),
    ("slurmd", "slurmd"),
    ("srun", "slurm-client"),
    ("munged", "munge"),
    ("chrt", "util-linux"),
];

/// The cluster; it ends, and its namespaces with it, when this is dropped.
pub(super) struct Cluster {
    directory: PathBuf,
    program: PathBuf,
    /// In the order in which they were started: munged, slurmctld, and slurmd of each node.
    daemons: RefCell<Vec<Option<Running>>>,
}

impl Cluster {
    /// Starts all, and waits until the nodes are idle.
    pub(super) fn start(program: &Path) -> Result<Self> {
        packages::provide(&NEEDED)?;
        let directory = std::env::temp_dir().join(format!("linerate-slurm-{}", std::process::id()));
        for folder in ["state", "log", "run", "munge"] {
            fs::create_dir_all(directory.join(folder))?;
        }
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o755))?;
        let program = program.canonicalize()?;
        let cluster = Self { directory, program, daemons: RefCell::default() };
        connect()?;
        cluster.configure()?;
        cluster.start_munged()?;
        cluster.daemon(&control(), "slurmctld", &["-D", "-c"])?;
        for number in 1..=NODES {
            cluster.start_node(number)?;
        }
        await_that("idle nodes", || cluster.idle() == NODES)?;
        Ok(cluster)
    }

    fn configure(&self) -> Result<()> {
        let nodes = (1..=NODES).map(|number| {
            format!("NodeName=n{number} NodeHostname=n{number} NodeAddr=10.98.0.{number} CPUs=2 RealMemory=1000 State=UNKNOWN\n")
        });
        let text = CONFIGURATION.replace("@D@", &self.directory.display().to_string());
        fs::write(self.file("slurm.conf"), text.replace("@NODES@", &nodes.collect::<String>()))?;
        // Else slurmd looks for a file system of control groups.
        fs::write(self.file("cgroup.conf"), "CgroupPlugin=cgroup/v1\n")?;
        Ok(())
    }

    fn start_munged(&self) -> Result<()> {
        let folder = self.file("munge");
        let mut key = [0; 1_024];
        fs::File::open("/dev/urandom")?.read_exact(&mut key)?;
        fs::write(folder.join("key"), key)?;
        fs::set_permissions(folder.join("key"), fs::Permissions::from_mode(0o400))?;
        let owner = |path: &Path| {
            command::output(Command::new("chown").args(["-R", "munge:munge"]).arg(path))
        };
        owner(&folder)?;
        let at = |name: &str| folder.join(name).display().to_string();
        let mut munged = Command::new("setpriv");
        munged.args(["--reuid=munge", "--regid=munge", "--init-groups", "munged", "--foreground"]);
        for (option, name) in [
            ("key-file", "key"),
            ("socket", "s"),
            ("pid-file", "pid"),
            ("log-file", "log"),
            ("seed-file", "seed"),
        ] {
            munged.arg(format!("--{option}={}", at(name)));
        }
        self.keep(munged)?;
        await_that("the socket of munged", || folder.join("s").exists())
    }

    fn start_node(&self, number: usize) -> Result<()> {
        let name = format!("n{number}");
        fs::create_dir_all(self.directory.join("spool").join(&name))?;
        self.daemon(&node(number), "slurmd", &["-D", "-N", &name])
    }

    /// A daemon with the host name that Slurm expects there.
    fn daemon(&self, namespace: &str, program: &str, options: &[&str]) -> Result<()> {
        let host = options.last().filter(|name| name.starts_with('n')).unwrap_or(&"labctl");
        let line = format!("hostname {host}; exec {program} {}", options.join(" "));
        // A node in whose namespace a CPU is kept busy runs on that one.
        let cpu = if *host == "n5" { "1" } else { "0" };
        let mut command = inside(namespace, "unshare");
        command.args(["--uts", "taskset", "-c", cpu, "sh", "-c", &line]);
        command.env("SLURM_CONF", self.file("slurm.conf"));
        self.keep(command)
    }

    fn keep(&self, mut command: Command) -> Result<()> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.daemons.borrow_mut().push(Some(Running::start(command)?));
        Ok(())
    }

    fn idle(&self) -> usize {
        let states = self.slurm("sinfo", &["-h", "-N", "-o", "%T"]).unwrap_or_default();
        states.lines().filter(|state| *state == "idle").count()
    }

    /// Runs a command of Slurm on the controller; returns its standard output.
    pub(super) fn slurm(&self, program: &str, words: &[&str]) -> Result<String> {
        command::output(self.at_control(program).args(words))
    }

    fn at_control(&self, program: &str) -> Command {
        let mut command = inside(&control(), "unshare");
        command.args(["--uts", "sh", "-c", "hostname labctl; exec \"$@\"", "sh", program]);
        command.env("SLURM_CONF", self.file("slurm.conf")).current_dir(&self.directory);
        keep_no_history(&mut command);
        command
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// A mesh in an allocation of all nodes.
    pub(super) fn mesh(&self, options: &str) -> Result<MeshRecord> {
        record(self.start_mesh(options)?)
    }

    pub(super) fn start_mesh(&self, options: &str) -> Result<Running> {
        let mut command = self.at_control("salloc");
        command.args(["--quiet", &format!("-N{NODES}"), "--exclusive"]).arg(&self.program);
        command.args(["mesh", "--slurm", "--json", "--quiet", "-t", TIME]);
        command.args(options.split_whitespace());
        Running::captured(command)
    }

    /// Submits a mesh; returns the number of the job.
    pub(super) fn submit(&self) -> Result<String> {
        let mut command = self.at_control(&self.program.display().to_string());
        command.args(["mesh", "--slurm", "--nodes", &NODES.to_string()]);
        command.args(["--format", "json-compact", "--quiet", "-t", TIME]);
        let said = command::output(&mut command)?;
        let number = said.strip_prefix("job ").and_then(|rest| rest.split(':').next());
        number.map(str::to_owned).with_context(|| format!("no job: {said}"))
    }

    /// Kills slurmd of a node, and what it started.
    pub(super) fn kill(&self, number: usize) -> Result<()> {
        let of_node = command::output(Command::new("ip").args(["netns", "pids", &node(number)]))?;
        for process in of_node.split_whitespace() {
            // It may have ended with another one.
            _ = command::output(Command::new("kill").args(["-KILL", process]));
        }
        // It has none where the start failed.
        if let Some(daemon) = self.daemons.borrow_mut().get_mut(BEFORE_NODES + number - 1) {
            *daemon = None;
        }
        Ok(())
    }

    /// Starts slurmd of a node again.
    pub(super) fn revive(&self, number: usize) -> Result<()> {
        self.start_node(number)?;
        let name = format!("NodeName=n{number}");
        // A node that Slurm has not missed yet need not be resumed.
        _ = self.slurm("scontrol", &["update", &name, "State=RESUME"]);
        await_that("the node", || self.idle() == NODES)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for number in 1..=NODES {
            _ = self.kill(number);
        }
        self.daemons.borrow_mut().clear();
        for number in 1..=NODES {
            _ = ip(&format!("netns del {}", node(number)));
        }
        _ = ip(&format!("netns del {}", control()));
        _ = fs::remove_dir_all(&self.directory);
    }
}

/// Limits what a node sends and receives.
pub(super) fn shape(number: usize, megabits: u32) -> Result<()> {
    limit(&node(number), "eth0", megabits)?;
    limit(&control(), &format!("p{number}"), megabits)
}

/// Nodes 7 and 8 share a port of so many Mbit/s.
pub(super) fn share(megabits: u32) -> Result<()> {
    limit(&control(), "up0", megabits)?;
    limit(&control(), "up1", megabits)?;
    [7, 8].into_iter().try_for_each(|number| at_bridge(number, "br1"))
}

/// A process that leaves a node 5 % of its CPU, which no other node uses.
pub(super) fn keep_busy(number: usize) -> Result<Running> {
    let mut command = inside(&node(number), "taskset");
    command.args(["-c", "1", "chrt", "-f", "50", "sh", "-c", "while :; do :; done"]);
    Running::start(command)
}

/// Takes back what was planted in the fabric.
pub(super) fn restore() -> Result<()> {
    (1..=NODES).try_for_each(|number| shape(number, MEGABITS))?;
    [7, 8].into_iter().try_for_each(|number| at_bridge(number, "br0"))
}

/// A bridge in the namespace of the controller, and a link to each node.
fn connect() -> Result<()> {
    let control = control();
    ip(&format!("netns add {control}"))?;
    for command in [
        "link set lo up",
        "link add br0 type bridge",
        "addr add 10.98.0.254/24 dev br0",
        "link set br0 up",
        // The port that two nodes share, where they do.
        "link add br1 type bridge",
        "link set br1 up",
        "link add up0 type veth peer name up1",
        "link set up0 master br0 up",
        "link set up1 master br1 up",
    ] {
        ip(&format!("-n {control} {command}"))?;
    }
    for number in 1..=NODES {
        let node = node(number);
        ip(&format!("netns add {node}"))?;
        ip(&format!("-n {node} link set lo up"))?;
        ip(&format!("-n {control} link add p{number} type veth peer name eth0 netns {node}"))?;
        ip(&format!("-n {control} link set p{number} master br0 up"))?;
        ip(&format!("-n {node} addr add 10.98.0.{number}/24 dev eth0"))?;
        ip(&format!("-n {node} link set eth0 up"))?;
    }
    restore()
}

/// Waits for a mesh to end with exit code 0, and reads the record that it prints.
pub(super) fn record(running: Running) -> Result<MeshRecord> {
    let ended = running.finish(LONGEST)?;
    ensure!(ended.code() == Some(0), "the mesh failed: {}", ended.complaint());
    if !ended.stderr.is_empty() {
        say(ended.complaint());
    }
    serde_json::from_str(&ended.stdout).context("the mesh printed no record")
}

fn at_bridge(number: usize, bridge: &str) -> Result<()> {
    ip(&format!("-n {} link set p{number} master {bridge}", control()))
}

fn limit(namespace: &str, interface: &str, megabits: u32) -> Result<()> {
    let words = format!(
        "qdisc replace dev {interface} root tbf rate {megabits}mbit burst 256kb latency 50ms"
    );
    command::output(inside(namespace, "tc").args(words.split_whitespace())).map(drop)
}

fn inside(namespace: &str, program: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace, program]);
    command
}

fn ip(words: &str) -> Result<()> {
    command::output(Command::new("ip").args(words.split_whitespace())).map(drop)
}

fn control() -> String {
    format!("lrslurm{}-0", std::process::id())
}

fn node(number: usize) -> String {
    format!("lrslurm{}-{number}", std::process::id())
}

/// Daemons that are started before those of the nodes: munged and slurmctld.
const BEFORE_NODES: usize = 2;
/// Longest time that a mesh may take.
const LONGEST: Duration = Duration::from_secs(300);
/// Rate of each link, in Mbit/s.
const MEGABITS: u32 = 100;
/// Time of a test in each direction, as an option of linerate.
const TIME: &str = "500ms";

/// slurm.conf(5) without control groups, accounting and systemd.
const CONFIGURATION: &str = "\
ClusterName=lab
SlurmctldHost=labctl(10.98.0.254)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=@D@/munge/s
CryptoType=crypto/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2,requeue_delay=1
ReturnToService=2
SlurmdParameters=config_overrides
StateSaveLocation=@D@/state
SlurmdSpoolDir=@D@/spool/%n
SlurmctldPidFile=@D@/run/slurmctld.pid
SlurmdPidFile=@D@/run/slurmd-%n.pid
SlurmctldLogFile=@D@/log/slurmctld.log
SlurmdLogFile=@D@/log/slurmd-%n.log
SlurmctldTimeout=30
SlurmdTimeout=30
KillWait=5
InactiveLimit=0
MinJobAge=60
@NODES@PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP OverSubscribe=NO
";
