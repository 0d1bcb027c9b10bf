//! Records that a word on the command line names: a file, or runs of the history.

use std::fs::File;
use std::path::Path;

use anyhow::anyhow;
use measurement::RecordSet;
use report::import::{self, ImportError, Imported};

use crate::history;

/// The content of a file, which is bounded.
pub(crate) fn text(path: &Path) -> anyhow::Result<Vec<u8>> {
    let name = path.display();
    let file = File::open(path)
        .map_err(|error| anyhow!("cannot read {name}: {}", session::reason(&error)))?;
    import::read_bounded(file).map_err(|error| match error {
        ImportError::Read(error) => anyhow!("cannot read {name}: {}", session::reason(&error)),
        error => anyhow!("{name} {}", error.to_string().trim_start_matches("it ")),
    })
}

/// The records of a file, if there is one of that name, else those of runs of the history. A file may
/// have what iperf3 or iperf printed, which is judged.
pub(crate) fn records(word: &str, file: Option<&Path>) -> anyhow::Result<RecordSet> {
    let path = Path::new(word);
    let set = if path.exists() {
        of_text(&text(path)?).map_err(|error| anyhow!("{word}: {error}"))?
    } else if word.contains(['/', '.']) {
        return Err(anyhow!("there is no file {word}: check its name and its directory"));
    } else {
        history::records(file, word)?
    };
    match &set.error {
        Some(error) if set.records.is_empty() => {
            Err(anyhow!("{word} has no record, since the run failed: {}", error.message))
        }
        _ => Ok(set),
    }
}

/// The records in a text.
fn of_text(text: &[u8]) -> Result<RecordSet, ImportError> {
    let importer = import::importer(text)?;
    let Imported::Records(mut set) = importer.read(text)? else {
        return Err(ImportError::Unrecognised);
    };
    let unjudged = set.records.iter_mut().filter(|record| record.judgement.is_none());
    unjudged.for_each(campaign::judge);
    Ok(set)
}
