//! What two linerates say to each other beyond iperf3 (section 13).
//!
//! The client announces itself under one key of its parameters; a plain iperf3
//! ignores that. Only a server that saw the key sends [`State::Extension`].
//!
//! [`State::Extension`]: super::State::Extension

use serde::{Deserialize, Serialize};

use super::hello::HelloToken;

/// Who is there and what it can do more (clauses 13.1 and 13.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announcement {
    /// Its version, e.g. `0.1.0`.
    #[serde(default)]
    pub version: String,
    /// Names of the extensions that it knows.
    #[serde(default)]
    pub extensions: Vec<String>,
    /// From a server: what its hellos are to bear (clause 13.8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hello_token: Option<HelloToken>,
}

impl Announcement {
    /// Of this crate's version with all that it knows.
    pub fn own() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            extensions: KNOWN.map(str::to_owned).to_vec(),
            hello_token: None,
        }
    }

    /// What it and this crate both know (clause 13.2).
    #[must_use]
    pub fn shared(&self) -> Self {
        let mut shared = Self::own();
        shared.extensions.retain(|name| self.extensions.contains(name));
        shared
    }

    /// The same with a version that is safe to print, and without what this crate does not
    /// know of.
    #[must_use]
    pub fn plain(mut self) -> Self {
        self.version = super::json::version(&self.version);
        self.extensions =
            KNOWN.into_iter().filter(|name| self.knows(name)).map(str::to_owned).collect();
        self
    }

    /// Whether the peer sends, or takes, the final sequence numbers.
    pub fn knows_final_sequence(&self) -> bool {
        self.knows(FINAL_SEQUENCE)
    }

    /// Whether its hellos bear a token.
    pub fn knows_hello_token(&self) -> bool {
        self.knows(HELLO_TOKEN)
    }

    /// Whether it can be told its place in a queue.
    pub fn knows_queue(&self) -> bool {
        self.knows(QUEUE)
    }

    /// Whether it can be told in words why it is not served.
    pub fn knows_refusal(&self) -> bool {
        self.knows(REFUSAL)
    }

    fn knows(&self, extension: &str) -> bool {
        self.extensions.iter().any(|name| name == extension)
    }
}

/// Where a client stands that waits for its turn (clause 13.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Tests that come before it, those included that run.
    pub ahead: u32,
    /// Part of them that run.
    pub running: u32,
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
    /// While the client waits for its turn: its place.
    Waiting {
        /// The place.
        waiting: Place,
    },
    /// Before an error: why, in words.
    Refusal {
        /// One clause.
        refused: String,
    },
    /// At the start: who the server is. The last, since no key of it is needed.
    Announcement(Announcement),
}

const FINAL_SEQUENCE: &str = "final-sequence";
const HELLO_TOKEN: &str = "hello-token";
const QUEUE: &str = "queue";
const REFUSAL: &str = "refusal";
const KNOWN: [&str; 4] = [FINAL_SEQUENCE, HELLO_TOKEN, QUEUE, REFUSAL];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_messages_are_told_apart() {
        let own = Extension::Announcement(Announcement::own());
        let streams = vec![FinalStream { id: 1, bytes: 2, datagrams: 3 }];
        let waiting = Extension::Waiting { waiting: Place { ahead: 2, running: 1 } };
        let refusal = Extension::Refusal { refused: "no".to_owned() };
        for message in [own, Extension::Final { streams }, waiting, refusal] {
            let json = serde_json::to_string(&message).expect("serialises");
            assert_eq!(serde_json::from_str::<Extension>(&json).expect("parses"), message);
        }
    }
}
