//! Sizes of frames: one, or a mix.

/// The sizes of the frames of a trial, in bytes with the frame check sequence, as in RFC 2544. The
/// frames take them in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameSizes(Vec<usize>);

impl FrameSizes {
    /// Frames of one size.
    pub fn one(size: usize) -> Self {
        Self(vec![size])
    }

    /// The simple Internet mix: 7 frames of 64 bytes, 4 of 594 and 1 of 1,518, interleaved.
    pub fn imix() -> Self {
        Self(IMIX.to_vec())
    }

    /// The size of the frame with this number, with the frame check sequence.
    pub fn of(&self, number: u64) -> usize {
        let count = self.0.len().max(1) as u64;
        usize::try_from(number % count).ok().and_then(|at| self.0.get(at)).copied().unwrap_or(0)
    }

    /// All sizes, in turn.
    pub fn all(&self) -> &[usize] {
        &self.0
    }

    /// The largest size.
    pub fn largest(&self) -> usize {
        self.0.iter().copied().max().unwrap_or(0)
    }

    /// The smallest size.
    pub fn smallest(&self) -> usize {
        self.0.iter().copied().min().unwrap_or(0)
    }

    /// Bytes of all sizes of a turn on the wire: with preamble and gap.
    pub fn wire_bytes_of_turn(&self) -> u64 {
        self.0.iter().map(|size| (size + WIRE_OVERHEAD) as u64).sum()
    }

    /// Mean of the bytes that a frame takes on the wire: with preamble and gap.
    pub fn wire_bytes(&self) -> f64 {
        self.wire_bytes_of_turn() as f64 / self.0.len().max(1) as f64
    }

    /// Bytes of so many frames, with the frame check sequence.
    pub fn bytes(&self, frames: u64) -> u64 {
        let count = self.0.len().max(1) as u64;
        let turn: u64 = self.0.iter().map(|size| *size as u64).sum();
        let rest = usize::try_from(frames % count).unwrap_or(0);
        frames / count * turn + self.0.iter().take(rest).map(|size| *size as u64).sum::<u64>()
    }
}

/// Bytes that a frame takes beside its own: preamble, start delimiter and gap (IEEE 802.3).
pub const WIRE_OVERHEAD: usize = 20;
/// The frame check sequence, which the hardware adds.
pub(crate) const CHECK_SEQUENCE: usize = 4;
/// Sizes for Ethernet, in bytes (RFC 2544, section 9.1).
pub const RFC_2544_SIZES: [usize; 7] = [64, 128, 256, 512, 1024, 1280, 1518];
/// A turn of the simple Internet mix.
pub const IMIX: [usize; 12] = [64, 594, 64, 594, 64, 64, 1518, 64, 594, 64, 594, 64];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_has_its_shares() {
        let count = |size| IMIX.iter().filter(|one| **one == size).count();
        assert_eq!((count(64), count(594), count(1518)), (7, 4, 1));
        let sizes = FrameSizes::imix();
        assert_eq!(sizes.bytes(12), 7 * 64 + 4 * 594 + 1518);
        assert_eq!(sizes.bytes(13), sizes.bytes(12) + 64);
        assert_eq!(sizes.of(6), 1518);
        assert!((sizes.wire_bytes() - 381.833).abs() < 0.001);
    }
}
