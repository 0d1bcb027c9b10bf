//! Remedies of findings ([`Remedy`]): advice in words, and changes of settings as commands
//! ([`Setting`]). They are only described here, not made.

mod command;
mod cpu_mask;
mod kind;
mod setting;

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::host::Role;

pub use command::NoCommand;
pub use cpu_mask::CpuMask;
pub use kind::SettingKind;
pub use setting::{
    Channels, Coalescing, DuplexMode, HugePages, Pacing, Ring, Setting, Side, Switch,
};

/// Remedy of a finding: advice in words, and settings that follow it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Remedy {
    /// The advice, without a full stop.
    pub sentence: String,
    /// Settings that follow the advice, in the order in which they are to be made; empty: no value
    /// is known.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub changes: Vec<Change>,
}

impl Remedy {
    /// A copy of the remedy with `change` as a further setting, to be made after the others.
    #[must_use]
    pub fn with(mut self, change: Change) -> Self {
        self.changes.push(change);
        self
    }
}

impl From<&str> for Remedy {
    fn from(sentence: &str) -> Self {
        Self::from(sentence.to_owned())
    }
}

impl From<String> for Remedy {
    fn from(sentence: String) -> Self {
        Self { sentence, changes: Vec::new() }
    }
}

impl Display for Remedy {
    /// The advice and the shell commands of its settings: `enlarge the ring: ethtool -G eth0 rx
    /// 4096`. A command that both hosts need is written once.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)?;
        for (number, change) in self.changes.iter().enumerate() {
            if self.changes[..number].iter().any(|earlier| earlier.setting == change.setting) {
                continue;
            }
            let before = if number == 0 { ": " } else { "; " };
            write!(f, "{before}{}", change.setting)?;
        }
        Ok(())
    }
}

/// The oldest records have the sentence alone.
impl<'de> Deserialize<'de> for Remedy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Sentence(String),
            Whole {
                sentence: String,
                #[serde(default)]
                changes: Vec<Change>,
            },
        }
        Ok(match Form::deserialize(deserializer)? {
            Form::Sentence(sentence) => Self::from(sentence),
            Form::Whole { sentence, changes } => Self { sentence, changes },
        })
    }
}

/// A change of one setting on one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// The host on which the setting is to be made.
    pub host: Role,
    /// Current value of the setting, as the kernel shows it; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<String>,
    /// The setting with its new value; in JSON the shell command that makes the change.
    #[serde(rename = "command")]
    pub setting: Setting,
}

impl Change {
    /// A change of `setting` on `host`, whose current value is not known.
    pub fn new(host: &Role, setting: Setting) -> Self {
        Self { host: host.clone(), from: None, setting }
    }

    /// A copy of the change that states the current value of the setting, as the kernel shows it.
    #[must_use]
    pub fn replacing(mut self, current: impl Display) -> Self {
        self.from = Some(current.to_string());
        self
    }

    /// The shell command that makes the change on [`Change::host`], as root. For a setting with
    /// [`Setting::is_option`] the option of `linerate test`, e.g. `-w 4M`.
    pub fn command(&self) -> String {
        self.setting.to_string()
    }
}

impl Change {
    /// The command with the host on which it is made, if it is another one: `on the server: ethtool
    /// -K eth0 gro on`.
    pub fn placed(&self) -> String {
        self.on_its_host(&self.command())
    }

    /// A command of the change's host, e.g. one that undoes the change, in the words of
    /// [`Self::placed`].
    pub fn on_its_host(&self, command: &str) -> String {
        match &self.host {
            Role::Here => command.to_owned(),
            Role::Peer => format!("on the server: {command}"),
            Role::Observed(name) => format!("on {name}: {command}"),
        }
    }
}

/// A string: the command.
impl Serialize for Setting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Setting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_is_a_sentence_and_commands() {
        let ring = Setting::Ring { interface: "eth0".to_owned(), ring: Ring::Rx, entries: 4096 };
        let change = Change::new(&Role::Peer, ring).replacing(512);
        let remedy = Remedy::from("enlarge the RX ring").with(change);
        assert_eq!(remedy.to_string(), "enlarge the RX ring: ethtool -G eth0 rx 4096");
        let json = serde_json::to_value(&remedy).expect("it is JSON");
        let changes = serde_json::json!([
            { "host": "peer", "from": "512", "command": "ethtool -G eth0 rx 4096" }
        ]);
        assert_eq!(json["changes"], changes);
        assert_eq!(serde_json::from_value::<Remedy>(json).expect("a remedy"), remedy);
    }

    #[test]
    fn a_command_for_both_hosts_is_written_once() {
        let ring = Setting::Ring { interface: "eth0".to_owned(), ring: Ring::Rx, entries: 4096 };
        let on = |host| Change::new(&host, ring.clone());
        let remedy = Remedy::from("enlarge").with(on(Role::Here)).with(on(Role::Peer));
        assert_eq!(remedy.to_string(), "enlarge: ethtool -G eth0 rx 4096");
    }

    #[test]
    fn a_remedy_of_an_old_record_is_its_sentence() {
        let remedy = serde_json::from_str::<Remedy>("\"use a longer ring\"").expect("a remedy");
        assert_eq!(remedy, Remedy::from("use a longer ring"));
    }
}
