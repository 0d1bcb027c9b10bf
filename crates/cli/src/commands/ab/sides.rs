//! The two sides of an A/B test: in what they differ, and whether that can be compared.

use std::path::PathBuf;

use campaign::{PlannedRow, ServerAddress, Tuner};
use measurement::AbSide;
use measurement::remedy::Setting;

use crate::exit::UsageError;
use crate::flags::{AbFlags, TestFlags};
use crate::one_row::one_row;

/// A setting, and how it is tested.
pub(super) struct Side {
    /// It as the record has it, without a rate.
    pub(super) shown: AbSide,
    pub(super) row: PlannedRow,
    /// All else that a test has, in words: it is the same for all tests of a run.
    shared: String,
}

/// Everything of a side: options of the test, changes, server and program.
struct Own<'a> {
    name: &'static str,
    options: &'a str,
    changes: &'a [Setting],
    server: Option<ServerAddress>,
    program: Option<PathBuf>,
}

/// A and B as they were typed.
///
/// # Errors
/// They cannot be compared.
pub(super) fn sides(flags: &AbFlags) -> Result<[Side; 2], UsageError> {
    let (_, port) = flags.test.server.target.host_and_port();
    let server = flags.b_host.as_ref().map(|target| {
        let (host, port) = target.host_and_port_or(port);
        ServerAddress { host, port }
    });
    let [of_a, of_b] = [flags.a_program.clone(), flags.b_program.clone()];
    let (options, changes) = (&flags.a, &flags.a_change);
    let a = Own { name: "--a", options, changes, server: None, program: of_a };
    if flags.b.is_none() && flags.b_change.is_empty() && server.is_none() && of_b.is_none() {
        return Err(UsageError(NO_B.to_owned()));
    }
    let (options, changes) = (flags.b.as_deref().unwrap_or_default(), &flags.b_change);
    let b = Own { name: "--b", options, changes, server, program: of_b };
    let [a, b] = [side(a)?, side(b)?];
    if a.shared != b.shared {
        let text = "A and B can differ in what a stream does and in its CPUs: type other options \
                    outside of --a and --b";
        return Err(UsageError(text.to_owned()));
    }
    check_together(&[&a, &b])?;
    Ok([a, b])
}

fn side(own: Own<'_>) -> Result<Side, UsageError> {
    let name = own.name;
    let named = |text: &str| UsageError(format!("{name}: {text}"));
    let test = AbFlags::side(own.options).map_err(|error| {
        if !error.use_stderr() {
            return named("help and version are no settings");
        }
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        named(first.trim_start_matches("error: "))
    })?;
    if let Some(option) = own.changes.iter().find(|setting| setting.is_option()) {
        return Err(named(&format!("{option} is an option of the test: type {name} '{option}'")));
    }
    let mut row = one_row(&test, "an A/B test").map_err(|error| named(&error.0))?;
    let TestFlags { server, rows, output, .. } = &test;
    let watched = format!("{:?} {} {:?}", rows.profile, rows.no_evidence, rows.observe);
    let shared = format!("{server:?} {watched} {output:?}");
    let shown = AbSide {
        options: own.options.trim().to_owned(),
        changes: own.changes.to_vec(),
        server: own.server.as_ref().map(|ServerAddress { host, port }| format!("{host}:{port}")),
        program: own.program.as_ref().map(|program| program.display().to_string()),
        plan: row.plan.clone(),
        rate: None,
    };
    row.settings = own.changes.to_vec();
    (row.server, row.program) = (own.server, own.program);
    Ok(Side { shown, row, shared })
}

/// Checks that the sides can be tested in turn.
fn check_together(sides: &[&Side; 2]) -> Result<(), UsageError> {
    let is_any = |has: fn(&PlannedRow) -> bool| sides.iter().any(|side| has(&side.row));
    if is_any(|row| row.program.is_some()) {
        if is_any(|row| !row.settings.is_empty()) {
            let text = "another program does not tell whether a change cut the connection: leave \
                        out --a-change and --b-change, or --a-program and --b-program";
            return Err(UsageError(text.to_owned()));
        }
        if is_any(|row| row.probe_every.is_some()) {
            let text = "another program probes no round-trip time: leave --latency out";
            return Err(UsageError(text.to_owned()));
        }
    }
    for (name, side) in ["--a-program", "--b-program"].iter().zip(sides) {
        let Some(program) = &side.row.program else { continue };
        let checked = super::program::Programs::check(program, &side.row.plan);
        checked.map_err(|why| UsageError(format!("{name} {}: {why}", program.display())))?;
    }
    Ok(())
}

/// Checks that the changes of the sides can be made and undone, and make a difference.
///
/// # Errors
/// The first that cannot, in one sentence.
pub(super) fn check_changes(sides: &[Side; 2], tuner: &mut dyn Tuner) -> Result<(), String> {
    for side in sides {
        for setting in &side.row.settings {
            let outlook = tuner.look(setting).map_err(|why| format!("{setting}: {why}"))?;
            if outlook.is_in_effect {
                return Err(format!("{setting} is in effect already: A and B would not differ"));
            }
        }
    }
    Ok(())
}

const NO_B: &str = "B is missing: type --b OPTIONS, --b-change COMMAND or --b-host HOST";
