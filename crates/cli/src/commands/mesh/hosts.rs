//! The hosts of a mesh: of a file, or of an allocation of Slurm.

use std::env;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, anyhow};
use campaign::mesh::MeshHost;

use crate::exit::UsageError;
use crate::flags::MeshFlags;

/// The hosts, in their order.
pub(super) fn of(flags: &MeshFlags) -> anyhow::Result<Vec<MeshHost>> {
    if flags.slurm {
        return of_slurm();
    }
    let Some(file) = &flags.hosts else {
        return Err(UsageError("--hosts is missing".to_owned()).into());
    };
    let text = read(file)?;
    let parsed = MeshHost::parse(&text);
    Ok(parsed.map_err(|why| UsageError(format!("{}: {why}", file.display())))?)
}

/// The text of a file of hosts or of switches.
pub(super) fn read(file: &Path) -> anyhow::Result<String> {
    let shown = file.display();
    let open = File::open(file).with_context(|| format!("cannot read {shown}"))?;
    let mut text = String::new();
    let length = open.take(LONGEST_FILE + 1).read_to_string(&mut text);
    if length.with_context(|| format!("cannot read {shown}"))? as u64 > LONGEST_FILE {
        let most = LONGEST_FILE >> 20;
        return Err(
            UsageError(format!("{shown} has more than {most} MiB: it is no such file")).into()
        );
    }
    Ok(text)
}

/// The nodes of this allocation, with the addresses that Slurm has for them.
fn of_slurm() -> anyhow::Result<Vec<MeshHost>> {
    let Ok(list) = env::var(NODES) else {
        let text = "this is no allocation of Slurm: add --nodes COUNT to submit a job, or type \
                    salloc -N8 linerate mesh --slurm";
        return Err(UsageError(text.to_owned()).into());
    };
    let names = scontrol(&["show", "hostnames", &list])?;
    let nodes = scontrol(&["--oneliner", "show", "nodes", &list])?;
    let address = |name: &str| {
        let is_of =
            |line: &&str| line.split_whitespace().any(|word| word == format!("NodeName={name}"));
        let line = nodes.lines().find(is_of)?;
        line.split_whitespace().find_map(|word| word.strip_prefix("NodeAddr="))
    };
    let lines = names.lines().map(|name| format!("{name} {}\n", address(name).unwrap_or(name)));
    MeshHost::parse(&lines.collect::<String>()).map_err(|why| anyhow!("the allocation: {why}"))
}

/// Whether this process is in an allocation of Slurm.
pub(super) fn is_allocated() -> bool {
    env::var_os(NODES).is_some()
}

/// The longest file of hosts or of switches, in bytes.
const LONGEST_FILE: u64 = 64 << 20;
/// The nodes of an allocation (salloc(1)).
const NODES: &str = "SLURM_JOB_NODELIST";

fn scontrol(words: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("scontrol").args(words).output().context("cannot start scontrol")?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(anyhow!(
            "scontrol failed: {}",
            why.lines().next().unwrap_or("no reason given")
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
