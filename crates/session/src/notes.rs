//! What a reader of the numbers must know.

use std::time::Duration;

use measurement::plan::MIN_DATAGRAM;
use measurement::record::PeerStream;
use measurement::units::show_duration;
use measurement::{
    ByteSize, Direction, DirectionOutcome, MpuUse, Runtime, TestPlan, Transport, Way,
};
use protocol::iperf3::Announcement;

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

/// Facts on what it came to; `peer` is what the server's workers did, if it told.
pub(crate) fn on(
    directions: &[DirectionOutcome],
    measured: &Measured,
    peer: Option<&Runtime>,
) -> Vec<String> {
    let mut notes = contradictions(directions);
    notes.extend(saturation(directions, measured.runtime.as_ref(), peer));
    let block = measured.records.first().map(|stream| stream.block);
    let coarse = |outcome| coarse_rate(outcome, &measured.plan, block?);
    notes.extend(directions.iter().find_map(coarse));
    notes.extend(directions.iter().find_map(different_times));
    notes
}

/// Not one request was answered.
pub(crate) fn on_calls(measured: &Measured, peer: Option<&Announcement>) -> Option<String> {
    let trips = measured.round_trips.as_ref().filter(|trips| trips.count == 0)?;
    let calls = measured.plan.exchange.is_some_and(|exchange| exchange.way == Way::Connection);
    let lost = trips.lost;
    let Some(port) = peer.filter(|_| calls).and_then(|peer| peer.ports.first()) else {
        return Some(format!("nothing was answered ({lost} given up): is the server overloaded?"));
    };
    Some(format!(
        "no connection to the server's further port {port} was answered ({lost} failed); does a \
         firewall let only its own port through?"
    ))
}

/// Workers had no time left, where more could have been sent or received.
fn saturation(
    directions: &[DirectionOutcome],
    own: Option<&Runtime>,
    peer: Option<&Runtime>,
) -> Option<String> {
    let role = |direction| {
        let sends = |outcome: &DirectionOutcome| outcome.direction == direction;
        let is_free = |outcome: &DirectionOutcome| sends(outcome) && outcome.asked.is_none();
        if directions.iter().all(is_free) { Role::FreeSender } else { Role::Other }
    };
    let ends =
        [(own, "this host", role(Direction::Send)), (peer, "the server", role(Direction::Receive))];
    let busy = ends.into_iter().filter_map(|(runtime, host, role)| {
        let runtime = runtime?;
        let busy = runtime.saturated.iter().filter_map(|index| {
            let mpu = runtime.mpus.get(*index as usize)?;
            role.is_told_by(mpu).then_some((*index, mpu))
        });
        busy_workers(&busy.collect::<Vec<_>>(), host)
    });
    let busy = busy.collect::<Vec<_>>().join(" and ");
    (!busy.is_empty() && directions.iter().any(could_be_more)).then(|| {
        format!("linerate's {busy}: the rate may be the limit of the tool, and not of the network")
    })
}

/// No rate was asked, or the one asked did not get through.
fn could_be_more(outcome: &DirectionOutcome) -> bool {
    let (Some(asked), Some(offered)) = (outcome.asked, outcome.offered) else { return true };
    is_short(offered.rate.bits_per_second(), asked.bits_per_second())
        || outcome.delivered.is_some_and(|delivered| is_short(delivered.bytes, offered.bytes))
}

/// Whether more than 2 % are missing.
fn is_short(got: u64, wanted: u64) -> bool {
    u128::from(got) * 100 < u128::from(wanted) * 98
}

/// What the workers of one end do.
#[derive(Clone, Copy)]
enum Role {
    /// Nothing but send as much as goes.
    FreeSender,
    /// Receive, or keep a rate.
    Other,
}

impl Role {
    /// Whether a busy worker may be the limit. Who sends as much as goes sleeps only when the
    /// kernel takes no more: that is the limit then, however little time is left.
    const fn is_told_by(self, mpu: &MpuUse) -> bool {
        match self {
            Self::FreeSender => mpu.sleeps <= mpu.turns / FEW_SLEEPS,
            Self::Other => true,
        }
    }
}

fn busy_workers(busy: &[(u32, &MpuUse)], host: &str) -> Option<String> {
    let names: Vec<_> = busy.iter().take(MOST_NAMED).map(|(index, _)| index.to_string()).collect();
    let names = match busy.len() - names.len() {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    };
    let share = busy.iter().map(|(_, mpu)| mpu.utilisation).sum::<f64>() / busy.len() as f64;
    let percent = 100.0 * share;
    match busy.len() {
        0 => None,
        1 => Some(format!("worker {names} on {host} was busy {percent:.0} % of the time")),
        _ => Some(format!("workers {names} on {host} were busy {percent:.0} % of the time")),
    }
}

/// So few blocks make the rate that their number decides how well it is kept.
fn coarse_rate(outcome: &DirectionOutcome, plan: &TestPlan, block: ByteSize) -> Option<String> {
    let (rate, offered) = (plan.options.rate?, outcome.offered?);
    let due = rate.bits_per_second() as f64 / 8.0 * offered.span.as_secs_f64();
    let each = offered.bytes as f64 / f64::from(plan.streams);
    let (length, beside) = (block.bytes() as f64, (each - due).abs());
    // More than a block or two beside it has other reasons.
    let is_coarse = length > due / 100.0 && beside > due / 100.0 && beside < 2.0 * length;
    is_coarse.then(|| {
        let each = length * 8.0 / rate.bits_per_second() as f64;
        let each = Duration::try_from_secs_f64(each).unwrap_or(Duration::MAX);
        format!(
            "the rate is too low for this length: {} take {} at {rate}, so that it is kept \
             only roughly in {}; {}",
            block.expanded(),
            show_duration(each),
            show_duration(offered.span),
            shorter(due / 100.0)
        )
    })
}

