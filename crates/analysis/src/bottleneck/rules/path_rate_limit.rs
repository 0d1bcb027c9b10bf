//! `path-rate-limit`: the path passes a rate of its own, whatever is sent.

use measurement::{BitRate, Bound, Certainty, RateSearchEnd, Role};

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::accounts::Flow;
use crate::bottleneck::experiment::Answers;
use crate::bottleneck::load;
use crate::bottleneck::silent::{self, Arrivals};
use crate::bottleneck::transfer::{self, Transfer};
use crate::words::{percent, share};

const PAGE: Page = Page {
    id: RuleId::PathRateLimit,
    title: "Rate limit of the path",
    what: "TCP: under load the round trip was at least five times the least one and 1 ms above it, \
           while the sender waited for its congestion window and both ends had CPU time left. UDP: \
           at least half of what was sent is missing, or a search for the rate without loss found \
           one and lost datagrams above it, and no counter of a host explains most of it.",
    why: "A link, a shaper, a policer or a forwarder on the way passes so much and no more: what is \
          above waits in its queue, or is dropped. What the ends do better changes nothing.",
    evidence: "The median of the smoothed round trips (`tcpi_rtt`) against the least \
               (`tcpi_min_rtt`), where the sender tells nothing those that the receiver sees \
               (`tcpi_rcv_rtt`) while data arrives evenly, where a seventh more is enough at a rate as \
               even as a shaper's; the ledger of datagrams, and the trials \
               of the search; the time of the CPUs.",
    remedy: "Find the place (`--observe HOST` on each router): the slowest link, a shaper (on a home \
             router it may be its SQM), a policer, or a forwarder whose CPU is full. It stays the \
             limit until its rate is raised.",
    source: "RFC 8290; RFC 2544, 26.1",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Path, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    found.extend(Answers::of(case).and_then(|answers| by_an_experiment(case, &answers)));
    if found.is_empty() {
        for transfer in &transfer::wanting(case) {
            found.extend(by_its_queue(case, transfer));
        }
    }
    for arrivals in &silent::wanting(case) {
        found.extend(seen_by_the_receiver(case, arrivals));
    }
    for flow in case.wanting() {
        found.extend(match case.held_below() {
            Some(held) => by_a_search(case, flow, held),
            None => by_its_loss(flow).or_else(|| by_a_held_up_sender(case, flow)),
        });
    }
    found
}

/// Slower ends change nothing, and a slower sender empties the queue; or nothing but the path is left.
fn by_an_experiment(case: &Case<'_>, answers: &Answers<'_>) -> Option<Found> {
    let flow = case.wanting().next()?;
    let shown = answers.path(case)?;
    let found = found(flow, Certainty::Limit, "the path is the limit")?;
    Some(found.explaining(1.0).seen(shown))
}

/// The sender tells nothing: data arrives at an even rate and late, while this host has time.
fn seen_by_the_receiver(case: &Case<'_>, arrivals: &Arrivals<'_>) -> Option<Found> {
    let waited = transfer::shown(arrivals.standing_queue()?);
    let place = "the path, or the queue of the sender, is the limit";
    let has_time = load::has_time(case, &Role::Here).unwrap_or(true);
    // A quota stops a sender for tens of milliseconds, in periods that look even (cpu.max, 100 ms).
    let used = load::of_process(case, &arrivals.flow.sender());
    let may_be_held = used.is_some_and(|used| used >= HELD);
    let is_told = has_time && !may_be_held;
    let certainty = if is_told { Certainty::Limit } else { Certainty::Candidate };
    let text = format!("data arrives evenly, and a full queue adds {waited} to the round trip");
    Some(found(arrivals.flow, certainty, place)?.explaining(1.0).seen(text))
}

