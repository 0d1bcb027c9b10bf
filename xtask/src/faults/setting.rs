//! A link with what steps have done to it and to its hosts; all of it ends with this value.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use lab::{Host, LinkSpec};
use measurement::host::Role;
use measurement::remedy::Change;

use super::expected::Witness;
use super::scenario::{Peer, Scenario, TopologyKind};
use super::seen::{Counted, Seen};
use super::step::{At, Cable, End, Step, Table};
use super::wrapping::{User, View, Wrapping};
use crate::command;
use crate::hosts::plant::{self, Group};
use crate::hosts::standstill::Standstill;
use crate::hosts::{Testbed, UnderTest, beside};
use testbed::process::Running;
use testbed::topology::{Path as Way, Topology};
use testbed::workload::PORT;

/// Hosts, and programs of them.
///
/// Fields end in the order in which they stand: programs before the hosts that they run on.
pub(crate) struct Setting<'a> {
    under_test: &'a UnderTest,
    /// What runs beside the test.
    beside: Vec<Beside>,
    server: Option<Running>,
    client: Wrapping,
    far: Wrapping,
    groups: Vec<Group>,
    words: String,
    bed: Testbed<'a>,
}

/// Something that ends when the test has ended.
#[expect(dead_code, reason = "they are there to be dropped")]
enum Beside {
    Program(Running),
    Standstill(Standstill),
}

impl<'a> Setting<'a> {
    /// Everything stands and answers when this returns.
    pub(crate) fn create(
        under_test: &'a UnderTest,
        scenario: &Scenario,
        steps: &[&Step],
    ) -> Result<Self> {
        let mut setting = Self {
            under_test,
            beside: Vec::new(),
            server: None,
            client: Wrapping::default(),
            far: Wrapping::default(),
            groups: Vec::new(),
            words: words(&scenario.test, steps),
            bed: testbed(under_test, scenario.topology, steps)?,
        };
        for step in steps {
            setting.prepare(step).with_context(|| format!("{step:?}"))?;
        }
        setting.server = Some(setting.serve(scenario)?);
        for step in steps {
            setting.start(step).with_context(|| format!("{step:?}"))?;
        }
        Ok(setting)
    }

    /// Runs the command of the scenario, the steps that are taken meanwhile, and reads what it left.
    pub(super) fn run(&mut self, scenario: &Scenario, steps: &[&Step]) -> Result<Seen> {
        let witnesses = scenario.expect.witnesses();
        let before = self.counted(&witnesses)?;
        let command = self.client(scenario.command.name());
        let ended = beside(command, || self.take_later(steps))?;
        ensure!(self.still_serves(), "the server ended meanwhile");
        let mut counted = self.counted(&witnesses)?;
        for (after, before) in counted.iter_mut().zip(before) {
            after.number -= before.number;
        }
        Seen::of(scenario.command, &ended, counted)
    }

    /// What each witness has counted until now.
    fn counted(&self, witnesses: &[Witness]) -> Result<Vec<Counted>> {
        let count = |witness: &Witness| {
            let host = self.host(witness.at())?;
            let number = self.shell(host, witness.script())?;
            let number = number.trim().parse().with_context(|| format!("no number: {number}"))?;
            Ok(Counted { number, interface: host.interface().to_owned() })
        };
        witnesses.iter().map(count).collect()
    }

    /// The steps that are taken while the command runs.
    fn take_later(&mut self, steps: &[&Step]) -> Result<()> {
        let since = Instant::now();
        for step in steps {
            if let Step::Later { after_ms, step } = step {
                thread::sleep(Duration::from_millis(*after_ms).saturating_sub(since.elapsed()));
                let taken = self.prepare(step).and_then(|()| self.start(step));
                taken.with_context(|| format!("{step:?}"))?;
            }
        }
        Ok(())
    }

    /// A command of linerate that tests against the server as the scenario has it, and prints JSON.
    pub(crate) fn client(&self, name: &str) -> Command {
        let mut command = self.client.command(self.bed.near(), &self.under_test.program);
        command.args([name, &self.bed.address().to_string(), "--json", "--quiet"]);
        command.args(self.words.split_whitespace());
        command
    }

    /// Any other command of linerate on the client's host.
    pub(crate) fn linerate(&self) -> Command {
        Wrapping::default().command(self.bed.near(), &self.under_test.program)
    }

