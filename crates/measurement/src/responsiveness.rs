//! What round trips under load are worth: round trips per minute ([`Responsiveness`]), and a grade
//! of the added delay ([`Grade`]).

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Responsiveness under working conditions in round trips per minute (RPM), by the formula of
/// draft-ietf-ippm-responsiveness (section "Final Calculations", its case without TLS) from the
/// round trips that linerate measures.
///
/// The draft's `tcp_f` and `http_f`, one round trip each on separate connections, are both a UDP
/// probe here. Its `http_l`, a request on a connection that carries the load, is the round-trip
/// time of such a connection as the kernel of the client estimates it (`tcpi_rtt` where it sends,
/// `tcpi_rcv_rtt` where it receives). The load is one TCP stream in one direction. Values of other
/// programs can differ therefore.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Responsiveness {
    /// Round trips per minute on a separate connection (`Foreign_Responsiveness`).
    pub foreign_rpm: f64,
    /// Round trips per minute on the connection that carries the load (`Loaded_Responsiveness`);
    /// none: the kernel reports no round-trip time of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub loaded_rpm: Option<f64>,
    /// The mean of both (`Responsiveness`); none: one of them is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rpm: Option<f64>,
}

impl Responsiveness {
    /// The responsiveness of a path under load, from round-trip times on a `separate` connection
    /// and on the one that is `carrying` the load. None: there are none of the first.
    pub fn from_times(separate: &[Duration], carrying: &[Duration]) -> Option<Self> {
        let foreign_rpm = per_minute(separate)?;
        let loaded_rpm = per_minute(carrying);
        let rpm = loaded_rpm.map(|loaded| f64::midpoint(foreign_rpm, loaded));
        Some(Self { foreign_rpm, loaded_rpm, rpm })
    }
}

/// Round trips of a minute, by the mean of the shortest 95 % of `times` (the draft's `TM`).
fn per_minute(times: &[Duration]) -> Option<f64> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let kept = &sorted[..(sorted.len() * KEPT_PERCENT).div_ceil(100)];
    let sum: Duration = kept.iter().sum();
    (!sum.is_zero()).then(|| 60.0 * kept.len() as f64 / sum.as_secs_f64())
}

/// Grade of the delay that load adds to a round trip, in the scale that DSLReports introduced and
/// other tests of bufferbloat took over: <https://www.dslreports.com/faq/17930>.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Grade {
    /// Less than 5 ms.
    #[serde(rename = "A+")]
    APlus,
    /// Less than 30 ms.
    A,
    /// Less than 60 ms.
    B,
    /// Less than 200 ms.
    C,
    /// Less than 400 ms.
    D,
    /// 400 ms or more.
    F,
}

impl Grade {
    /// The grade of a delay that load added.
    pub fn of(added: Duration) -> Self {
        let below = SCALE.iter().find(|(_, limit)| added < *limit);
        below.map_or(Self::F, |(grade, _)| *grade)
    }

    /// The scale in a line, with the limits in milliseconds.
    pub fn scale() -> String {
        let part = |(grade, limit): &(Self, Duration)| format!("{grade} <{}", limit.as_millis());
        SCALE.iter().map(part).chain([Self::F.to_string()]).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::APlus => "A+",
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
            Self::F => "F",
        })
    }
}

/// What the draft's trimmed mean keeps.
const KEPT_PERCENT: usize = 95;
/// Each grade, and the delay from which on it is a worse one.
const SCALE: [(Grade, Duration); 5] = [
    (Grade::APlus, Duration::from_millis(5)),
    (Grade::A, Duration::from_millis(30)),
    (Grade::B, Duration::from_millis(60)),
    (Grade::C, Duration::from_millis(200)),
    (Grade::D, Duration::from_millis(400)),
];

#[cfg(test)]
mod tests {
    use super::*;

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn both_kinds_of_connection_weigh_the_same() {
        let found = Responsiveness::from_times(&[millis(20); 10], &[millis(60); 3]);
        let found = found.expect("answers");
        assert!((found.foreign_rpm - 3_000.0).abs() < 1e-6, "{found:?}");
        assert!((found.loaded_rpm.expect("known") - 1_000.0).abs() < 1e-6, "{found:?}");
        assert!((found.rpm.expect("known") - 2_000.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn the_longest_twentieth_is_left_out() {
        let times = [[millis(10); 95].as_slice(), &[millis(5_000); 5]].concat();
        let found = Responsiveness::from_times(&times, &[]).expect("answers");
        assert!((found.foreign_rpm - 6_000.0).abs() < 1e-6, "{found:?}");
        assert_eq!((found.loaded_rpm, found.rpm), (None, None));
        assert_eq!(Responsiveness::from_times(&[], &[millis(1)]), None);
    }

    #[test]
    fn grades_begin_at_their_limits() {
        let limits = [(0, "A+"), (5, "A"), (30, "B"), (60, "C"), (200, "D"), (400, "F")];
        for (limit, grade) in limits {
            assert_eq!(Grade::of(millis(limit)).to_string(), grade);
        }
        assert_eq!(Grade::of(millis(399)), Grade::D);
        assert_eq!(Grade::scale(), "A+ <5, A <30, B <60, C <200, D <400, F");
        assert_eq!(serde_json::to_string(&Grade::APlus).expect("text"), "\"A+\"");
    }
}
