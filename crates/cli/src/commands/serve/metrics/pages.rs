//! The pages: an index, a health check, the metrics. No I/O of its own.

use std::sync::Arc;

use session::server::ServerMetrics;

use super::exposition::Exposition;
use super::http::{Answer, Asked, Form, Request, TEXT, Wants};
use super::plain;

/// The pages of the metrics server, and the answers to requests.
pub(super) struct Pages {
    exposition: Exposition,
    counts: Arc<ServerMetrics>,
}

impl Pages {
    pub(super) fn new(counts: Arc<ServerMetrics>) -> Self {
        Self { exposition: Exposition::new(Arc::clone(&counts)), counts }
    }

    /// The bytes to send; none: not all of the request is there.
    pub(super) fn answer(&self, asked: Asked) -> Option<Vec<u8>> {
        match asked {
            Asked::Incomplete => None,
            Asked::Invalid => Some(Answer::bad_request().written()),
            Asked::Request(request) => Some(self.read_out(&request)),
        }
    }

    fn read_out(&self, request: &Request) -> Vec<u8> {
        match request.wants {
            Wants::Page => self.page(request).written(),
            Wants::Head => self.page(request).head().into_bytes(),
            Wants::Else => Answer::not_allowed().written(),
        }
    }

    fn page(&self, request: &Request) -> Answer {
        match (request.path.as_str(), request.form) {
            ("/", _) => Answer::page(TEXT, INDEX.to_owned()),
            ("/healthz", _) if self.counts.is_stopping() => Answer::unavailable("stopping\n"),
            ("/healthz", _) => Answer::page(TEXT, "ok\n".to_owned()),
            ("/metrics", Form::OpenMetrics) => Answer::page(OPEN_METRICS, self.exposition.text()),
            ("/metrics", Form::Plain) => {
                Answer::page(PLAIN, plain::from_open_metrics(&self.exposition.text()))
            }
            _ => Answer::not_found(),
        }
    }
}

const INDEX: &str = concat!(
    "linerate ",
    env!("CARGO_PKG_VERSION"),
    "\n/metrics: what it counts, /healthz: whether it takes clients\n"
);
/// OpenMetrics 1.0, section "Protocol Negotiation".
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Prometheus, "Exposition formats".
const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";