    /// The client's host.
    pub(crate) fn near(&self) -> &Host {
        self.bed.near()
    }

    /// Makes a change that a remedy names: an option of the client, or a command of its host.
    pub(super) fn apply(&mut self, change: &Change) -> Result<()> {
        let command = change.command();
        if change.setting.is_option() {
            self.words = with_option(&self.words, &command);
            return Ok(());
        }
        let host = match &change.host {
            Role::Here => self.bed.near(),
            Role::Peer => self.bed.far(),
            Role::Observed(_) => self.bed.router()?.1,
        };
        command::output(host.command("sh").args(["-c", &command])).map(drop)
    }

    /// Whether the server did not end by itself.
    fn still_serves(&mut self) -> bool {
        // One that a step has killed is not there.
        self.server.as_mut().is_none_or(Running::is_running)
    }

    /// Puts the words, user, view or CPU of a step in front of a program.
    fn wrap(&mut self, step: &Step) {
        match step {
            Step::Behind { at, words } => {
                self.wrapping(*at).behind = words.split_whitespace().map(str::to_owned).collect();
            }
            Step::Unprivileged { at } => self.wrapping(*at).user = User::Nobody,
            Step::IpNetns { at } => self.wrapping(*at).view = View::IpNetns,
            Step::Pin { at, cpu } => self.wrapping(*at).cpu = Some(*cpu),
            _ => {}
        }
    }

