//! `linerate report`.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{anyhow, bail, ensure};
use measurement::record::Source;
use measurement::{RecordSet, SearchRecord, TestRecord, json};
use report::html::{self, Report};
use report::import::{self, Imported, record};

use crate::flags::ReportFlags;
use crate::{history, output, recorded};

pub(crate) fn run(flags: &ReportFlags) -> anyhow::Result<ExitCode> {
    output::check_writable(&flags.output)?;
    let file = flags.file.path();
    let mut found = FoundRecords::default();
    for word in &flags.records {
        found.add(word, file)?;
    }
    let before = flags.before.as_ref().map(|word| recorded::records(word, file)).transpose()?;
    let FoundRecords { mut records, searches } = found;
    judge(&mut records.records);
    let curves = campaign::load_curves(&records.records);
    let comparison = before.map(|before| campaign::compare(&before.records, &records.records));
    if let Some(compared) = &comparison {
        ensure!(
            !compared.rows.is_empty(),
            "{} and {} have no row in common: compare runs of the same test",
            flags.before.as_deref().unwrap_or_default(),
            flags.records.join(", ")
        );
    }
    let report = Report {
        title: flags.title.as_deref(),
        records: &records,
        curves: &curves,
        searches: &searches,
        comparison: comparison.as_ref(),
    };
    output::write_whole(&flags.output, |out| html::write(&report, out))?;
    Ok(ExitCode::SUCCESS)
}

/// As `linerate explain` does.
fn judge(records: &mut [TestRecord]) {
    records.iter_mut().for_each(campaign::judge);
    if records.iter().any(|record| record.origin.source == Source::Measured) {
        // Imported runs may be of different days and hosts.
        campaign::judge_together(records);
    }
}

/// Records, searches and sweeps that the words of a command line stand for.
struct FoundRecords {
    records: RecordSet,
    searches: Vec<SearchRecord>,
}

impl Default for FoundRecords {
    fn default() -> Self {
        Self { records: RecordSet::new(Vec::new()), searches: Vec::new() }
    }
}

impl FoundRecords {
    fn add(&mut self, word: &str, file: Option<&Path>) -> anyhow::Result<()> {
        let path = Path::new(word);
        if !path.exists() {
            ensure!(
                !word.contains(['/', '.']),
                "there is no file {word}: check its name and its directory"
            );
            self.extend(history::records(file, word)?);
            return Ok(());
        }
        let text = recorded::text(path)?;
        if let Some(search) = search(&text) {
            self.searches.push(search.map_err(|error| anyhow!("{word}: {error}"))?);
            return Ok(());
        }
        let set = read(&text).map_err(|error| anyhow!("{word}: {error:#}"))?;
        if let (Some(error), []) = (&set.error, &set.records[..]) {
            bail!("{word} has no record, since the run failed: {}", error.message);
        }
        self.extend(set);
        Ok(())
    }

    fn extend(&mut self, set: RecordSet) {
        self.records.records.extend(set.records);
        self.records.error = self.records.error.take().or(set.error);
    }
}

/// A record of `linerate search`; none: it is something else.
fn search(text: &[u8]) -> Option<Result<SearchRecord, serde_json::Error>> {
    let begin = String::from_utf8_lossy(&text[..text.len().min(FIRST_BYTES)]);
    let is_search = begin.contains("\"linerate/search/");
    is_search.then(|| json::search(&String::from_utf8_lossy(text)))
}

/// A set of records, a set on each line, or runs of other programs.
fn read(text: &[u8]) -> anyhow::Result<RecordSet> {
    let lines = || text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    if lines().count() > 1 && lines().take(2).all(|line| record::read(line).is_ok()) {
        let sets = lines().map(record::read).collect::<Result<Vec<_>, _>>()?;
        return Ok(RecordSet::new(sets.into_iter().flat_map(|set| set.records).collect()));
    }
    match import::importer(text)?.read(text)? {
        Imported::Records(records) => Ok(records),
        Imported::Profile(_) | Imported::Tables(_) => {
            bail!("it has a CPU profile and no test: linerate explain shows it")
        }
    }
}

/// A file of a search has its format in its first key.
const FIRST_BYTES: usize = 64;
