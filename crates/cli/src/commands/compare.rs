//! `linerate compare`.

use std::process::ExitCode;

use anyhow::{anyhow, bail};
use measurement::Comparison;
use measurement::comparison::RowComparison;
use report::comparison;

use crate::flags::{CompareFlags, ComparisonFormat};
use crate::{exit, output, recorded};

pub(crate) fn run(flags: &CompareFlags) -> anyhow::Result<ExitCode> {
    let read = |word: &str| recorded::records(word, flags.file.path());
    let (before, after) = (read(&flags.before)?, read(&flags.after)?);
    let compared = campaign::compare(&before.records, &after.records);
    if compared.rows.is_empty() {
        return Err(anyhow!(
            "{} and {} have no row in common: compare runs of the same test",
            flags.before,
            flags.after
        ));
    }
    match (flags.json, flags.format) {
        (true, _) | (_, ComparisonFormat::Json) => {
            let mut text = Vec::new();
            comparison::write_json(&compared, &mut text)?;
            output::print_text(&text)?;
        }
        (_, ComparisonFormat::Markdown) => {
            let mut text = Vec::new();
            comparison::write_markdown(&compared, &mut text)?;
            output::print_text(&text)?;
        }
        (_, ComparisonFormat::Text) => {
            output::print_table(|out| comparison::write(&compared, out))?;
        }
    }
    flags.fail_below.map_or(Ok(ExitCode::SUCCESS), |share| required(&compared, share))
}

/// Whether no row is worse by more than a share.
fn required(compared: &Comparison, share: f64) -> anyhow::Result<ExitCode> {
    let is_untold =
        |row: &&RowComparison| row.effect.is_none_or(|effect| effect.interval.is_none());
    let worse = |row: &RowComparison| {
        let change = (row.quantity.gain(row.effect?.ratio) - 1.0) * 100.0;
        let text = format!("{}: {change:+.1} %, at most -{:.1} %", row.row, share * 100.0);
        row.is_worse_by(share).then_some(text)
    };
    let missed: Vec<_> = compared.rows.iter().filter_map(worse).collect();
    exit::say_missed(&missed);
    if !missed.is_empty() {
        return Ok(ExitCode::from(exit::MISSED));
    }
    if let Some(row) = compared.missing.first() {
        bail!("{row}: --fail-below has no run after the change: test this row, too");
    }
    if let Some(row) = compared.rows.iter().find(is_untold) {
        bail!("{}: too few runs for --fail-below: repeat each side, e.g. with --repeat 5", row.row);
    }
    Ok(ExitCode::SUCCESS)
}
