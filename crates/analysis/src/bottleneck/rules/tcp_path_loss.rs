//! `tcp-path-loss`: TCP lost segments on the path.

use measurement::host::counter;
use measurement::remedy::{Change, Remedy, Setting};
use measurement::{Bound, Role, TcpSample};

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::hops::{self, Hop};
use crate::bottleneck::silent::Arrivals;
use crate::bottleneck::transfer::{self, Transfer};
use crate::facts::{backlog_drops, missed_frames, queue_drops};
use crate::words::{counted, percent, share};

const PAGE: Page = Page {
    id: RuleId::TcpPathLoss,
    title: "TCP segment loss on the path",
    what: "More than 0.1 % of the bytes were sent again, most of them needed to be, and neither \
           end nor an observed host dropped them. It is the limit where the sender also waited for its congestion \
           window half of the time; of a sender that tells nothing, where a bound by loss that tells \
           allows no more, or no end, window or queue is left as the cause.",
    why: "Each loss halves the window, or takes three tenths of it (CUBIC), so that a rate is \
          bounded by segment, round trip and loss. A slower link or a shaper on the path drops \
          what exceeds its rate: then the loss is its only sign.",
    evidence: "`tcpi_bytes_retrans` against the bytes sent; duplicate SACKs; drops of both ends.",
    remedy: "Find where: cable and port, a shaper, a router's queue (`--observe HOST`); pace the \
             sender (`tc qdisc replace dev eth0 root fq`), or another congestion control (`-C \
             bbr`).",
    source: "M. Mathis et al., The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm; \
             RFC 9438",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Loss, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    super::in_all_transfers(case, of_a_sender_that_tells, of_silent_sender)
}

