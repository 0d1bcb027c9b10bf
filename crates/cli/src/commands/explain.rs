//! `linerate explain`.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{anyhow, ensure};
use measurement::json::value;
use measurement::record::Source;
use measurement::{Attribution, Page, Profile, RecordSet, RuleId, TestRecord};
use report::export::{self, Diagnosis, Export, Latency};
use report::import::{self, Content, Imported, Table};
use report::tables::AttributedTable;
use serde_json::{Value, json};

use crate::exit::{self, UsageError};
use crate::flags::ExplainFlags;
use crate::flags::format::Form;
use crate::history;
use crate::recorded;
use crate::terminal;
use crate::{form, output};

pub(crate) fn run(flags: &ExplainFlags) -> anyhow::Result<ExitCode> {
    let rules = campaign::rules();
    let Some(what) = &flags.what else { return list(&rules, flags) };
    let rule = what.parse::<RuleId>();
    if let Some(page) = rules.iter().find(|page| rule == Ok(page.id)) {
        return explain(page, flags);
    }
    let path = Path::new(what);
    if !path.exists() {
        return explain_kept(what, flags, &rules);
    }
    let name = path.display();
    let text = recorded::text(path)?;
    explain_text(&text, flags).map_err(|error| match error.downcast::<UsageError>() {
        Ok(usage) => usage.into(),
        Err(error) => anyhow!("{name}: {error:#}"),
    })
}

/// Runs of the history: `last`, a number or a tag. Which run it is, is a remark, since the last one
/// that was kept need not be the last one that was started.
fn explain_kept(what: &str, flags: &ExplainFlags, rules: &[&Page]) -> anyhow::Result<ExitCode> {
    let file = flags.file.path();
    let names_a_run = history::is_run(what);
    let names = match history::names(file, what) {
        Ok(names) => names,
        Err(error) if names_a_run => return Err(error),
        Err(_) => return Err(nothing_named(what, rules)),
    };
    let records = history::records(file, what)?;
    if names_a_run {
        for name in names {
            _ = writeln!(anstream::stderr(), "linerate: this is {name}");
        }
    }
    explain_records(records, flags)
}

/// Says what was looked for: by its form, a file, or else a rule or a tag.
fn nothing_named(what: &str, rules: &[&Page]) -> anyhow::Error {
    if what.contains(['/', '.']) {
        return anyhow!("there is no file {what}: check its name and its directory");
    }
    let alike = rules
        .iter()
        .map(|page| page.id.slug())
        .find(|slug| !what.is_empty() && slug.contains(what));
    let hint = alike.map_or_else(
        || "linerate explain lists the rules".to_owned(),
        |slug| format!("did you mean {slug}?"),
    );
    anyhow!("there is no rule, file or tag '{what}': {hint}")
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
        Imported::Profile(profile) => explain_profile(&profile, &importer.unread(text), flags),
        Imported::Tables(tables) => explain_tables(&tables, &importer.unread(text), flags),
    }
}

fn explain_records(mut records: RecordSet, flags: &ExplainFlags) -> anyhow::Result<ExitCode> {
    if let Some(path) = &flags.folded {
        let hosts = records.records.iter().flat_map(|record| &record.hosts);
        write_folded(hosts.filter_map(|host| host.profile.as_ref()), path)?;
    }
    if let (Some(error), []) = (&records.error, &records.records[..]) {
        anyhow::bail!("it has no record, since the run failed: {}", error.message);
    }
    for record in &mut records.records {
        campaign::judge(record);
    }
    let is_measured = |record: &TestRecord| record.origin.source == Source::Measured;
    if records.records.iter().any(is_measured) {
        // Imported runs may be of different days and hosts.
        campaign::judge_together(&mut records.records);
    }
    output::print(&records, flags.format.or(usual(&records, flags.verbose)))?;
    Ok(exit::of_stamps(&records.records))
}

