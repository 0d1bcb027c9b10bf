//! Records of runs with a cause, kept so that rules can be tried on them again.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use measurement::TestRecord;

use super::random::class::Class;
use super::said::Said;
use super::scenario::Scenario;
use crate::output::say;

/// Writes a record to the next free name of its scenario.
pub(super) fn keep(folder: &Path, scenario: &Scenario, record: &TestRecord) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let mut numbers = 1..=u32::MAX;
    let path = numbers.find_map(|number| {
        let path = file(folder, scenario, number);
        (!path.exists()).then_some(path)
    });
    let path = path.context("it has a record of every number")?;
    let text = serde_json::to_vec(record)?;
    fs::write(&path, text).with_context(|| path.display().to_string())
}

/// Judges the records that were kept of `scenarios` by the rules of this tree.
pub(super) fn judge(folder: &Path, scenarios: &[Scenario]) -> Result<String> {
    let (mut right, mut all) = (0_usize, 0_usize);
    for scenario in scenarios {
        let files = (1..).map(|number| file(folder, scenario, number));
        for path in files.take_while(|path| path.exists()) {
            let said = judged(&path)?;
            let is_right = said.is_right(&scenario.expect);
            (all, right) = (all + 1, right + usize::from(is_right));
            let class = Class::of(&said, std::slice::from_ref(&scenario.expect));
            let word = if is_right { Class::Right } else { class }.word();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            say(format!("{word:<5} {name}; {} expected; {said}", scenario.expect.shown()));
        }
    }
    ensure!(all > 0, "{} has no record of a scenario", folder.display());
    ensure!(right == all, "faults: {right} of {all} records judged rightly");
    Ok(format!("faults: all of {all} records judged rightly"))
}

fn judged(path: &Path) -> Result<Said> {
    let text = fs::read(path).with_context(|| path.display().to_string())?;
    let mut record: TestRecord =
        serde_json::from_slice(&text).with_context(|| path.display().to_string())?;
    record.judgement = Some(analysis::judge(&record));
    Ok(Said::from_record(&record))
}

fn file(folder: &Path, scenario: &Scenario, number: u32) -> PathBuf {
    folder.join(format!("{}.{number}.json", scenario.name))
}
