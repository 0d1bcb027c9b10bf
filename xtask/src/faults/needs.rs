//! What this kernel and this system have of what scenarios need.

use std::thread;

use anyhow::Result;
use lab::{Host, Link, LinkSpec};

use super::scenario::{Need, Scenario};
use crate::hosts::plant::Group;
use crate::packages;

/// Why a scenario cannot be run here; none: it can.
pub(super) fn missing(scenario: &Scenario) -> Result<Option<String>> {
    if let Some(why) = &scenario.never {
        return Ok(Some(why.clone()));
    }
    for need in &scenario.needs {
        if !need.is_met()? {
            return Ok(Some(need.lacking()));
        }
    }
    Ok(None)
}

impl Need {
    fn is_met(&self) -> Result<bool> {
        Ok(match self {
            Self::Program(name) => packages::is_there(name),
            Self::Cpus(count) => thread::available_parallelism()?.get() >= *count,
            Self::Quota => Group::with_percent(50)?.is_some(),
            Self::Qdisc(kind) => {
                takes("tc", |host| format!("qdisc replace dev {} root {kind}", host.interface()))?
            }
            Self::Firewall(rule) => takes("iptables-legacy", |_| rule.clone())?,
        })
    }

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
