//! An estimate of what is usual, from values that are seen one by one.

/// A quantile of values that are seen one by one and not stored: it settles where the steps
/// up and down cancel out, at the quantile up / (up + down).
#[derive(Debug)]
pub(crate) struct Estimate {
    pub(crate) nanos: u64,
    pub(crate) up: u64,
    pub(crate) down: u64,
    pub(crate) least: u64,
    pub(crate) most: u64,
}

impl Estimate {
    pub(crate) fn learn(&mut self, nanos: u64) {
        let moved = if nanos > self.nanos {
            self.nanos + self.up
        } else {
            self.nanos.saturating_sub(self.down)
        };
        self.nanos = moved.clamp(self.least, self.most);
    }
}
