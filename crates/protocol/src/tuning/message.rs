//! Requests and answers, as JSON. A setting is the text of its command; no other command is read.

use measurement::json;
use measurement::remedy::Setting;
use serde::{Deserialize, Serialize};

use super::channel::Broken;

/// Request of a client to a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Tell what a setting would change; nothing is changed.
    Look(Setting),
    /// Make these settings, in this order, and undo those of an earlier request that are not among
    /// them.
    Set(Vec<Setting>),
    /// Keep what is set when the connection ends.
    Keep,
    /// The client is there. It has no answer.
    Alive,
}

/// Answer of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// To [`Request::Look`].
    Outlook {
        /// The current value, as the kernel shows it.
        current: String,
        /// Whether the kernel has this value already.
        is_in_effect: bool,
        /// Shell commands that restore the current value.
        undo: Vec<String>,
        /// Risks of the change.
        risks: Vec<String>,
        /// Running programs that may write the setting again.
        rewriters: Vec<String>,
    },
    /// To [`Request::Set`]: what was read back of the settings that were made for it.
    Set(Vec<ReadBack>),
    /// To [`Request::Keep`].
    Kept,
    /// To any of them: why it is not done. Without a full stop.
    Refused(String),
}

/// A setting that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadBack {
    /// The setting that was asked for.
    pub setting: Setting,
    /// The value that the kernel has after it.
    pub value: String,
}

impl Request {
    /// Reads the text of a message of a client.
    ///
    /// # Errors
    /// [`Broken::NoMessage`], also for more than [`MOST_SETTINGS`] settings.
    pub fn read(text: &str) -> Result<Self, Broken> {
        match json::read(text) {
            Ok(Self::Set(settings)) if settings.len() > MOST_SETTINGS => Err(Broken::NoMessage),
            Ok(request) => Ok(request),
            Err(_) => Err(Broken::NoMessage),
        }
    }
}

impl Answer {
    /// Reads the text of a message of a host.
    ///
    /// # Errors
    /// [`Broken::NoMessage`].
    pub fn read(text: &str) -> Result<Self, Broken> {
        json::read(text).map_err(|_| Broken::NoMessage)
    }
}

/// Settings of a host that a client may have in effect at one time.
pub const MOST_SETTINGS: usize = 64;
