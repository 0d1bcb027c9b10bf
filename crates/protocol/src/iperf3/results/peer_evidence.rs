//! What a linerate server tells of its host beside the results (clause 13.19).

use measurement::host::MOST_CPU;
use measurement::is_shown;
use measurement::{ClockOffset, HostEvidence, Profile, Pulse, Timestamp};
use serde::{Deserialize, Serialize};

use super::json::{self, Members};

/// Inventory and counters of the server's host during a test, which a linerate server adds to its
/// results (clause 13.19 of docs/protocol/iperf3.md).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PeerEvidence {
    /// Inventory and counters of the host.
    #[serde(with = "as_differences")]
    pub host: HostEvidence,
    /// Payload that each direction moved in short intervals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pulses: Vec<Pulse>,
    /// When the server received the client's results, and when it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockReading>,
}

/// Two instants on the monotonic clock of a server, from which the client computes the clock offset
/// (clause 13.19 of docs/protocol/iperf3.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// When a message of the client arrived, in nanoseconds.
    pub heard: u64,
    /// When the answer to that message was written, in nanoseconds.
    pub said: u64,
}

/// A host on the wire, whose counters are sent as differences.
mod as_differences {
    use measurement::HostEvidence;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        host: &HostEvidence,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let series = host.series.clone().into_differences();
        HostEvidence { series, ..host.clone() }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<HostEvidence, D::Error> {
        let host = HostEvidence::deserialize(deserializer)?;
        Ok(HostEvidence { series: host.series.from_differences(), ..host })
    }
}

impl ClockReading {
    /// The offset to add to times of the server's clock, if the client sent its message at `asked`
    /// and received the answer at `answered` on its own clock (RFC 5905, section 8). None: the
    /// times contradict each other.
    pub fn offset(self, asked: Timestamp, answered: Timestamp) -> Option<ClockOffset> {
        let signed = |nanos: u64| i64::try_from(nanos).ok();
        let (asked, answered) = (signed(asked.nanos())?, signed(answered.nanos())?);
        let (heard, said) = (signed(self.heard)?, signed(self.said)?);
        let on_the_way = answered.checked_sub(asked)?.checked_sub(said.checked_sub(heard)?)?;
        let there = asked.checked_sub(heard)?;
        let back = answered.checked_sub(said)?;
        Some(ClockOffset {
            add_nanos: there.midpoint(back),
            error_nanos: u64::try_from(on_the_way).ok()? / 2,
        })
    }
}

impl PeerEvidence {
    /// The evidence in the results of a server, if it is plausible. Another form, as of a newer
    /// linerate, is ignored.
    pub(in crate::iperf3) fn in_results(text: &[u8]) -> Option<Box<Self>> {
        let all = Members::select(text, &["linerate"]).ok()?;
        let truth = Members::select(all.object("linerate")?.as_bytes(), &["evidence"]).ok()?;
        let text = truth.object("evidence").filter(|text| is_printable(text) && is_modest(text))?;
        let peer_evidence: Box<Self> = measurement::json::read(text).ok()?;
        peer_evidence.is_plausible().then_some(peer_evidence)
    }

    fn is_plausible(&self) -> bool {
        let (host, series) = (&self.host, &self.host.series);
        host.interfaces.len() <= MOST_CARRIERS
            && series.counters().len() + series.gauges().len() <= MOST_COUNTERS
            && series.families().len() <= MOST_FAMILIES
            && host.gaps.len() <= MOST_FAMILIES
            && series.is_whole()
            && host.inventory.cpu_numbers().all(|number| *number <= MOST_CPU)
            && host.profile.iter().all(counts_little)
            && series.at.iter().all(|at| at.nanos() <= LATEST)
            && [host.cost_seconds, host.resolving_seconds, host.still_seconds, host.held_seconds]
                .iter()
                .all(|time| (0.0..=1e9).contains(time))
            && self.pulses.iter().flat_map(|pulse| &pulse.bytes).all(|bytes| *bytes <= json::MOST)
    }
}

