//! What the server counts, for monitoring systems. No counting, which `session` does, and no HTTP.

use std::sync::Arc;

use anyhow::Context;
use linux::event::EventFd;
use session::server::ServerMetrics;

use crate::http::{Listener, Service};

mod exposition;
mod pages;

use pages::ServerPages;

/// Serves these counts from now on.
pub(super) fn start(listener: Listener, counts: Arc<ServerMetrics>) -> anyhow::Result<Service> {
    // Every answer is known at once.
    let answered = EventFd::new().context("cannot serve metrics")?;
    listener.start(Box::new(ServerPages::new(counts)), Arc::new(answered))
}
