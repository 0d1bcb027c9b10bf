//! What the record says of the runtime.

use std::time::Duration;

use dataplane::RuntimeStatistics;
use measurement::record::StreamRecord;
use measurement::{MpuUse, Runtime};

/// How the workers served the streams of `records`.
pub(crate) fn runtime(service: &RuntimeStatistics, records: &[StreamRecord]) -> Runtime {
    let mpus = (0..).zip(&service.mpus).map(|(index, spent)| {
        let mut own = records.iter().filter(|record| record.worker == Some(index)).peekable();
        MpuUse {
            cpu: own.peek().and_then(|record| record.cpu),
            streams: u32::try_from(own.count()).unwrap_or(u32::MAX),
            run_seconds: spent.run.as_secs_f64(),
            idle_seconds: spent.idle.as_secs_f64(),
            ready_wait_seconds: spent.ready_wait.as_secs_f64(),
            spun_seconds: spent.spun.as_secs_f64(),
            turns: spent.turns,
            sleeps: spent.sleeps,
            pauses: spent.long_sleeps,
            pause_seconds: spent.long_idle.as_secs_f64(),
            ..MpuUse::default()
        }
    });
    let seconds = |skew: Option<Duration>| skew.map(|skew| skew.as_secs_f64());
    Runtime {
        start_skew_seconds: seconds(service.start_skew),
        first_bytes_seconds: seconds(service.first_bytes),
        stop_skew_seconds: seconds(service.stop_skew),
        late_reports: service.late_reports,
        ..Runtime::new(mpus)
    }
}
