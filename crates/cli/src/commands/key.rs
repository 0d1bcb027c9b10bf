//! `linerate key`.

use std::process::ExitCode;

use anyhow::{Context, anyhow};

use crate::flags::{KeyAction, KeyFlags};
use crate::shared_key;

pub(crate) fn run(flags: &KeyFlags) -> anyhow::Result<ExitCode> {
    let KeyAction::New { file } = &flags.action;
    let text = shared_key::make().context("cannot make a key")?;
    shared_key::write(file, &text).map_err(|told| anyhow!(told))?;
    Ok(ExitCode::SUCCESS)
}
