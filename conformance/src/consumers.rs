//! `consumers`: real programs that read iperf3's output, fed with ours.
//!
//! Each is a small script that feeds one package and prints what it understood. That has
//! to be what our output says, and as much as the package understands of iperf3's own.

mod catalogue;
mod environment;
mod understood;

use anyhow::Context;
use clap::Args;
use lab::LinkSpec;
use testbed::topology::{Path, Topology};

use crate::Verdict;
use crate::golden::{CommandLine, Setup, Side};
use crate::program::{Programs, Version};
use crate::table::say;
use catalogue::{CONSUMERS, Consumer, Input};
use environment::Environment;
use understood::Understood;

/// Feeds programs that read iperf3's output with what `linerate iperf3` prints
#[derive(Debug, Args)]
pub(crate) struct Consumers {
    #[command(flatten)]
    programs: Programs,
}

impl Consumers {
    /// Installs the packages, which needs the network of the machine.
    #[expect(clippy::unused_self, reason = "each task is prepared by its value")]
    pub(crate) fn prepare(&self) -> anyhow::Result<()> {
        Environment::locate()?.install()
    }

    pub(crate) fn run(&self) -> anyhow::Result<Verdict> {
        let environment = Environment::locate()?;
        let (ours, theirs) = self.programs.find()?;
        let hosts = Topology::cable(Path::Veth, &LinkSpec::default())?;
        let theirs = Side { program: &theirs, host: hosts.client() };
        let ours = Side { program: &ours, host: hosts.server() };
        let mut failed = 0;
        for (port, case) in (FIRST_PORT..).zip(CASES) {
            let printed = Printed {
                reference: theirs.program.version,
                theirs: theirs.run(&case.line, port)?.client.stdout,
                ours: ours.run(&case.line, port)?.client.stdout,
            };
            for consumer in CONSUMERS.iter().filter(|one| one.input == case.input) {
                failed += usize::from(!case.judge(consumer, &environment, &printed)?);
            }
        }
        say(format!("consumers: {failed} failed"));
        Ok(if failed == 0 { Verdict::Passed } else { Verdict::Failed })
    }
}

/// What both clients printed.
struct Printed {
    reference: Version,
    theirs: String,
    ours: String,
}

impl Printed {
    /// Fields that were understood of one output only. Of an older iperf3, less is.
    fn unlike_fields(&self, theirs: &Understood, ours: &Understood) -> Vec<String> {
        let missing = theirs.more_than(ours).into_iter();
        let mut found: Vec<_> = missing.map(|field| format!("{field} is missing")).collect();
        if self.reference >= IMITATED {
            found.extend(ours.more_than(theirs).iter().map(|field| format!("{field} is new")));
        }
        found
    }
}

/// One test, and what its client prints.
struct Case {
    line: CommandLine,
    input: Input,
}

impl Case {
    /// Feeds a consumer with both outputs, and prints what came of it.
    fn judge(
        &self,
        consumer: &Consumer,
        environment: &Environment,
        printed: &Printed,
    ) -> anyhow::Result<bool> {
        let theirs = environment.feed(consumer, &printed.theirs)?;
        let ours = environment.feed(consumer, &printed.ours)?;
        let subject = format!("{:<24} {:<30}", consumer.name, self.line.client);
        let found = match (theirs, ours) {
            (Err(_), Err(_)) => {
                say(format!("{subject} it does not read such a test"));
                return Ok(true);
            }
            (Ok(_), Err(error)) => vec![error],
            // Older versions of iperf3 lack what some consumers insist on.
            (Err(_), Ok(ours)) => self.wrong_values(consumer, &ours, &printed.ours)?,
            (Ok(theirs), Ok(ours)) => {
                let mut found = self.wrong_values(consumer, &ours, &printed.ours)?;
                if !consumer.knows_versions {
                    found.extend(printed.unlike_fields(&theirs, &ours));
                }
                found
            }
        };
        let well = if consumer.knows_versions { "ok, of an unknown version" } else { "ok" };
        say(format!("{subject} {}", if found.is_empty() { well } else { "FAIL" }));
        for one in &found {
            say(format!("    {one}"));
        }
        Ok(found.is_empty())
    }

    /// Where the consumer understood other values than the output has.
    fn wrong_values(
        &self,
        consumer: &Consumer,
        understood: &Understood,
        printed: &str,
    ) -> anyhow::Result<Vec<String>> {
        match self.input {
            Input::Text => Ok(Vec::new()),
            Input::Json => {
                let document = serde_json::from_str(printed).context("our output is no JSON")?;
                Ok(understood.unlike_values(&document, consumer.values))
            }
        }
    }
}

const fn json(setup: Setup, client: &'static str) -> Case {
    Case { line: CommandLine { client, server: "", setup }, input: Input::Json }
}

const fn text(client: &'static str) -> Case {
    Case { line: CommandLine { client, server: "", setup: Setup::Alone }, input: Input::Text }
}

const CASES: &[Case] = &[
    json(Setup::Alone, "-c 127.0.0.1 -t 1 -J"),
    json(Setup::Alone, "-c 127.0.0.1 -t 1 -J -R"),
    json(Setup::Alone, "-c 127.0.0.1 -t 1 -J -P 2"),
    json(Setup::Alone, "-c 127.0.0.1 -t 1 -J --bidir"),
    json(Setup::Alone, "-c 127.0.0.1 -t 1 -J -u"),
    json(Setup::Alone, "-c 127.0.0.1 -t 1 -J -u -R"),
    json(Setup::Alone, "-c 127.0.0.1 -t 1 -J -u --bidir"),
    json(Setup::NoServer, "-c 127.0.0.1 -J"),
    text("-c 127.0.0.1 -t 1"),
    text("-c 127.0.0.1 -t 1 -P 2"),
];
/// The version of iperf3 whose output ours is.
const IMITATED: Version = Version(3, 21);
const FIRST_PORT: u16 = 30_000;
