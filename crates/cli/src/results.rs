//! Prints what a search came to, and returns the exit code.

use std::path::Path;
use std::process::ExitCode;

use campaign::{Monitor, Requirements, Results};
use measurement::outcome::Ending;
use measurement::{RecordSet, RunEvent, TestRecord};
use report::export::{Audience, Export, JsonStream};

use crate::exit;
use crate::history::{self, Keeping};
use crate::output;
use crate::progress::{Detail, Progress};
use crate::rows::Rows;
use crate::stream::{self, EventLines};

/// Shows the tests of a run while they run.
pub(crate) fn monitor(format: &dyn Export, detail: Detail) -> Box<dyn Monitor> {
    if format.name() == JsonStream.name() {
        Box::new(EventLines::default())
    } else {
        Box::new(Progress::new(detail))
    }
}

/// Where results go, and what is required of them.
pub(crate) struct Finish<'a> {
    pub(crate) format: &'a dyn Export,
    /// The file of `--output`.
    pub(crate) file: Option<&'a Path>,
    pub(crate) requirements: Requirements,
    /// How the run is kept; none: it is not.
    pub(crate) keeping: Option<Keeping>,
    /// Whether a [`monitor`] of the format showed the rows while they ran.
    pub(crate) is_live: bool,
    /// The rows that stand on the screen already; none: they are printed now.
    pub(crate) rows: Option<Rows>,
    /// Whether all details follow them.
    pub(crate) is_verbose: bool,
}

impl<'a> Finish<'a> {
    /// Prints in a format, of which a [`monitor`] showed the rows, and requires nothing.
    pub(crate) fn new(format: &'a dyn Export, file: Option<&'a Path>) -> Self {
        let requirements = Requirements::default();
        Self {
            format,
            file,
            requirements,
            keeping: None,
            is_live: true,
            rows: None,
            is_verbose: false,
        }
    }

    /// Prints the records, then the error if there is one, then what was not run and what is missed.
    pub(crate) fn print(mut self, results: &mut Results) -> anyhow::Result<ExitCode> {
        let set = &mut results.records;
        let error = results.error.as_ref().map(exit::of_session);
        set.error = error.or_else(|| exit::of_last(&set.records));
        let is_empty = set.records.is_empty();
        let missed = self.missed(set);
        let is_kept = self.keeping.as_ref().is_some_and(|keeping| history::keep(keeping, set));
        if let Some(rows) = self.rows.take().filter(|_| !is_empty) {
            rows.close(set, is_kept, self.is_verbose)?;
        } else if self.is_live && self.format.name() == JsonStream.name() {
            stream::print(&RunEvent::end(set, missed.clone(), results.not_run.clone()));
        } else if !is_empty || self.format.audience() == Audience::Programs {
            output::print(set, self.format)?;
        }
        if let Some(file) = self.file.filter(|_| !is_empty) {
            output::write_file(set, file)?;
        }
        let code = match &set.error {
            Some(error) => exit::complain(error),
            None => exit::of_records(&set.records, &missed),
        };
        exit::say_missed(&missed);
        // Without any record the error says all.
        if !is_empty && !results.not_run.is_empty() {
            exit::say_not_run(&results.not_run);
        }
        Ok(code)
    }

    /// What the rows that ran to their end miss.
    fn missed(&self, set: &RecordSet) -> Vec<String> {
        let ended = |record: &&TestRecord| record.outcome.ending == Ending::Completed;
        let records = set.records.iter().filter(ended);
        records.flat_map(|record| self.requirements.missed(record)).collect()
    }
}
