//! `bench runtimes`: tasks of mars beside those of other runtimes, by five programs that each of them
//! runs (`crates/mars/peers`).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fmt, fs};

use anyhow::{Context, Result, ensure};
use clap::Args;
use testbed::output::say;

use crate::command;
use crate::packages::{self, Needed};
use crate::workspace::Workspace;

/// Measures tasks of mars beside tokio, may, Go, Boost.Fiber and oneTBB
///
/// Five programs with two threads each: skynet (a tree of a million tasks), ping-pong, a lock for which
/// 64 tasks contend, fork and join of 1,000 tasks, a pipeline of eight stages. The runtimes take turns;
/// each figure is a median. Compilers and libraries that are missing are installed as root on Debian.
#[derive(Debug, Args)]
pub(crate) struct Runtimes {
    /// How often each runtime runs each program
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Only this program; may be given several times
    #[arg(long, value_name = "NAME", value_parser = PROGRAMS)]
    only: Vec<String>,
}

impl Runtimes {
    pub(crate) fn run(self) -> Result<String> {
        packages::provide(&NEEDED)?;
        let workspace = Workspace::find()?;
        let runtimes = Runtime::build(&workspace)?;
        let names: Vec<_> = runtimes.iter().map(|runtime| runtime.name).collect();
        say(Line {
            program: "ns for each operation",
            cells: names.iter().map(ToString::to_string),
        });
        let is_asked =
            |program: &&str| self.only.is_empty() || self.only.iter().any(|one| one == program);
        let mut first = Vec::new();
        for program in PROGRAMS.into_iter().filter(is_asked) {
            let medians = medians(&runtimes, program, self.rounds)?;
            let shown =
                medians.iter().map(|median| median.map_or("-".to_owned(), |ns| format!("{ns:.1}")));
            say(Line { program, cells: shown });
            let fastest = medians.iter().flatten().copied().fold(f64::INFINITY, f64::min);
            if medians[0] == Some(fastest) {
                first.push(program);
            }
        }
        let first = if first.is_empty() { "none".to_owned() } else { first.join(", ") };
        Ok(format!("bench runtimes: mars is the fastest at {first}"))
    }
}

/// A program that runs the programs on one runtime.
struct Runtime {
    name: &'static str,
    command: Vec<PathBuf>,
    /// What it has no counterpart of.
    lacks: &'static [&'static str],
}

impl Runtime {
    fn build(workspace: &Workspace) -> Result<Vec<Self>> {
        let sources = workspace.root.join("crates/mars/peers");
        let folder = workspace.target.join("runtimes");
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let mut build = command::cargo(["build", "--release", "--manifest-path"]);
        build.arg(sources.join("Cargo.toml")).env("CARGO_TARGET_DIR", &folder);
        command::run(&mut build)?;
        let rust = folder.join("release/linerate-mars-peers");
        let on = |name: &'static str| Self {
            name,
            command: vec![rust.clone(), PathBuf::from(name)],
            lacks: &[],
        };
        let mut all = vec![on("mars"), on("tokio"), on("may")];
        let go = folder.join("go");
        let mut build = Command::new("go");
        build.args(["build", "-o"]).arg(&go).arg(sources.join("main.go"));
        command::run(build.env("GOCACHE", folder.join("go-cache")))?;
        all.push(Self { name: "Go", command: vec![go], lacks: &[] });
        let boost =
            compile(&sources, &folder, "boost_fiber", &["-lboost_fiber", "-lboost_context"])?;
        all.push(Self { name: "Boost", command: vec![boost], lacks: &[] });
        let tbb = compile(&sources, &folder, "onetbb", &["-ltbb"])?;
        all.push(Self { name: "oneTBB", command: vec![tbb], lacks: &["ping-pong"] });
        Ok(all)
    }

    /// Nanoseconds of each operation of a program; none: it has no such one, or it failed.
    fn measure(&self, program: &str) -> Result<Option<f64>> {
        if self.lacks.contains(&program) {
            return Ok(None);
        }
        let mut run = Command::new("timeout");
        run.arg(MOST_SECONDS).args(&self.command).arg(program);
        let Ok(text) = command::output(&mut run) else {
            say(format!("{program} on {} failed", self.name));
            return Ok(None);
        };
        let nanos = text.trim().parse().with_context(|| format!("{text:?} is no number"))?;
        Ok(Some(nanos))
    }
}

fn compile(sources: &Path, folder: &Path, name: &str, libraries: &[&str]) -> Result<PathBuf> {
    let program = folder.join(name);
    let mut compile = Command::new("g++");
    compile.args(["-std=c++17", "-O2", "-Wall", "-Wextra", "-pthread", "-o"]).arg(&program);
    command::run(compile.arg(sources.join(format!("{name}.cpp"))).args(libraries))?;
    Ok(program)
}

/// Of each runtime, which take turns.
fn medians(runtimes: &[Runtime], program: &str, rounds: u32) -> Result<Vec<Option<f64>>> {
    let mut values = vec![Vec::new(); runtimes.len()];
    for _ in 0..rounds {
        for (runtime, values) in runtimes.iter().zip(&mut values) {
            values.extend(runtime.measure(program)?);
        }
    }
    ensure!(!values.is_empty(), "no runtime");
    Ok(values.into_iter().map(median).collect())
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// A row of the table.
struct Line<'a, C> {
    program: &'a str,
    cells: C,
}

impl<C: Iterator<Item = String> + Clone> fmt::Display for Line<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<22}", self.program)?;
        self.cells.clone().try_for_each(|cell| write!(f, "{cell:>10}"))
    }
}

const PROGRAMS: [&str; 5] = ["skynet", "ping-pong", "contention", "fork-join", "pipeline"];
/// For one run of a program.
const MOST_SECONDS: &str = "20";
/// Compilers, and libraries by one file of each.
const NEEDED: [Needed; 4] = [
    ("g++", "g++"),
    ("go", "golang-go"),
    ("/usr/include/boost/fiber/all.hpp", "libboost-fiber-dev"),
    ("/usr/include/tbb/task_group.h", "libtbb-dev"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_without_a_counterpart_has_a_dash() {
        assert_eq!(median(Vec::new()), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        let cells = ["1.5", "-"].iter().map(ToString::to_string);
        let line = Line { program: "skynet", cells }.to_string();
        assert_eq!(line, "skynet                       1.5         -");
    }
}
