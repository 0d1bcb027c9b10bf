//! `ack-path-limited`: acknowledgements are lost or late on the way back.

use measurement::Certainty;

use super::{Case, Found, Page, Rule, RuleId};
use crate::bottleneck::transfer::{self, Transfer};
use crate::words::{counted, percent, share};

const PAGE: Page = Page {
    id: RuleId::AckPathLimited,
    title: "Acknowledgements limited on the way back",
    what: "At least a twentieth of the segments that the receiver sent did not reach the sender, and \
           the sender waited for its congestion window. It is the limit where a queue stands as well.",
    why: "TCP sends as acknowledgements arrive. A way back that is shaped, or lossy, holds up the \
          data of a way that is free: common with asymmetric lines.",
    evidence: "`tcpi_segs_out` of the receiver against `tcpi_segs_in` of the sender; `tcpi_rtt` \
               against `tcpi_min_rtt`.",
    remedy: "Look for a shaper on the way back, and raise its rate, or let it thin out \
             acknowledgements (`cake ack-filter`); a larger MTU and GRO need fewer of them.",
    source: "RFC 3449",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(case: &Case<'_>) -> Vec<Found> {
    transfer::wanting(case).iter().filter_map(|transfer| finding(case, transfer)).collect()
}

fn finding(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<Found> {
    let (sent, arrived) = transfer.acknowledgements(case)?;
    let lost = share(sent.saturating_sub(arrived), sent);
    if lost < NOTICED || !transfer.may_wait_for_the_path() {
        return None;
    }
    let waited = transfer.standing_queue(case);
    let certainty = if waited.is_some() { Certainty::Limit } else { Certainty::Candidate };
    let found = Found::new(certainty, "acknowledgements are held up on the way back".to_owned())
        .going(transfer.flow.outcome.direction)
        .explaining(lost)
        .seen(format!(
            "the receiver sent {}, of which {} did not arrive",
            counted(sent, "segment"),
            percent(lost)
        ))
        .remedy("look for a shaper on the way from the receiver to the sender (--observe HOST)");
    Some(match waited {
        Some(waited) => found.seen(format!("a queue adds {}", transfer::shown(waited))),
        None => found,
    })
}

/// Share of the acknowledgements. The kernel itself drops none of them.
const NOTICED: f64 = 0.05;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| acknowledge(record, 900))
    .silent(|record| acknowledge(record, 990));

/// The receiver sent a thousand segments.
#[cfg(test)]
fn acknowledge(record: &mut measurement::TestRecord, arrived: u32) {
    let tcp = crate::test_record::sent(record);
    tcp.segments_in = arrived;
    (tcp.rtt_micros, tcp.min_rtt_micros) = (50_000, 1_000);
    let stream = record.reported.streams[0].counted.as_mut().expect("reported");
    stream.tcp.as_mut().expect("TCP").segments_out = 1_000;
}