/// What to do about a rate that only blocks of `length` bytes would keep.
fn shorter(length: f64) -> String {
    if length < MIN_DATAGRAM as f64 {
        return "use more time (-t)".to_owned();
    }
    format!("use -l {length:.0} or less, or more time (-t)")
}

/// What one end sent the other end got, and only their times differ.
fn different_times(outcome: &DirectionOutcome) -> Option<String> {
    let (sent, got) = (outcome.acknowledged.or(outcome.offered)?, outcome.delivered?);
    // But for a thousandth, which the times of two ends explain.
    let is_all = got.bytes.abs_diff(sent.bytes) <= sent.bytes / 1_000;
    let is_slower = is_short(got.rate.bits_per_second(), sent.rate.bits_per_second());
    (is_all && is_slower).then(|| {
        format!(
            "what was sent arrived: the rates differ since the sender measured for {} and the \
             receiver for {}",
            show_duration(sent.span),
            show_duration(got.span)
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

/// One sleep in so many turns is none.
const FEW_SLEEPS: u64 = 1000;
/// Workers that are named.
const MOST_NAMED: usize = 4;

#[cfg(test)]
mod tests {
    use measurement::plan::PlanDraft;
    use measurement::{BitRate, Engines, Throughput};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn outcome(asked: Option<u64>, offered: u64, delivered: u64) -> DirectionOutcome {
        DirectionOutcome {
            direction: Direction::Send,
            asked: asked.map(BitRate::from_bits_per_second),
            offered: Some(Throughput::over(offered, SECOND)),
            acknowledged: None,
            delivered: Some(Throughput::over(delivered, SECOND)),
            retransmits: None,
            datagrams: None,
            jitter_seconds: None,
            fairness: None,
            pacing: None,
            engines: Engines::default(),
        }
    }

    fn busy(count: usize) -> Runtime {
        let mpu = MpuUse { run_seconds: 0.97, idle_seconds: 0.03, ..MpuUse::default() };
        Runtime::of(vec![mpu; count])
    }

    #[test]
    fn busy_workers_are_named_where_more_could_have_gone() {
        let note = |outcome, own: &Runtime, peer: Option<&Runtime>| {
            saturation(&[outcome], Some(own), peer)
        };
        let unlimited = note(outcome(None, 1_000, 1_000), &busy(2), None).expect("two are busy");
        assert!(unlimited.contains("workers 0, 1 on this host were busy 97 %"), "{unlimited}");
        let lossy = outcome(Some(8_000), 1_000, 900);
        let lossy = note(lossy, &busy(0), Some(&busy(1))).expect("the server is busy");
        assert!(lossy.starts_with("linerate's worker 0 on the server was busy 97 %"), "{lossy}");
        let many = note(outcome(None, 1, 1), &busy(9), None).expect("nine are busy");
        assert!(many.contains("workers 0, 1, 2, 3 and 5 more on this host were"), "{many}");
        assert_eq!(note(outcome(Some(8_000), 1_000, 1_000), &busy(1), Some(&busy(1))), None);
        assert_eq!(note(outcome(None, 1_000, 1_000), &busy(0), None), None);
    }

    #[test]
    fn who_sends_as_much_as_goes_and_has_to_wait_is_not_the_limit() {
        let mut sender = busy(1);
        (sender.mpus[0].turns, sender.mpus[0].sleeps) = (20_000, 100);
        let note =
            |asked, delivered| saturation(&[outcome(asked, 900, delivered)], Some(&sender), None);
        assert_eq!(note(None, 900), None, "the link took no more");
        assert!(note(Some(8_000), 900).is_some(), "between datagrams of a rate it sleeps anyway");
    }

    #[test]
    fn a_rate_that_a_few_blocks_make_is_noted_with_a_length_that_keeps_it() {
        let note = |offered, block| {
            let mut draft = PlanDraft::new(Transport::Tcp, Direction::Send);
            draft.options.rate = Some(BitRate::from_bits_per_second(100_000));
            let plan = draft.check().expect("a plan");
            coarse_rate(&outcome(None, offered, offered), &plan, ByteSize::from_bytes(block))
        };
        let text = note(13_140, 1_460).expect("nine datagrams where eight and a half are due");
        assert!(text.contains("1,460 bytes take 116.8ms at 100.0 kbit/s"), "{text}");
        assert!(text.ends_with("use -l 125 or less, or more time (-t)"), "{text}");
        assert_eq!(note(12_500, 125), None, "a hundred blocks");
        assert_eq!(note(12_450, 1_245), None, "it happens to fit");
        assert_eq!(note(5_000, 1_460), None, "the sender was too slow");
    }

    #[test]
    fn different_times_explain_different_rates() {
        let mut slower = outcome(None, 1_000, 1_000);
        slower.delivered = Some(Throughput::over(1_000, SECOND + SECOND / 20));
        let text = different_times(&slower).expect("five percent");
        assert!(text.contains("measured for 1s and the receiver for 1.05s"), "{text}");
        slower.delivered = Some(Throughput::over(990, SECOND + SECOND / 20));
        assert_eq!(different_times(&slower), None, "something is missing");
        assert_eq!(different_times(&outcome(None, 1_000, 1_000)), None);
    }
}
