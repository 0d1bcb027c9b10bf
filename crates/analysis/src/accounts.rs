//! What each direction of a test came to, as its evidence shows it: where every datagram went,
//! what TCP waited for, when the rate was steady.

use std::ops::Deref;

use measurement::{
    BitRate, Bound, Direction, DirectionAccount, DirectionOutcome, Role, TestRecord, Throughput,
};

use crate::evidence::{Evidence, receiver, sender};
use crate::ledger::DirectionEvidence;
use crate::words::is_short;
use crate::{framing, ledger, steady, tcp};

/// A test as rules look at it: its evidence, and what follows from it for each direction.
pub(crate) struct Test<'a> {
    evidence: Evidence<'a>,
    /// Each direction, in the order of the outcome's.
    pub(crate) flows: Vec<Flow<'a>>,
}

/// One direction: what it came to, and what it shows.
pub(crate) struct Flow<'a> {
    pub(crate) outcome: &'a DirectionOutcome,
    pub(crate) account: DirectionAccount,
}

impl<'a> Test<'a> {
    /// The test of a record.
    pub(crate) fn from_record(record: &'a TestRecord) -> Self {
        let evidence = Evidence::from_record(record);
        let flows = record.outcome.directions.iter();
        let flows = flows.map(|outcome| Flow { outcome, account: account(&evidence, outcome) });
        let flows = flows.collect();
        Self { evidence, flows }
    }

    /// Every direction kept the rate that was asked, lost nothing, and no times were taken:
    /// what a host had to do beside that did it no harm.
    pub(crate) fn is_at_ease(&self) -> bool {
        self.record.outcome.latency.is_none()
            && !self.flows.is_empty()
            && self.flows.iter().all(|flow| flow.outcome.asked.is_some() && flow.is_kept())
    }

    /// What a sentence on one of two directions begins with.
    pub(crate) fn prefix(&self, flow: &Flow<'_>) -> String {
        let both = self.record.plan.direction == Direction::Both;
        if both { format!("{}: ", flow.outcome.direction) } else { String::new() }
    }
}

impl<'a> Deref for Test<'a> {
    type Target = Evidence<'a>;

    fn deref(&self) -> &Self::Target {
        &self.evidence
    }
}

impl Flow<'_> {
    /// Who sends.
    pub(crate) fn sender(&self) -> Role {
        sender(self.outcome.direction)
    }

    /// Who receives.
    pub(crate) fn receiver(&self) -> Role {
        receiver(self.outcome.direction)
    }

    /// Payload that the receiver got, else that it acknowledged; none: neither is known.
    pub(crate) fn arrived(&self) -> Option<Throughput> {
        self.outcome.delivered.or(self.outcome.acknowledged)
    }

    /// Whether the rate that was requested is known to have arrived; without a requested rate,
    /// whether all that was sent did.
    pub(crate) fn is_kept(&self) -> bool {
        let Some(arrived) = self.arrived() else { return false };
        let outcome = self.outcome;
        let is_due =
            |asked: BitRate| !is_short(self.arrival_rate(arrived), asked.bits_per_second());
        let is_lost = outcome.offered.is_some_and(|sent| is_short(arrived.bytes, sent.bytes))
            || outcome.datagrams.is_some_and(|all| all.lost > 0);
        // What a deep queue holds arrives after the end of the sending, and all of it does.
        let steady = self.account.steady.map(|steady| steady.rate.bits_per_second() as f64);
        let is_slower = |asked: BitRate| {
            steady.is_some_and(|rate| rate < PACE * asked.bits_per_second() as f64)
        };
        outcome.asked.is_none_or(|asked| is_due(asked) && !is_slower(asked)) && !is_lost
    }

    /// Rate of the payload that arrived over the time that its sender took, in bits per second: a
    /// receiver's time has the delay of the path as well.
    fn arrival_rate(&self, arrived: Throughput) -> u64 {
        let span = self.outcome.offered.map_or(arrived.span, |sent| sent.span.min(arrived.span));
        BitRate::average(arrived.bytes, span).bits_per_second()
    }
}

/// What one direction shows.
fn account(evidence: &Evidence<'_>, outcome: &DirectionOutcome) -> DirectionAccount {
    let direction = outcome.direction;
    let ends = DirectionEvidence {
        record: evidence.record,
        outcome,
        sender: evidence.host(&sender(direction)),
        receiver: evidence.host(&receiver(direction)),
        hosts: &evidence.hosts,
    };
    let arrived = outcome.delivered.or(outcome.acknowledged);
    let on_wire = arrived.and_then(|arrived| {
        framing::on_wire(evidence.record, arrived.rate.bits_per_second() as f64)
    });
    DirectionAccount {
        direction,
        on_wire: on_wire.map(|rate| Bound::exact(rate, "").to),
        ledger: ledger::place_datagrams(&ends),
        tcp: tcp::transfer_account(evidence.record, direction),
        steady: steady::steady_part(evidence.record, direction),
    }
}

/// Least part of a rate that was asked at which its steady part arrives.
const PACE: f64 = 0.95;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;

    fn is_kept(record: &TestRecord) -> bool {
        Test::from_record(record).flows[0].is_kept()
    }

    #[test]
    fn what_is_not_known_to_have_arrived_is_not_kept() {
        for mut record in [test_record::udp(), test_record::tcp_at_a_rate()] {
            assert!(is_kept(&record));
            record.outcome.directions[0].delivered = None;
            record.outcome.directions[0].acknowledged = None;
            assert!(!is_kept(&record));
        }
    }

    #[test]
    fn what_was_written_and_not_acknowledged_did_not_arrive() {
        let mut record = test_record::tcp_at_a_rate();
        record.outcome.directions[0].delivered = None;
        assert!(is_kept(&record), "acknowledged");
        test_record::offer(&mut record, 125_000_000, 0);
        record.outcome.directions[0].delivered = None;
        assert!(!is_kept(&record));
    }

    #[test]
    fn what_a_growing_queue_holds_has_not_arrived_at_the_rate() {
        let mut record = test_record::udp();
        assert!(is_kept(&record));
        for bytes in &mut record.reported.pulses[0].bytes {
            *bytes = *bytes / 100 * 87;
        }
        assert!(!is_kept(&record));
    }

    #[test]
    fn the_delay_of_the_path_is_no_part_of_the_rate() {
        let mut record = test_record::udp();
        let delivered = record.outcome.directions[0].delivered.as_mut().expect("reported");
        *delivered = Throughput::over(delivered.bytes, delivered.span * 11 / 10);
        assert!(is_kept(&record));
    }
}
