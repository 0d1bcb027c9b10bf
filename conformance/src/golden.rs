//! `golden`: what `linerate iperf3` prints, compared with what iperf3 prints.
//!
//! Both run the same command lines, each as client and server on a host of its own. Not
//! values are compared, which differ in every run, but everything else: the keys of JSON
//! and their types ([`keys`]), the shapes of lines and their columns ([`text`]), and how
//! the programs end. What an older iperf3 does not have is data ([`additions`]).

mod additions;
mod commands;
mod difference;
mod keys;
mod layout;
mod output;
mod report;
mod run;
mod shape;
mod text;

use std::thread;

use anyhow::bail;
use clap::Args;
use lab::LinkSpec;
use testbed::process::{Ended, HowEnded};
use testbed::topology::{Path, Topology};

use crate::Verdict;
use crate::program::{Programs, Version};
use additions::excuse;
use commands::COMMAND_LINES;
pub(crate) use commands::{CommandLine, Setup};
use difference::{Change, Channel, Difference, What};
use report::Summary;
use run::BothEnds;
pub(crate) use run::Side;
use shape::{Shaper, Units};

/// Compares what `linerate iperf3` prints with what iperf3 prints
#[derive(Debug, Args)]
pub(crate) struct Golden {
    #[command(flatten)]
    programs: Programs,
    /// Only the command line of this number
    #[arg(long, value_name = "NUMBER")]
    only: Option<usize>,
    /// A few command lines, one of each kind of output
    #[arg(long)]
    short: bool,
}

impl Golden {
    pub(crate) fn run(&self) -> anyhow::Result<Verdict> {
        let (ours, theirs) = self.programs.find()?;
        let hosts = Topology::cable(Path::Veth, &LinkSpec::default())?;
        let pair = Pair {
            theirs: Side { program: &theirs, host: hosts.client() },
            ours: Side { program: &ours, host: hosts.server() },
        };
        let mut summary = Summary::begin(theirs.version);
        for (number, line) in self.lines(theirs.version)? {
            summary.add(number, line, &pair.compare(line, number)?);
        }
        Ok(summary.finish(self.is_complete()))
    }

    fn lines(&self, reference: Version) -> anyhow::Result<Vec<(usize, &'static CommandLine)>> {
        let numbered = (1..).zip(COMMAND_LINES);
        let is_wanted = |(number, line): &(usize, &CommandLine)| {
            self.only.is_none_or(|only| only == *number)
                && (!self.short || line.is_short())
                && line.since() <= reference
        };
        let lines: Vec<_> = numbered.filter(is_wanted).collect();
        if lines.is_empty() {
            bail!("there is no such command line; the last has number {}", COMMAND_LINES.len());
        }
        Ok(lines)
    }

    fn is_complete(&self) -> bool {
        self.only.is_none() && !self.short
    }
}

/// Both programs.
struct Pair<'a> {
    theirs: Side<'a>,
    ours: Side<'a>,
}

impl Pair<'_> {
    /// Plays with both at once. When a test ends to the millisecond decides whether some
    /// lines are printed, so only what differs every time counts.
    fn compare(&self, line: &CommandLine, number: usize) -> anyhow::Result<Vec<Difference>> {
        let port = FIRST_PORT + u16::try_from(number)?;
        let mut found = self.compare_once(line, port)?;
        for repeat in 1..=MOST_REPEATS {
            if found.iter().all(|one| excuse(self.theirs.program.version, line, one).is_some()) {
                break;
            }
            let again = self.compare_once(line, port + repeat * PORTS_OF_A_ROUND)?;
            found.retain(|difference| again.contains(difference));
        }
        Ok(found)
    }

    fn compare_once(&self, line: &CommandLine, port: u16) -> anyhow::Result<Vec<Difference>> {
        let (theirs, ours) = thread::scope(|scope| {
            let theirs = scope.spawn(|| self.theirs.run(line, port));
            let ours = self.ours.run(line, port);
            (theirs.join(), ours)
        });
        let theirs = theirs.map_err(|_| anyhow::anyhow!("the reference's thread panicked"))??;
        let units = if line.fixes_unit() { Units::Fixed } else { Units::Free };
        let shaper = |side: &Side<'_>| Shaper::new(&side.program.path().to_string_lossy(), units);
        Ok(differences((&theirs, &shaper(&self.theirs)), (&ours?, &shaper(&self.ours))))
    }
}

fn differences(theirs: (&BothEnds, &Shaper), ours: (&BothEnds, &Shaper)) -> Vec<Difference> {
    let of = |places, theirs_ended, ours_ended| {
        of_ends(places, (theirs_ended, theirs.1), (ours_ended, ours.1))
    };
    let mut found = of(CLIENT, &theirs.0.client, &ours.0.client);
    if let (Some(theirs), Some(ours)) = (&theirs.0.server, &ours.0.server) {
        found.extend(of(SERVER, theirs, ours));
    }
    found
}

fn of_ends(
    [output, errors, exit]: [Channel; 3],
    theirs: (&Ended, &Shaper),
    ours: (&Ended, &Shaper),
) -> Vec<Difference> {
    let compare = |channel, theirs, ours| {
        let found: Vec<What> = output::differences(theirs, ours);
        found.into_iter().map(move |what| Difference { channel, what })
    };
    let mut found: Vec<_> =
        compare(output, (&theirs.0.stdout, theirs.1), (&ours.0.stdout, ours.1)).collect();
    found.extend(compare(errors, (&theirs.0.stderr, theirs.1), (&ours.0.stderr, ours.1)));
    let change = Change::new(&ending(theirs.0), &ending(ours.0));
    if change.theirs != change.ours {
        found.push(Difference { channel: exit, what: What::Exit(change) });
    }
    found
}

fn ending(ended: &Ended) -> &'static str {
    match ended.how {
        HowEnded::Code(0) => "success",
        HowEnded::Code(_) if ended.has_measured() => "doubt",
        HowEnded::Code(_) | HowEnded::Signal => "failure",
        HowEnded::Killed => "no end",
    }
}

const CLIENT: [Channel; 3] = [Channel::ClientOutput, Channel::ClientErrors, Channel::ClientExit];
const SERVER: [Channel; 3] = [Channel::ServerOutput, Channel::ServerErrors, Channel::ServerExit];
/// A port of its own for each test, so that none waits for what another left.
const FIRST_PORT: u16 = 20_000;
const PORTS_OF_A_ROUND: u16 = 1_000;
const MOST_REPEATS: u16 = 2;
