//! Cases whose numbers would mislead.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use measurement::RuleId;
use measurement::Stamp::{Suspect, Valid};

use super::super::ledger::SMALL_BUFFER;
use super::{Attempt, Case, on, plant, veth, while_it_runs};
use crate::hosts::{Testbed, UnderTest, clean};
use testbed::topology::Path;

pub(super) const CASES: &[Case] = &[
    Case {
        rules: &[(RuleId::LossLocation, Valid)],
        planted: "a small buffer",
        plant: |under_test| veth(under_test, SMALL_BUFFER),
    },
    Case {
        rules: &[(RuleId::WarmUpInMean, Valid)],
        planted: "a link that is shared in the end",
        plant: step,
    },
    Case {
        rules: &[(RuleId::TailLoss, Suspect)],
        planted: "a path that closes before the end",
        plant: tail,
    },
    Case {
        rules: &[(RuleId::IntervalMismatch, Valid)],
        planted: "a long queue and a short test",
        plant: queue,
    },
    Case {
        rules: &[(RuleId::SpuriousRetransmissions, Valid)],
        planted: "acknowledgements that are lost",
        plant: unheard,
    },
    Case {
        rules: &[(RuleId::SocketBufferDiffers, Suspect)],
        planted: "a buffer beyond what the kernel gives",
        plant: |under_test| veth(under_test, "--udp --send -b 50M -w 64M -t 2s"),
    },
    Case {
        rules: &[(RuleId::ReassemblyFailures, Suspect)],
        planted: "fragments that are lost",
        plant: fragments,
    },
    Case {
        rules: &[(RuleId::RateGranularity, Valid)],
        planted: "a rate of a few datagrams",
        plant: |under_test| veth(under_test, "--udp --send -b 100K -l 1460 -t 1s"),
    },
    Case {
        rules: &[(RuleId::ZerocopyCopied, Valid)],
        planted: "sends without a copy and no device",
        plant: |under_test| veth(under_test, "--tcp --send --engine zerocopy,read -t 2s"),
    },
    Case {
        rules: &[(RuleId::PeerVersionDefects, Valid)],
        planted: "an old iperf3 and -O",
        plant: old_peer,
    },
    Case {
        rules: &[(RuleId::CongestionControlDiffers, Suspect)],
        planted: "a server that may not",
        plant: congestion,
    },
];

/// TCP has the link for itself, and then half of it: the other half is taken by datagrams.
fn step(under_test: &UnderTest) -> Result<Attempt> {
    let bed = Testbed::shaped(under_test, 50)?;
    let _server = bed.serve("")?;
    let _other_server = bed.serve("--port 5202")?;
    let mut other = None;
    while_it_runs(&bed, "--tcp --send -t 8s", Duration::from_secs(5), || {
        other = Some(plant::company(&bed, "--port 5202 --udp --send -b 25M -t 5s")?);
        Ok(())
    })
}

fn tail(under_test: &UnderTest) -> Result<Attempt> {
    let bed = Testbed::new(under_test, Path::Veth)?;
    let _server = bed.serve("")?;
    while_it_runs(&bed, "--udp --send -b 20M -t 4s", Duration::from_secs(2), || {
        bed.far_prints("iptables-legacy", "-A INPUT -p udp -j DROP").map(drop)
    })
}

/// A queue that takes all, and is a tenth of a second behind in the end.
fn queue(under_test: &UnderTest) -> Result<Attempt> {
    let bed = Testbed::new(under_test, Path::Veth)?;
    let words = format!("qdisc replace dev {} root {SLOW}", bed.near().interface());
    bed.near_prints("tc", &words)?;
    on(&bed, "--udp --send --engine sendmmsg,recvmmsg -P 8 -b 1400K -l 1000 -t 1s")
}

/// Of acknowledgements three in ten are lost: after the last one of a block its sender sends
/// again what had arrived.
fn unheard(under_test: &UnderTest) -> Result<Attempt> {
    let bed = Testbed::new(under_test, Path::Veth)?;
    let rule = "-A INPUT -p tcp -m length --length :80 -m statistic --mode random";
    bed.near_prints("iptables-legacy", &format!("{rule} --probability 0.3 -j DROP"))?;
    on(&bed, "--tcp --send -b 2M -l 16K -P 8 -t 4s")
}

/// One fragment in a hundred is lost; what cannot be put together is given up after a second.
fn fragments(under_test: &UnderTest) -> Result<Attempt> {
    let bed = Testbed::new(under_test, Path::Veth)?;
    bed.far().run(|| fs::write("/proc/sys/net/ipv4/ipfrag_time", "1"))?.context("ipfrag_time")?;
    let rule = "-t raw -A PREROUTING -f -m statistic --mode nth --every 100 --packet 0 -j DROP";
    bed.far_prints("iptables-legacy", rule)?;
    on(&bed, "--udp --send -b 50M -l 8000 -t 4s")
}

fn old_peer(under_test: &UnderTest) -> Result<Attempt> {
    let bed = Testbed::new(under_test, Path::Veth)?;
    let version = bed.far_prints("iperf3", "--version")?;
    let minor = version.strip_prefix("iperf 3.").context("iperf3 tells no version")?;
    let minor: String = minor.chars().take_while(char::is_ascii_digit).collect();
    if minor.parse::<u32>().is_ok_and(|minor| minor >= TELLS_ITS_OMITTED) {
        return Ok(Attempt::NotRun("the iperf3 here is not old"));
    }
    let mut command = bed.far().command("iperf3");
    command.args(["-s"]).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let _server = bed.answers(command)?;
    while_it_runs(&bed, "--udp --send -b 20M -O 1s -t 2s", Duration::ZERO, || Ok(()))
}

/// A server without privileges may not choose what is not allowed to all.
fn congestion(under_test: &UnderTest) -> Result<Attempt> {
    let bed = Testbed::new(under_test, Path::Veth)?;
    let known = |name: &str| fs::read_to_string(format!("/proc/sys/net/ipv4/tcp_{name}"));
    let available = known("available_congestion_control")?;
    let allowed = known("allowed_congestion_control")?;
    let is_forbidden = |name: &&str| !allowed.split_whitespace().any(|one| one == *name);
    let Some(name) = available.split_whitespace().find(is_forbidden) else {
        return Ok(Attempt::NotRun("all congestion controls are allowed to all"));
    };
    let mut command = bed.far().command("setpriv");
    command.args(["--reuid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]);
    command.arg(&under_test.program).args(["serve", "--quiet"]);
    clean(&mut command);
    let _server = bed.answers(command)?;
    while_it_runs(&bed, &format!("--tcp --receive -C {name} -t 2s"), Duration::ZERO, || Ok(()))
}

/// Eight streams together offer a little more.
const SLOW: &str = "tbf rate 10mbit burst 20kb limit 2mb";
/// From 3.14 on an iperf3 tells what it lost of the omitted start.
const TELLS_ITS_OMITTED: u32 = 14;
