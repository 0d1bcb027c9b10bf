//! What a linerate server tells of its host beside the results (clause 13.19).

use measurement::host::{MOST_CPU, is_shown};
use measurement::{ClockOffset, HostEvidence, Profile, Pulse, Timestamp};
use serde::{Deserialize, Serialize};

use super::json::{self, Members};

/// A host's word on a test that it served.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PeerEvidence {
    /// What it has, and what it counted.
    pub host: HostEvidence,
    /// What its streams moved in short steps of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pulses: Vec<Pulse>,
    /// When it heard the client's results and when it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockReading>,
}

/// Two times of a server's monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// When a message of the client came, in nanoseconds.
    pub heard: u64,
    /// When the answer to it was written.
    pub said: u64,
}

impl ClockReading {
    /// What has to be added to the server's clock, if the client asked at `asked` and had the
    /// answer at `answered` on its own (the four times of RFC 5905, section 8). None: these
    /// times cannot be.
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
    /// What stands in the results of a server, if it can be true. A newer linerate may tell it
    /// in other words, which spoils nothing else.
    pub(in crate::iperf3) fn in_results(text: &[u8]) -> Option<Box<Self>> {
        let all = Members::of(text, &["linerate"]).ok()?;
        let truth = Members::of(all.object("linerate")?.as_bytes(), &["evidence"]).ok()?;
        let text = truth.object("evidence").filter(|text| is_printable(text) && is_modest(text))?;
        let peer_evidence: Box<Self> = serde_json::from_str(text).ok()?;
        peer_evidence.can_be().then_some(peer_evidence)
    }

    fn can_be(&self) -> bool {
        let (host, series) = (&self.host, &self.host.series);
        host.interfaces.len() <= MOST_CARRIERS
            && series.counters().len() + series.gauges().len() <= MOST_COUNTERS
            && series.families().len() <= MOST_FAMILIES
            && host.gaps.len() <= MOST_FAMILIES
            && series.is_whole()
            && host.inventory.cpu_numbers().all(|number| *number <= MOST_CPU)
            && host.profile.iter().all(counts_little)
            && series.at.iter().all(|at| at.nanos() <= LATEST)
            && [host.cost_seconds, host.still_seconds].iter().all(|time| (0.0..=1e9).contains(time))
            && self.pulses.iter().flat_map(|pulse| &pulse.bytes).all(|bytes| *bytes <= json::MOST)
    }
}

/// Whether the samples are no more than there can be.
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

/// Whether nothing in a JSON text would move the cursor of a terminal, or colour it: names in
/// it are shown to people.
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
        let mut told = PeerEvidence::default();
        told.host.series.at = vec![at(1), at(2)];
        told.host.series.put(counter::CPU_USER.on(0), vec![3, 9]);
        let wrap = |peer_evidence: &PeerEvidence| {
            serde_json::json!({ "linerate": { "evidence": peer_evidence } }).to_string()
        };
        let read =
            |peer_evidence: &PeerEvidence| PeerEvidence::in_results(wrap(peer_evidence).as_bytes());
        assert_eq!(read(&told).as_deref(), Some(&told));
        let mut ragged = told.clone();
        ragged.host.series.at.pop();
        assert_eq!(read(&ragged), None);
        let mut huge = told.clone();
        huge.host.inventory.irqs.push(Irq { allowed: vec![u32::MAX], ..Irq::default() });
        assert_eq!(read(&huge), None);
        let mut busy = told.clone();
        busy.host.profile = Some(Profile { samples: u64::MAX, ..Profile::default() });
        assert_eq!(read(&busy), None);
        told.host.cost_seconds = -1.0;
        assert_eq!(read(&told), None);
        assert_eq!(PeerEvidence::in_results(b"{}"), None);
    }
}
