//! Records of tests with a known cause on a machine that no rule was made on, and what the rules of
//! this tree say of them.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use measurement::verdict::Finding;
use measurement::{Conclusion, RecordSet, Role, TestRecord};

use crate::output::say;

/// The table of what each row ought to say.
pub(super) const LABELS: &str = "labels.tsv";

/// Judges every row that a table names. Columns: file, row, kind of cause, what is right, what is near.
pub(super) fn judge(folder: &Path) -> Result<String> {
    let path = folder.join(LABELS);
    let table = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let mut kinds: BTreeMap<String, Tally> = BTreeMap::new();
    for line in table.lines().skip(1) {
        let columns: Vec<_> = line.split('\t').collect();
        let [file, row, kind, right, near, ..] = columns[..] else { continue };
        let said = said(&folder.join(file), row)?;
        let tally = kinds.entry(kind.to_owned()).or_default();
        let word = tally.count(&said, right, near);
        say(format!("{word:<5} {file} {row}; {right} expected; {}", said.join(" ")));
    }
    let mut all = Tally::default();
    for (kind, tally) in &kinds {
        say(format!("{kind:<16} {tally}"));
        all.right += tally.right;
        all.near += tally.near;
        all.wrong += tally.wrong;
    }
    ensure!(all.rows() > 0, "{} names no row", path.display());
    Ok(format!("faults: {all}"))
}

/// How many rows are judged how.
#[derive(Default)]
struct Tally {
    right: u32,
    near: u32,
    wrong: u32,
}

impl Tally {
    fn rows(&self) -> u32 {
        self.right + self.near + self.wrong
    }

    /// Counts a row, whose headline is named by `said`.
    fn count(&mut self, said: &[String], right: &str, near: &str) -> &'static str {
        let is_among =
            |names: &str| names.split(',').any(|name| said.iter().any(|one| one == name));
        let (count, word) = match () {
            () if is_among(right) => (&mut self.right, "right"),
            () if is_among(near) => (&mut self.near, "near"),
            () => (&mut self.wrong, "wrong"),
        };
        *count += 1;
        word
    }
}

impl Display for Tally {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let share = f64::from(self.right) / f64::from(self.rows().max(1)) * 100.0;
        let Self { right, near, wrong } = self;
        write!(
            f,
            "{right} right, {near} near, {wrong} wrong of {} ({share:.0} % right)",
            self.rows()
        )
    }
}

/// The names of the headline of a row: with its host, and without.
fn said(file: &Path, row: &str) -> Result<Vec<String>> {
    let mut records = read(file)?;
    for record in &mut records {
        record.judgement = Some(analysis::judge(record));
    }
    analysis::judge_together(&mut records);
    let title = |record: &&TestRecord| {
        format!("{} {}", record.plan.transport, record.plan.direction).to_lowercase() == row
    };
    let record = records.iter().find(title).or(records.first()).context("no row")?;
    let verdict = record.judgement.as_ref().and_then(|judgement| judgement.verdict.as_ref());
    let verdict = verdict.context("no verdict")?;
    Ok(match (verdict.conclusion, verdict.findings.first()) {
        (Conclusion::Delivered, _) => vec!["delivered".to_owned()],
        (Conclusion::Limited, Some(finding)) => names(finding),
        _ => vec!["undecided".to_owned()],
    })
}

fn names(finding: &Finding) -> Vec<String> {
    let host = match &finding.host {
        Some(Role::Here) => "here:",
        Some(Role::Peer) => "peer:",
        Some(Role::Observed(_)) | None => "",
    };
    vec![finding.rule.to_string(), format!("{host}{}", finding.rule)]
}

/// The records of a file that gzip(1) packed: those of a run, or one.
fn read(file: &Path) -> Result<Vec<TestRecord>> {
    let unpacked = Command::new("gzip").arg("-dc").arg(file).output().context("gzip")?;
    let text = unpacked.stdout.as_slice();
    let records = serde_json::from_slice(text).map(|set: RecordSet| set.records);
    let records = records.or_else(|_| serde_json::from_slice(text).map(|record| vec![record]));
    records.with_context(|| file.display().to_string())
}
