//! Packet delay variation of received datagrams ([`DelayVariation`]).

use serde::{Deserialize, Serialize};

use crate::pacing::Quantiles;

/// IP packet delay variation (IPDV, RFC 3393) of one direction: how much the one-way delay of a
/// datagram differs from that of the datagram that was sent before it, without the sign. A pair of
/// which one was lost or overtaken has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelayVariation {
    /// Number of pairs of datagrams.
    pub pairs: u64,
    /// Distribution of the variation in nanoseconds. With an omitted start the maximum, too, is
    /// exact to within an eighth only.
    pub nanos: Quantiles,
}

impl DelayVariation {
    /// Whether what a peer reports is plausible: no number is above `most`, and the quantiles are
    /// in their order.
    pub fn is_plausible(&self, most: u64) -> bool {
        let Quantiles { p50, p99, max } = self.nanos;
        self.pairs <= most && max <= most && [p50, p99, max].is_sorted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_that_cannot_be_is_not_plausible() {
        let nanos = Quantiles { p50: 1, p99: 2, max: 3 };
        let report = DelayVariation { pairs: 9, nanos };
        assert!(report.is_plausible(9));
        assert!(!report.is_plausible(8));
        let turned = Quantiles { p50: 4, ..nanos };
        assert!(!DelayVariation { nanos: turned, ..report }.is_plausible(9));
    }
}
