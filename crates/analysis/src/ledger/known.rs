//! A number of datagrams that is known within bounds.

/// A number of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) least: u64,
    pub(super) most: u64,
}

impl Known {
    /// What is missing of so many.
    pub(super) const fn of(self, whole: u64) -> Self {
        Self { least: whole.saturating_sub(self.most), most: whole.saturating_sub(self.least) }
    }

    /// What of these is not among others.
    pub(super) const fn without(self, others: Self) -> Self {
        Self {
            least: self.least.saturating_sub(others.most),
            most: self.most.saturating_sub(others.least),
        }
    }
}
