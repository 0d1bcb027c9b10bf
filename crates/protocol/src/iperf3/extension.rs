//! What two linerates say to each other beyond iperf3 (section 13).
//!
//! The client announces itself under one key of its parameters; a plain iperf3
//! ignores that. Only a server that saw the key sends [`State::Extension`].
//!
//! [`State::Extension`]: super::State::Extension

use serde::{Deserialize, Serialize};

/// Who is there and what it can do more (clauses 13.1 and 13.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announcement {
    /// Its version, e.g. `0.1.0`.
    #[serde(default)]
    pub version: String,
    /// Names of the extensions that it knows.
    #[serde(default)]
    pub extensions: Vec<String>,
}

impl Announcement {
    /// Of this crate's version with all that it knows.
    pub fn own() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            extensions: vec![FINAL_SEQUENCE.to_owned()],
        }
    }

    /// What it and this crate both know (clause 13.2).
    #[must_use]
    pub fn shared(&self) -> Self {
        let mut shared = Self::own();
        shared.extensions.retain(|name| self.extensions.contains(name));
        shared
    }

    /// The same with a version that is safe to print.
    #[must_use]
    pub fn plain(mut self) -> Self {
        self.version = super::json::plain(&self.version);
        self
    }

    /// Whether the peer sends, or takes, the final sequence numbers.
    pub fn knows_final_sequence(&self) -> bool {
        self.extensions.iter().any(|name| name == FINAL_SEQUENCE)
    }
}

/// The last that a sender has to say of one of its streams (clause 13.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinalStream {
    /// The stream.
    pub id: u32,
    /// Payload bytes handed to the socket.
    pub bytes: u64,
    /// Last sequence number sent.
    pub datagrams: u64,
}

impl FinalStream {
    /// Whether no number is beyond what a peer can mean.
    pub(super) const fn can_be(&self) -> bool {
        self.bytes <= super::json::MOST && self.datagrams <= super::json::MOST
    }
}

/// The JSON object of one extension message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Extension {
    /// At the end: what the server sent.
    Final {
        /// One entry for each stream that the server sends.
        #[serde(rename = "final")]
        streams: Vec<FinalStream>,
    },
    /// At the start: who the server is.
    Announcement(Announcement),
}

const FINAL_SEQUENCE: &str = "final-sequence";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_messages_are_told_apart() {
        let own = Extension::Announcement(Announcement::own());
        let streams = vec![FinalStream { id: 1, bytes: 2, datagrams: 3 }];
        for message in [own, Extension::Final { streams }] {
            let json = serde_json::to_string(&message).expect("serialises");
            assert_eq!(serde_json::from_str::<Extension>(&json).expect("parses"), message);
        }
    }
}
