//! `jitter-of-receiver`: jitter that is not the network's.

use measurement::Role;
use measurement::record::ArrivalClock;

use super::{Finding, Page, Rule, RuleId, Test};
use crate::accounts::Flow;
use crate::words::{count, host};

pub(crate) const PAGE: Page = Page {
    id: RuleId::JitterOfReceiver,
    title: "Jitter from the receiver, not the network",
    what: "Arrival times are those of the thread that read, or datagrams were sent in bursts.",
    why: "Then the jitter is that of the thread's scheduling, or of a burst that drains.",
    evidence: "The clock of the arrivals, and the length of batches. Where there is no time for \
           each datagram there is no jitter at all.",
    remedy: "Engines that have the kernel's times.",
    source: "RFC 3550, 6.4.1",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    let flows = test.flows.iter().filter(|flow| flow.outcome.jitter_seconds.is_some());
    flows.flat_map(|flow| [read(test, flow), heaped(test, flow)]).flatten().collect()
}

fn read(test: &Test<'_>, flow: &Flow<'_>) -> Option<Finding> {
    let own = test.record.streams.iter().filter(|stream| !stream.sender);
    let is_read = own.into_iter().any(|stream| stream.arrivals == Some(ArrivalClock::Reader));
    let is_read = is_read && flow.receiver() == Role::Here;
    is_read.then(|| {
        let sentence = format!(
            "{}jitter is from read times of {}, not from arrivals; --engine recvmmsg uses kernel \
             timestamps",
            test.prefix(flow),
            host(&Role::Here)
        );
        Finding::note(Some(&Role::Here), sentence)
    })
}

fn heaped(test: &Test<'_>, flow: &Flow<'_>) -> Option<Finding> {
    let usual = flow.outcome.pacing.as_ref()?.batches.p50;
    (usual > FEW).then(|| {
        let role = flow.sender();
        let sentence = format!(
            "{}bursts of {} datagrams: the jitter is queueing within a burst; use --pacing even",
            test.prefix(flow),
            count(usual)
        );
        Finding::note(Some(&role), sentence)
    })
}

/// What smooth pacing sends at once.
const FEW: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;

    #[test]
    fn bursts_make_jitter() {
        let mut record = test_record::udp();
        assert_eq!(test_record::found(&RULE, &record), []);
        let outcome = &mut record.outcome.directions[0];
        outcome.pacing.as_mut().expect("reported").batches.p50 = 32;
        assert!(
            test_record::noted(&RULE, &record).starts_with("bursts of 32 datagrams: the jitter is")
        );
        record.outcome.directions[0].jitter_seconds = None;
        assert_eq!(test_record::found(&RULE, &record), []);
    }

    #[test]
    fn a_reader_has_no_times_of_arrival() {
        let mut record = test_record::udp_received();
        assert_eq!(test_record::found(&RULE, &record), []);
        record.streams[0].arrivals = Some(ArrivalClock::Reader);
        assert!(
            test_record::noted(&RULE, &record)
                .starts_with("jitter is from read times of this host")
        );
    }
}
