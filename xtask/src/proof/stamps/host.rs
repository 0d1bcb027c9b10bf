//! Scenes in which something is wrong with a host or with the run.

use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use measurement::RuleId;
use measurement::Stamp::{Invalid, Suspect, Valid};

use super::super::stage::{Stage, Troupe, Way, played};
use super::plant::{self, Group};
use super::{Act, Case, on, veth, while_it_runs};

pub(super) const CASES: &[Case] = &[
    Case {
        rules: &[(RuleId::SenderBelowRate, Invalid)],
        planted: "more is asked than any sender sends",
        plant: |troupe| veth(troupe, "--udp --send -b 100G -t 2s"),
    },
    Case {
        rules: &[(RuleId::WorkerSaturated, Valid)],
        planted: "as many small datagrams as go, over loopback",
        plant: |troupe| on(&Stage::new(troupe, Way::Loopback)?, SMALL_DATAGRAMS),
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

fn busy_cpu(troupe: &Troupe) -> Result<Act> {
    let _busy = plant::busy_on(0)?;
    veth(troupe, "--tcp --send --cpus 0 -t 3s")
}

fn busy_host(troupe: &Troupe) -> Result<Act> {
    let _busy = plant::busy_everywhere()?;
    veth(troupe, "--udp --send -b 200M -t 3s")
}

fn quota(troupe: &Troupe) -> Result<Act> {
    let Some(group) = Group::with_little_time()? else {
        return Ok(Act::NotRun("no controller of CPU time can be given to a group"));
    };
    let stage = Stage::new(troupe, Way::Veth)?;
    let _server = stage.serve("")?;
    let client = group.confine(&stage, &stage.client("--tcp --send -t 3s"));
    played(client, Duration::ZERO, || Ok(())).map(Act::from)
}

fn busy_link(troupe: &Troupe) -> Result<Act> {
    let stage = Stage::new(troupe, Way::Veth)?;
    let _other_server = stage.serve("--port 5202")?;
    let _other = plant::company(&stage, "--port 5202 --tcp --send -b 100M -t 6s")?;
    on(&stage, "--udp --send -b 100M -t 3s")
}

/// At the far end, so that routes of the near one stay.
fn flap(troupe: &Troupe) -> Result<Act> {
    let stage = Stage::new(troupe, Way::Veth)?;
    let _server = stage.serve("")?;
    let set = |state: &str| {
        let words = format!("link set {} {state}", stage.far().interface());
        stage.far_prints("ip", &words).map(drop)
    };
    while_it_runs(&stage, "--tcp --send -b 50M -t 4s", Duration::from_millis(1500), || {
        set("down")?;
        sleep(Duration::from_millis(200));
        set("up")
    })
}

fn killed(troupe: &Troupe) -> Result<Act> {
    let stage = Stage::new(troupe, Way::Veth)?;
    let server = stage.serve("")?;
    while_it_runs(&stage, "--tcp --send -b 50M -t 4s", Duration::from_millis(1500), || {
        drop(server);
        Ok(())
    })
}

fn shared(troupe: &Troupe) -> Result<Act> {
    let stage = Stage::new(troupe, Way::Veth)?;
    let _server = stage.serve("")?;
    let _other = plant::company(&stage, "--tcp --send -b 50M -t 6s")?;
    while_it_runs(&stage, "--tcp --send -b 50M -t 3s", Duration::ZERO, || Ok(()))
}

/// Nothing but its own work holds the sender back.
const SMALL_DATAGRAMS: &str = "--udp --send --engine sendmmsg,recvmmsg -l 64 -t 2s";
