//! `linerate import`.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use measurement::RecordSet;
use report::Width;
use report::import::transcript::{Reading, Runs};
use report::import::{self, Content, ImportError};
use report::imported::{self, Imported};

use crate::flags::ImportFlags;
use crate::{charset, exit, history, output, terminal};

pub(crate) fn run(flags: &ImportFlags) -> anyhow::Result<ExitCode> {
    if let Some(path) = &flags.output {
        output::check_writable(path)?;
    }
    let names: Vec<_> = flags.files.iter().map(|file| name(file)).collect();
    let mut reading = Reading::default();
    let mut profiles = Vec::new();
    for (file, name) in flags.files.iter().zip(&names) {
        // The text is not kept.
        let text = text(file, name)?;
        reading.add(&text);
        profiles.extend(has_profile(&text).then_some(name.as_str()));
    }
    let mut found = reading.finish();
    if found.runs.is_empty() && found.rates.is_empty() {
        bail!("{}", nothing_in(&names, &profiles));
    }
    for name in profiles {
        // Standard error may be closed.
        _ = writeln!(anstream::stderr(), "linerate: for its output of perf type {}", explain(name));
    }
    for run in &mut found.runs {
        campaign::judge(&mut run.record);
        run.record.tags.extend(flags.tag.iter().cloned());
    }
    print(&names, found, flags)
}

fn print(names: &[String], found: Runs, flags: &ImportFlags) -> anyhow::Result<ExitCode> {
    let Runs { runs, unread, broken, rates, is_cut } = found;
    let curves = campaign::load_curves(runs.iter().map(|run| &run.record));
    let imported = Imported {
        names,
        runs: &runs,
        curves: &curves,
        rates: &rates,
        unread: &unread,
        broken: &broken,
        is_cut,
    };
    match flags.format.chosen() {
        None => {
            let (width, glyphs) = (terminal::room(), charset::glyphs());
            output::print_table(|out| imported::write(&imported, width, glyphs, out))?;
        }
        // Standard error may be closed.
        Some(_) => _ = imported::write_unread(&imported, Width::UNKNOWN, &mut anstream::stderr()),
    }
    if let Some(keeping) = flags.save.keeping("import") {
        // Each by itself: history and compare tell runs apart.
        let sets = runs.iter().map(|run| RecordSet::new(vec![run.record.clone()]));
        history::save(&keeping, sets).context("the runs are not in the history")?;
    }
    let has_doubted = rates.iter().any(|rates| !rates.doubted.is_empty());
    let records = RecordSet::new(runs.into_iter().map(|run| run.record).collect());
    if let Some(format) = flags.format.chosen() {
        output::print(&records, format)?;
    }
    if let Some(path) = &flags.output {
        output::write_file(&records, path)?;
    }
    let doubted = ExitCode::from(exit::INVALID);
    Ok(if has_doubted { doubted } else { exit::of_stamps(&records.records) })
}

/// What a file is called in messages.
fn name(file: &Path) -> String {
    if file == Path::new("-") { STANDARD_INPUT.to_owned() } else { file.display().to_string() }
}

fn text(file: &Path, name: &str) -> anyhow::Result<Vec<u8>> {
    let read = if file == Path::new("-") {
        import::read_bounded(io::stdin().lock())
    } else {
        File::open(file).map_err(ImportError::Read).and_then(import::read_bounded)
    };
    read.map_err(|error| match error {
        ImportError::Read(error) => anyhow!("cannot read {name}: {}", session::reason(&error)),
        error => anyhow!("{name} {}", error.to_string().trim_start_matches("it ")),
    })
}

/// Whether a text is what perf prints, or has that beside other lines.
fn has_profile(text: &[u8]) -> bool {
    import::importer(text).is_ok_and(|format| format.content() == Content::Profile)
}

fn nothing_in(names: &[String], profiles: &[&str]) -> String {
    if let [name] = profiles {
        return format!(
            "{name} has output of perf and no run of iperf3 or iperf: {}",
            explain(name)
        );
    }
    let names = names.join(", ");
    format!("no run of iperf3 or iperf is in {names}: give what these programs print")
}

/// The command that says what a profile shows.
fn explain(name: &str) -> String {
    let file = if name == STANDARD_INPUT { "FILE" } else { name };
    format!("linerate explain {file}")
}

const STANDARD_INPUT: &str = "standard input";
