//! What a reader of the numbers must know.

use measurement::record::PeerStream;
use measurement::{ByteSize, Direction, DirectionOutcome, Runtime, TestPlan, Transport};

use crate::measured::Measured;

/// Facts on what was measured; the server sends with the `congestion` control that it told.
pub(crate) fn of(
    measured: &Measured,
    peer: &[PeerStream],
    congestion: Option<&str>,
) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(measured.stream_error.clone());
    let asked = measured.plan.options.window;
    let clamped = measured.records.iter().find_map(|record| {
        let got = if record.sender { record.send_buffer } else { record.receive_buffer };
        // The kernel doubles what it grants (socket(7)).
        asked.filter(|asked| got.bytes() < 2 * asked.bytes()).map(|asked| (asked, got))
    });
    if let Some((asked, got)) = clamped {
        notes.push(format!(
            "asked for a socket buffer of {}, the kernel gave {}: raise net.core.rmem_max and wmem_max",
            asked.expanded(),
            ByteSize::from_bytes(got.bytes() / 2).expanded()
        ));
    }
    let omits = !measured.plan.omit.is_zero() && measured.plan.transport == Transport::Udp;
    if omits && peer.iter().any(|stream| stream.omitted_datagrams.is_none()) {
        notes.push(
            "the peer is an iperf3 before 3.14: its loss includes the omitted start".to_owned(),
        );
    }
    notes.extend(other_congestion(&measured.plan, congestion));
    notes
}

/// Facts on what it came to, and on this end's `runtime`.
pub(crate) fn on(directions: &[DirectionOutcome], runtime: Option<&Runtime>) -> Vec<String> {
    let mut notes = contradictions(directions);
    notes.extend(runtime.and_then(|runtime| shortage(directions, runtime)));
    notes
}

/// This end sent less than was asked, and its workers had no time left for more.
fn shortage(directions: &[DirectionOutcome], runtime: &Runtime) -> Option<String> {
    if runtime.saturated.is_empty() {
        return None;
    }
    let busy: Vec<_> = runtime.saturated.iter().map(u32::to_string).collect();
    let is_short = |outcome: &&DirectionOutcome| match (outcome.asked, outcome.offered) {
        (Some(asked), Some(offered)) => {
            outcome.direction == Direction::Send
                && offered.rate.bits_per_second() < asked.bits_per_second() / 100 * 98
        }
        _ => false,
    };
    directions.iter().find(is_short).map(|_| {
        format!(
            "generator saturated: worker {} was busy for more than 90 % of the time, so that \
             this host may be what kept the rate below the one asked",
            busy.join(" and worker ")
        )
    })
}

/// The server sends with another congestion control than the one that was asked for.
fn other_congestion(plan: &TestPlan, peer: Option<&str>) -> Option<String> {
    let asked = plan.options.congestion.as_deref().filter(|_| plan.direction.receives())?;
    let used = peer.filter(|used| *used != asked)?;
    Some(format!(
        "asked for congestion control {asked}, the server sends with {used}: it does not have \
         {asked}, or may not use it (net.ipv4.tcp_allowed_congestion_control)"
    ))
}

/// Where the peer's word cannot be true.
fn contradictions(directions: &[DirectionOutcome]) -> Vec<String> {
    let more = |outcome: &&DirectionOutcome| match (outcome.offered, outcome.delivered) {
        // Duplicates and the cut of an omitted start explain a little.
        (Some(offered), Some(delivered)) => delivered.bytes / 2 > offered.bytes,
        _ => false,
    };
    let text = "the peer's numbers cannot be true: more was delivered than was sent";
    directions.iter().filter(more).map(|outcome| format!("{}: {text}", outcome.direction)).collect()
}
