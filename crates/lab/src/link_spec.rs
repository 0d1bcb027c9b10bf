//! The settings of a link.

use crate::error::LabError;
use crate::shape::Shape;

/// Shaping and MTU of a test link. The default is Ethernet (MTU 1500) without shaping.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkSpec {
    /// Shaping of each direction; `None`: as fast as the machine.
    pub shape: Option<Shape>,
    /// Largest network-layer packet in bytes; 1500 if `None`. The kernel keeps
    /// IPv6 off a link below 1280 (RFC 8200, section 5).
    pub mtu: Option<u32>,
}

impl LinkSpec {
    pub(crate) fn require_burst_of_a_frame(&self) -> Result<(), LabError> {
        let mtu = self.mtu.unwrap_or(DEFAULT_MTU);
        let frame_bytes = mtu.saturating_add(ETHERNET_HEADER_BYTES);
        match self.shape {
            Some(Shape { burst_bytes, .. }) if burst_bytes < frame_bytes => {
                Err(LabError::BurstBelowFrame { burst_bytes, frame_bytes })
            }
            _ => Ok(()),
        }
    }
}

const DEFAULT_MTU: u32 = 1500;
const ETHERNET_HEADER_BYTES: u32 = 14;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Rate;

    #[test]
    fn a_burst_below_one_frame_is_refused() {
        let rate = Rate::from_bits_per_second(1_000_000).expect("not zero");
        let shape = |burst_bytes| Some(Shape { burst_bytes, ..Shape::with_rate(rate) });
        let spec = |burst_bytes, mtu| LinkSpec { shape: shape(burst_bytes), mtu };
        assert!(spec(1514, None).require_burst_of_a_frame().is_ok());
        assert!(spec(1513, None).require_burst_of_a_frame().is_err());
        assert!(spec(9000, Some(9000)).require_burst_of_a_frame().is_err());
        assert!(LinkSpec::default().require_burst_of_a_frame().is_ok());
    }
}
