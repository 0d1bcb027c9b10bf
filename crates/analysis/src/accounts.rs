//! What each direction of a test came to, as its evidence shows it: where every datagram went,
//! what TCP waited for, when the rate was steady.

use std::ops::Deref;

use measurement::{Direction, DirectionAccount, DirectionOutcome, Role, TestRecord};

use crate::evidence::{Evidence, receiver, sender};
use crate::ledger::DirectionEvidence;
use crate::words::is_short;
use crate::{ledger, steady, tcp};

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

    /// The rate asked was sent, and arrived; as much as goes always is.
    pub(crate) fn is_kept(&self) -> bool {
        let outcome = self.outcome;
        let is_sent = match (outcome.asked, outcome.offered) {
            (Some(asked), Some(offered)) => {
                !is_short(offered.rate.bits_per_second(), asked.bits_per_second())
            }
            _ => true,
        };
        let is_lost = outcome.offered.zip(outcome.delivered).is_some_and(|(sent, got)| {
            is_short(got.bytes, sent.bytes) || outcome.datagrams.is_some_and(|all| all.lost > 0)
        });
        is_sent && !is_lost
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
    DirectionAccount {
        direction,
        ledger: ledger::place_datagrams(&ends),
        tcp: tcp::transfer_account(evidence.record, direction),
        steady: steady::steady_part(evidence.record, direction),
    }
}
