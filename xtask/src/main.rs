//! The project's own tasks: `cargo xtask <task>`.
//!
//! One file per task; each has its line in [`Task`] and in [`Task::run`]. A task
//! prints what it does and ends with one line, its verdict.

#![forbid(unsafe_code)]

mod bench;
mod board;
mod check;
mod command;
mod conformance;
mod cross;
mod dist;
mod exports;
mod faults;
mod fuzz;
mod generated;
mod hosts;
mod long;
mod mars;
mod messages;
mod models;
mod output;
mod packages;
mod picture;
mod promises;
mod proof;
mod python;
mod release;
mod roots;
mod rules;
mod runtime;
mod schema;
mod soak;
mod static_binary;
mod test;
mod tree;
mod web;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use output::{complain, say};

fn main() -> ExitCode {
    match Arguments::parse().task.run() {
        Ok(verdict) => {
            say(verdict);
            ExitCode::SUCCESS
        }
        Err(error) => {
            complain(format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs the task of a command line without the name of the program.
fn task(words: &[&str]) -> anyhow::Result<()> {
    let words = std::iter::once("cargo xtask").chain(words.iter().copied());
    say(Arguments::try_parse_from(words)?.task.run()?);
    Ok(())
}

/// Tasks of the linerate workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    Bench(Box<bench::Bench>),
    Board(board::OnBoard),
    Check(check::Check),
    Conformance(conformance::Conformance),
    Cross(cross::Cross),
    Dist(dist::Dist),
    Exports(exports::Exports),
    Faults(faults::Faults),
    Fuzz(fuzz::Fuzz),
    Long(long::Long),
    Mars(mars::Mars),
    Messages(messages::Messages),
    Models(models::Models),
    Picture(picture::Picture),
    Promises(promises::Promises),
    Proof(proof::Proof),
    Python(python::Python),
    Release(release::Release),
    Roots(roots::Roots),
    Rules(rules::Rules),
    Runtime(runtime::Runtime),
    Schema(schema::Schema),
    Soak(soak::Soak),
    Static(static_binary::Static),
    Test(test::Test),
    Web(web::Web),
}

impl Task {
    fn run(self) -> anyhow::Result<String> {
        match self {
            Self::Bench(task) => task.run(),
            Self::Board(task) => task.run(),
            Self::Check(task) => task.run(),
            Self::Conformance(task) => task.run(),
            Self::Cross(task) => task.run(),
            Self::Dist(task) => task.run(),
            Self::Exports(task) => task.run(),
            Self::Faults(task) => task.run(),
            Self::Fuzz(task) => task.run(),
            Self::Long(task) => task.run(),
            Self::Mars(task) => task.run(),
            Self::Messages(task) => task.run(),
            Self::Models(task) => task.run(),
            Self::Picture(task) => task.run(),
            Self::Promises(task) => task.run(),
            Self::Proof(task) => task.run(),
            Self::Python(task) => task.run(),
            Self::Release(task) => task.run(),
            Self::Roots(task) => task.run(),
            Self::Rules(task) => task.run(),
            Self::Runtime(task) => task.run(),
            Self::Schema(task) => task.run(),
            Self::Soak(task) => task.run(),
            Self::Static(task) => task.run(),
            Self::Test(task) => task.run(),
            Self::Web(task) => task.run(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }
}
