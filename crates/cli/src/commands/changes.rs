//! Settings of this host that are in effect while rows run, and are undone whatever happens.

use std::path::Path;

use anyhow::Context;
use campaign::PlannedRow;
use host::tuning::Tuning;

use super::tune::{HostTuner, Watchdog};

/// Makes the settings of rows and undoes them.
pub(super) struct Changes {
    pub(super) tuner: HostTuner,
    /// Undoes them if this process is killed.
    _watchdog: Watchdog,
}

impl Changes {
    /// With the journal in `state`. None: no row has settings.
    pub(super) fn open<'a>(
        state: &Path,
        mut rows: impl Iterator<Item = &'a PlannedRow>,
    ) -> anyhow::Result<Option<Self>> {
        if rows.all(|row| row.settings.is_empty()) {
            return Ok(None);
        }
        let tuner = HostTuner::new(Tuning::open(state)?, true);
        let watchdog = Watchdog::start(state);
        let watchdog = watchdog.context("cannot start a process that undoes changes")?;
        Ok(Some(Self { tuner, _watchdog: watchdog }))
    }

    /// Undoes all; why something could not be.
    pub(super) fn finish(self) -> Option<String> {
        self.tuner.finish(false).err().map(|error| error.to_string())
    }
}
