//! What two linerates say to each other beyond iperf3 (section 13).
//!
//! The client announces itself under one key of its parameters; a plain iperf3
//! ignores that. Only a server that saw the key sends [`State::Extension`].
//!
//! [`State::Extension`]: super::State::Extension

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::hello::HelloToken;
use super::json::{Members, list};
use super::results::ClockReading;

/// A linerate's version and what it can do beyond iperf3 (clauses 13.1 and 13.2).
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
    /// From a server that knows many streams: how many may be under way (clause 13.13).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_way: Option<u32>,
    /// From a client: how many further ports it can use (clause 13.15).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub further_ports: u8,
    /// From a server: those that it opened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u16>,
    /// From a server that reports its host: when the parameters came and when it said this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockReading>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")]
const fn is_zero(number: &u8) -> bool {
    *number == 0
}

impl Announcement {
    /// The announcement of this crate's version with all that it knows.
    pub fn own() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            extensions: KNOWN.map(str::to_owned).to_vec(),
            ..Self::default()
        }
    }

    /// What it and this crate both know (clause 13.2).
    #[must_use]
    pub fn shared(&self) -> Self {
        let mut shared = Self::own();
        shared.extensions.retain(|name| self.extensions.contains(name));
        shared
    }

    /// This announcement with a version that is safe to print, and without what this crate does not
    /// know of.
    #[must_use]
    pub fn plain(mut self) -> Self {
        self.version = super::json::version(&self.version);
        self.extensions =
            KNOWN.into_iter().filter(|name| self.knows(name)).map(str::to_owned).collect();
        self.under_way = self.under_way.map(|count| count.clamp(1, MOST_UNDER_WAY));
        self.further_ports = self.further_ports.min(MOST_FURTHER_PORTS);
        self.ports.retain(|port| *port > 0);
        self.ports.truncate(MOST_FURTHER_PORTS.into());
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

    /// Whether it takes its place in a queue.
    pub fn knows_queue(&self) -> bool {
        self.knows(QUEUE)
    }

    /// Whether its streams send their numbers, and there may be any number of them.
    pub fn knows_many_streams(&self) -> bool {
        self.knows(MANY_STREAMS)
    }

    /// Whether it takes the reason in words why it is not served.
    pub fn knows_refusal(&self) -> bool {
        self.knows(REFUSAL)
    }

    /// Whether it answers requests.
    pub fn knows_exchange(&self) -> bool {
        self.knows(EXCHANGE)
    }

    /// Whether it reports its host, or takes what a host reports of itself.
    pub fn knows_evidence(&self) -> bool {
        self.knows(EVIDENCE)
    }

    /// This announcement without the evidence of hosts, which would not be looked at.
    #[must_use]
    pub fn without_evidence(mut self) -> Self {
        self.extensions.retain(|name| name != EVIDENCE);
        self
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
    /// While the streams are opened: how many have come (clause 13.13).
    Arrived {
        /// In all.
        arrived: u32,
    },
    /// At the start: the server's announcement. The last, since no key of it is needed.
    Announcement(Announcement),
}

impl Extension {
    /// Reads what a server sent; of each list no more than a server has reason to send.
    ///
    /// # Errors
    /// One clause that says what is wrong.
    pub(super) fn read(text: &[u8]) -> Result<Self, String> {
        let said = Members::of(text, &KEYS)?;
        let of_one = |text: &str| serde_json::from_str(text).ok();
        let streams = said.list("final").and_then(|text| list(text, MOST_FINAL, of_one));
        let waiting = said.read("waiting").map(|waiting| Self::Waiting { waiting });
        let refusal = || said.read("refused").map(|refused| Self::Refusal { refused });
        let arrived = || said.read("arrived").map(|arrived| Self::Arrived { arrived });
        let told = streams.map(|streams| Self::Final { streams }).or(waiting);
        let told = told.or_else(refusal).or_else(arrived);
        told.map_or_else(|| Announcement::read(&said).map(Self::Announcement), Ok)
    }
}

impl Announcement {
    fn read(said: &Members<'_>) -> Result<Self, String> {
        Ok(Self {
            version: member(said, "version")?,
            extensions: short_list(said, "extensions")?,
            hello_token: member(said, "hello_token")?,
            under_way: member(said, "under_way")?,
            further_ports: member(said, "further_ports")?,
            ports: short_list(said, "ports")?,
            // Clause 13.19: what cannot be is left out, and spoils nothing else.
            clock: said.read("clock"),
        })
    }
}

/// What is there has to be readable.
fn member<'a, T: Deserialize<'a> + Default>(said: &Members<'a>, name: &str) -> Result<T, String> {
    let Some(text) = said.text(name) else { return Ok(T::default()) };
    serde_json::from_str(text).map_err(|_| format!("'{name}' makes no sense"))
}

/// The first elements of a list; what is there has to be readable.
fn short_list<T: DeserializeOwned>(said: &Members<'_>, name: &str) -> Result<Vec<T>, String> {
    if said.text(name).is_none() {
        return Ok(Vec::new());
    }
    let of_one = |text: &str| serde_json::from_str(text).ok();
    let list = said.list(name).and_then(|text| list(text, MOST_IN_A_LIST, of_one));
    list.ok_or_else(|| format!("'{name}' makes no sense"))
}

/// Every key of an extension message.
const KEYS: [&str; 11] = [
    "final",
    "waiting",
    "refused",
    "arrived",
    "version",
    "extensions",
    "hello_token",
    "under_way",
    "further_ports",
    "ports",
    "clock",
];
/// Both directions of the largest test.
const MOST_FINAL: usize = 2 * measurement::plan::MAX_STREAMS as usize;
/// Names of extensions, or ports.
const MOST_IN_A_LIST: usize = 256;

const FINAL_SEQUENCE: &str = "final-sequence";
const HELLO_TOKEN: &str = "hello-token";
const QUEUE: &str = "queue";
const REFUSAL: &str = "refusal";
const MANY_STREAMS: &str = "many-streams";
const EXCHANGE: &str = "exchange";
const EVIDENCE: &str = "evidence";
const KNOWN: [&str; 7] =
    [FINAL_SEQUENCE, HELLO_TOKEN, QUEUE, REFUSAL, MANY_STREAMS, EXCHANGE, EVIDENCE];
/// No listener keeps more connections waiting (`net.core.somaxconn`).
const MOST_UNDER_WAY: u32 = 4096;
/// Ports that a server opens for one test beside its own.
pub const MOST_FURTHER_PORTS: u8 = 15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_messages_are_told_apart() {
        let own = Extension::Announcement(Announcement::own());
        let streams = vec![FinalStream { id: 1, bytes: 2, datagrams: 3 }];
        let waiting = Extension::Waiting { waiting: Place { ahead: 2, running: 1 } };
        let refusal = Extension::Refusal { refused: "no".to_owned() };
        let arrived = Extension::Arrived { arrived: 77 };
        for message in [own, Extension::Final { streams }, waiting, refusal, arrived] {
            let json = serde_json::to_string(&message).expect("serialises");
            assert_eq!(Extension::read(json.as_bytes()), Ok(message));
        }
    }

    #[test]
    fn what_a_peer_offers_is_kept_within_bounds() {
        let offer = Announcement {
            under_way: Some(u32::MAX),
            further_ports: u8::MAX,
            ports: (0..100).collect(),
            ..Announcement::own()
        };
        let plain = offer.plain();
        assert_eq!((plain.under_way, plain.further_ports), (Some(4096), 15));
        assert_eq!(plain.ports, (1..=15).collect::<Vec<_>>());
        let idle = Announcement { under_way: Some(0), ..Announcement::own() }.plain();
        assert_eq!(idle.under_way, Some(1), "a client that waits for nothing waits for ever");
    }
}
