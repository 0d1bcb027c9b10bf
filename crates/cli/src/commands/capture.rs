//! `linerate capture`.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use host::capture::Capture;
use linux::event::StopSignals;
use session::SessionError;

use crate::exit::UsageError;
use crate::flags::CaptureFlags;
use crate::output;

pub(crate) fn run(flags: &CaptureFlags) -> anyhow::Result<ExitCode> {
    let is_stdout = flags.output == Path::new("-");
    if is_stdout && io::stdout().is_terminal() {
        let text = "an archive cannot be written to a terminal: name a file with --output";
        return Err(UsageError(text.to_owned()).into());
    }
    // A file that is being written is written to its end.
    let interrupts = StopSignals::open().context("cannot handle signals")?;
    let capture = Capture::take();
    if interrupts.arrived() {
        return Err(SessionError::Interrupted.into());
    }
    let capture = if flags.mask { capture.masked() } else { capture };
    if is_stdout {
        let mut archive = Vec::new();
        capture.write(&mut archive).context("cannot write the archive")?;
        output::print_text(&archive)?;
    } else {
        output::write_whole(&flags.output, |out| capture.write(out))?;
        let (files, path) = (capture.files(), flags.output.display());
        output::print_text(format!("{files} files captured to {path}\n").as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}
