//! Whether datagrams go and come many in one piece although no engine was named: where
//! each on its own would make the tool the limit.

use std::net::SocketAddr;

use measurement::engine::{Batching as Handling, EngineName, EngineRole};
use measurement::plan::PlanDraft;
use measurement::{ByteSize, Engine, Engines, Pacing, TestPlan, Transport};

use crate::request::{Batching, Request};

/// The engines of pieces, and why they were chosen.
#[derive(Clone, Debug)]
pub(crate) struct BatchedEngines(String);

impl BatchedEngines {
    /// The choice for `request`, if its datagrams of `length` are to go in pieces: if they fit
    /// a path of `mtu` to the `server`, and if nothing asks for each on its own.
    pub(crate) fn chosen(
        request: &Request,
        server: SocketAddr,
        length: ByteSize,
        mtu: u32,
    ) -> Option<Self> {
        let options = &request.plan.options;
        // A burst, an even spacing or the pacing of the socket is about single datagrams.
        let is_free = request.plan.transport == Transport::Udp
            && request.options.batching != Batching::IfAsked
            && request.plan.exchange.is_none()
            && options.engines.is_empty()
            && !options.segmentation_offload
            && options.burst.is_none()
            && options.socket_rate.is_none()
            && options.pacing != Pacing::Even;
        let bytes = usize::try_from(length.bytes()).unwrap_or(usize::MAX);
        let fits = length.bytes() <= crate::blocks::payload(mtu, server);
        if !is_free || !fits || dataplane::segments(bytes) == 1 {
            return None;
        }
        let is_shown = request.options.batching == Batching::WherePossible;
        let shown = is_shown.then(|| "single datagrams were too slow in a trial".to_owned());
        shown.or_else(|| reason(&request.plan, length, workers(request))).map(Self)
    }

    /// `plan` with their names, as the server hears it.
    pub(crate) fn put_into(plan: &TestPlan) -> TestPlan {
        with_engines(plan, engines().map(EngineName::from).collect())
    }

    /// `plan` without them, for a peer that knows nothing of engines.
    pub(crate) fn taken_out_of(plan: &TestPlan) -> TestPlan {
        with_engines(plan, Vec::new())
    }

    /// Notes why on those that ran.
    pub(crate) fn explain(&self, used: &mut Engines) {
        let both = [&mut used.send, &mut used.receive].into_iter().flatten();
        for engine in both.filter(|engine| engines().any(|ours| engine.name.is(ours))) {
            engine.because = Some(self.0.clone());
        }
    }
}

fn with_engines(plan: &TestPlan, engines: Vec<EngineName>) -> TestPlan {
    let mut draft = PlanDraft::clone(plan);
    draft.options.engines = engines;
    draft.check().unwrap_or_else(|_| plan.clone())
}

/// Why single datagrams would be the limit; none: they are fast enough.
fn reason(plan: &TestPlan, length: ByteSize, workers: u64) -> Option<String> {
    let Some(rate) = plan.options.rate else { return Some("no rate was set".to_owned()) };
    let streams = u64::from(plan.streams);
    let bytes = rate.times(streams).bits_per_second() / 8 / workers.min(streams).max(1);
    let count = bytes / length.bytes().max(1);
    (count > SINGLE).then(|| {
        format!("{rate} is {count} datagrams a second for each worker, more than {SINGLE}")
    })
}

/// The usual engines for many datagrams in one packet, at both ends.
fn engines() -> impl Iterator<Item = &'static Engine> {
    let usual = |role| Engine::usual_for_datagrams(role, Handling::ManyInOne);
    [EngineRole::Sender, EngineRole::Receiver].into_iter().filter_map(usual)
}

fn workers(request: &Request) -> u64 {
    let allowed = || linux::host::allowed_cpus().map_or(1, |cpus| cpus.len());
    let cpus = if request.cpus.is_empty() { allowed() } else { request.cpus.len() };
    cpus as u64
}

/// Datagrams that one worker is sure to send or receive in a second, each on its own: about
/// half of what it does on a server of 2023 (`cargo xtask bench datagrams`).
const SINGLE: u64 = 250_000;

#[cfg(test)]
mod tests {
    use measurement::{BitRate, Direction};

    use super::*;

    fn reason_at(rate: Option<u64>, streams: u32, workers: u64) -> Option<String> {
        let mut draft = PlanDraft::new(Transport::Udp, Direction::Send);
        draft.streams = streams;
        draft.options.rate = rate.map(BitRate::from_bits_per_second);
        reason(&draft.check().expect("a plan"), ByteSize::from_bytes(1_000), workers)
    }

    #[test]
    fn pieces_are_for_rates_that_single_datagrams_may_not_reach() {
        assert_eq!(reason_at(None, 1, 1).as_deref(), Some("no rate was set"));
        assert_eq!(reason_at(Some(2_000_000_000), 1, 4), None);
        let fast = reason_at(Some(4_000_000_000), 1, 4).expect("half a million");
        assert!(fast.contains("500000 datagrams a second"), "{fast}");
        assert_eq!(reason_at(Some(1_000_000_000), 4, 4), None);
        assert!(reason_at(Some(1_000_000_000), 4, 1).is_some());
    }
}