    /// What is done before the server starts.
    fn prepare(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Queue { at, words, class } => {
                self.at(*at, |host| queue(host, words, class.as_deref()))
            }
            Step::Sysctl { at, name, value } => {
                self.at(*at, |host| write_setting(host, name, value))
            }
            Step::Offloads { at, words } => self.at(*at, |host| {
                let words = ["-K", host.interface()].into_iter().chain(words.split_whitespace());
                command::output(host.command("ethtool").args(words)).map(drop)
            }),
            Step::InterfaceMtu { at, bytes } => self.at(*at, |host| set_mtu(host, *bytes)),
            Step::Firewall { at, table, rules, times } => {
                self.at(*at, |host| load_rules(host, *table, rules, *times))
            }
            Step::Police { at, kbytes, burst_kbytes } => {
                self.at(*at, |host| police(host, *kbytes, *burst_kbytes))
            }
            Step::Shell { at, words } => self.at(*at, |host| self.shell(host, words).map(drop)),
            Step::Steer { at, mask } => steer(self.host((*at).into())?, mask),
            Step::Quota { at, percent } => self.confine(*at, *percent),
            Step::Observe {} => self.observe(),
            Step::Behind { .. }
            | Step::Unprivileged { .. }
            | Step::IpNetns { .. }
            | Step::Pin { .. } => {
                self.wrap(step);
                Ok(())
            }
            // The topology, or the command, is made with these; the rest starts later.
            Step::Mtu { .. }
            | Step::Relay(_)
            | Step::Words(_)
            | Step::Hog { .. }
            | Step::Crowd {}
            | Step::Slower { .. }
            | Step::Stop { .. }
            | Step::Slow { .. }
            | Step::Traffic { .. }
            | Step::Company { .. }
            | Step::Kill {}
            | Step::Later { .. } => Ok(()),
        }
    }

    /// What runs beside the test.
    fn start(&mut self, step: &Step) -> Result<()> {
        let beside = match step {
            Step::Hog { cpu, class } => Beside::Program(plant::busy_on(*cpu, *class)?),
            Step::Stop { at: End::Server, run_ms, stop_ms } => {
                let id = self.server_id()?;
                Beside::Standstill(Standstill::start(id, *run_ms, *stop_ms)?)
            }
            Step::Slow { at: End::Server, calls, micros } => {
                Beside::Program(slowed(self.server_id()?, calls, *micros)?)
            }
            Step::Stop { .. } | Step::Slow { .. } => {
                bail!("only the server can be stopped or slowed")
            }
            Step::Crowd {} => {
                self.beside.extend(plant::busy_everywhere()?.into_iter().map(Beside::Program));
                return Ok(());
            }
            Step::Slower { percent } => {
                self.beside.extend(plant::slower(*percent)?.into_iter().map(Beside::Program));
                return Ok(());
            }
            Step::Kill {} => {
                self.server = None;
                return Ok(());
            }
            Step::Company { words } => Beside::Program(Running::silent(self.bed.client(words))?),
            Step::Traffic { words } => return self.traffic(words),
            _ => return Ok(()),
        };
        self.beside.push(beside);
        Ok(())
    }

    fn serve(&self, scenario: &Scenario) -> Result<Running> {
        let (program, words): (&Path, &[&str]) = match scenario.peer {
            Peer::Linerate => (&self.under_test.program, &["serve", "--quiet"]),
            Peer::Iperf3 => {
                let installed = Path::new("iperf3");
                (scenario.program.as_deref().unwrap_or(installed), &["--server"])
            }
        };
        let mut command = self.far.command(self.bed.far(), program);
        command.args(words).stdout(Stdio::null()).stderr(Stdio::null());
        self.bed.answers(command)
    }

    /// Other streams over the same link, for longer than the test takes.
    fn traffic(&mut self, words: &str) -> Result<()> {
        let (address, port) = (self.bed.address(), OTHER_PORT.to_string());
        let linerate = |host| Wrapping::default().command(host, &self.under_test.program);
        let mut server = linerate(self.bed.far());
        server.args(["serve", "--quiet", "--port", &port]);
        let server = self.bed.started(server, (address, OTHER_PORT).into())?;
        let mut client = linerate(self.bed.near());
        client.args(["test", &address.to_string(), "--quiet", "--port", &port]);
        client.args(words.split_whitespace());
        let client = Running::silent(client)?;
        // It must not wait for a server that has gone.
        self.beside.extend([client, server].map(Beside::Program));
        Ok(())
    }

    fn observe(&mut self) -> Result<()> {
        let (router, _) = self.bed.router()?;
        let address = router.ipv4();
        let mut command = Wrapping::default().command(router, &self.under_test.program);
        command.args(["serve", "--quiet", "--observe"]);
        let server = self.bed.started(command, (address, PORT).into())?;
        self.beside.push(Beside::Program(server));
        self.words += " --observe ";
        self.words += &address.to_string();
        Ok(())
    }

    fn confine(&mut self, at: End, percent: u32) -> Result<()> {
        let group = Group::with_percent(percent)?.context("no controller of CPU time")?;
        self.wrapping(at).group = Some(group.door());
        self.groups.push(group);
        Ok(())
    }

    fn at(&self, at: At, change: impl Fn(&Host) -> Result<()>) -> Result<()> {
        if at == At::Both {
            return change(self.bed.near()).and_then(|()| change(self.bed.far()));
        }
        change(self.host(at)?)
    }

    fn host(&self, at: At) -> Result<&Host> {
        Ok(match at {
            At::Client => self.bed.near(),
            At::Server => self.bed.far(),
            At::Router => self.bed.router()?.1,
            At::RouterNear => self.bed.router()?.0,
            At::Both => bail!("one host is meant"),
        })
    }

    /// What a shell of a host prints.
    fn shell(&self, host: &Host, words: &str) -> Result<String> {
        let server = self.server.as_ref().map(|server| server.id().to_string());
        let own = [words, host.interface()].map(str::to_owned).into_iter().chain(server);
        command::output(host.command("sh").arg("-c").args(own))
    }

    fn wrapping(&mut self, end: End) -> &mut Wrapping {
        match end {
            End::Client => &mut self.client,
            End::Server => &mut self.far,
        }
    }

    fn server_id(&self) -> Result<u32> {
        Ok(self.server.as_ref().context("there is no server yet")?.id())
    }
}

/// The hosts, with what a link is made with.
fn testbed<'a>(
    under_test: &'a UnderTest,
    topology: TopologyKind,
    steps: &[&Step],
) -> Result<Testbed<'a>> {
    let mtu = steps.iter().rev().find_map(|step| match step {
        Step::Mtu { bytes } => Some(*bytes),
        _ => None,
    });
    let cable = steps.iter().rev().find_map(|step| match step {
        Step::Relay(cable) => Some(cable.clone()),
        _ => None,
    });
    let spec = LinkSpec { mtu, ..LinkSpec::default() };
    let topology = match topology {
        TopologyKind::Cable => Topology::cable(Way::Veth, &spec)?,
        TopologyKind::Loopback => Topology::cable(Way::Loopback, &spec)?,
        TopologyKind::Router => Topology::router(&spec)?,
        TopologyKind::Relay => {
            let (there, back) = cable.unwrap_or_else(Cable::default).impairments()?;
            Topology::relay(&spec, there, back)?
        }
    };
    Ok(Testbed::on(under_test, topology))
}

