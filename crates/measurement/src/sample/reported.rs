//! The samples of many streams that a peer reported at the end, one of each stream, as a column of
//! a table.

use serde::{Deserialize, Serialize};

use super::StreamSample;
use super::fields::{Fields, Kind};
use crate::values::{Column, Values};

/// A sample of each stream, by fields; none: the peer reported none.
#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub(crate) struct Reported(Option<Fields<Vec<u32>, Values<u64>>>);

impl Column for Reported {
    type Value = Option<StreamSample>;

    fn of(values: impl Iterator<Item = Self::Value> + Clone) -> Option<Self> {
        let Some(Some(first)) = values.clone().next() else {
            return values.clone().all(|sample| sample.is_none()).then(Self::default);
        };
        let kind = Kind::of(&first);
        let is_like = |sample: Self::Value| sample.is_some_and(|one| Kind::of(&one) == kind);
        if !values.clone().all(is_like) {
            return None;
        }
        let samples = values.flatten();
        let id = samples.clone().map(|sample| sample.id).collect();
        Some(Self(Some(Fields::gather(id, kind, |get| {
            Values::of(samples.clone().map(|sample| get(&sample))).filter(|all| !all.is_default())
        }))))
    }

    fn is_default(&self) -> bool {
        self.0.is_none()
    }

    fn fits(&self, rows: usize) -> bool {
        let Some(fields) = &self.0 else { return true };
        fields.id.len() == rows && fields.numbers().all(|values| values.fits(rows))
    }

    fn at(&self, row: usize) -> Self::Value {
        let fields = self.0.as_ref()?;
        let mut sample = fields.zero(*fields.id.get(row)?);
        fields.each(|values, set| set(&mut sample, values.at(row)));
        Some(sample)
    }
}
