//! Runs a static file in all roles.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use testbed::port;
use testbed::process::Running;

use super::target::Target;
use crate::command;
use crate::hosts;
use crate::output::say;

/// How many of [`tests`] passed.
pub(super) fn exercise(target: &Target, binary: &Path) -> Result<usize> {
    say(command::output(program(target, binary).arg("--version"))?.trim());
    say(format!("passed: help and manual of {} commands", describe(target, binary)?));
    let ((_server, port), mut passed) = (serve(target, binary)?, 0);
    for options in tests(target) {
        let mut client = program(target, binary);
        client.args(["test", "127.0.0.1", "--quiet", "--port", &port]);
        hosts::clean(&mut client);
        match command::output(client.args(options.split_whitespace())) {
            Ok(_) => {
                passed += 1;
                say(format!("passed: {options}"));
            }
            // Exit code 3: it ran, and other processes kept it from the rate.
            Err(error) if error.to_string().contains("ended with exit status: 3:") => {
                passed += 1;
                say(format!("passed, on a busy machine: {options}"));
            }
            // What a kernel or a container forbids is not the fault of the binary.
            Err(error) if error.to_string().contains("cannot use engine") => say(error),
            Err(error) => return Err(error.context(format!("failed: {options}"))),
        }
    }
    Ok(passed)
}

/// Has each command describe itself, which runs much of the code; number of the commands.
fn describe(target: &Target, binary: &Path) -> Result<usize> {
    let run = |words: &[&str]| command::output(program(target, binary).args(words));
    let overview = run(&["--help"])?;
    let names: Vec<_> = commands(&overview).collect();
    ensure!(!names.is_empty(), "--help names no command");
    for name in &names {
        run(&[name, "--help"])?;
        if names.contains(&"man") {
            run(&["man", name])?;
        }
    }
    Ok(names.len())
}

/// The commands that an overview lists: two blanks, a name, and what it does.
fn commands(overview: &str) -> impl Iterator<Item = &str> {
    let lines = overview.lines().filter_map(|line| line.strip_prefix("  "));
    let names = lines.filter_map(|line| line.split_once("  ")).map(|(name, _)| name);
    let is_name = |name: &&str| !name.is_empty() && name.bytes().all(is_letter);
    names.filter(is_name).filter(|name| *name != "help")
}

const fn is_letter(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Both transports both ways, and each engine once; emulators lack the calls of most engines.
pub(super) fn tests(target: &Target) -> &'static [&'static str] {
    if target.is_native() { &TESTS } else { &TESTS[..USUAL] }
}

/// Starts a server; returns when it listens.
fn serve(target: &Target, binary: &Path) -> Result<(Running, String)> {
    let port = port::free()?;
    let mut serve = program(target, binary);
    serve.args(["serve", "--bind", "127.0.0.1", "--quiet", "--port", &port.to_string()]);
    let mut server = Running::start(serve)?;
    port::await_listener(None, port, &mut server)?;
    Ok((server, port.to_string()))
}

/// The file as this machine can run it.
pub(crate) fn program(target: &Target, binary: &Path) -> Command {
    let Some(runner) = target.runner() else { return Command::new(binary) };
    let mut program = Command::new(runner);
    program.arg(binary);
    program
}

/// The first of [`TESTS`], with the usual engines.
const USUAL: usize = 3;

const TESTS: [&str; 9] = [
    "--tcp --send -t 500ms",
    "--tcp --receive -t 500ms",
    "--udp -b 100M -t 500ms",
    "--tcp --bidir -n 8M --engine sendfile,msg-trunc",
    "--tcp --bidir -n 8M --engine vmsplice,splice",
    "--tcp --bidir -n 8M --engine zerocopy,zerocopy-receive",
    "--tcp --bidir -n 8M --engine uring,uring-multishot",
    "--tcp --bidir -n 8M --engine uring-zerocopy,read",
    "--udp -b 100M -t 500ms -l 1000 --engine gso,gro",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_in_an_overview() {
        let overview = "Usage: linerate COMMAND\n\nMeasure:\n  test     Measure\n  iperf3   As iperf3\n  \
                        serve    Serve\n\n  linerate test HOST    four rows\n  help     Print\n  -h, --help  Help\n";
        assert_eq!(commands(overview).collect::<Vec<_>>(), ["test", "iperf3", "serve"]);
    }
}
