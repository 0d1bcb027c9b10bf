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
use super::limits::TestLimits;
use super::results::ClockReading;

/// Announcement of a linerate: its version and the extensions of iperf3's protocol that it knows
/// (clauses 13.1 and 13.2 of docs/protocol/iperf3.md).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announcement {
    /// Version of the linerate, e.g. `0.1.0`.
    #[serde(default)]
    pub version: String,
    /// Names of the known extensions.
    #[serde(default)]
    pub extensions: Vec<String>,
    /// From a server: the token that hellos of the test must contain (clause 13.8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hello_token: Option<HelloToken>,
    /// From a server that knows the extension `many-streams`: how many streams may be opened at the
    /// same time (clause 13.13 of docs/protocol/iperf3.md).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_way: Option<u32>,
    /// From a client: how many further ports of the server it can use (clause 13.15).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub further_ports: u8,
    /// From a server: the further ports that it opened for the test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u16>,
    /// From a server that knows the extension `evidence`: when the parameters arrived and when this
    /// announcement was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockReading>,
    /// From a server that knows the extension `limits`: what it allows this test (clause 13.21).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<TestLimits>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")]
const fn is_zero(number: &u8) -> bool {
    *number == 0
}

impl Announcement {
    /// The announcement of this build of linerate: its version, and all extensions that it knows.
    pub fn own() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            extensions: KNOWN.map(str::to_owned).to_vec(),
            ..Self::default()
        }
    }

    /// The announcement of this build with only those extensions that the announced peer knows too
    /// (clause 13.2 of docs/protocol/iperf3.md).
    #[must_use]
    pub fn shared(&self) -> Self {
        let mut shared = Self::own();
        shared.extensions.retain(|name| self.extensions.contains(name));
        shared
    }

    /// A copy of a peer's announcement that is safe to use: the version is printable, numbers are
    /// in range, and unknown extensions are left out.
    #[must_use]
    pub fn plain(mut self) -> Self {
        self.version = super::json::version(&self.version);
        self.extensions =
            KNOWN.into_iter().filter(|name| self.knows(name)).map(str::to_owned).collect();
        self.under_way = self.under_way.map(|count| count.clamp(1, MOST_UNDER_WAY));
        self.further_ports = self.further_ports.min(MOST_FURTHER_PORTS);
        self.ports.retain(|port| *port > 0);
        self.ports.truncate(MOST_FURTHER_PORTS.into());
        self.limits = self.limits.map(TestLimits::plain);
        self
    }

    /// Whether the announced linerate knows the extension `final-sequence`: the server sends totals
    /// of its streams at the end of the test (clause 13.3 of docs/protocol/iperf3.md).
    pub fn knows_final_sequence(&self) -> bool {
        self.knows(FINAL_SEQUENCE)
    }

    /// Whether the announced linerate knows the extension `hello-token`: UDP hellos contain a token
    /// (clause 13.8 of docs/protocol/iperf3.md).
    pub fn knows_hello_token(&self) -> bool {
        self.knows(HELLO_TOKEN)
    }

    /// Whether the announced linerate knows the extension `queue`: the server reports the client's
    /// position in its queue (clause 13.9 of docs/protocol/iperf3.md).
    pub fn knows_queue(&self) -> bool {
        self.knows(QUEUE)
    }

    /// Whether the announced linerate knows the extension `many-streams`: streams send their
    /// numbers, and more than 128 are possible (clause 13.12 of docs/protocol/iperf3.md).
    pub fn knows_many_streams(&self) -> bool {
        self.knows(MANY_STREAMS)
    }

    /// Whether the announced linerate knows the extension `refusal`: the server sends the reason of
    /// an error in words (clause 13.10 of docs/protocol/iperf3.md).
    pub fn knows_refusal(&self) -> bool {
        self.knows(REFUSAL)
    }

    /// Whether the announced linerate knows the extension `exchange`: the server answers requests
    /// (clause 13.18 of docs/protocol/iperf3.md).
    pub fn knows_exchange(&self) -> bool {
        self.knows(EXCHANGE)
    }

    /// Whether the announced linerate knows the extension `evidence`: the server reports the
    /// counters of its host (clause 13.19 of docs/protocol/iperf3.md).
    pub fn knows_evidence(&self) -> bool {
        self.knows(EVIDENCE)
    }

    /// Whether the announced linerate knows the extension `limits`: the server states the rate and
    /// the time that it allows, and the client keeps to them (clause 13.21 of
    /// docs/protocol/iperf3.md).
    pub fn knows_limits(&self) -> bool {
        self.knows(LIMITS)
    }

    /// A copy of the announcement without the extension `evidence` (counters of the server's host),
    /// for a test that does not use it.
    #[must_use]
    pub fn without_evidence(mut self) -> Self {
        self.extensions.retain(|name| name != EVIDENCE);
        self
    }

    fn knows(&self, extension: &str) -> bool {
        self.extensions.iter().any(|name| name == extension)
    }
}

/// Position of a waiting client in the queue of a linerate server (clause 13.9 of
/// docs/protocol/iperf3.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuePlace {
    /// Tests that come before it, including those that run.
    pub ahead: u32,
    /// Tests before it that run now.
    pub running: u32,
}

