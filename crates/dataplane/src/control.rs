//! The control workloads of each MPU, which run before all of its streams: one ends the
//! sending, one reports counters. `pool.rs` starts and signals them.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use mars::{EventFlag, Masking, Mpu, Next, Queue, Workload};
use measurement::StreamCounters;
use portable_atomic::AtomicU64;

use crate::counters::Counters;
use crate::worker_state::{WorkerState, WorkerTimes, timestamp};

/// Ends the sending on its MPU when the flag is set.
pub(crate) struct Stopper {
    pub(crate) orders: Arc<EventFlag>,
    pub(crate) times: Arc<WorkerTimes>,
}

/// The bit of the flag that ends the sending.
pub(crate) const STOP_SENDING: u32 = 1;

impl Workload for Stopper {
    type Module = WorkerState;

    fn run(&mut self, mpu: &mut Mpu<'_, WorkerState>) -> Next {
        if let Err(wait) = self.orders.wait(mpu, STOP_SENDING, Masking::Any) {
            return Next::Stalled(wait);
        }
        mpu.module.is_sending_over = true;
        self.times.stopped.store(timestamp(mpu.clock()).nanos(), Relaxed);
        Next::Finished
    }
}

/// Reports the counters of the streams of its MPU, between two of their steps, at every
/// signal.
pub(crate) struct Reporter {
    /// The counters of the streams of the MPU.
    pub(crate) counters: Vec<Arc<Counters>>,
    pub(crate) reports: Arc<ReportQueue>,
    /// Reports that were read come back here to be used again.
    pub(crate) spare: Arc<Queue<Report>>,
}

/// The reports of all MPUs on their way to the host.
pub(crate) struct ReportQueue {
    /// The number of the report that was asked for last.
    pub(crate) wanted: AtomicU64,
    pub(crate) queue: Queue<Report>,
}

/// The counters of the streams of one MPU at one instant.
pub(crate) struct Report {
    pub(crate) number: u64,
    pub(crate) mpu: usize,
    /// In the order in which the MPU got the streams. Allocated once.
    pub(crate) counters: Vec<StreamCounters>,
}

impl Workload for Reporter {
    type Module = WorkerState;

    fn run(&mut self, mpu: &mut Mpu<'_, WorkerState>) -> Next {
        loop {
            if let Err(wait) = mpu.wait_for_signal() {
                return Next::Stalled(wait);
            }
            // None is left if the host is late: it then reads the counters itself.
            if let Some(mut report) = self.spare.try_pop() {
                report.number = self.reports.wanted.load(Acquire);
                report.counters.clear();
                report.counters.extend(self.counters.iter().map(|counters| counters.read()));
                // The queue has room for all reports that exist.
                _ = self.reports.queue.try_push(report);
            }
        }
    }
}