fn of_a_sender_that_tells(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<Found> {
    of_one_stream(transfer).or_else(|| finding(case, transfer))
}

/// A sender that says no more than how many segments it sent again. Such loss is the limit where it
/// allows as little as arrived.
fn of_silent_sender(case: &Case<'_>, arrivals: &Arrivals<'_>) -> Option<Found> {
    let (lost, again) = (arrivals.lost()?, arrivals.sent_again()?);
    let had_arrived = arrivals.needless(case).is_some_and(|share| share >= MOST);
    if lost < NOTICED || had_arrived || arrivals.are_late(case) {
        return None;
    }
    if hops::drops(case).iter().any(Hop::is_limit) {
        return None;
    }
    let text = format!("segment loss on the path ({} of the segments)", percent(lost));
    let bound = arrivals.bound_by_loss();
    let is_limit = if let Some(bound) = &bound {
        // What any rate explains tells only where nothing else is left.
        let tells = !is_wide(bound) || arrivals.is_only_the_path_left(case);
        tells && explains(bound, arrivals.rate)
    } else {
        // The congestion control bears loss, but not how it recovers, and nothing else is left.
        let is_here = !hops::drops(case).is_empty();
        lost >= MUCH && !is_here && arrivals.is_only_the_path_left(case)
    };
    let found = if is_limit { Found::limit(text) } else { Found::candidate(text) };
    let seen = format!("{} retransmitted, as the sender reports", counted(again, "segment"));
    let found = found.going(arrivals.flow.outcome.direction).seen(seen).remedy(REMEDY);
    Some(bound.into_iter().fold(found, Found::allowing))
}

/// One stream of several loses far more than the others, and gets far less: the sum hides it.
fn of_one_stream(transfer: &Transfer<'_>) -> Option<Found> {
    let resent = |tcp: &TcpSample| {
        let again = tcp.bytes_retransmitted;
        share(again, tcp.acknowledged.saturating_add(again))
    };
    let streams = transfer.senders.iter().zip(1..);
    let (worst, number) =
        streams.max_by(|(one, _), (other, _)| resent(one).total_cmp(&resent(other)))?;
    let others = transfer.senders.len().checked_sub(1).filter(|others| *others > 0)? as f64;
    // A peer may report any number.
    let sum =
        |of: fn(&TcpSample) -> u64| transfer.senders.iter().map(of).fold(0, u64::saturating_add);
    let all = sum(|tcp| tcp.acknowledged);
    let others_got = all.saturating_sub(worst.acknowledged);
    let again = sum(|tcp| tcp.bytes_retransmitted).saturating_sub(worst.bytes_retransmitted);
    let (own, rest) = (worst.acknowledged as f64, others_got as f64);
    let rest_resent = share(again, others_got);
    let is_worse = resent(worst) >= WORSE * rest_resent.max(NOTICED);
    // As much as the others get would be so much more in all.
    let gain = (rest / others - own) / all.max(1) as f64;
    if !is_worse || gain < GAIN {
        return None;
    }
    let (lost, usual) = (percent(resent(worst)), percent(rest_resent));
    let text =
        format!("stream {number} loses segments on its path ({lost} of its bytes retransmitted)");
    let part = percent(own / (rest / others).max(1.0));
    let found = Found::limit(text).going(transfer.flow.outcome.direction).explaining(gain);
    let seen = format!("it got {part} of the rate of the others, which retransmitted {usual}");
    Some(found.seen(seen).remedy(
        "find the link of that stream: the hash of a bond or of ECMP chooses it by address and port",
    ))
}

/// Whether a bound by loss is near a rate in bytes a second.
fn explains(bound: &Bound, rate: f64) -> bool {
    let (from, to) = (bound.from.bits_per_second() as f64, bound.to.bits_per_second() as f64);
    (from / FACTOR..=to * FACTOR).contains(&(8.0 * rate))
}

/// Whether a bound by loss leaves so much room that it tells little.
fn is_wide(bound: &Bound) -> bool {
    bound.to.bits_per_second() / bound.from.bits_per_second().max(1) >= WIDE
}

fn finding(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<Found> {
    let lost = transfer.sent_again();
    let is_told = || {
        let bound = transfer.bound_by_loss(case);
        lost >= LEAST && bound.is_some_and(|bound| explains(&bound, transfer.rate))
    };
    if transfer.spurious() >= 0.5 || (lost < NOTICED && !is_told()) {
        return None;
    }
    let at_the_ends = dropped(case, transfer);
    let segments = transfer.account.retransmitted_segments;
    let is_theirs = segments > 0 && at_the_ends.saturating_mul(2) >= segments;
    if is_theirs {
        return None;
    }
    if hops::drops(case).iter().any(Hop::is_limit) {
        return None;
    }
    let found = on_the_path(case, transfer, lost);
    Some(found.going(transfer.flow.outcome.direction).seen(format!(
        "{} retransmitted, {} of them spuriously; the ends count {}",
        counted(segments, "segment"),
        percent(transfer.spurious()),
        counted(at_the_ends, "drop")
    )))
}

fn on_the_path(case: &Case<'_>, transfer: &Transfer<'_>, lost: f64) -> Found {
    let text = format!("segment loss on the path ({} of the bytes retransmitted)", percent(lost));
    let may_be = transfer.account.shares.is_some() && transfer.may_wait_for_the_path();
    let found = if may_be && !transfer.are_late(case) {
        Found::limit(text)
    } else {
        Found::candidate(text)
    };
    let found = found.explaining(transfer.shares().congestion_window).remedy(REMEDY);
    let found = match tolerant(case, &transfer.sender()) {
        Some(change) => Found { remedy: Remedy::from(REMEDY).with(change), ..found },
        None => found,
    };
    transfer.bound_by_loss(case).into_iter().fold(found, Found::allowing)
}

/// A congestion control that does not take each loss for congestion, where the sender has it: of the
/// test if it names one, else of the host.
fn tolerant(case: &Case<'_>, sender: &Role) -> Option<Change> {
    let settings = &case.host(sender)?.evidence.inventory.settings;
    let asked = case.test?.record.plan.options.congestion.as_deref();
    let current = asked.or_else(|| settings.get(CURRENT).map(|name| name.trim()))?;
    let available = settings.get(AVAILABLE)?;
    let is_there = available.split_ascii_whitespace().any(|name| name == TOLERANT);
    (is_there && current != TOLERANT)
        .then(|| match asked {
            Some(_) => Change::new(&Role::Here, Setting::Congestion(TOLERANT.to_owned())),
            None => Change::new(sender, super::sysctl(CURRENT, TOLERANT)),
        })
        .map(|change| change.replacing(current))
}

/// Drops of both ends that can have been this direction's.
pub(super) fn dropped(case: &Case<'_>, transfer: &Transfer<'_>) -> u64 {
    let (sender, receiver) = (transfer.sender(), transfer.receiver());
    let sent = case.host(&sender).map_or(0, |host| {
        let unsent = host.sum(counter::INTERFACE_TX_DROPPED).unwrap_or(0);
        queue_drops::of_all(host).saturating_add(unsent)
    });
    let host = case.host(&receiver);
    let unfetched = host.map_or(0, |host| {
        let backlog = backlog_drops::dropped(host).map_or(0, |dropped| dropped.packets);
        missed_frames::of_all(host).saturating_add(backlog)
    });
    let names = [
        counter::TCP_BACKLOG_DROP,
        counter::TCP_RCV_Q_DROP,
        counter::TCP_OFO_DROP,
        counter::TCP_ZERO_WINDOW_DROP,
    ];
    let refused = transfer::grown(host, &names);
    let refused = refused.iter().map(|(_, times)| *times).fold(0, u64::saturating_add);
    sent.saturating_add(unfetched).saturating_add(refused)
}

/// So many times the loss of the other streams is worse.
const WORSE: f64 = 4.0;
/// Least gain, as a share of what arrives, of what limits.
const GAIN: f64 = 0.1;
/// BBR models rate and round trip (draft-ietf-ccwg-bbr).
const TOLERANT: &str = "bbr";
const CURRENT: &str = "net.ipv4.tcp_congestion_control";
const AVAILABLE: &str = "net.ipv4.tcp_available_congestion_control";
const REMEDY: &str = "check cables, ports and routers (--observe HOST); if a lower rate (-b) \
                      loses nothing, it is a shaper";
/// The models of the response to loss are as near as this.
const FACTOR: f64 = 2.0;
/// Least share of the segments sent again that had arrived before.
const MOST: f64 = 0.5;
/// Ratio of the two rates of a bound from which on it tells little.
const WIDE: u64 = 100;
/// Of the bytes. To be calibrated.
const NOTICED: f64 = 0.001;
/// Least share of the segments that limits a silent sender whose congestion control bears loss.
const MUCH: f64 = 0.01;
/// Where that is what the congestion control makes of it, on a long path.
const LEAST: f64 = 0.000_2;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| crate::test_record::send_again(record, 1_000, 10))
    .silent(|record| crate::test_record::send_again(record, 20, 0));

#[cfg(test)]
mod tests {
    use measurement::outcome::CpuUse;
    use measurement::{Certainty, Role};

    use super::*;
    use crate::accounts::Test;
    use crate::bottleneck::fixture;
    use crate::test_record;

    #[test]
    fn much_loss_under_bbr_limits_where_nothing_else_is_left() {
        let certainty = |peer: f64, here: f64| {
            let mut record = fixture::tcp_from_iperf3(20_000);
            record.plan = test_record::plan_with(&record.plan, |draft| {
                draft.options.congestion = Some("bbr".to_owned());
            });
            test_record::fill(test_record::host(&mut record, &Role::Here), here);
            record.outcome.peer_cpu = Some(CpuUse { total: peer, user: 0.0, system: peer });
            let test = Test::from_record(&record);
            check(&Case::of_test(&test, &[])).first().map(|found| found.certainty)
        };
        assert_eq!(certainty(17.0, 0.2), Some(Certainty::Limit));
        assert_eq!(certainty(97.0, 0.2), Some(Certainty::Candidate), "the sender may be full");
        assert_eq!(certainty(17.0, 0.98), Some(Certainty::Candidate), "the receiver is full");
    }

    #[test]
    fn one_bad_stream_of_two_is_not_summed_away() {
        let limit = |again: u64, part: u64| {
            let mut record = test_record::tcp();
            record.streams.push(record.streams[0].clone());
            for sample in &mut record.samples {
                sample.streams.push(sample.streams[0]);
            }
            let last = record.samples.last_mut().expect("samples");
            let bad = last.streams[1].tcp.as_mut().expect("it is TCP");
            bad.acknowledged /= part;
            bad.bytes_retransmitted = again;
            let test = Test::from_record(&record);
            let found = check(&Case::of_test(&test, &[]));
            found.first().map(|found| found.text.clone())
        };
        let bad = limit(3_000_000, 40).expect("found");
        assert!(bad.starts_with("stream 2 loses segments on its path"), "{bad}");
        assert_eq!(limit(0, 40), None, "a slow stream without loss");
        assert_eq!(limit(100_000, 1), None, "a little loss that costs nothing");
    }

    #[test]
    fn a_bound_that_explains_any_rate_tells_only_where_nothing_else_is_left() {
        let certainty = |peer: f64| {
            let mut record = fixture::tcp_from_iperf3(600);
            let tcp = test_record::sent(&mut record);
            (tcp.segment, tcp.min_rtt_micros) = (1_448, 3);
            let total = peer;
            record.outcome.peer_cpu = Some(CpuUse { total, user: 0.0, system: total });
            test_record::fill(test_record::host(&mut record, &Role::Here), 0.2);
            let test = Test::from_record(&record);
            check(&Case::of_test(&test, &[])).first().map(|found| found.certainty)
        };
        assert_eq!(certainty(17.0), Some(Certainty::Limit));
        assert_eq!(certainty(61.0), Some(Certainty::Candidate), "a quota may hold the sender");
    }
}
