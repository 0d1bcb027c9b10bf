//! The PID file.

use std::fs;
use std::path::{Path, PathBuf};

use super::words::Failure;
use crate::whole_file::{self, Readers};

/// A file with the number of this process, there as long as this value is.
pub(super) struct PidFile(PathBuf);

impl PidFile {
    /// Writes the file, unless another process that still runs has written it.
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        // A device, for example, is no PID file, and would be removed at the end.
        if fs::metadata(path).is_ok_and(|known| !known.is_file()) {
            return Err(Failure::Run(format!(
                "unable to write PID file {}: it is no ordinary file",
                path.display()
            )));
        }
        if let Some(other) = owner(path).filter(|process| linux::process::exists(*process)) {
            return Err(Failure::Run(format!(
                "Another instance of iperf3 appears to be running: process {other} of {}",
                path.display()
            )));
        }
        whole_file::replace(path, Readers::Owner, |out| write!(out, "{}", std::process::id()))
            .map(|_| Self(path.to_owned()))
            .map_err(|error| {
                Failure::system(&format!("unable to write PID file {}", path.display()), &error)
            })
    }
}

/// The process whose number the file holds.
fn owner(path: &Path) -> Option<i32> {
    let text = fs::read_to_string(path).ok()?;
    text.trim().parse().ok().filter(|process| *process > 0)
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // Another process may have made the file its own.
        if owner(&self.0) == Some(std::process::id().cast_signed()) {
            // A file that is already removed needs no removal.
            _ = fs::remove_file(&self.0);
        }
    }
}
