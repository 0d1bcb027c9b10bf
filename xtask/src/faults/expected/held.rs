//! The rate at which UDP without `-b` tested, beside what fits.

use measurement::{RateSearch, TestRecord};
use serde::{Deserialize, Serialize};

use super::super::seen::Seen;
use super::{Judged, frame_per_payload};

/// Bounds of the rate that UDP without `-b` found; a bound that is absent admits any rate.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Held {
    /// Mbit/s of frames that fit.
    mbps: Option<f64>,
    /// As a share of what fits.
    share: Option<[f64; 2]>,
    /// Mbit/s of payload at least.
    least_mbps: f64,
    /// Share of the datagrams that is lost at any rate.
    floor: Option<[f64; 2]>,
}

impl Held {
    pub(super) fn shown(&self) -> String {
        let rate = self.mbps.map(|mbps| format!("{mbps} Mbit/s of frames"));
        rate.unwrap_or_else(|| format!("{} Mbit/s at least", self.least_mbps))
    }

    pub(super) fn judge(&self, seen: &Seen) -> Judged {
        let [record] = seen.records.as_slice() else {
            return Judged::new(false, "nothing", "not one record".to_owned());
        };
        let Some(search) = &record.trials.rate else {
            return Judged::new(false, "nothing", "no search for a rate".to_owned());
        };
        let share = self.share_of(record, search);
        let is_in = |range: Option<[f64; 2]>, number: Option<f64>| {
            range.is_none_or(|[least, most]| number.is_some_and(|it| (least..=most).contains(&it)))
        };
        let is_right = is_in(self.share, share)
            && is_in(self.floor, search.floor)
            && search.held.bits_per_second() as f64 >= self.least_mbps * 1e6;
        let part = share.map(|share| format!(", {share:.3} of what fits")).unwrap_or_default();
        let loss = search.floor.map(|loss| format!(", {loss:.4} lost at any rate"));
        let text = format!("held {}{part}{}", search.held, loss.unwrap_or_default());
        Judged::new(is_right, "rate", text)
    }

    fn share_of(&self, record: &TestRecord, search: &RateSearch) -> Option<f64> {
        let frames = search.held.bits_per_second() as f64 * frame_per_payload(record)?;
        Some(frames / (self.mbps? * 1e6))
    }
}
