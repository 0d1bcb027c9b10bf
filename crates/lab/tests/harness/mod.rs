//! A test harness on a single thread, with the arguments that `cargo test` and
//! `cargo nextest` use: `--list`, `--ignored`, `--exact` and names to run.

use std::env;
use std::error::Error;
use std::panic;
use std::process::ExitCode;

use linerate_lab::Access;

/// A named test; it fails if it panics or returns an error.
pub(crate) type Test = (&'static str, fn() -> Result<(), Box<dyn Error>>);

/// Runs those of `tests` that the arguments select.
pub(crate) fn run(tests: &[Test]) -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let selected = tests.iter().filter(|(name, _)| is_selected(name, &arguments));
    if has(&arguments, "--list") {
        selected.for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    match linerate_lab::prepare() {
        Access::Forbidden { reason } => {
            selected.for_each(|(name, _)| println!("test {name} ... skipped: {reason}"));
            ExitCode::SUCCESS
        }
        access => {
            println!("access: {access:?}");
            let (passed, failed): (Vec<&Test>, Vec<_>) = selected.partition(|test| passes(test));
            let (verdict, code) = match failed.len() {
                0 => ("ok", ExitCode::SUCCESS),
                _ => ("FAILED", ExitCode::FAILURE),
            };
            println!("test result: {verdict}. {} passed; {} failed", passed.len(), failed.len());
            code
        }
    }
}

fn is_selected(name: &str, arguments: &[String]) -> bool {
    let exact = has(arguments, "--exact");
    let matches = |wanted: &str| if exact { name == wanted } else { name.contains(wanted) };
    let mut wanted = arguments.iter().filter(|argument| !argument.starts_with('-')).peekable();
    // No test of this harness is ignored by default.
    !has(arguments, "--ignored")
        && (wanted.peek().is_none() || wanted.any(|argument| matches(argument)))
}

fn passes((name, test): &Test) -> bool {
    println!("test {name} ...");
    let failure = match panic::catch_unwind(test) {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("panicked".to_owned()),
    };
    let verdict = failure.map_or("ok".to_owned(), |text| format!("FAILED: {text}"));
    println!("test {name} ... {verdict}");
    verdict == "ok"
}

fn has(arguments: &[String], flag: &str) -> bool {
    arguments.iter().any(|argument| argument == flag)
}
