//! The pages of `linerate probe`: an index, the probe, and the metrics of the program itself.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::ask::{Refusal, Rules};
use super::desk::{BUSY, LONGEST_WAIT, Shared};
use crate::http::{Answer, Pages, Reply, Request, TEXT, Wants};
use crate::metrics::{Exposition, Families, Name, Source};

/// The pages, and what they need.
pub(super) struct ProbePages {
    rules: Rules,
    shared: Arc<Shared>,
    exposition: Exposition,
}

impl ProbePages {
    pub(super) fn new(rules: Rules, shared: Arc<Shared>) -> Self {
        let exposition = Exposition::new(Own(Arc::clone(&shared)));
        Self { rules, shared, exposition }
    }

    fn probe(&self, request: &Request) -> Reply {
        if request.wants != Wants::Page {
            return Reply::Now(Answer::only_get());
        }
        let asked = match self.rules.read(&request.query) {
            Ok(asked) => asked,
            Err(Refusal::Invalid(why)) => {
                self.shared.count_refused(|counts| counts.invalid += 1);
                return Reply::Now(Answer::invalid(&why));
            }
            Err(Refusal::Forbidden(why)) => {
                self.shared.count_refused(|counts| counts.forbidden += 1);
                return Reply::Now(Answer::forbidden(&why));
            }
        };
        match self.shared.take(asked, request.form) {
            Some(answer) => {
                let within = LONGEST_WAIT + self.rules.max_time() + MARGIN;
                Reply::Later(answer, within)
            }
            None => Reply::Now(Answer::unavailable(BUSY)),
        }
    }
}

impl Pages for ProbePages {
    fn reply(&self, request: &Request) -> Reply {
        Reply::Now(match request.path.as_str() {
            "/" => Answer::page(TEXT, INDEX.to_owned()),
            "/healthz" => Answer::page(TEXT, "ok\n".to_owned()),
            "/metrics" => Answer::metrics(request.form, self.exposition.text()),
            "/probe" => return self.probe(request),
            _ => Answer::not_found(),
        })
    }
}

/// Metrics of the program itself.
#[derive(Debug)]
struct Own(Arc<Shared>);

impl Source for Own {
    fn write(&self, families: &mut Families<'_>) -> fmt::Result {
        let counts = self.0.counts();
        let help = "Tests that requests asked for and that have ended.";
        let ended = [("success", counts.succeeded), ("failure", counts.failed)];
        families.counters(Name("linerate_probes", None), help, "result", &ended)?;
        let help = "Requests for a test that were refused.";
        let refused =
            [("invalid", counts.invalid), ("forbidden", counts.forbidden), ("busy", counts.busy)];
        families.counters(Name("linerate_probes_refused", None), help, "reason", &refused)?;
        let help = "Tests that run.";
        families.gauge(Name("linerate_probes_running", None), help, Some(counts.running))?;
        let help = "Tests that wait for others.";
        families.gauge(Name("linerate_probes_waiting", None), help, Some(counts.waiting))
    }
}

const INDEX: &str = concat!(
    "linerate ",
    env!("CARGO_PKG_VERSION"),
    "\n/probe?target=HOST: tests a host of --allow, /metrics: what this program counts\n"
);
/// A connect, a host that stops answering, and what both ends have to say after a test.
const MARGIN: Duration = Duration::from_secs(60);