/// Words of `linerate test`.
fn words(test: &str, steps: &[&Step]) -> String {
    let more = steps.iter().rev().find_map(|step| match step {
        Step::Words(words) => Some(words.as_str()),
        _ => None,
    });
    format!("{test} {}", more.unwrap_or_default())
}

/// The words with an option in place of the same one.
fn with_option(words: &str, option: &str) -> String {
    let name = option.split_whitespace().next().unwrap_or_default();
    let mut kept = Vec::new();
    let mut words = words.split_whitespace();
    while let Some(word) = words.next() {
        if word == name {
            words.next();
        } else {
            kept.push(word);
        }
    }
    kept.push(option);
    kept.join(" ")
}

fn queue(host: &Host, words: &str, class: Option<&str>) -> Result<()> {
    let tc = |start: &[&str], words: &str| {
        let words = start.iter().copied().chain(words.split_whitespace());
        command::output(host.command("tc").args(words)).map(drop)
    };
    tc(&["qdisc", "replace", "dev", host.interface(), "root"], words)?;
    class.map_or(Ok(()), |class| tc(&["class", "add", "dev", host.interface()], class))
}

fn write_setting(host: &Host, name: &str, value: &str) -> Result<()> {
    let path = format!("/proc/sys/net/{name}");
    host.run(|| fs::write(&path, value))?.with_context(|| format!("cannot write {value} to {path}"))
}

fn set_mtu(host: &Host, bytes: u32) -> Result<()> {
    let words = format!("link set dev {} mtu {bytes}", host.interface());
    command::output(host.command("ip").args(words.split_whitespace())).map(drop)
}

/// All at once: a process for each rule would take seconds.
fn load_rules(host: &Host, table: Table, rules: &[String], times: u32) -> Result<()> {
    let rules = (rules.join("\n") + "\n").repeat(times as usize);
    let text = match table {
        Table::Filter => format!("*raw\nCOMMIT\n*filter\n{rules}COMMIT\n"),
        Table::Raw => format!("*raw\n{rules}COMMIT\n"),
    };
    let script = "printf %s \"$0\" | iptables-legacy-restore --noflush";
    command::output(host.command("sh").args(["-c", script, &text])).map(drop)
}

fn police(host: &Host, kbytes: u64, burst_kbytes: u64) -> Result<()> {
    let rules = policer(host.interface(), kbytes, burst_kbytes);
    command::output(host.command("nft").arg(rules)).map(drop)
}

/// What exceeds the rate is dropped (nft(8), limit statement).
pub(super) fn policer(interface: &str, kbytes: u64, burst_kbytes: u64) -> String {
    let limit = format!("limit rate over {kbytes} kbytes/second burst {burst_kbytes} kbytes drop");
    format!(
        "add table netdev policer; add chain netdev policer ingress \
         {{ type filter hook ingress device {interface} priority 0; }}; \
         add rule netdev policer ingress {limit}"
    )
}

/// The view of `/sys` is this command's own.
fn steer(host: &Host, mask: &str) -> Result<()> {
    let script = "mount -t sysfs sysfs /sys && \
                  for queue in /sys/class/net/$0/queues/rx-*; do echo $1 > $queue/rps_cpus; done";
    let words = ["--mount", "sh", "-c", script, host.interface(), mask];
    command::output(host.command("unshare").args(words)).map(drop)
}

/// A tracer that keeps a process waiting in its calls; it ends with the process.
fn slowed(process: u32, calls: &str, micros: u32) -> Result<Running> {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-p", &process.to_string()]);
    command.args(["-e", &format!("trace={calls}")]);
    command.args(["-e", &format!("inject={calls}:delay_exit={micros}")]);
    let tracer = Running::silent(command)?;
    wait_for_tracer(process)?;
    Ok(tracer)
}

/// Until the kernel says that somebody traces it (proc_pid_status(5)).
fn wait_for_tracer(process: u32) -> Result<()> {
    for _ in 0..200 {
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
        if tracer.is_some_and(|id| id.trim() != "0") {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(10));
    }
    bail!("strace does not trace process {process}")
}

/// A port beside the usual one.
const OTHER_PORT: u16 = 5202;
