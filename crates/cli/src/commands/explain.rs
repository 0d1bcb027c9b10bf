//! `linerate explain`.

use std::fs::File;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{anyhow, ensure};
use measurement::{Page, Profile, RecordSet, RuleId};
use report::export::Diagnosis;
use report::import::{self, Content, ImportError, Imported};

use crate::exit::UsageError;
use crate::flags::ExplainFlags;
use crate::flags::format::Form;
use crate::output;

pub(crate) fn run(flags: &ExplainFlags) -> anyhow::Result<ExitCode> {
    let rules = campaign::rules();
    let Some(what) = &flags.what else { return list(&rules, flags) };
    let rule = what.parse::<RuleId>();
    if let Some(page) = rules.iter().find(|page| rule == Ok(page.id)) {
        return explain(page, flags);
    }
    let path = Path::new(what);
    if !path.exists() {
        return Err(anyhow!(
            "there is no rule and no file that is called {what}; linerate explain lists all rules"
        ));
    }
    let name = path.display();
    let file = File::open(path)
        .map_err(|error| anyhow!("cannot read {name}: {}", session::reason(&error)))?;
    let text = import::read_bounded(file).map_err(|error| match error {
        ImportError::Read(error) => anyhow!("cannot read {name}: {}", session::reason(&error)),
        error => anyhow!("{name} {}", error.to_string().trim_start_matches("it ")),
    })?;
    explain_text(&text, flags).map_err(|error| match error.downcast::<UsageError>() {
        Ok(usage) => usage.into(),
        Err(error) => anyhow!("{name}: {error:#}"),
    })
}

/// A text in one of the formats that can be imported.
fn explain_text(text: &[u8], flags: &ExplainFlags) -> anyhow::Result<ExitCode> {
    let importer = import::importer(text)?;
    ensure!(
        importer.content() == Content::Profile
            || (flags.rate.is_none() && flags.architecture.is_none()),
        "a record tells its rate and its architecture; --rate and --architecture are for the \
         text of perf"
    );
    match importer.read(text)? {
        Imported::Records(records) => explain_records(records, flags),
        Imported::Profile(profile) => explain_profile(&profile, flags),
    }
}

fn explain_records(mut records: RecordSet, flags: &ExplainFlags) -> anyhow::Result<ExitCode> {
    if let Some(path) = &flags.folded {
        let hosts = records.records.iter().flat_map(|record| &record.hosts);
        write_folded(hosts.filter_map(|host| host.profile.as_ref()), path)?;
    }
    for record in &mut records.records {
        campaign::judge(record);
    }
    campaign::judge_together(&mut records.records);
    output::print(&records, flags.format.or(&Diagnosis))?;
    Ok(ExitCode::SUCCESS)
}

fn explain_profile(profile: &Profile, flags: &ExplainFlags) -> anyhow::Result<ExitCode> {
    let form = flags.format.form()?;
    if let Some(path) = &flags.folded {
        write_folded([profile].into_iter(), path)?;
    }
    let attribution = campaign::attribute(profile, flags.architecture.as_deref(), flags.rate);
    match form {
        Form::Json => {
            let text = serde_json::to_string_pretty(&attribution)?;
            output::print_text(format!("{text}\n").as_bytes())?;
        }
        Form::Text => output::print_table(|out| report::headline::write(&attribution, out))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// All of them in one file: programs that read it add up lines that are alike.
fn write_folded<'a>(
    profiles: impl Iterator<Item = &'a Profile>,
    path: &Path,
) -> anyhow::Result<()> {
    let mut folded = Vec::new();
    for profile in profiles {
        report::folded::write(profile, &mut folded)?;
    }
    ensure!(!folded.is_empty(), "nobody took samples, so that there is nothing for --folded");
    output::write_whole(path, |out| out.write_all(&folded))
}

fn list(rules: &[&Page], flags: &ExplainFlags) -> anyhow::Result<ExitCode> {
    match flags.format.form()? {
        Form::Json => print_json(rules)?,
        Form::Text => output::print_table(|out| report::page::write_list(rules, out))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn explain(page: &Page, flags: &ExplainFlags) -> anyhow::Result<ExitCode> {
    match flags.format.form()? {
        Form::Json => print_json(&[page])?,
        Form::Text => output::print_table(|out| report::page::write(page, out))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn print_json(pages: &[&Page]) -> anyhow::Result<()> {
    let mut text = Vec::new();
    report::page::write_json(pages, &mut text)?;
    output::print_text(&text)
}
