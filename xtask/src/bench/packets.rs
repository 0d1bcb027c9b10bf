//! `bench packets`: the smallest frames by AF_XDP and by a program that makes them, counted by a program
//! of XDP, beside a plain loop in C and beside UDP sockets that send one datagram in a call.

use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use lab::{Link, LinkSpec};
use serde_json::Value;
use testbed::markdown::{Align, Table};
use testbed::port;
use testbed::process::{self, Ended, Running};
use testbed::promise::Outcome;
use testbed::spread::Spread;

use super::flags::{Flags, Strict, ours, require};
use super::reference;

/// Compares frames of 64 bytes by AF_XDP and XDP with a plain loop in C and with UDP sockets
#[derive(Debug, Args)]
#[command(mut_arg("rounds", |rounds| rounds.default_value("7")))]
#[command(mut_arg("time", |time| time.default_value("2")))]
#[command(mut_arg("peer", |peer| peer.hide(true)))]
pub(super) struct Packets {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    strict: Strict,
}

impl Packets {
    pub(super) fn run(self) -> Result<String> {
        require(&["ip", "ethtool", "taskset"])?;
        testbed::topology::prepare()?;
        let cpus = linux::host::allowed_cpus().context("no CPUs")?;
        ensure!(cpus.len() > 1, "this takes two CPUs");
        let ours = ours(self.flags.linerate.as_ref())?;
        let bench =
            Bench { ours, plain: reference::path("frames")?, cpus, seconds: self.flags.time };
        let link = Link::create(&LinkSpec::default()).context("no hosts")?;
        let mut table = Table::new(HEAD);
        let mut outcomes = Vec::new();
        for napi in [Napi::Default, Napi::Threaded] {
            bench.make_ports(&link, napi)?;
            let mut all = Series::default();
            for round in 0..self.flags.rounds {
                bench.round(&link, round % 2 == 1, &mut all)?;
            }
            all.push_to(&mut table, napi);
            outcomes.extend(all.outcomes(napi));
        }
        self.flags.publish(&table.to_string())?;
        self.strict.sum_up(&outcomes)
    }
}

/// Where the kernel handles what arrives at a veth(4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Napi {
    /// On the CPU of the sender.
    Default,
    /// In a thread, on a CPU of its own.
    Threaded,
}

impl fmt::Display for Napi {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Default => "default",
            Self::Threaded => "threaded NAPI",
        })
    }
}

struct Bench {
    ours: PathBuf,
    plain: PathBuf,
    cpus: Vec<usize>,
    seconds: u32,
}

impl Bench {
    /// A pair of ports at the near host.
    fn make_ports(&self, link: &Link, napi: Napi) -> Result<()> {
        let threaded = if napi == Napi::Threaded { THREADED } else { "" };
        let script = format!("{MAKE}{threaded}");
        let mut command = link.near.command("unshare");
        command.args(["--mount", "sh", "-c", &script]);
        let ended = process::finish(command, LIMIT)?;
        ensure!(ended.code() == Some(0), "no ports: {}", ended.complaint());
        let receiver = self.cpus[1].to_string();
        for thread in linux::process::thread_uses() {
            if thread.is_kernel && thread.name.starts_with(&format!("napi/{TO}")) {
                let mut pin = Command::new("taskset");
                pin.args(["-p", "-c", &receiver, &thread.thread.to_string()]);
                process::finish(pin, LIMIT)?;
            }
        }
        Ok(())
    }

    /// Each once, in this order or from the last one on.
    fn round(&self, link: &Link, reversed: bool, all: &mut Series) -> Result<()> {
        let mut steps = [Self::live, Self::count, Self::plain, Self::receive, Self::udp];
        if reversed {
            steps.reverse();
        }
        steps.iter().try_for_each(|step| step(self, link, all))
    }

    /// Ours, made in the kernel, as `--count-only` has them by itself.
    fn live(&self, link: &Link, all: &mut Series) -> Result<()> {
        let record = self.packets(link, &["--count-only"])?;
        let engine = record.pointer("/send_engine/engine").and_then(Value::as_str);
        ensure!(engine == Some("xdp_live"), "frames were sent by {engine:?}");
        all.live.push(number(&record, "/received/frames_per_second")?);
        all.astray += number(&record, "/unaccounted")?.abs();
        Ok(())
    }

    /// Ours by AF_XDP, counted by XDP.
    fn count(&self, link: &Link, all: &mut Series) -> Result<()> {
        let record = self.packets(link, &["--count-only", "--engine", "af-xdp"])?;
        all.ours.push(number(&record, "/received/frames")? / f64::from(self.seconds));
        all.astray += number(&record, "/unaccounted")?.abs();
        Ok(())
    }

    /// Ours, received by AF_XDP: more arrive than it takes, and all are accounted for.
    fn receive(&self, link: &Link, all: &mut Series) -> Result<()> {
        let record = self.packets(link, &[])?;
        all.received.push(number(&record, "/received/frames")? / f64::from(self.seconds));
        all.astray += number(&record, "/unaccounted")?.abs();
        Ok(())
    }

    fn packets(&self, link: &Link, how: &[&str]) -> Result<Value> {
        let mut command = link.near.command(&self.ours);
        let (sender, receiver) = (self.cpus[0], self.cpus[1]);
        command.args(["packets", "--from", FROM, "--to", TO, "--size", "64", "--json", "-q"]);
        command.args(how);
        command.args(["--cpus", &format!("{sender},{receiver}")]);
        command.args(["-t", &format!("{}s", self.seconds)]);
        json(&process::finish(command, LIMIT)?)
    }

