//! What arrives of UDP over the rate that was asked ([`LoadCurve`]), of runs between the same hosts.

use std::net::IpAddr;

use crate::units::BitRate;

/// One run of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadPoint {
    /// Index of the record.
    pub record: usize,
    /// Requested rate; if that is not known, the rate that was sent, as the sender counted it or by
    /// the datagrams that the receiver counted, lost ones included.
    pub load: BitRate,
    /// Rate that was sent, as the sender counted it; none: it did not tell.
    pub sent: Option<BitRate>,
    /// Rate that arrived.
    pub arrived: BitRate,
    /// Lost datagrams as a share of those sent, 0 to 1; none: not known.
    pub loss: Option<f64>,
    /// Whether the load arrived, but for 2 %.
    pub is_kept: bool,
}

/// Runs of UDP from one host to another at three or more loads (the offered load of RFC 2285,
/// section 3.5.2), the least first.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadCurve {
    /// Host that sends; none: not known.
    pub from: Option<IpAddr>,
    /// Host that receives; none: not known.
    pub to: Option<IpAddr>,
    /// The runs in the order of their load.
    pub points: Vec<LoadPoint>,
    /// The highest load that arrived below the lowest that did not, and that lowest one. None: all
    /// arrived, or none, or the sender limits.
    pub knee: Option<(BitRate, BitRate)>,
    /// The highest rate that arrived. None: every load arrived, so that it shows no limit.
    pub ceiling: Option<BitRate>,
    /// Whether the sender limits: of each load that did not arrive it sent less, and what it sent
    /// arrived.
    pub is_of_sender: bool,
}
