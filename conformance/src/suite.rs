//! `suite`: the tests of riperf3's command line, which hold a program against iperf3 3.21, with
//! ours in place of the program that they are of.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, bail, ensure};
use clap::Args;
use lab::{Host, LinkSpec};
use serde_json::Value;
use testbed::topology::{Path as Link, Topology};

use crate::Verdict;
use crate::table::say;

/// Runs the tests of riperf3-cli with `linerate iperf3` in place of riperf3
#[derive(Debug, Args)]
pub(crate) struct Suite {
    /// Folder of riperf3's sources; nothing is written there
    sources: PathBuf,
    /// The linerate to test
    #[arg(long, value_name = "FILE")]
    linerate: PathBuf,
    /// An iperf3 that runs the same tests
    #[arg(long, value_name = "FILE")]
    peer: Option<PathBuf>,
    /// Only tests whose names contain this, e.g. error_format::
    #[arg(long, value_name = "WORDS", default_value = "")]
    only: String,
}

/// One test: its name, with the file that it stands in, and the program that runs it.
struct Case {
    file: String,
    name: String,
    runner: PathBuf,
}

impl Suite {
    /// Builds the tests, which may need the network of the machine.
    pub(crate) fn prepare(&self) -> anyhow::Result<()> {
        let folder = folder()?;
        match fs::remove_dir_all(folder.join("sources")) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).context("cannot remove the sources of an earlier run");
            }
            _ => copy(&self.sources, &folder.join("sources"))?,
        }
        let built = Command::new("cargo")
            .args(["test", "--no-run", "--quiet", "--package", "riperf3-cli"])
            .args(["--message-format", "json-render-diagnostics", "--target-dir"])
            .arg(folder.join("target"))
            .current_dir(folder.join("sources"))
            .stderr(Stdio::inherit())
            .output()
            .context("cannot run cargo")?;
        ensure!(built.status.success(), "the tests of {} do not build", self.sources.display());
        let messages = String::from_utf8_lossy(&built.stdout).into_owned();
        fs::write(folder.join("messages"), messages).context("cannot note what was built")?;
        put_in_place(&folder.join("target/debug/riperf3"))
    }

    pub(crate) fn run(&self) -> anyhow::Result<Verdict> {
        let cases = self.cases()?;
        ensure!(!cases.is_empty(), "no test of {} has that name", self.sources.display());
        let hosts = Topology::cable(Link::Veth, &LinkSpec::default())?;
        let ours = run_all(&cases, hosts.server(), &self.linerate, "iperf3")?;
        let theirs = match &self.peer {
            Some(peer) => Some(run_all(&cases, hosts.client(), peer, "")?),
            None => None,
        };
        let mut behind = 0;
        for (name, passed) in &ours {
            let peer = theirs.as_ref().map(|theirs| theirs[name]);
            behind += usize::from(!passed && peer.unwrap_or(true));
            let peer = peer.map_or("", |passed| if passed { "  peer ok" } else { "  peer FAIL" });
            say(format!("{:<4}{peer:<12} {name}", if *passed { "ok" } else { "FAIL" }));
        }
        let passed = ours.values().filter(|passed| **passed).count();
        let with = if theirs.is_some() { " and pass with the peer" } else { "" };
        say(format!("suite: {passed} of {} passed; {behind} fail{with}", ours.len()));
        Ok(if behind == 0 { Verdict::Passed } else { Verdict::Failed })
    }

    fn cases(&self) -> anyhow::Result<Vec<Case>> {
        let messages = fs::read_to_string(folder()?.join("messages"))?;
        let mut cases = Vec::new();
        for message in messages.lines() {
            let message: Value = serde_json::from_str(message).context("cargo printed no JSON")?;
            let is_test = message["target"]["kind"][0] == "test";
            let (Some(file), Some(runner)) =
                (message["target"]["name"].as_str(), message["executable"].as_str())
            else {
                continue;
            };
            if is_test {
                cases.extend(list(file, Path::new(runner))?);
            }
        }
        cases.retain(|case| case.full_name().contains(&self.only));
        Ok(cases)
    }
}

impl Case {
    fn full_name(&self) -> String {
        format!("{}::{}", self.file, self.name)
    }

    /// Whether it passes with the program at `path`, within a minute.
    fn passes(&self, host: &Host, path: &Path, word: &str) -> anyhow::Result<bool> {
        // The tests start programs that outlive those that hang.
        let mut command = host.command("timeout");
        command.args(["--kill-after=1", "60"]).arg(&self.runner).args(["--exact", &self.name]);
        command.env(PROGRAM, path).env(WORD, word);
        testbed::process::keep_no_history(&mut command);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Ok(command.status().context("cannot run timeout(1)")?.success())
    }
}

/// Which tests pass with a program. Most of a test is waiting.
fn run_all(
    cases: &[Case],
    host: &Host,
    path: &Path,
    word: &str,
) -> anyhow::Result<BTreeMap<String, bool>> {
    let path = fs::canonicalize(path).with_context(|| format!("no {}", path.display()))?;
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Relaxed)) {
                    let passed = case.passes(host, &path, word);
                    let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                    results.push(passed.map(|passed| (case.full_name(), passed)));
                }
            });
        }
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().collect()
}

/// The tests that a runner has.
fn list(file: &str, runner: &Path) -> anyhow::Result<Vec<Case>> {
    let output = Command::new(runner).arg("--list").output().context("cannot list the tests")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    let case = |name: &str| Case {
        file: file.to_owned(),
        name: name.to_owned(),
        runner: runner.to_owned(),
    };
    Ok(names.map(case).collect())
}

/// Below the folder that this program was built in.
fn folder() -> anyhow::Result<PathBuf> {
    let program = env::current_exe().context("cannot find this program")?;
    let folder = program.parent().context("this program is in no folder")?.join("suite");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Copies the sources. The tests expect messages to begin with their program's name, where
/// iperf3's begin with its own.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let failed = || format!("cannot copy {}", from.display());
    fs::create_dir_all(to).with_context(failed)?;
    for entry in fs::read_dir(from).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let (name, path) = (entry.file_name(), entry.path());
        if name == "target" || name == ".git" {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else if is_test(&path) {
            let text = fs::read_to_string(&path).with_context(failed)?;
            let text = text.replace("riperf3: ", "iperf3: ").replace("\"riperf3 \"", "\"iperf \"");
            fs::write(to.join(name), text).with_context(failed)?;
        } else {
            fs::copy(&path, to.join(name)).with_context(failed)?;
        }
    }
    Ok(())
}

fn is_test(path: &Path) -> bool {
    let folder = path.parent().and_then(Path::file_name);
    path.extension().is_some_and(|ending| ending == "rs")
        && folder.is_some_and(|name| name == "tests")
}

/// Puts a script in the place of the program that the tests start.
fn put_in_place(program: &Path) -> anyhow::Result<()> {
    if !program.exists() {
        bail!("{} was not built", program.display());
    }
    // It has a second name among what cargo has built.
    fs::remove_file(program)?;
    fs::write(program, format!("#!/bin/sh\nexec \"${PROGRAM}\" ${WORD} \"$@\"\n"))?;
    fs::set_permissions(program, Permissions::from_mode(0o755)).context("cannot make a script")
}

const PROGRAM: &str = "CONFORMANCE_SUITE_PROGRAM";
/// Environment variable with the subcommand to put before the arguments of a test, e.g. `iperf3`.
const WORD: &str = "CONFORMANCE_SUITE_WORD";
/// Tests that run side by side.
const AT_ONCE: usize = 4;
