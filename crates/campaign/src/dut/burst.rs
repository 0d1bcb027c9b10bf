//! The longest burst that arrives whole (RFC 2544, section 26.4; RFC 9004).

use measurement::dut::BackToBack;
use packets::PacketError;

use super::path::{Load, Seen};
use super::{DutStep, RowRun};

impl RowRun<'_> {
    /// Doubles the burst until frames are lost, or it takes as long as was asked, and then halves the
    /// interval. None: it was stopped, or not even one frame arrives.
    pub(super) fn burst(&mut self) -> Result<Option<BackToBack>, PacketError> {
        let mut whole = None;
        let mut frames = FIRST;
        let longest = loop {
            let seen = self.send_burst(frames)?;
            if self.path.is_stopped() {
                return Ok(None);
            }
            if !seen.is_whole() {
                break Some(frames);
            }
            whole = Some((frames, seen));
            if seen.span >= self.plan.burst {
                break None;
            }
            frames *= 2;
        };
        let Some((mut low, mut seen)) = whole else { return Ok(None) };
        if let Some(mut high) = longest {
            while high - low > (low / NEAR).max(1) {
                let middle = low.midpoint(high);
                let tried = self.send_burst(middle)?;
                if self.path.is_stopped() {
                    return Ok(None);
                }
                if tried.is_whole() {
                    (low, seen) = (middle, tried);
                } else {
                    high = middle;
                }
            }
        }
        Ok(Some(BackToBack { frames: low, load: seen.offered(), is_limit: longest.is_some() }))
    }

    fn send_burst(&mut self, frames: u64) -> Result<Seen, PacketError> {
        (self.show)(DutStep::Burst { frames });
        let lanes = self.path.lanes() as u64;
        let load = Load {
            rate: None,
            duration: self.plan.burst * 2,
            frames: Some(frames.div_ceil(lanes)),
        };
        self.path.run(&load)
    }
}

const FIRST: u64 = 8;
/// Within one part in so many the length of the burst is known.
const NEAR: u64 = 20;
