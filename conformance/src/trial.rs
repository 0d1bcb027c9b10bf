//! One test between two programs, held against the promises.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use testbed::noise::{Noise, Reading};
use testbed::topology::Topology;

use crate::Verdict;
use crate::ask::Ask;
use crate::bench;
use crate::deviations::{Deviation, Pairing, excuse};
use crate::program::Installed;
use crate::promises::{Breach, Observation, Promise, check, client_ends, server_ends};
use crate::seen::{Role, Seen};
use crate::table;

/// A breach, and what excuses it.
pub(crate) struct Finding {
    pub(crate) breach: Breach,
    pub(crate) excuse: Option<&'static Deviation>,
}

/// What came of a test.
pub(crate) struct Report {
    pub(crate) client: Option<Seen>,
    pub(crate) findings: Vec<Finding>,
    /// What failed in tries before this one.
    pub(crate) earlier: Vec<Vec<Finding>>,
    /// What other programs did on this machine meanwhile; in several tries, in the quietest.
    pub(crate) noise: Noise,
}

/// The worst of its findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    Ok,
    Deviation,
    /// It fails in ways that load explains, and the machine was loaded in every try.
    Busy,
    Fail,
}

impl Report {
    pub(crate) fn outcome(&self) -> Outcome {
        let worst = self.findings.iter().map(|finding| match finding.excuse {
            Some(_) => Outcome::Deviation,
            None if self.may_be_load() && !self.noise.is_quiet() => Outcome::Busy,
            None => Outcome::Fail,
        });
        worst.max().unwrap_or(Outcome::Ok)
    }

    /// Whether it fails, and every failure is one that load explains.
    fn may_be_load(&self) -> bool {
        let failures = self.findings.iter().filter(|finding| finding.excuse.is_none());
        let promises: Vec<_> = failures.map(|finding| finding.breach.promise).collect();
        !promises.is_empty() && promises.iter().all(|promise| LOAD_DEPENDENT.contains(promise))
    }
}

/// One test between two programs.
pub(crate) struct Trial<'a> {
    pub(crate) hosts: &'a Topology,
    pub(crate) client: &'a Installed,
    pub(crate) server: &'a Installed,
    pub(crate) ask: &'a Ask,
    pub(crate) judged: Judged,
}

/// The promises that a test has to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// All promises. It is run again where load may be why one is broken.
    All,
    /// Those that a busy machine keeps as well. It is run once.
    WhateverTheLoad,
}

impl Trial<'_> {
    /// Runs the test and judges it.
    fn run(&self) -> anyhow::Result<Report> {
        let Self { hosts, client, server, ask, judged } = *self;
        let before = Reading::take()?;
        let ended = bench::run(hosts, client, server, ask)?;
        let noise = Reading::take()?.noise_since(&before);
        let client_seen = client.parse(Role::Client, ask, &ended.client.stdout).ok();
        let server_seen = server.parse(Role::Server, ask, &ended.server.stdout).ok();
        let mut breaches: Vec<Breach> = Vec::new();
        breaches.extend(client_ends(&ended.client, client_seen.as_ref()));
        breaches.extend(server_ends(&ended.server, server_seen.as_ref()));
        if let (Some(client), Some(server)) = (&client_seen, &server_seen) {
            breaches.extend(check(&Observation { ask, client, server }));
        }
        if judged == Judged::WhateverTheLoad {
            breaches.retain(|breach| !LOAD_DEPENDENT.contains(&breach.promise));
        }
        let pairing = Pairing { client, server };
        let judge = |breach| Finding { excuse: excuse(&pairing, ask, &breach), breach };
        let findings = breaches.into_iter().map(judge).collect();
        Ok(Report { client: client_seen, findings, earlier: Vec::new(), noise })
    }

    /// A machine that is busy with something else makes receivers late, and an iperf3 has
    /// room for some 20 ms of datagrams. So what only looks like that gets another try, after
    /// a while: such a machine is busy for some seconds, and what is broken stays so. Where it
    /// was busy in every try, nothing is decided.
    fn run_again_if_busy(&self) -> anyhow::Result<Report> {
        let mut report = self.run()?;
        for seconds in PAUSES {
            if !report.may_be_load() {
                break;
            }
            thread::sleep(Duration::from_secs(seconds));
            let Report { mut earlier, findings, noise, .. } = report;
            earlier.push(findings);
            let again = self.run()?;
            report = Report { earlier, noise: again.noise.quieter(noise), ..again };
        }
        Ok(report)
    }
}

/// Adds up many tests.
pub(crate) struct Summary {
    start: Instant,
    counts: [usize; 4],
    excuses: BTreeSet<(&'static str, &'static str)>,
}

impl Summary {
    pub(crate) fn begin() -> Self {
        Self { start: Instant::now(), counts: [0; 4], excuses: BTreeSet::new() }
    }

    /// Runs, prints and counts one test.
    pub(crate) fn add(&mut self, trial: &Trial<'_>) -> anyhow::Result<()> {
        let report = trial.run_again_if_busy()?;
        self.counts[report.outcome() as usize] += 1;
        let used = report.findings.iter().filter_map(|finding| finding.excuse);
        self.excuses.extend(used.map(|excuse| (excuse.clause, excuse.reason)));
        let pairing = format!("{} > {}", trial.client.name(), trial.server.name());
        table::row(self.total(), &pairing, trial.ask, &report);
        Ok(())
    }

    /// Prints the sum.
    pub(crate) fn finish(&self, name: &str) -> Verdict {
        if !self.excuses.is_empty() {
            table::say("Deviations tolerated:");
        }
        for (clause, reason) in &self.excuses {
            table::say(format!("  clause {clause}: {reason}"));
        }
        let [ok, deviation, busy, fail] = self.counts;
        let is_decided = busy * MOST_BUSY < self.total().max(1);
        let verdict = if fail == 0 && is_decided { Verdict::Passed } else { Verdict::Failed };
        table::say(format!(
            "{name}: {} tests, {ok} ok, {deviation} with known deviations, {busy} undecided on a \
             busy machine, {fail} failed, {:.0} s",
            self.total(),
            self.start.elapsed().as_secs_f64()
        ));
        verdict
    }

    fn total(&self) -> usize {
        self.counts.iter().sum()
    }
}

/// One test of so many may stay undecided because the machine is busy.
const MOST_BUSY: usize = 6;
const PAUSES: [u64; 4] = [1, 2, 4, 8];
const LOAD_DEPENDENT: [Promise; 7] = [
    Promise::ResultBelieved,
    Promise::NothingLost,
    Promise::AllArrives,
    Promise::EndsAgreeOnLoss,
    Promise::EndsAgreeOnDatagrams,
    Promise::RateKept,
    Promise::TimeKept,
];
