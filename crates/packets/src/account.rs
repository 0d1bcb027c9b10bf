//! A trial with its record: what was sent is what arrived and what counters say was dropped.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dataplane::Reading;
use linux::netlink::{LinkEntry, RouteSocket};
use measurement::host::counter;
use measurement::packets::{
    CpuPerFrame, DropCount, FlowCount, FrameLatency, FrameLosses, FrameRate, PacketEngine,
    PacketsOrigin, PacketsRecord,
};

use crate::error::PacketError;
use crate::flow_counter::FlowCounts;
use crate::frame::FrameLayout;
use crate::port::Port;
use crate::trial::{FrameTrial, LiveCounts, Received, Setup, TrialOutcome, TrialPlan};

/// Runs a trial, and makes its record.
///
/// # Errors
/// Those of [`FrameTrial::open`] and [`FrameTrial::run`], and [`PacketError::Inspect`].
pub fn record(
    setup: &Setup,
    layout: &FrameLayout,
    plan: &TrialPlan,
    live: &LiveCounts,
    stop: &AtomicBool,
) -> Result<PacketsRecord, PacketError> {
    let mut trial = FrameTrial::open(setup, layout)?;
    let before = Counters::read(setup)?;
    let outcome = trial.run(plan, live, stop)?;
    let after = Counters::read(setup)?;
    let engines = (trial.send_engine.clone(), trial.receive_engine.clone());
    // Sockets and program are gone before anything is printed.
    drop(trial);
    setup.check_ports()?;
    let drops = after.drops_since(&before, setup, outcome.received.as_ref());
    let names = linux::host::system_names();
    let sent = FrameRate::new(outcome.sent.frames, outcome.sent.bytes, outcome.sent.span);
    let lost = outcome.received.as_ref().map(|received| lost(&outcome, received));
    let dropped: u64 = drops.iter().map(|one| one.frames).sum();
    let is_ordered = engines.1.as_ref().is_some_and(|one| one.engine != PacketEngine::XdpCount);
    let counts = outcome.received.as_ref().map(|received| received.counts);
    let of_order = |part: fn(FlowCounts) -> u64| counts.filter(|_| is_ordered).map(part);
    Ok(PacketsRecord {
        origin: PacketsOrigin {
            linerate: env!("CARGO_PKG_VERSION").to_owned(),
            host: names.host,
            kernel: names.kernel,
        },
        from: setup.from.name.clone(),
        to: setup.to.as_ref().map(|port| port.name.clone()),
        destination_mac: layout.addressing().destination_mac.to_string(),
        destination: layout.addressing().destination,
        sizes: layout.sizes().all().to_vec(),
        vlan: layout.addressing().vlan,
        asked_frames_per_second: plan.rate,
        duration: outcome.sent.span,
        send_engine: engines.0,
        receive_engine: engines.1,
        sent,
        received: outcome.received.as_ref().map(|one| arrived(&outcome, one, layout)),
        losses: FrameLosses {
            lost,
            duplicates: of_order(|counts| counts.duplicates),
            reordered: of_order(|counts| counts.reordered),
        },
        unaccounted: lost.map(|lost| lost.cast_signed() - dropped.cast_signed()),
        drops,
        cpu: after.cpu_since(&before, &outcome),
        latency: outcome.received.as_ref().and_then(|one| one.latency.as_ref()).map(latency),
        flows: outcome
            .received
            .iter()
            .flat_map(|one| flows(one, layout, outcome.sent.frames))
            .collect(),
        interrupted: outcome.stopped,
    })
}

fn lost(outcome: &TrialOutcome, received: &Received) -> u64 {
    outcome.sent.frames.saturating_sub(received.counts.unique())
}

/// Frames and bytes that arrived, and the time from the first of them to the last.
fn arrived(outcome: &TrialOutcome, received: &Received, layout: &FrameLayout) -> FrameRate {
    let frames = received.counts.unique();
    let late = received.last.since(outcome.sent.last).saturating_sub(received.first_delay);
    let span = outcome.sent.span + if frames > 0 { late } else { Duration::ZERO };
    FrameRate::new(frames, layout.sizes().bytes(frames), span)
}

/// The quantiles of one-way times in nanoseconds.
pub fn latency(times: &Reading<8>) -> FrameLatency {
    FrameLatency {
        frames: times.count(),
        p50_nanos: times.quantile(500),
        p90_nanos: times.quantile(900),
        p99_nanos: times.quantile(990),
        p999_nanos: times.quantile(999),
        max_nanos: times.largest(),
    }
}