/// The format without a choice: one screen, or all of the evidence.
fn usual(records: &RecordSet, is_verbose: bool) -> &'static dyn Export {
    let is_exchange = |record: &TestRecord| record.plan.exchange.is_some();
    match is_verbose {
        true => &Diagnosis,
        false if records.records.iter().all(is_exchange) => &Latency::PLAIN,
        false => &export::Table,
    }
}

fn explain_profile(
    profile: &Profile,
    unread: &[usize],
    flags: &ExplainFlags,
) -> anyhow::Result<ExitCode> {
    let form = flags.format.form()?;
    if let Some(path) = &flags.folded {
        write_folded([profile].into_iter(), path)?;
    }
    let attribution = attribute(profile, flags);
    match form {
        Form::Json | Form::Compact => print_value(&profile_value(&attribution, unread), form)?,
        Form::Text => output::print_table(|out| {
            report::headline::write(&attribution, terminal::room(), out)?;
            report::tables::write_unread(unread, terminal::room(), out)
        })?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Each by itself: shares of one table are not shares of another.
fn explain_tables(
    tables: &[Table],
    unread: &[usize],
    flags: &ExplainFlags,
) -> anyhow::Result<ExitCode> {
    let form = flags.format.form()?;
    ensure!(
        flags.folded.is_none(),
        "it has {} profiles; give a file with one for --folded",
        tables.len()
    );
    let tables: Vec<_> = tables.iter().map(|table| attribute_table(table, flags)).collect();
    match form {
        Form::Json | Form::Compact => {
            let tables = tables.iter().map(table_value).collect::<Vec<_>>();
            print_value(&json!({ "tables": tables, "unread_lines": unread }), form)?;
        }
        Form::Text => output::print_table(|out| {
            report::tables::write(&tables, terminal::room(), out)?;
            report::tables::write_unread(unread, terminal::room(), out)
        })?,
    }
    Ok(ExitCode::SUCCESS)
}

fn attribute_table(table: &Table, flags: &ExplainFlags) -> AttributedTable {
    let attribution = attribute(&table.profile, flags);
    AttributedTable {
        line: table.line,
        section: table.section.clone(),
        heading: table.heading.clone(),
        attribution,
    }
}

fn attribute(profile: &Profile, flags: &ExplainFlags) -> Attribution {
    campaign::attribute(profile, flags.architecture.as_deref(), flags.rate)
}

fn profile_value(attribution: &Attribution, unread: &[usize]) -> Value {
    let mut value = value(attribution);
    if !unread.is_empty() {
        value["unread_lines"] = json!(unread);
    }
    value
}

fn table_value(table: &AttributedTable) -> Value {
    let AttributedTable { line, section, heading, attribution } = table;
    let attribution = value(attribution);
    json!({ "line": line, "section": section, "heading": heading, "attribution": attribution })
}

fn print_value(value: &Value, form: Form) -> anyhow::Result<()> {
    form::print_as(form, value, |_| Ok(()))
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
    ensure!(
        !folded.is_empty(),
        "it has no CPU profile for --folded: test as root, or with sysctl \
                                 -w kernel.perf_event_paranoid=1"
    );
    output::write_whole(path, |out| out.write_all(&folded))
}

fn list(rules: &[&Page], flags: &ExplainFlags) -> anyhow::Result<ExitCode> {
    match flags.format.form()? {
        form @ (Form::Json | Form::Compact) => print_value(&value(rules), form)?,
        Form::Text => {
            output::print_table(|out| report::page::write_list(rules, terminal::room(), out))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn explain(page: &Page, flags: &ExplainFlags) -> anyhow::Result<ExitCode> {
    match flags.format.form()? {
        form @ (Form::Json | Form::Compact) => print_value(&value(&[page]), form)?,
        Form::Text => output::print_table(|out| report::page::write(page, terminal::room(), out))?,
    }
    Ok(ExitCode::SUCCESS)
}
