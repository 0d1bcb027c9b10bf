//! `ack-path-limited`: acknowledgements are lost or late on the way back.

use measurement::Certainty;

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::load;
use crate::bottleneck::transfer::{self, Acknowledgements, Transfer};
use crate::facts::stopped;
use crate::words::{counted, percent, share};

const PAGE: Page = Page {
    id: RuleId::AckPathLimited,
    title: "ACK path limited",
    what: "At least a twentieth of the segments that the receiver sent did not reach the sender, and \
           the sender waited for its congestion window. It is the limit where a queue stands as well, or \
           where most of them are lost and data is sent again.",
    why: "TCP sends as acknowledgements arrive. A reverse path that is shaped or lossy slows the \
          data of a forward path that is free: common with asymmetric lines.",
    evidence: "`tcpi_segs_out` of the receiver against `tcpi_segs_in` of the sender; `tcpi_rtt` \
               against `tcpi_min_rtt`.",
    remedy: "Look for a shaper on the reverse path, and raise its rate, or have it filter \
             acknowledgements (`cake ack-filter`); a larger MTU and GRO need fewer of them.",
    source: "RFC 3449",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Path, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    super::in_transfers(case, finding)
}

fn finding(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<Found> {
    let acknowledgements = transfer.acknowledgements(case)?;
    let seen = lost(acknowledgements).or_else(|| rare(case, transfer, acknowledgements))?;
    if !transfer.may_wait_for_the_path() {
        return None;
    }
    let waited = transfer.standing_queue();
    // What fills a hole is acknowledged with all that waited behind it.
    let again = transfer.sent_again() * (1.0 - transfer.spurious());
    let is_data_lost = again >= LOST;
    // Where most of them are lost, data is sent again because an acknowledgement is missing.
    let are_most_lost = share_lost(acknowledgements) >= f64::max(MOST, MORE * again);
    let certainty = match waited {
        Some(_) if !is_data_lost => Certainty::Limit,
        _ if is_data_lost && are_most_lost => Certainty::Limit,
        _ => Certainty::Candidate,
    };
    let text = "acknowledgements are delayed or lost on the reverse path";
    let found = Found::new(certainty, text.to_owned())
        .going(transfer.flow.outcome.direction)
        .explaining(transfer.shares().congestion_window)
        .seen(seen)
        .remedy("look for a shaper or loss from the receiver to the sender (--observe HOST)");
    Some(match waited {
        Some(waited) => found.seen(format!("a queue adds {}", transfer::shown(waited))),
        None => found,
    })
}

/// Some of them did not arrive.
fn lost(all: Acknowledgements) -> Option<String> {
    let lost = share_lost(all);
    (lost >= NOTICED).then(|| {
        let sent = counted(all.sent, "segment");
        format!("the receiver sent {sent}, of which {} did not arrive", percent(lost))
    })
}

fn share_lost(all: Acknowledgements) -> f64 {
    share(all.sent.saturating_sub(all.arrived), all.sent)
}

/// Each stands for more than the largest packet that the kernel hands up at once: data waits for
/// them, and then arrives in bursts. CPUs without time left make bursts too.
fn rare(case: &Case<'_>, transfer: &Transfer<'_>, all: Acknowledgements) -> Option<String> {
    let each = all.data / all.arrived.max(1);
    let have_time = load::has_time(case, &transfer.sender()).unwrap_or(false)
        && load::has_time(case, &transfer.receiver()).unwrap_or(false);
    // A program that stands still reads late, and then much at once.
    let receiver = case.host(&transfer.receiver());
    let stood = case.test.zip(receiver).and_then(|(test, host)| stopped::share(test, host));
    let stands_still = stood.is_some_and(|share| share >= NOTICED);
    (each > LARGEST_PACKET && have_time && !stands_still).then(|| {
        let arrived = counted(all.arrived, "segment");
        format!("{arrived} of the receiver acknowledged {each} bytes each")
    })
}

/// Share of the acknowledgements, or of the time. The kernel itself drops none of them.
const NOTICED: f64 = 0.05;
/// Share of the acknowledgements that is most of them.
const MOST: f64 = 0.5;
/// So many times the share of the data that is sent again is lost on the way back.
const MORE: f64 = 2.0;
/// Share of the data that was lost, and not late, from which on the way of the data is to be looked
/// at first.
const LOST: f64 = 0.01;
/// Bytes that GRO joins at most (`GRO_LEGACY_MAX_SIZE`, linux/netdevice.h), and a tenth more: a
/// receiver acknowledges each of them (RFC 9293, 3.8.6.3).
const LARGEST_PACKET: u64 = 72_000;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| acknowledge(record, 9_000))
    .silent(|record| acknowledge(record, 9_900));

/// The receiver sent ten thousand segments.
#[cfg(test)]
fn acknowledge(record: &mut measurement::TestRecord, arrived: u32) {
    let tcp = crate::test_record::sent(record);
    tcp.segments_in = arrived;
    (tcp.rtt_micros, tcp.min_rtt_micros) = (50_000, 1_000);
    let stream = record.reported.streams[0].counted.as_mut().expect("reported");
    stream.tcp.as_mut().expect("TCP").segments_out = 10_000;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::Test;
    use crate::test_record;

    #[test]
    fn data_that_is_sent_again_for_want_of_acknowledgements_is_not_lost() {
        let certainty = |arrived, again| {
            let mut record = test_record::tcp();
            acknowledge(&mut record, arrived);
            let tcp = test_record::sent(&mut record);
            (tcp.rtt_micros, tcp.min_rtt_micros) = (1_000, 1_000);
            tcp.bytes_retransmitted = tcp.acknowledged / 100 * again;
            tcp.retransmits = 1_000;
            let test = Test::from_record(&record);
            check(&Case::of_test(&test, &[])).first().map(|found| found.certainty)
        };
        assert_eq!(certainty(1_200, 16), Some(Certainty::Limit));
        assert_eq!(certainty(9_000, 16), Some(Certainty::Candidate), "few are lost");
        assert_eq!(certainty(1_200, 0), Some(Certainty::Candidate), "a filter that does no harm");
    }
}
