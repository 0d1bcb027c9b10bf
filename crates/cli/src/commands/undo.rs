//! `linerate undo`.

use std::fmt::Write;
use std::process::ExitCode;

use host::tuning::{self, ChangeId, TuningError};

use crate::flags::UndoFlags;
use crate::output;

pub(crate) fn run(flags: &UndoFlags) -> anyhow::Result<ExitCode> {
    let text = if let Some(number) = flags.give_up {
        let setting = tuning::give_up(&flags.state, ChangeId::from_number(number))?;
        format!("{setting}: stays as it is made\n")
    } else if flags.persistent {
        persistent(flags)?
    } else if flags.dry_run {
        let pending = tuning::pending(&flags.state)?;
        let commands: Vec<_> = pending.into_iter().flat_map(|(_, commands)| commands).collect();
        lines(&commands)
    } else {
        lines(&tuning::undo(&flags.state)?)
    };
    output::print_text(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Takes back files, or lists them.
fn persistent(flags: &UndoFlags) -> Result<String, TuningError> {
    if flags.dry_run {
        return Ok(lines(&tuning::persisted(&flags.state)?));
    }
    Ok(lines(&tuning::unpersist(&flags.state)?))
}

fn lines(all: &[impl std::fmt::Display]) -> String {
    if all.is_empty() {
        return "nothing to undo\n".to_owned();
    }
    all.iter().fold(String::new(), |mut text, one| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{one}");
        text
    })
}
