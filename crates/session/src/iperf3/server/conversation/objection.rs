//! Before a test has a place: why a client is not served.

use std::time::Duration;

use measurement::{Exchange, TestPlan, Transport};
use protocol::iperf3::ErrorCode;

use super::Conversation;
use crate::iperf3::server::request_cost::{error_code, run_spec};
use crate::preflight::HostResources;
use crate::server::evidence::Evidence;
use crate::server::limits::Excess;
use crate::server::metrics::Refusal;

/// Why a client is not served, in words and in iperf3's numbers (clause 6.6).
struct Objection {
    excess: Excess,
    code: ErrorCode,
    errno: i32,
}

impl Objection {
    /// What was asked cannot be done here; iperf3 has a number of its own for it.
    fn impossible(code: ErrorCode, errno: i32) -> Self {
        Self { excess: Excess::impossible(code.to_string()), code, errno }
    }
}

impl From<Excess> for Objection {
    fn from(excess: Excess) -> Self {
        Self { code: error_code(excess.why), errno: 0, excess }
    }
}

impl Conversation<'_> {
    /// Refuses a client that cannot be served.
    pub(super) fn judge(&mut self) {
        let Some(Objection { excess, code, errno }) = self.objection() else { return };
        self.server.metrics.refuse(excess.why);
        // A client that may not test hears no more than that.
        if errno == 0 && excess.why != Refusal::Authentication {
            self.control.machine.refuse_because(code, &excess.words);
        } else {
            self.control.machine.refuse(code, errno);
        }
        self.refusal = Some((excess.why, excess.words));
    }

    fn objection(&mut self) -> Option<Objection> {
        let parameters = &self.parameters;
        let options = &self.server.options;
        if let Some(gate) = &options.gate
            && let Err(why) = gate.admit(parameters.optional.token.as_ref())
        {
            return Some(Excess::unknown_user(&why).into());
        }
        if options.file.is_some() && parameters.plan.transport == Transport::Udp {
            return Some(Objection::impossible(ErrorCode::FILE_OVER_UDP, 0));
        }
        if let Some(cpu) = parameters.optional.server_cpu {
            let cpu = usize::try_from(cpu).unwrap_or(usize::MAX);
            if linux::host::allowed_cpus().is_ok_and(|cpus| !cpus.contains(&cpu)) {
                return Some(Objection::impossible(ErrorCode::AFFINITY, EINVAL));
            }
            self.setting.pinned = vec![cpu];
        }
        if options.evidence == Evidence::Whole && !only_watches(&parameters.plan) {
            return Some(Excess::only_watched().into());
        }
        // What a client keeps to that hears of it is no reason to refuse it.
        let mut spec = run_spec(parameters);
        if self.is_told_of_limits() {
            spec.plan = options.limits.told().applied(&spec.plan);
        }
        let excess = options.limits.excess(&spec);
        excess.or_else(|| shortage(&parameters.plan)).map(Objection::from)
    }
}

/// What this host has too little of for a test of many streams.
fn shortage(plan: &TestPlan) -> Option<Excess> {
    let host = plan.has_many_streams().then(|| HostResources::this(plan.transport))?;
    host.lacks_memory(plan).map(Excess::shortage)
}

/// Whether a test moves next to nothing: a request now and then on one stream.
fn only_watches(plan: &TestPlan) -> bool {
    let is_seldom = |exchange: Exchange| {
        exchange.is_probe() && !exchange.busy && exchange.every.is_some_and(|every| every >= SELDOM)
    };
    plan.streams == 1 && plan.exchange.is_some_and(is_seldom)
}

/// `asm-generic/errno-base.h`.
const EINVAL: i32 = 22;
/// From one request of a client that only watches to the next, at least.
const SELDOM: Duration = Duration::from_millis(100);
