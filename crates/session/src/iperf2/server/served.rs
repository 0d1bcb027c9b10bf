//! What a test of an iperf2 client came to, for the counters and the log.

use measurement::outcome::Ending;
use portable_atomic::Ordering::Relaxed;

use crate::server::context::ServerContext;
use crate::server::log::{Log, Served};

/// Counts and reports a test that is over.
pub(super) fn report(test: &Served, server: &ServerContext, log: &dyn Log) {
    let metrics = &server.metrics;
    metrics.received.fetch_add(test.received, Relaxed);
    metrics.sent.fetch_add(test.sent, Relaxed);
    metrics.running.fetch_sub(1, Relaxed);
    match test.ending {
        Ending::Completed => {
            metrics.completed.fetch_add(1, Relaxed);
            if let Some(plan) = &test.plan {
                metrics.keep(test.peer.address.ip(), plan.transport, &test.directions);
            }
        }
        Ending::Interrupted => _ = metrics.interrupted.fetch_add(1, Relaxed),
        Ending::Failed { .. } => _ = metrics.failed.fetch_add(1, Relaxed),
    }
    log.ended(test);
}
