//! How much something grew during the result, that is computed of several counters.

use measurement::host::Counter;

use super::HostView;

/// Bounds of a growth: readings begin before the result and end after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Growth {
    /// For certain during the result.
    pub(crate) least: u64,
    /// At most.
    pub(crate) most: u64,
}

impl Growth {
    /// What `formula` says of the counters of `host`, which are 0 where they are not known.
    pub(crate) fn of(
        host: &HostView<'_>,
        formula: impl Fn(&dyn Fn(Counter<'_>) -> u64) -> u64,
    ) -> Self {
        let whole = formula(&|counter| host.growth(counter).unwrap_or(0));
        let inside = formula(&|counter| host.growth_inside(counter));
        Self { least: whole.min(inside), most: whole.max(inside) }
    }

    /// Both together.
    pub(crate) const fn plus(self, other: Self) -> Self {
        Self {
            least: self.least.saturating_add(other.least),
            most: self.most.saturating_add(other.most),
        }
    }

    /// Without a number of packets that may be something else.
    pub(crate) const fn or_fewer(self, packets: u64) -> Self {
        Self { least: self.least.saturating_sub(packets), ..self }
    }
}
