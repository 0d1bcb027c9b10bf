//! Flags of `serve` by which other hosts may tune this one.

use std::path::PathBuf;

use clap::Args;
use measurement::remedy::SettingKind;

/// Whether this host may be tuned by others.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tuning")]
pub(crate) struct TuneServeFlags {
    /// Let clients that have the key change settings of this host for linerate tune, undone when
    /// they end unless kept. KINDS: default, or some of other-sysctl, speed, governor, huge-pages,
    /// services, ... with commas between; see docs/tuning.md
    #[arg(long, env = "LINERATE_ALLOW_TUNE", value_name = "KINDS", num_args = 0..=1, require_equals = true, default_missing_value = "default", value_parser = allowed)]
    pub(crate) allow_tune: Option<AllowedKinds>,
    /// File with the key of both hosts, which only its owner can read
    #[arg(long, env = "LINERATE_TUNE_KEY", value_name = "FILE")]
    pub(crate) tune_key: Option<PathBuf>,
    /// Directory of the journal of changes
    #[arg(long, default_value = host::tuning::DIRECTORY, env = "LINERATE_STATE", value_name = "DIR")]
    pub(crate) state: PathBuf,
}

/// Kinds of settings that others may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AllowedKinds(Vec<SettingKind>);

impl AllowedKinds {
    /// The kinds, each once.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = SettingKind> {
        self.0.iter().copied()
    }
}

fn allowed(text: &str) -> Result<AllowedKinds, String> {
    let mut kinds = Vec::new();
    for word in text.split(',') {
        match word {
            "default" => kinds.extend(SettingKind::ALL.into_iter().filter(|kind| kind.is_usual())),
            word => kinds.push(word.parse()?),
        }
    }
    let is_allowed = |kind: &SettingKind| kinds.contains(kind);
    Ok(AllowedKinds(SettingKind::ALL.into_iter().filter(is_allowed).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_listed_or_the_usual_ones() {
        let names = |text: &str| {
            allowed(text).map(|all| all.kinds().map(SettingKind::name).collect::<Vec<_>>())
        };
        assert_eq!(names("mtu,sysctl,mtu"), Ok(vec!["sysctl", "mtu"]));
        let usual = names("default").expect("kinds");
        assert!(usual.contains(&"features") && !usual.contains(&"services"));
        assert!(names("default,services").is_ok_and(|all| all.contains(&"services")));
        assert!(names("").is_err() && names("all").is_err());
    }
}