/// A queue on the path that stays full.
fn by_its_queue(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<Found> {
    let waited = transfer.standing_queue().filter(|_| transfer.may_wait_for_the_path())?;
    let shares = transfer.account.shares;
    let certainty = match shares {
        Some(_) if have_time(case, transfer) || transfer.is_settled(case) => Certainty::Limit,
        _ => Certainty::Candidate,
    };
    let waited = transfer::shown(waited);
    let found = found(transfer.flow, certainty, "the path, forward or reverse, is the limit")?
        .explaining(transfer.shares().congestion_window)
        .seen(format!("a full queue adds {waited} to the round trip"));
    Some(match shares {
        Some(shares) => found.seen(format!(
            "the sender waited for its congestion window {} of the time",
            percent(shares.congestion_window)
        )),
        None => found,
    })
}

/// Neither end made the queue. A receiver that tells nothing of its CPUs would close its window
/// if its program had no time to read.
fn have_time(case: &Case<'_>, transfer: &Transfer<'_>) -> bool {
    let reads = transfer.shares().receive_window < SELDOM;
    load::has_time(case, &transfer.sender()).unwrap_or(false)
        && load::has_time(case, &transfer.receiver()).unwrap_or(reads)
}

/// What is above its rate does not arrive.
fn by_its_loss(flow: &Flow<'_>) -> Option<Found> {
    let ledger = flow.account.ledger.as_ref()?;
    let lost = share(ledger.remainder_least.min(ledger.remainder), ledger.sent);
    let part = share(ledger.remainder, ledger.lost());
    if lost < MUCH || part < MOST_OF_IT {
        return None;
    }
    let is_told = ledger.sender_told && ledger.receiver_told;
    let certainty = if is_told { Certainty::Limit } else { Certainty::Candidate };
    let offered = flow.outcome.offered?.rate;
    let text = format!("{offered} were sent, and {} of the datagrams are missing", percent(lost));
    Some(found(flow, certainty, "the path is the limit")?.explaining(part).seen(text))
}

/// A rate was `held` without loss, and this higher one lost.
fn by_a_search(case: &Case<'_>, flow: &Flow<'_>, held: BitRate) -> Option<Found> {
    let ledger = flow.account.ledger.as_ref()?;
    let (offered, arrived) = (flow.outcome.offered?.rate, flow.outcome.delivered?.rate);
    let lost = share(ledger.lost(), ledger.sent);
    let part = share(ledger.remainder, ledger.lost());
    let falls_short = arrived.bits_per_second() < offered.bits_per_second() / 100 * 98;
    let above = match ledger.lost() {
        0 if !falls_short => return None,
        0 => format!("of {offered} only {arrived} arrived in time"),
        _ if part < MOST_OF_IT => return None,
        _ => format!("at {offered} {} of the datagrams were lost", percent(lost)),
    };
    // What comes late stood in a queue: of the path, where the receiver had time to read.
    let is_late_there = || load::has_time(case, &flow.receiver()) == Some(true);
    let is_told =
        ledger.sender_told && ledger.receiver_told && (ledger.lost() > 0 || is_late_there());
    let certainty = if is_told { Certainty::Limit } else { Certainty::Candidate };
    let (least, most) = (held.bits_per_second() as f64, arrived.bits_per_second() as f64);
    let arithmetic = "what passed without loss, and what arrived of more";
    let bound = Bound::between(least, most.max(least), arithmetic);
    let text = format!("the path is the limit: it passes {held} of payload without loss; {above}");
    let found = Found::new(certainty, text).going(flow.outcome.direction);
    let explained = if ledger.lost() > 0 { part } else { 1.0 };
    Some(found.allowing(bound).explaining(explained).remedy(REMEDY))
}

/// Nothing was lost, but the sender sent less than was asked although its host had CPU time: the
/// queue or path behind its socket takes no more.
fn by_a_held_up_sender(case: &Case<'_>, flow: &Flow<'_>) -> Option<Found> {
    case.search().filter(|search| search.end == RateSearchEnd::Sender)?;
    let lost = flow.account.ledger.as_ref().map_or(0, measurement::Ledger::lost);
    let has_time = |case: &Case<'_>| load::has_time(case, &flow.sender()) == Some(true);
    let text = match () {
        () if lost > 0 => return None,
        () if has_time(case) => "nothing was lost, and the sender had CPU time left to send more",
        () if case.held_with_as_much().is_some_and(has_time) => {
            "nothing was lost, and the sender had CPU time left at as much, just below the limit"
        }
        () => return None,
    };
    let place = "the path, or the queue of the sender, is the limit";
    Some(found(flow, Certainty::Limit, place)?.explaining(1.0).seen(text))
}

/// A round trip does not tell on which of its ways a queue stands.
fn found(flow: &Flow<'_>, certainty: Certainty, place: &str) -> Option<Found> {
    let rate = flow.outcome.headline()?.rate;
    let bound = Bound::exact(rate.bits_per_second() as f64, "what the path let through");
    let found = Found::new(certainty, format!("{place}: it passes {rate} of payload"));
    let found = found.going(flow.outcome.direction).allowing(bound).remedy(REMEDY);
    Some(found)
}

const REMEDY: &str = "find the slowest hop: run linerate serve --observe on the routers, add \
                      --observe ROUTER here";
/// CPU time of a program that sends, as a share of one, that a quota may hold back. Behind planted
/// shapers it was at most 0.05.
const HELD: f64 = 0.2;
/// Of the time.
const SELDOM: f64 = 0.01;
/// Of what was sent. Less may be random loss as well, until a slower run tells.
const MUCH: f64 = 0.50;
/// So much of the loss is on the path.
const MOST_OF_IT: f64 = 0.5;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| crate::test_record::lose(record, 50_000))
    .silent(|record| crate::test_record::lose(record, 30_000));

