//! `linerate explain`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{anyhow, ensure};
use measurement::{Page, Profile, RecordSet, RuleId};

use crate::flags::ExplainFlags;
use crate::output::{self, Format};

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
    let text = read_some(path)
        .map_err(|error| anyhow!("cannot read {name}: {}", session::reason(&error)))?;
    ensure!(
        text.len() as u64 <= MOST_BYTES,
        "{name} is longer than 512 MiB; so long no text of linerate or perf has to be"
    );
    let explained =
        if is_json(&text) { explain_records(&text, flags) } else { explain_profile(&text, flags) };
    explained.map_err(|error| anyhow!("{name}: {error:#}"))
}

/// So much of it that more would show.
fn read_some(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut text)?;
    Ok(text)
}

/// The record of 100,000 streams is shorter.
const MOST_BYTES: u64 = 512 << 20;

/// A record is an object; nothing that perf prints begins like one.
fn is_json(text: &[u8]) -> bool {
    text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

fn explain_records(text: &[u8], flags: &ExplainFlags) -> anyhow::Result<ExitCode> {
    ensure!(
        flags.rate.is_none() && flags.architecture.is_none(),
        "a record tells its rate and its architecture; --rate and --architecture are for the \
         text of perf"
    );
    let mut records = read(text)?;
    if let Some(path) = &flags.folded {
        let hosts = records.records.iter().flat_map(|record| &record.hosts);
        write_folded(hosts.filter_map(|host| host.profile.as_ref()), path)?;
    }
    for record in &mut records.records {
        campaign::judge(record);
    }
    output::print(&records, if flags.json { Format::Json } else { Format::Diagnosis })?;
    Ok(ExitCode::SUCCESS)
}

fn explain_profile(text: &[u8], flags: &ExplainFlags) -> anyhow::Result<ExitCode> {
    let profile = report::import::perf::read(&String::from_utf8_lossy(text))
        .map_err(|error| anyhow!("no record of linerate test --output; {error}"))?;
    if let Some(path) = &flags.folded {
        write_folded([&profile].into_iter(), path)?;
    }
    let attribution = campaign::attribute(&profile, flags.architecture.as_deref(), flags.rate);
    if flags.json {
        let text = serde_json::to_string_pretty(&attribution)?;
        output::print_text(format!("{text}\n").as_bytes())?;
    } else {
        output::print_table(|out| report::headline::write(&attribution, out))?;
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
    if flags.json {
        print_json(rules)?;
    } else {
        output::print_table(|out| report::page::write_list(rules, out))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn explain(page: &Page, flags: &ExplainFlags) -> anyhow::Result<ExitCode> {
    if flags.json {
        print_json(&[page])?;
    } else {
        output::print_table(|out| report::page::write(page, out))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print_json(pages: &[&Page]) -> anyhow::Result<()> {
    let mut text = Vec::new();
    report::page::write_json(pages, &mut text)?;
    output::print_text(&text)
}

fn read(text: &[u8]) -> anyhow::Result<RecordSet> {
    report::json::read(text).map_err(|error| {
        let why: String = error.to_string().chars().take(LONGEST_REASON).collect();
        anyhow!("it is no record of linerate test --output: {why}")
    })
}

/// Letters; what is wrong may quote what it found.
const LONGEST_REASON: usize = 300;
