//! Probes as records have them: a list of numbers for each of their times instead of an object for
//! each probe.

use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::differences;
use crate::round_trips::Probe;
use crate::units::Timestamp;

/// Probes in the order of sending.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Probes {
    /// Times of sending, on the clock of the requester, in nanoseconds: the first, then the
    /// differences from each to the next.
    #[serde(rename = "sent_nanos")]
    sent: Vec<i64>,
    /// Round-trip times in nanoseconds; -1: the response did not arrive.
    #[serde(rename = "round_trip_nanos")]
    round_trip: Vec<i64>,
    /// Times of arrival, on the clock of the responder, in nanoseconds: the first, then the
    /// differences; those of zero at the end are left out. A time of zero: not known.
    #[serde(rename = "arrived_nanos")]
    arrived: Vec<i64>,
    /// Times from the arrival of each request to its response, on the clock of the responder, in
    /// nanoseconds; those at the end that are zero or not known are left out.
    #[serde(rename = "turnaround_nanos")]
    turnaround: Vec<i64>,
}

impl Probes {
    fn of(probes: &[Probe]) -> Self {
        let nanos = |probe: &Probe| {
            probe.round_trip.map_or(-1, |time| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX))
        };
        let turnaround = |probe: &Probe| probe.answered.nanos().wrapping_sub(probe.arrived.nanos());
        let mut turnarounds: Vec<_> = probes.iter().map(turnaround).map(u64::cast_signed).collect();
        let used = turnarounds.iter().rposition(|time| *time != 0).map_or(0, |at| at + 1);
        turnarounds.truncate(used);
        Self {
            sent: differences::written(probes.iter().map(|probe| probe.sent.nanos())),
            round_trip: probes.iter().map(nanos).collect(),
            arrived: differences::written(probes.iter().map(|probe| probe.arrived.nanos())),
            turnaround: turnarounds,
        }
    }

    fn read(&self) -> Vec<Probe> {
        let length = self.round_trip.len();
        let turnarounds = self.turnaround.iter().copied().chain(std::iter::repeat(0));
        let times = differences::read(&self.sent, length)
            .zip(differences::read(&self.arrived, length))
            .zip(turnarounds.zip(&self.round_trip));
        times
            .map(|((sent, arrived), (turnaround, round_trip))| Probe {
                sent: Timestamp::from_nanos(sent),
                round_trip: u64::try_from(*round_trip).ok().map(Duration::from_nanos),
                arrived: Timestamp::from_nanos(arrived),
                answered: Timestamp::from_nanos(arrived.wrapping_add(turnaround.cast_unsigned())),
            })
            .collect()
    }
}

/// Writes the probes of a record.
pub(crate) fn serialize<S: Serializer>(probes: &[Probe], serializer: S) -> Result<S::Ok, S::Error> {
    Probes::of(probes).serialize(serializer)
}

/// Reads the probes of a record.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Probe>, D::Error> {
    let probes = Probes::deserialize(deserializer)?;
    let length = probes.round_trip.len();
    let others = [&probes.sent, &probes.arrived, &probes.turnaround];
    if others.iter().any(|list| list.len() > length) {
        return Err(D::Error::custom("lists of probes of different lengths"));
    }
    Ok(probes.read())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Part(#[serde(with = "super")] Vec<Probe>);

    #[test]
    fn probes_are_lists_and_come_back() {
        let probe = |sent, micros: Option<u64>, arrived, answered| Probe {
            sent: Timestamp::from_nanos(sent),
            round_trip: micros.map(Duration::from_micros),
            arrived: Timestamp::from_nanos(arrived),
            answered: Timestamp::from_nanos(answered),
        };
        let probes = Part(vec![
            probe(1_000, Some(30), 900, 907),
            probe(2_000, None, 0, 0),
            probe(3_000, Some(0), 2_900, 2_950),
            probe(3_000, None, 0, 0),
        ]);
        let json = serde_json::to_value(&probes).expect("JSON");
        assert_eq!(json["round_trip_nanos"], serde_json::json!([30_000, -1, 0, -1]));
        assert_eq!(serde_json::from_value::<Part>(json).expect("probes"), probes);
        let longer = r#"{"sent_nanos": [1, 2], "round_trip_nanos": [5], "arrived_nanos": [],
            "turnaround_nanos": []}"#;
        assert!(serde_json::from_str::<Part>(longer).is_err());
    }
}
