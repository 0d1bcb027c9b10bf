//! Cases in which something is wrong with a host or with the run.

use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use measurement::RuleId;
use measurement::Stamp::{Invalid, Suspect, Valid};

use super::plant::{self, Group};
use super::{Attempt, Case, on, veth, while_it_runs};
use crate::hosts::standstill::Standstill;
use crate::hosts::{Testbed, UnderTest, run_client};
use testbed::topology::Path;

pub(super) const CASES: &[Case] = &[
    Case {
        rules: &[(RuleId::SenderBelowRate, Invalid)],
        planted: "more is asked than any sender sends",
        plant: |under_test| veth(under_test, "--udp --send -b 100G -t 2s"),
    },
    Case {
        rules: &[(RuleId::WorkerSaturated, Valid)],
        planted: "as many small datagrams as go, over loopback",
        plant: |under_test| on(&Testbed::new(under_test, Path::Loopback)?, SMALL_DATAGRAMS),
    },
    Case {
        rules: &[(RuleId::RunDelay, Suspect)],
        planted: "a busy loop on its CPU",
        plant: busy_cpu,
    },
    Case {
        rules: &[(RuleId::CgroupCpuQuota, Suspect)],
        planted: "a quota of a tenth of a CPU",
        plant: quota,
    },
    Case {
        rules: &[(RuleId::ProcessStopped, Suspect)],
        planted: "a server that is stopped for 300 ms of each second",
        plant: stopped,
    },
    Case {
        rules: &[(RuleId::OtherProcesses, Suspect)],
        planted: "busy loops on all CPUs",
        plant: busy_host,
    },
    Case {
        rules: &[(RuleId::ForeignTraffic, Suspect)],
        planted: "another test on its link",
        plant: busy_link,
    },
    Case {
        rules: &[(RuleId::LinkFlap, Invalid)],
        planted: "a link that goes and comes",
        plant: flap,
    },
    Case {
        rules: &[(RuleId::TestIncomplete, Invalid), (RuleId::ReceiverResultMissing, Invalid)],
        planted: "a server that is killed",
        plant: killed,
    },
    Case {
        rules: &[(RuleId::ConcurrentTests, Suspect)],
        planted: "two clients of one server",
        plant: shared,
    },
];

fn busy_cpu(under_test: &UnderTest) -> Result<Attempt> {
    let _busy = plant::busy_on(0, plant::Class::Normal)?;
    veth(under_test, "--tcp --send --cpus 0 -t 3s")
}

fn busy_host(under_test: &UnderTest) -> Result<Attempt> {
    let _busy = plant::busy_everywhere()?;
    veth(under_test, "--udp --send -b 200M -t 3s")
}

fn quota(under_test: &UnderTest) -> Result<Attempt> {
    let Some(group) = Group::with_little_time()? else {
        return Ok(Attempt::NotRun("no controller of CPU time can be given to a group"));
    };
    let bed = Testbed::new(under_test, Path::Veth)?;
    let _server = bed.serve("")?;
    let client = group.confine(&bed, &bed.client("--tcp --send -t 3s"));
    run_client(client, Duration::ZERO, || Ok(())).map(Attempt::from)
}

fn stopped(under_test: &UnderTest) -> Result<Attempt> {
    let bed = Testbed::new(under_test, Path::Veth)?;
    let server = bed.serve("")?;
    let _standstill = Standstill::start(server.id(), 700, 300)?;
    while_it_runs(&bed, "--udp --send -b 200M -t 3s", Duration::ZERO, || Ok(()))
}

fn busy_link(under_test: &UnderTest) -> Result<Attempt> {
    let bed = Testbed::new(under_test, Path::Veth)?;
    let _other_server = bed.serve("--port 5202")?;
    let _other = plant::company(&bed, "--port 5202 --tcp --send -b 100M -t 6s")?;
    on(&bed, "--udp --send -b 100M -t 3s")
}

/// At the far end, so that routes of the near one stay.
fn flap(under_test: &UnderTest) -> Result<Attempt> {
    let bed = Testbed::new(under_test, Path::Veth)?;
    let _server = bed.serve("")?;
    let set = |state: &str| {
        let words = format!("link set {} {state}", bed.far().interface());
        bed.far_prints("ip", &words).map(drop)
    };
    while_it_runs(&bed, "--tcp --send -b 50M -t 4s", Duration::from_millis(1500), || {
        set("down")?;
        sleep(Duration::from_millis(200));
        set("up")
    })
}

fn killed(under_test: &UnderTest) -> Result<Attempt> {
    let bed = Testbed::new(under_test, Path::Veth)?;
    let server = bed.serve("")?;
    while_it_runs(&bed, "--tcp --send -b 50M -t 4s", Duration::from_millis(1500), || {
        drop(server);
        Ok(())
    })
}

fn shared(under_test: &UnderTest) -> Result<Attempt> {
    let bed = Testbed::new(under_test, Path::Veth)?;
    let _server = bed.serve("")?;
    let _other = plant::company(&bed, "--tcp --send -b 50M -t 6s")?;
    while_it_runs(&bed, "--tcp --send -b 50M -t 3s", Duration::ZERO, || Ok(()))
}

/// Nothing but its own work holds the sender back.
const SMALL_DATAGRAMS: &str = "--udp --send -b 0 --engine sendmmsg,recvmmsg -l 64 -t 2s";
