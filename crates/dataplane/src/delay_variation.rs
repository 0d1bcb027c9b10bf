//! Statistics of the delay variation of the receivers of one worker: the worker writes them, any
//! thread reads them.

use measurement::DelayVariation;

use crate::histogram::{Histogram, Reading};

/// The delay variation (RFC 3393) that the receivers of one worker thread saw, in nanoseconds.
#[derive(Debug, Default)]
pub struct VariationStatistics(Histogram<BITS>);

impl VariationStatistics {
    /// Counts a pair of datagrams whose delays differ by `nanos`. Only the worker thread calls it.
    pub(crate) fn add(&self, nanos: u64) {
        self.0.add(nanos);
    }
}

/// The delay variation that all workers saw up to a moment.
#[derive(Debug)]
pub struct VariationReading(Reading<BITS>);

impl VariationReading {
    /// What the `workers` saw so far.
    pub fn take<'a>(workers: impl Iterator<Item = &'a VariationStatistics>) -> Self {
        Self(Reading::sum(workers.map(|worker| &worker.0)))
    }

    /// What they saw since an `earlier` reading, or in all. None: not a single pair of datagrams.
    pub fn since(self, earlier: Option<&Self>) -> Option<DelayVariation> {
        let reading = match earlier {
            Some(earlier) => self.0.since(&earlier.0),
            None => self.0,
        };
        let pairs = reading.count();
        (pairs > 0).then(|| DelayVariation { pairs, nanos: reading.quantiles() })
    }
}

/// Values are exact to within an eighth: 4 KiB for a worker.
const BITS: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_omitted_start_is_left_out() {
        let (one, two) = (VariationStatistics::default(), VariationStatistics::default());
        let workers = || [&one, &two].into_iter();
        assert_eq!(VariationReading::take(workers()).since(None), None);
        one.add(1_000_000);
        let base = VariationReading::take(workers());
        (0..98).for_each(|_| two.add(3));
        one.add(5);
        let all = VariationReading::take(workers()).since(None).expect("pairs");
        assert_eq!((all.pairs, all.nanos.p50, all.nanos.max), (100, 3, 1_000_000));
        let since = VariationReading::take(workers()).since(Some(&base)).expect("pairs");
        assert_eq!((since.pairs, since.nanos.p50, since.nanos.max), (99, 3, 5));
        let now = VariationReading::take(workers());
        assert_eq!(VariationReading::take(workers()).since(Some(&now)), None);
    }
}
