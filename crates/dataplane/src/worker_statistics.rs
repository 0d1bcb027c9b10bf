//! What a worker notes of its streams beside their counters.

use crate::delay_variation::VariationStatistics;
use crate::pacing::PacingStatistics;

/// The statistics of one worker thread: it alone writes them, any thread reads them.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct WorkerStatistics {
    /// How its senders kept their rates.
    pub pacing: PacingStatistics,
    /// The delay variation that its UDP receivers saw.
    pub variation: VariationStatistics,
}