/// Totals of one stream that the server sent, reported at the end of the test (clause 13.3 of
/// docs/protocol/iperf3.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinalStream {
    /// Id of the stream on the wire.
    pub id: u32,
    /// Payload bytes handed to the socket.
    pub bytes: u64,
    /// Last sequence number sent; UDP only.
    pub datagrams: u64,
}

impl FinalStream {
    /// Whether all numbers are within the range of a valid message.
    pub(super) const fn is_plausible(&self) -> bool {
        self.bytes <= super::json::MOST && self.datagrams <= super::json::MOST
    }
}

/// Content of an `EXTENSION` message between two linerates, a JSON object (section 13 of
/// docs/protocol/iperf3.md).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Extension {
    /// At the end of the test: the totals of the streams that the server sent (clause 13.3).
    Final {
        /// One entry for each stream that the server sends.
        #[serde(rename = "final")]
        streams: Vec<FinalStream>,
    },
    /// Before `CREATE_STREAMS`: the client waits in the queue (clause 13.9).
    Waiting {
        /// Position of the client in the queue.
        waiting: QueuePlace,
    },
    /// Before `SERVER_ERROR`: the reason in words (clause 13.10).
    Refusal {
        /// The reason, a clause without a full stop.
        refused: String,
    },
    /// While the streams are opened: how many the server has accepted (clause 13.13).
    Arrived {
        /// Number of accepted streams since the start.
        arrived: u32,
    },
    /// After the parameters: the announcement of the server (clause 13.2). It is the last variant,
    /// since it requires no key.
    Announcement(Announcement),
}

impl Extension {
    /// Parses the message of a server. Lists are cut at the longest that a server can send.
    ///
    /// # Errors
    /// A clause that says what is wrong.
    pub(super) fn read(text: &[u8]) -> Result<Self, String> {
        let members = Members::select(text, &KEYS)?;
        let of_one = |text: &str| measurement::json::read(text).ok();
        let streams = members.list("final").and_then(|text| list(text, MOST_FINAL, of_one));
        let waiting = members.read("waiting").map(|waiting| Self::Waiting { waiting });
        let refusal = || members.read("refused").map(|refused| Self::Refusal { refused });
        let arrived = || members.read("arrived").map(|arrived| Self::Arrived { arrived });
        let message = streams.map(|streams| Self::Final { streams }).or(waiting);
        let message = message.or_else(refusal).or_else(arrived);
        message.map_or_else(|| Announcement::read(&members).map(Self::Announcement), Ok)
    }
}

impl Announcement {
    fn read(members: &Members<'_>) -> Result<Self, String> {
        Ok(Self {
            version: member(members, "version")?,
            extensions: short_list(members, "extensions")?,
            hello_token: member(members, "hello_token")?,
            under_way: member(members, "under_way")?,
            further_ports: member(members, "further_ports")?,
            ports: short_list(members, "ports")?,
            // Clause 13.19: what cannot be is left out, and spoils nothing else.
            clock: members.read("clock"),
            limits: members.read("limits"),
        })
    }
}

/// The value of a key, or the default if the key is missing; an error if the value has the wrong
/// type.
fn member<'a, T: Deserialize<'a> + Default>(
    members: &Members<'a>,
    name: &str,
) -> Result<T, String> {
    let Some(text) = members.text(name) else { return Ok(T::default()) };
    measurement::json::read(text).map_err(|_| format!("'{name}' makes no sense"))
}

/// The first elements of a list; an error if one of them has the wrong type.
fn short_list<T: DeserializeOwned>(members: &Members<'_>, name: &str) -> Result<Vec<T>, String> {
    if members.text(name).is_none() {
        return Ok(Vec::new());
    }
    let of_one = |text: &str| measurement::json::read(text).ok();
    let list = members.list(name).and_then(|text| list(text, MOST_IN_A_LIST, of_one));
    list.ok_or_else(|| format!("'{name}' makes no sense"))
}

/// All keys of extension messages.
const KEYS: [&str; 12] = [
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
    "limits",
];
/// Both directions of the largest test.
const MOST_FINAL: usize = measurement::plan::MAX_STREAMS as usize;
/// Names of extensions, or ports.
const MOST_IN_A_LIST: usize = 256;

const FINAL_SEQUENCE: &str = "final-sequence";
const HELLO_TOKEN: &str = "hello-token";
const QUEUE: &str = "queue";
const REFUSAL: &str = "refusal";
const MANY_STREAMS: &str = "many-streams";
const EXCHANGE: &str = "exchange";
const EVIDENCE: &str = "evidence";
const LIMITS: &str = "limits";
const KNOWN: [&str; 8] =
    [FINAL_SEQUENCE, HELLO_TOKEN, QUEUE, REFUSAL, MANY_STREAMS, EXCHANGE, EVIDENCE, LIMITS];
/// No listener keeps more connections waiting (`net.core.somaxconn`).
const MOST_UNDER_WAY: u32 = 4096;
/// Maximum number of ports that a server opens for one test, beside the one on which it listens
/// (clause 13.15 of docs/protocol/iperf3.md).
pub const MOST_FURTHER_PORTS: u8 = 15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_messages_are_distinguished() {
        let own = Extension::Announcement(Announcement::own());
        let streams = vec![FinalStream { id: 1, bytes: 2, datagrams: 3 }];
        let waiting = Extension::Waiting { waiting: QueuePlace { ahead: 2, running: 1 } };
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
