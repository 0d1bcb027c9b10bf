//! `proof mesh`: meshes of 8 to 10,000 simulated hosts with planted faults, under the schedule and the
//! estimation that `linerate mesh` runs. No traffic: time is by arithmetic.

mod fabric;
mod score;

use anyhow::{Result, ensure};

use crate::output::say;
use fabric::Fabric;
use score::Score;

/// Hosts, hosts per leaf switch, and how often each kind of fault is planted.
struct Size {
    hosts: u32,
    per_leaf: u32,
    interfaces: u32,
    cables: u32,
    uplinks: u32,
    spines: u32,
    shared: u32,
}

/// Runs all sizes, or in short form the smaller ones, a few times.
pub(super) fn run(short: bool) -> Result<String> {
    let runs = if short { 4 } else { 20 };
    say(
        "hosts  tests  rounds  minutes  found  false alarms  (means of the runs; false: of all runs)",
    );
    let sizes = SIZES.iter().filter(|size| !short || size.hosts <= 1_000);
    let mut wrong = Vec::new();
    for size in sizes {
        let score = (1..=runs).fold(Score::default(), |sum, seed| sum.and(one(size, seed)));
        say(score.line(size.hosts, runs));
        if !score.is_right(runs) {
            wrong.push(size.hosts.to_string());
        }
    }
    ensure!(wrong.is_empty(), "proof mesh: wrong with {} hosts", wrong.join(", "));
    Ok(format!("proof mesh: {runs} runs of each size, all right"))
}

fn one(size: &Size, seed: u64) -> Score {
    let mut fabric = Fabric::plant(size, seed);
    let (mesh, rounds) = fabric.run(seed);
    Score::of(&fabric, &mesh, rounds)
}

const SIZES: [Size; 7] = [
    Size { hosts: 8, per_leaf: 8, interfaces: 0, cables: 0, uplinks: 0, spines: 0, shared: 1 },
    Size { hosts: 8, per_leaf: 8, interfaces: 1, cables: 1, uplinks: 0, spines: 0, shared: 0 },
    Size { hosts: 32, per_leaf: 8, interfaces: 2, cables: 1, uplinks: 1, spines: 0, shared: 1 },
    Size { hosts: 100, per_leaf: 20, interfaces: 2, cables: 2, uplinks: 1, spines: 0, shared: 0 },
    Size { hosts: 320, per_leaf: 40, interfaces: 3, cables: 3, uplinks: 1, spines: 1, shared: 0 },
    Size { hosts: 1_000, per_leaf: 40, interfaces: 4, cables: 3, uplinks: 2, spines: 1, shared: 0 },
    Size {
        hosts: 10_000,
        per_leaf: 40,
        interfaces: 4,
        cables: 3,
        uplinks: 2,
        spines: 1,
        shared: 0,
    },
];
