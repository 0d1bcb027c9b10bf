//! The cycles that the inner loops of routines take on an in-order core of RISC-V, by LLVM's model of
//! the SiFive U74 (llvm-mca), which knows no caches.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use testbed::promise::Outcome;

use super::Cross;
use crate::command;
use crate::output::say;

/// Cycles for each byte.
pub(super) struct Cycles {
    pub(super) byte: f64,
    pub(super) word_x8: f64,
    pub(super) shift: f64,
    pub(super) shift_x8: f64,
}

impl Cycles {
    pub(super) fn in_words(&self) -> String {
        let Self { byte, word_x8, shift, shift_x8 } = self;
        format!(
            "on a U74 by llvm-mca {byte:.2} cycles for each byte by bytes, {word_x8:.2} by word-x8, \
             {shift:.2} by shift, {shift_x8:.2} by shift-x8"
        )
    }
}

/// Compiles the routines for RISC-V and asks the model; a loop that is slower than it was fails.
pub(super) fn run(cross: &Cross) -> Result<Cycles> {
    let folder = cross.workspace.target.join("copy");
    fs::create_dir_all(&folder)?;
    let assembly = assembly(cross)?;
    let of = |function: &str, kind: &str, bytes: u32| {
        let lines = inner_loop(&assembly, function, kind)
            .with_context(|| format!("{function} has no such loop"))?;
        model(&folder, function, &lines).map(|cycles| cycles / f64::from(bytes))
    };
    let cycles = Cycles {
        byte: of("byte", "sb", 1)?,
        word_x8: of("word_x8", "sd", 64)?,
        shift: of("shift", "srl", 8)?,
        shift_x8: of("shift_x8", "srl", 64)?,
    };
    // One access of memory in a cycle makes 0.25.
    for (text, cycles) in [
        ("word-x8 on a U74 <= 0.30 cycles a byte", cycles.word_x8),
        ("shift-x8 on a U74 <= 0.57 cycles a byte", cycles.shift_x8),
    ] {
        let outcome = Outcome::new(text, Some(cycles));
        say(&outcome);
        ensure!(outcome.kept(), "the loop of {text} takes {cycles:.2}");
    }
    Ok(cycles)
}

/// The routines as the compiler writes them.
fn assembly(cross: &Cross) -> Result<String> {
    let mut cargo = cross.cargo(&["rustc", "--lib", "--message-format", "short"]);
    let folder = cross.workspace.target.join("copy");
    let file: PathBuf = folder.join("routines.s");
    cargo.args(["--", "-C", "codegen-units=1", "--emit"]);
    cargo.arg(format!("asm={}", file.display()));
    command::run(&mut cargo)?;
    fs::read_to_string(&file).context("the compiler wrote no assembly")
}

/// The lines of the loop of a function that has most instructions of a kind, with a label that
/// llvm-mca reads.
fn inner_loop(assembly: &str, function: &str, kind: &str) -> Option<Vec<String>> {
    let mangled = format!("{}{function}17h", function.len());
    let mut lines = assembly.lines();
    lines.find(|line| line.starts_with("_ZN") && line.contains(&mangled) && line.ends_with(':'))?;
    let body: Vec<_> = lines.take_while(|line| !line.starts_with(".Lfunc_end")).collect();
    let is_kind = |line: &&&str| line.split_whitespace().next() == Some(kind);
    let loops = body.iter().enumerate().filter_map(|(end, line)| {
        let label = branch(line)?;
        let start = body[..end].iter().rposition(|line| line.trim() == format!("{label}:"))?;
        Some(&body[start..=end])
    });
    // Of two loops with as many the inner one, which is shorter.
    let most = |lines: &&[&str]| (lines.iter().filter(is_kind).count(), usize::MAX - lines.len());
    let found = loops.max_by_key(most).filter(|lines| lines.iter().any(|line| is_kind(&line)))?;
    let last = found.len() - 1;
    let line = |(place, line): (usize, &&str)| match place {
        0 => "loop:".to_owned(),
        place if place == last => {
            line.rsplit_once(',').map_or(String::new(), |(branch, _)| format!("{branch}, loop"))
        }
        _ => (*line).to_owned(),
    };
    Some(found.iter().enumerate().map(line).filter(|line| !line.contains('#')).collect())
}

/// The label that a branch goes to: `.LBB0_2`, or `.Ltmp0` of assembly in line.
fn branch(line: &str) -> Option<&str> {
    let (instruction, target) = line.trim().rsplit_once(',')?;
    let target = target.trim();
    let is_label = instruction.starts_with('b') && target.starts_with(".L");
    is_label.then_some(target)
}

/// Cycles of a round of a loop, over many.
fn model(folder: &Path, name: &str, lines: &[String]) -> Result<f64> {
    let file = folder.join(format!("{name}.s"));
    fs::write(&file, lines.join("\n") + "\n")?;
    let mut model = Command::new("llvm-mca");
    model.args(["-mtriple=riscv64", "-mcpu=sifive-u74", "-iterations=1000"]).arg(&file);
    let printed = command::output(&mut model)?;
    let total = printed.lines().find_map(|line| line.strip_prefix("Total Cycles:"));
    let total: f64 = total.context("llvm-mca names no cycles")?.trim().parse()?;
    Ok(total / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inner_loop_of_a_function_is_found() {
        let text = "_ZN13linerate_copy5plain4byte17habcE:\n\tbeqz a2, .LBB0_9\n.LBB0_1:\n\tlbu a3, 0(a1)\n\
                    .LBB0_2:\n\tlbu a3, 0(a1)\n\tsb a3, 0(a0)\n\tbne a0, a2, .LBB0_2\n\
                    \tbne a0, a4, .LBB0_1\n.Lfunc_end0:\n_ZN13linerate_copy5shift8shift_x817habcE:\n\
                    .Ltmp0:\n\tsrl a0, a0, a1\n\t#NO_APP\n\tbne a0, a2, .Ltmp0\n.Lfunc_end1:\n";
        let byte = inner_loop(text, "byte", "sb").expect("found");
        assert_eq!(byte, ["loop:", "\tlbu a3, 0(a1)", "\tsb a3, 0(a0)", "\tbne a0, a2, loop"]);
        let shift = inner_loop(text, "shift_x8", "srl").expect("found");
        assert_eq!(shift, ["loop:", "\tsrl a0, a0, a1", "\tbne a0, a2, loop"]);
        assert_eq!(inner_loop(text, "byte", "sd"), None);
    }
}
