//! The programs by which MARS is known, as tasks in Rust; each ends with PASS or FAIL, and says how
//! much it used each MPU: `cargo run --release -p linerate-mars --features tasks --example programs`.
//! With names behind `--`, only these; with `--short` less of each.

#![expect(clippy::print_stdout, reason = "it is an example")]

#[path = "catalogue.rs"]
mod catalogue;

use std::process::ExitCode;

use catalogue::{Extent, MPUS, PROGRAMS};
use linerate_mars::{Builder, TaskStacks};

fn main() -> std::io::Result<ExitCode> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let is_short = names.iter().any(|name| name == "--short");
    let is_wanted = |one: &str| names.iter().any(|name| name == one);
    let names_some = names.iter().any(|name| !name.starts_with("--"));
    let mut all_passed = true;
    for (name, purpose, program) in PROGRAMS {
        if names_some && !is_wanted(name) {
            continue;
        }
        let context = Builder::new(MPUS).tasks(TaskStacks::default()).start()?;
        let seen = program(&context, Extent::new(!is_short));
        let (word, text) = match &seen {
            Ok(text) => ("PASS", text),
            Err(text) => ("FAIL", text),
        };
        all_passed &= seen.is_ok();
        println!("{word}: {name}: {purpose}");
        println!("  {text}");
        for (number, one) in context.utilisation().iter().enumerate() {
            let share = 100.0 * one.share();
            println!("  MPU {number}: used to {share:.0} %, {} turns", one.turns);
        }
        context.close()?;
    }
    Ok(if all_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
