//! The pages: an index, a health check, the metrics. No I/O of its own.

use std::sync::Arc;

use session::server::ServerMetrics;

use super::exposition::Counts;
use crate::http::{Answer, Pages, Reply, Request, TEXT};
use crate::metrics::Exposition;

/// The pages of a server.
pub(super) struct ServerPages {
    exposition: Exposition,
    counts: Arc<ServerMetrics>,
}

impl ServerPages {
    pub(super) fn new(counts: Arc<ServerMetrics>) -> Self {
        Self { exposition: Exposition::new(Counts(Arc::clone(&counts))), counts }
    }
}

impl Pages for ServerPages {
    fn reply(&self, request: &Request) -> Reply {
        Reply::Now(match request.path.as_str() {
            "/" => Answer::page(TEXT, INDEX.to_owned()),
            "/healthz" if self.counts.is_stopping() => Answer::unavailable("stopping"),
            "/healthz" => Answer::page(TEXT, "ok\n".to_owned()),
            "/metrics" => Answer::metrics(request.form, self.exposition.text()),
            _ => Answer::not_found(),
        })
    }
}

const INDEX: &str = concat!(
    "linerate ",
    env!("CARGO_PKG_VERSION"),
    "\n/metrics: what it counts, /healthz: whether it takes clients\n"
);
