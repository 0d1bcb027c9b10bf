//! What a comparison prints.

use std::time::Instant;

use super::additions::{self, Exception, excuse};
use super::commands::{CommandLine, Setup};
use super::difference::Difference;
use crate::Verdict;
use crate::program::Version;
use crate::table::say;

/// Adds up command lines.
pub(crate) struct Summary {
    start: Instant,
    reference: Version,
    runs: usize,
    failed: usize,
    used: Vec<&'static Exception>,
}

impl Summary {
    pub(crate) fn begin(reference: Version) -> Self {
        Self { start: Instant::now(), reference, runs: 0, failed: 0, used: Vec::new() }
    }

    /// Judges and prints one command line.
    pub(crate) fn add(&mut self, number: usize, line: &CommandLine, found: &[Difference]) {
        let excuse = |difference: &&Difference| excuse(self.reference, line, difference);
        let unexcused: Vec<_> = found.iter().filter(|one| excuse(one).is_none()).collect();
        let excused: Vec<_> = found.iter().filter_map(|one| excuse(&one)).collect();
        say(format!("{number:>3}  {:<72} {}", describe(line), verdict(&unexcused, &excused)));
        for difference in &unexcused {
            say(format!("       {difference}"));
        }
        self.runs += 1;
        self.failed += usize::from(!unexcused.is_empty());
        self.used.extend(excused);
    }

    /// Prints the sum; a complete run also tells which entries nothing needed.
    pub(crate) fn finish(&self, complete: bool) -> Verdict {
        if complete {
            self.report_stale();
        }
        let verdict = if self.failed == 0 { Verdict::Passed } else { Verdict::Failed };
        say(format!(
            "golden: {} command lines, {} differ, {:.0} s",
            self.runs,
            self.failed,
            self.start.elapsed().as_secs_f64()
        ));
        verdict
    }

    fn report_stale(&self) {
        let is_used = |entry: &Exception| self.used.iter().any(|used| std::ptr::eq(*used, entry));
        for entry in additions::entries(self.reference).filter(|entry| !is_used(entry)) {
            say(format!("not needed: {}: {}", entry.name(), entry.reason));
        }
    }
}

fn describe(line: &CommandLine) -> String {
    let setup = match line.setup {
        Setup::Alone => "",
        Setup::NoServer => ", no server",
        Setup::Misused => ", wrong",
        Setup::Busy => ", busy",
        Setup::ServesOn => ", serves on",
        Setup::GivesUp => ", gives up",
        Setup::Interrupted => ", interrupted",
    };
    let server = match line.server {
        "" => String::new(),
        server => format!(" > {server}"),
    };
    format!("{}{server}{setup}", line.client)
}

fn verdict(unexcused: &[&Difference], excused: &[&Exception]) -> String {
    match (unexcused.len(), excused.len()) {
        (0, 0) => "ok".to_owned(),
        (0, excused) => format!("ok but for {excused} known"),
        (count, _) => format!("FAIL: {count} differences"),
    }
}
