//! The knee of the curve that a sweep over rates drew.

use analysis::CurvePoint;
use measurement::TestRecord;
use serde::{Deserialize, Serialize};

use super::super::seen::Seen;
use super::Judged;

/// The largest rate asked of which all arrives.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bend {
    mbps: f64,
}

impl Bend {
    pub(super) fn shown(&self) -> String {
        format!("{} Mbit/s", self.mbps)
    }

    pub(super) fn judge(&self, seen: &Seen) -> Judged {
        let point = |record: &TestRecord| {
            let sent = record.outcome.directions.first()?.offered.map(|sent| sent.rate);
            let (load, arrived) = (record.plan.asked()?, record.outcome.rate()?);
            Some(CurvePoint { load, sent, arrived })
        };
        let curve: Vec<_> = seen.records.iter().filter_map(point).collect();
        let Some((at, _)) = analysis::knee(&curve) else {
            return Judged::new(false, "nothing", format!("no knee in {} rates", curve.len()));
        };
        let asked = curve[at].load;
        let is_right = (asked.bits_per_second() as f64 / 1e6 - self.mbps).abs() < 0.001;
        Judged::new(is_right, "knee", format!("the knee is at {asked}"))
    }
}
