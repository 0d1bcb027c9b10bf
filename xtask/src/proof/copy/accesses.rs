//! The memory accesses of routines on RISC-V, as a plugin of qemu counts them: those that a core
//! without misaligned accesses traps at.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Cross;
use crate::command;
use crate::output::say;

/// Runs the routines at every alignment; none but the one that is for it may access a word that is
/// not aligned.
pub(super) fn run(cross: &Cross) -> Result<String> {
    let folder = cross.workspace.target.join("copy");
    fs::create_dir_all(&folder)?;
    let plugin = folder.join("misaligned.so");
    let mut compiler = Command::new("gcc");
    compiler.args(["-Wall", "-O2", "-shared", "-fPIC", "-o"]).arg(&plugin);
    command::run(compiler.arg(cross.workspace.root.join(SOURCE)))?;
    command::run(&mut cross.cargo(&["build", "--bin", "every_alignment"]))?;
    let triple = cross.workspace.target.join(cross.target.triple);
    let program = triple.join("release/every_alignment");
    let log = folder.join("accesses.log");
    let mut qemu = Command::new("qemu-riscv64");
    qemu.arg("-plugin").arg(&plugin).args(["-d", "plugin", "-D"]).arg(&log).arg(program);
    command::run(qemu.args(ALIGNED).arg(MISALIGNED))?;
    let counted = counts(&fs::read_to_string(&log)?);
    for name in ALIGNED {
        let count = counted.get(name).with_context(|| format!("{name} was not seen"))?;
        say(format!("{name}: {} accesses, {} of them misaligned", count.all, count.misaligned));
        ensure!(count.all > 0 && count.misaligned == 0, "{name} makes misaligned accesses");
    }
    let control = counted.get(MISALIGNED).context("the control was not seen")?;
    say(format!(
        "{MISALIGNED}: {} accesses, {} of them misaligned",
        control.all, control.misaligned
    ));
    ensure!(control.misaligned > 0, "the plugin sees no misaligned access where there are some");
    Ok(format!("{} routines make no misaligned access at any alignment", ALIGNED.len()))
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    all: u64,
    misaligned: u64,
}

/// Output of the plugin by routine: `accesses SYMBOL LOADS STORES MISALIGNED MISALIGNED`.
fn counts(log: &str) -> BTreeMap<&'static str, Count> {
    let mut counts = BTreeMap::<_, Count>::new();
    for line in log.lines() {
        let words: Vec<_> = line.split(' ').collect();
        let ["accesses", symbol, numbers @ ..] = &words[..] else { continue };
        let numbers: Vec<u64> = numbers.iter().filter_map(|number| number.parse().ok()).collect();
        let ([loads, stores, misaligned @ ..], Some(name)) = (&numbers[..], routine(symbol)) else {
            continue;
        };
        let count = counts.entry(name).or_default();
        count.all += loads + stores;
        count.misaligned += misaligned.iter().sum::<u64>();
    }
    counts
}

/// The routine of a mangled symbol, which has its words as `5shift8shift_x8`.
fn routine(symbol: &str) -> Option<&'static str> {
    let all = ALIGNED.into_iter().chain([MISALIGNED]);
    let name = |routine: &&str| {
        let function = routine.replace('-', "_");
        symbol.contains(&format!("{}{function}17h", function.len()))
    };
    all.into_iter().find(name)
}

const ALIGNED: [&str; 6] = ["byte", "word", "word-x8", "shift", "shift-x4", "shift-x8"];
const MISALIGNED: &str = "unaligned";
const SOURCE: &str = "xtask/src/proof/copy/misaligned.c";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_names_its_routine() {
        let log = "accesses _ZN13linerate_copy5shift8shift_x817h599a242c2dda9487E 10 8 1 2\n\
                   accesses _ZN13linerate_copy5shift5shift17h599a242c2dda9487E 3 3 0 0\n\
                   accesses _ZN13linerate_copy7routine4libc17h599a242c2dda9487E 3 3 0 0\nother\n";
        let expected = [
            ("shift", Count { all: 6, misaligned: 0 }),
            ("shift-x8", Count { all: 18, misaligned: 3 }),
        ];
        assert_eq!(counts(log), BTreeMap::from(expected));
    }
}
