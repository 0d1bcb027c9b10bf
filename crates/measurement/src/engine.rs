//! Names and properties of the engines (implementations of sending or receiving, e.g. `sendmmsg`;
//! all: [`ENGINES`]), and which of them a test used. Their code is in the crate `dataplane`.

mod name;
mod registry;

use serde::{Deserialize, Serialize};

use crate::foreign::is_shown;
use crate::units::BitRate;

pub use name::EngineName;
pub use registry::*;

/// The clock that stamped the arrival of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ArrivalClock {
    /// The kernel, for each datagram (`SO_TIMESTAMPNS`, socket(7)).
    Kernel,
    /// The kernel, once for all datagrams that it coalesced into one (`UDP_GRO`, udp(7)):
    /// jitter is that of such pieces.
    Coalesced,
    /// The reading thread, for a batch of datagrams at once.
    Reader,
}

/// Engines (implementations of sending and receiving, e.g. `sendmmsg`) that one end of a test used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Engines {
    /// The engine that sent. None: nothing was sent, or the engine is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub send: Option<EngineUse>,
    /// The engine that received. None: nothing was received, or the engine is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub receive: Option<EngineUse>,
}

/// Use of an engine (an implementation of sending or receiving) by one end of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EngineUse {
    /// Name of the engine, e.g. `write`.
    pub name: EngineName,
    /// The requested engine, if this end could not use it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub instead_of: Option<Unusable>,
    /// Reason for which the engine was used without a request.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub because: Option<String>,
    /// Counters of zero-copy sends; none: the engine made no such sends.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub in_place: Option<InPlace>,
}

/// A requested engine (implementation of sending or receiving) that an end could not use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unusable {
    /// Name of the engine.
    pub name: EngineName,
    /// Reason for which the engine could not be used, in words.
    pub reason: String,
}

/// Counters of zero-copy sends: the kernel was asked not to copy the payload (`MSG_ZEROCOPY`,
/// `IORING_OP_SEND_ZC`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InPlace {
    /// Number of zero-copy sends.
    pub sends: u64,
    /// Number of zero-copy sends whose completion the kernel reported.
    pub completed: u64,
    /// Number of completed sends whose bytes the kernel copied after all, as it does on loopback.
    pub copied: u64,
    /// Number of sends that were copied because the kernel had no memory for their completion.
    pub written: u64,
}

/// A short test before the measurement, which compared engines (implementations of sending and
/// receiving) to choose the fastest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EngineTrial {
    /// Names of the compared engines.
    pub engines: Vec<EngineName>,
    /// The delivered rate. None: the test failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[serde(rename = "delivered_bits_per_second")]
    pub delivered: Option<BitRate>,
    /// The error for which there is no rate.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
}

impl InPlace {
    /// Share of the completed zero-copy sends whose payload the kernel copied after all, 0 to 1.
    /// None: no send completed.
    pub fn copied_share(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let share = |part: u64, whole: u64| part as f64 / whole as f64;
        (self.completed > 0).then(|| share(self.copied.min(self.completed), self.completed))
    }
}

impl From<&'static Engine> for EngineUse {
    fn from(engine: &'static Engine) -> Self {
        Self { name: engine.into(), ..Self::default() }
    }
}

impl Engines {
    /// Whether a peer's report on its engines is plausible: counts are at most `most`, names and
    /// reasons have at most 256 bytes and show whole.
    pub fn is_plausible(&self, most: u64) -> bool {
        let is_text = |text: &str| text.len() <= LONGEST && text.chars().all(is_shown);
        [&self.send, &self.receive].into_iter().flatten().all(|one| {
            let reason = |other: &Unusable| is_text(&other.name) && is_text(&other.reason);
            let counts =
                one.in_place.map(|one| [one.sends, one.completed, one.copied, one.written]);
            one.instead_of.iter().all(reason)
                && is_text(&one.name)
                && one.because.iter().all(|text| is_text(text))
                && counts.into_iter().flatten().all(|count| count <= most)
        })
    }
}

/// Longest name or reason in bytes.
const LONGEST: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_end_can_have_said_is_noticed() {
        let engine = |name: &str, copied| Engines {
            send: Some(EngineUse {
                name: name.into(),
                instead_of: None,
                because: None,
                in_place: Some(InPlace { copied, ..InPlace::default() }),
            }),
            receive: None,
        };
        assert!(engine("write", 7).is_plausible(7));
        assert!(!engine("write", 8).is_plausible(7));
        assert!(!engine("wri\u{1b}te", 7).is_plausible(7));
        assert!(!engine(&"w".repeat(257), 7).is_plausible(7));
    }

    #[test]
    fn a_share_needs_completions() {
        let in_place = |completed, copied| InPlace { completed, copied, ..InPlace::default() };
        assert_eq!(in_place(0, 0).copied_share(), None);
        assert_eq!(in_place(4, 1).copied_share(), Some(0.25));
        assert_eq!(in_place(4, 9).copied_share(), Some(1.0));
    }
}