    fn plain(&self, link: &Link, all: &mut Series) -> Result<()> {
        let mut command = link.near.command(&self.plain);
        command.args([FROM, TO, &(SIZE - CHECK_SEQUENCE).to_string()]);
        command.args([self.seconds.to_string(), self.cpus[0].to_string()]);
        let record = json(&process::finish(command, LIMIT)?)?;
        all.plain.push(number(&record, "/received")? / number(&record, "/seconds")?);
        Ok(())
    }

    /// Datagrams in frames of this size between the hosts, one in a call.
    fn udp(&self, link: &Link, all: &mut Series) -> Result<()> {
        let number_of_port = port::free()?;
        let pinned = |host: &lab::Host, cpu: usize, words: &str| {
            let mut command = host.command("taskset");
            command.args(["-c", &cpu.to_string()]).arg(&self.ours).args(words.split(' '));
            command
        };
        let words = format!("serve --port {number_of_port} -q");
        let mut server = Running::silent(pinned(&link.far, self.cpus[1], &words))?;
        port::await_listener(Some(&link.far), number_of_port, &mut server)?;
        let payload = SIZE - CHECK_SEQUENCE - HEADERS;
        let words = format!(
            "test {} --port {number_of_port} --udp --send -b 0 -l {payload} -t {}s --engine send \
             --json -q",
            link.far.ipv4(),
            self.seconds
        );
        let client = pinned(&link.near, self.cpus[0], &words);
        let record = json(&process::finish(client, LIMIT)?)?;
        let arrived = number(&record, "/outcome/directions/0/datagrams/received")?;
        all.udp.push(arrived / number(&record, "/outcome/directions/0/delivered/seconds")?);
        Ok(())
    }
}

/// Frames in a second of each round.
#[derive(Debug, Default)]
struct Series {
    live: Vec<f64>,
    ours: Vec<f64>,
    plain: Vec<f64>,
    received: Vec<f64>,
    udp: Vec<f64>,
    /// Frames of ours that were lost where no counter tells.
    astray: f64,
}

impl Series {
    fn push_to(&self, table: &mut Table, napi: Napi) {
        let thousands = |values: &[f64]| {
            let spread = Spread::from_values(values.iter().map(|value| value / 1e3));
            spread.map_or_else(String::new, |of| {
                format!("{:.0} ({:.0}..{:.0})", of.median, of.least, of.most)
            })
        };
        let cells = [&self.live, &self.ours, &self.plain, &self.received, &self.udp];
        let [live, ours, plain, received, udp] = cells.map(|values| thousands(values));
        table.push([&napi.to_string(), &live, &ours, &plain, &received, &udp]);
    }

    fn outcomes(&self, napi: Napi) -> [Outcome; 3] {
        let ratio = |ours, others| Spread::from_ratios(ours, others).map(|of| of.median);
        let (plain, udp) = (ratio(&self.ours, &self.plain), ratio(&self.live, &self.udp));
        [
            Outcome::new(format!("{napi}: AF_XDP >= 0.95 x the plain loop"), plain),
            Outcome::new(format!("{napi}: made by XDP >= 4 x UDP sockets"), udp),
            Outcome::new(format!("{napi}: frames that no counter tells = 0"), Some(self.astray)),
        ]
    }
}

fn json(ended: &Ended) -> Result<Value> {
    serde_json::from_str(&ended.stdout).with_context(|| format!("no record: {}", ended.complaint()))
}

fn number(record: &Value, pointer: &str) -> Result<f64> {
    record.pointer(pointer).and_then(Value::as_f64).with_context(|| format!("no {pointer}"))
}

const HEAD: [(&str, Align); 6] = [
    ("k frames/s of 64 bytes", Align::Left),
    ("ours, made by XDP", Align::Right),
    ("ours by AF_XDP", Align::Right),
    ("plain C loop", Align::Right),
    ("ours, received by AF_XDP", Align::Right),
    ("UDP, one in a call", Align::Right),
];
const FROM: &str = "packets-a";
const TO: &str = "packets-b";
/// For sh(1): a new pair. Neighbours of IPv6 would be looked for there, and be counted.
const MAKE: &str = "ip link del packets-a 2>/dev/null; \
                    ip link add packets-a type veth peer name packets-b && \
                    for name in packets-a packets-b; do \
                    echo 1 > /proc/sys/net/ipv6/conf/$name/disable_ipv6; \
                    ip link set $name up || exit 1; done";
/// For sh(1), with a /sys of this network: a thread of the kernel takes what arrives, which veth(4)
/// has where its peer hands over frames one by one.
const THREADED: &str = " && ethtool -K packets-a tso off && ethtool -K packets-b gro on && \
                        mount -t sysfs none /mnt && echo 1 > /mnt/class/net/packets-b/threaded";
/// Bytes of a frame with its check sequence.
const SIZE: u32 = 64;
const CHECK_SEQUENCE: u32 = 4;
/// Bytes of the headers of Ethernet, IPv4 and UDP.
const HEADERS: u32 = 14 + 20 + 8;
/// The longest time that a step may take.
const LIMIT: Duration = Duration::from_secs(60);
