//! Prints a result that is no set of tests, such as a ladder, keeps its tests, and returns the exit code.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use measurement::record::RunError;
use measurement::{RecordSet, TestRecord};
use report::export::{Audience, Export};
use report::summary::{Rows, Summary};

use crate::history::{self, Keeping};
use crate::{exit, output};

/// Where a result goes, and what it says of the run.
pub(crate) struct Conclusion<'a> {
    /// The format, which shows such results ([`crate::flags::format::FormatFlags::of_rows`]).
    pub(crate) format: &'static dyn Export,
    /// The file of `--output`.
    pub(crate) file: Option<&'a Path>,
    /// History that keeps the tests. `None`: they are not kept.
    pub(crate) keeping: Option<Keeping>,
    /// Its tests, as the history has them.
    pub(crate) tests: &'a [TestRecord],
    /// Whether there is nothing to show to people.
    pub(crate) is_empty: bool,
    /// Requirements that the result misses, a sentence each.
    pub(crate) missed: Vec<String>,
    /// Error that ended the run.
    pub(crate) error: Option<&'a RunError>,
    /// Why the result is not to be believed, although the run came to its end.
    pub(crate) doubt: Option<&'static str>,
    /// The exit code where nothing is wrong by any of these.
    pub(crate) code: ExitCode,
}

impl<'a> Conclusion<'a> {
    /// A result in a format that is written to `file` too, and that is as it should be.
    pub(crate) const fn new(format: &'static dyn Export, file: Option<&'a Path>) -> Self {
        Self {
            format,
            file,
            keeping: None,
            tests: &[],
            is_empty: false,
            missed: Vec::new(),
            error: None,
            doubt: None,
            code: ExitCode::SUCCESS,
        }
    }

    /// Keeps the tests, prints the record, of which `text` writes the text for people, and says what is
    /// wrong.
    pub(crate) fn print(
        self,
        record: &impl Rows,
        text: impl Fn(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<ExitCode> {
        if let Some(keeping) = &self.keeping {
            history::keep(keeping, &RecordSet::new(self.tests.to_vec()));
        }
        let summary = Summary::new(record, &text);
        if !self.is_empty || self.format.audience() == Audience::Programs {
            output::print_summary(&summary, self.format)?;
        }
        // Tests that ran are not lost where they are too few to show.
        let is_worth_a_file = !self.is_empty || !self.tests.is_empty();
        if let Some(file) = self.file.filter(|_| is_worth_a_file) {
            output::write_whole(file, |out| summary.write_json(out))?;
        }
        exit::say_missed(&self.missed);
        Ok(match self.error {
            Some(error) => exit::complain(error),
            None if !self.missed.is_empty() => ExitCode::from(exit::MISSED),
            None => match self.doubt {
                Some(doubt) => {
                    exit::complain(&exit::failed(doubt));
                    ExitCode::from(exit::INVALID)
                }
                None => self.code,
            },
        })
    }
}