fn flows(received: &Received, layout: &FrameLayout, sent: u64) -> Vec<FlowCount> {
    let flow = |(number, counts): (u16, &FlowCounts)| {
        let sent = layout.sent_of(number, sent);
        FlowCount {
            flow: number,
            sent,
            received: counts.unique(),
            lost: sent.saturating_sub(counts.unique()),
            duplicates: counts.duplicates,
            reordered: counts.reordered,
        }
    };
    (0..).zip(&received.flows).map(flow).collect()
}

/// Counters of the host that a trial changes.
#[derive(Debug)]
struct Counters {
    links: Vec<LinkEntry>,
    process: linux::host::CpuTime,
    softirq: Duration,
}

impl Counters {
    fn read(setup: &Setup) -> Result<Self, PacketError> {
        let mut route = RouteSocket::open().map_err(PacketError::Inspect)?;
        let mut links = route.links().map_err(PacketError::Inspect)?;
        let is_used = |link: &LinkEntry| {
            setup.to.iter().chain([&setup.from]).any(|port| port.index == link.index)
        };
        links.retain(is_used);
        Ok(Self { links, process: linux::host::cpu_time(), softirq: softirq() })
    }

    fn drops_since(
        &self,
        before: &Self,
        setup: &Setup,
        received: Option<&Received>,
    ) -> Vec<DropCount> {
        let mut drops = Vec::new();
        let mut add = |place: String, frames| {
            if frames > 0 {
                drops.push(DropCount { place, frames });
            }
        };
        let from = &setup.from;
        let sending = self.counter(
            before,
            from.index,
            &[counter::INTERFACE_TX_DROPPED.field(), counter::INTERFACE_TX_ERRORS.field()],
        );
        add(format!("{}, sending", from.name), sending);
        if let Some(to) = &setup.to {
            let receiving = [
                counter::INTERFACE_RX_DROPPED.field(),
                counter::INTERFACE_RX_MISSED_ERRORS.field(),
                counter::INTERFACE_RX_FIFO_ERRORS.field(),
            ];
            let of_sockets = received
                .map_or(0, |received| received.drops.iter().map(|one| one.frames).sum::<u64>());
            // A driver may count again what a socket has no room for, and veth(4) at both ends what
            // an XDP program sends and the other one has no room for.
            let again = of_sockets + if self.are_peers(from, to) { sending } else { 0 };
            let own = self.counter(before, to.index, &receiving).saturating_sub(again);
            add(format!("{}, receiving", to.name), own);
        }
        for one in received.iter().flat_map(|received| &received.drops) {
            add(one.place.clone(), one.frames);
        }
        drops
    }

    /// Whether they are the two ends of a veth(4).
    fn are_peers(&self, from: &Port, to: &Port) -> bool {
        let mut links = self.links.iter().filter(|link| link.kind.as_deref() == Some("veth"));
        links.any(|link| link.index == from.index && link.peer == Some(to.index))
    }

    fn counter(&self, before: &Self, index: u32, names: &[&str]) -> u64 {
        let sum = |counters: &Self| -> u64 {
            let link = counters.links.iter().find(|link| link.index == index);
            let all = link.into_iter().flat_map(LinkEntry::named_counters);
            all.filter(|(name, _)| names.contains(name)).map(|(_, value)| value).sum()
        };
        sum(self).saturating_sub(sum(before))
    }

    fn cpu_since(&self, before: &Self, outcome: &TrialOutcome) -> CpuPerFrame {
        let frames = outcome.sent.frames.max(1) as f64;
        let each = |span: Duration| span.as_nanos() as f64 / frames;
        CpuPerFrame {
            sender_nanos: each(outcome.sent.cpu),
            receiver_nanos: outcome.received.as_ref().map_or(0.0, |one| each(one.cpu)),
            user_nanos: each(self.process.user.saturating_sub(before.process.user)),
            system_nanos: each(self.process.system.saturating_sub(before.process.system)),
            softirq_nanos: each(self.softirq.saturating_sub(before.softirq)),
        }
    }
}

/// Time of all CPUs in softirqs.
fn softirq() -> Duration {
    linux::host::cpu_states().iter().map(|cpu| cpu.softirq).sum()
}
