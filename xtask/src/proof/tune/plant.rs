//! A misconfiguration of the client's host as its file has it ([`Plant`]), and what a tuning has to
//! keep.

use std::path::Path;

use anyhow::Result;
use measurement::TuneRecord;
use serde::Deserialize;

use crate::faults::scenario::{Scenario, read_all};

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
        let plants = read_all(folder)?.into_iter();
        let named = |(name, mut plant): (String, Self)| {
            plant.fault.name = name;
            plant
        };
        Ok(plants.map(named).collect())
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