#[cfg(test)]
mod tests {
    use measurement::outcome::CpuUse;

    use super::*;
    use crate::accounts::Test;
    use crate::test_record;

    #[test]
    fn a_send_buffer_that_fills_behind_a_queue_is_no_limit() {
        let mut record = test_record::tcp();
        let tcp = test_record::sent(&mut record);
        (tcp.rtt_micros, tcp.min_rtt_micros) = (50_000, 1_000);
        tcp.send_buffer_limited_micros = 6_000_000;
        let found = |record: &measurement::TestRecord| {
            let test = Test::from_record(record);
            check(&Case::of_test(&test, &[])).first().map(|found| found.certainty)
        };
        assert_eq!(found(&record), Some(Certainty::Limit));
        test_record::sent(&mut record).rtt_micros = 1_100;
        assert_eq!(found(&record), None);
    }

    #[test]
    fn a_queue_of_a_silent_sender_shows_in_an_even_rate_and_a_longer_round_trip() {
        let found = |trip: u32, uneven: u64, cpu: f64| {
            let mut record = crate::bottleneck::fixture::tcp_from_iperf3(0);
            for sample in &mut record.samples {
                let tcp = sample.streams[0].tcp.as_mut().expect("it is TCP");
                tcp.receiver_rtt_micros = trip;
            }
            record.pulses = test_record::tcp().reported.pulses;
            let steps = record.pulses[0].bytes.iter_mut().step_by(2);
            steps.for_each(|bytes| *bytes += *bytes / 100 * uneven);
            let used = CpuUse { total: cpu, user: 0.0, system: cpu };
            record.outcome.peer_cpu = Some(used);
            let test = Test::from_record(&record);
            check(&Case::of_test(&test, &[])).first().map(|found| found.certainty)
        };
        assert_eq!(found(26_000, 0, 2.0), Some(Certainty::Limit));
        assert_eq!(found(26_000, 0, 34.0), Some(Certainty::Candidate), "a quota looks alike");
        assert_eq!(found(21_000, 0, 2.0), None, "a step of the time stamps");
        assert_eq!(found(26_000, 10, 2.0), None, "bursts of a window");
    }
}
