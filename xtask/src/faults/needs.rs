//! What this kernel and this system have of what scenarios need.

use std::process::Command;
use std::{fs, thread};

use anyhow::Result;
use lab::{Host, Link, LinkSpec};

use super::scenario::{Need, Scenario};
use super::setting::policer;
use crate::hosts::plant::Group;
use crate::packages;

/// Why a scenario cannot be run here; none: it can.
pub(crate) fn missing(scenario: &Scenario) -> Result<Option<String>> {
    if let Some(why) = &scenario.never {
        return Ok(Some(why.clone()));
    }
    for need in &scenario.needs {
        if !is_met(need)? {
            return Ok(Some(need.lacking()));
        }
    }
    Ok(None)
}

/// Whether this kernel and this system have it.
pub(super) fn is_met(need: &Need) -> Result<bool> {
    Ok(match need {
        Need::Program(name) => packages::is_there(name),
        Need::Cpus(count) => thread::available_parallelism()?.get() >= *count,
        Need::Quota => Group::with_percent(50)?.is_some(),
        Need::Qdisc(kind) => {
            takes("tc", |host| format!("qdisc replace dev {} root {kind}", host.interface()))?
        }
        Need::Firewall(rule) => takes("iptables-legacy", |_| rule.clone())?,
        Need::Policer => takes("nft", |host| policer(host.interface(), 1_000, 256))?,
        Need::Shell(words) => does(words)?,
        Need::RealTime => succeeds("chrt", &["--fifo", "10", "true"]),
        Need::Congestion(name) => lists("tcp_available_congestion_control", name),
        Need::AllowedCongestion(name) => lists("tcp_allowed_congestion_control", name),
    })
}

impl Need {
    fn lacking(&self) -> String {
        match self {
            Self::Program(name) => format!("no program {name}"),
            Self::Cpus(count) => format!("fewer than {count} CPUs"),
            Self::Quota => "no controller of CPU time can be given to a group".to_owned(),
            Self::Qdisc(kind) => {
                let name = kind.split_whitespace().next().unwrap_or_default();
                format!("no sch_{name}")
            }
            Self::Firewall(rule) => format!("iptables does not take `{rule}`"),
            Self::Policer => "nft has no ingress hook".to_owned(),
            Self::Shell(words) => format!("`{words}` fails"),
            Self::RealTime => "no real-time scheduling".to_owned(),
            Self::Congestion(name) => format!("no congestion control {name}"),
            Self::AllowedCongestion(name) => format!("{name} is not allowed to every user"),
        }
    }
}

/// Whether a fresh host takes these words.
fn takes(program: &str, words: impl Fn(&Host) -> String) -> Result<bool> {
    let link = Link::create(&LinkSpec::default())?;
    let words = words(&link.near);
    let mut command = link.near.command(program);
    let output = command.args(words.split_whitespace()).output()?;
    Ok(output.status.success())
}

/// Whether a shell of a fresh host can do it.
fn does(words: &str) -> Result<bool> {
    let link = Link::create(&LinkSpec::default())?;
    let mut command = link.near.command("sh");
    let output = command.args(["-c", words, link.near.interface()]).output()?;
    Ok(output.status.success())
}

fn succeeds(program: &str, words: &[&str]) -> bool {
    let output = Command::new(program).args(words).output();
    output.is_ok_and(|output| output.status.success())
}

/// Whether a list of names below `/proc/sys/net/ipv4` has this one (tcp(7)).
fn lists(setting: &str, name: &str) -> bool {
    let names = fs::read_to_string(format!("/proc/sys/net/ipv4/{setting}"));
    names.is_ok_and(|names| names.split_whitespace().any(|one| one == name))
}
