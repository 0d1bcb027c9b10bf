//! A misconfiguration of the client's host as its file has it ([`Plant`]), and what a tuning has to
//! keep.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use measurement::TuneRecord;
use serde::Deserialize;

use crate::faults::scenario::Scenario;

/// A plant, and the changes that are to be kept.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Plant {
    /// Words of `linerate tune`.
    #[serde(default = "words")]
    pub(super) tune: String,
    /// Parts of commands, one of which has to be among those that are kept; empty: none may be kept.
    #[serde(default)]
    keeps: Vec<String>,
    /// The fault, and the test.
    pub(super) fault: Scenario,
}

impl Plant {
    /// All of a folder, by name.
    pub(super) fn all(folder: &Path) -> Result<Vec<Self>> {
        let entries = fs::read_dir(folder).with_context(|| format!("no {}", folder.display()))?;
        let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        let mut plants = paths.iter().map(|path| Self::read(path)).collect::<Result<Vec<_>>>()?;
        plants.sort_by(|one, other| one.name().cmp(other.name()));
        Ok(plants)
    }

    fn read(path: &Path) -> Result<Self> {
        let shown = || path.display().to_string();
        let text = fs::read_to_string(path).with_context(shown)?;
        let mut plant: Self = toml::from_str(&text).with_context(shown)?;
        plant.fault.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(plant)
    }

    pub(super) fn name(&self) -> &str {
        &self.fault.name
    }

    /// Whether nothing is planted.
    pub(super) fn is_control(&self) -> bool {
        self.keeps.is_empty()
    }

    /// Whether a remedy is kept, and its gain is shown.
    pub(super) fn is_found(&self, record: &TuneRecord) -> bool {
        let goal = record.check.as_ref().and_then(|check| check.metrics.first()?.effect);
        let low = goal.and_then(|effect| effect.interval).map_or(0.0, |interval| interval.low);
        let mut kept = record.kept.iter().map(|one| one.change.command());
        low > 1.0 && kept.any(|command| self.keeps.iter().any(|part| command.contains(part)))
    }
}

fn words() -> String {
    "-t 500ms --pairs 16".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_planted_has_a_remedy_and_what_is_not_has_none() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/proof/tune/plants");
        let plants = Plant::all(&folder).expect("every file is a plant");
        assert!(plants.len() >= 15, "{}", plants.len());
        for plant in &plants {
            assert_eq!(plant.is_control(), plant.fault.plant.is_empty(), "{}", plant.name());
        }
        assert!(plants.iter().any(Plant::is_control));
    }
}