/// Whether the numbers of samples are within the range of a valid message.
fn counts_little(profile: &Profile) -> bool {
    let rows = profile.rows.iter();
    rows.clone().filter_map(|row| row.cpu).all(|number| number <= MOST_CPU)
        && rows.map(|row| row.count).all(|count| count <= json::MOST)
        && [profile.samples, profile.lost].iter().all(|count| *count <= json::MOST)
}

/// Whether it has no more objects than a large host has CPUs, caches, interfaces and interrupts:
/// an empty one takes a few hundred times as much memory as it is long.
fn is_modest(text: &str) -> bool {
    text.bytes().filter(|byte| *byte == b'{').count() <= MOST_OBJECTS
}

const MOST_OBJECTS: usize = 8192;
/// Interfaces that carry one test.
const MOST_CARRIERS: usize = 64;
const MOST_COUNTERS: usize = 8192;
const MOST_FAMILIES: usize = 256;
/// No host has been up for a century.
const LATEST: u64 = 100 * 366 * 86_400 * 1_000_000_000;

/// Whether a JSON text has no characters that move the cursor of a terminal or colour it, since
/// names in it are shown.
fn is_printable(text: &str) -> bool {
    let mut escaped = false;
    text.chars().all(|c| {
        let is_harmless = if escaped { matches!(c, '"' | '\\' | '/') } else { is_shown(c) };
        escaped = !escaped && c == '\\';
        is_harmless
    })
}

#[cfg(test)]
mod tests {
    use measurement::host::{Irq, counter};

    use super::*;

    fn at(nanos: u64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    #[test]
    fn four_times_give_an_offset_and_its_error() {
        // The server's clock is 1,000 ahead; 40 there, 5 at the server, 60 back.
        let reading = ClockReading { heard: 1_140, said: 1_145 };
        let offset = reading.offset(at(100), at(205)).expect("possible");
        assert_eq!((offset.add_nanos, offset.error_nanos), (-990, 50));
        let backwards = ClockReading { heard: 9, said: 2_000 };
        assert_eq!(backwards.offset(at(100), at(205)), None);
        assert_eq!(ClockReading { heard: u64::MAX, said: 0 }.offset(at(0), at(1)), None);
    }

    #[test]
    fn what_a_terminal_would_obey_is_not_taken() {
        assert!(is_printable(r#"{"a\"b\\":"ä"}"#));
        assert!(!is_printable(r#"{"a":"\u001b[31m"}"#));
        assert!(!is_printable("{\"a\":\"\u{9b}31m\"}"));
        assert!(!is_printable(r#"{"a":"\n"}"#));
        assert!(!is_printable("{\"a\":\"\u{202e}0hte\"}"));
    }

    #[test]
    fn a_testimony_survives_the_wire_and_an_impossible_one_spoils_nothing() {
        let mut original = PeerEvidence::default();
        original.host.series.at = vec![at(1), at(2)];
        original.host.series.put(counter::CPU_USER.on(0), vec![3, 9]);
        let wrap = |peer_evidence: &PeerEvidence| {
            serde_json::json!({ "linerate": { "evidence": peer_evidence } }).to_string()
        };
        let read =
            |peer_evidence: &PeerEvidence| PeerEvidence::in_results(wrap(peer_evidence).as_bytes());
        assert_eq!(read(&original).as_deref(), Some(&original));
        let mut ragged = original.clone();
        ragged.host.series.at.pop();
        assert_eq!(read(&ragged), None);
        let mut huge = original.clone();
        huge.host.inventory.irqs.push(Irq { allowed: vec![u32::MAX], ..Irq::default() });
        assert_eq!(read(&huge), None);
        let mut busy = original.clone();
        busy.host.profile = Some(Profile { samples: u64::MAX, ..Profile::default() });
        assert_eq!(read(&busy), None);
        original.host.cost_seconds = -1.0;
        assert_eq!(read(&original), None);
        assert_eq!(PeerEvidence::in_results(b"{}"), None);
    }
}
