//! What each direction shows.

use measurement::{DirectionAccount, DirectionOutcome, TestRecord};

use crate::evidence::{Host, receiver, sender};
use crate::ledger::Case;
use crate::{ledger, steady, tcp};

/// The account of one direction of `record`.
pub(crate) fn of(
    record: &TestRecord,
    hosts: &[Host<'_>],
    outcome: &DirectionOutcome,
) -> DirectionAccount {
    let direction = outcome.direction;
    let host = |role| hosts.iter().find(|host| *host.role() == role);
    let case = Case {
        record,
        outcome,
        sender: host(sender(direction)),
        receiver: host(receiver(direction)),
        hosts,
    };
    DirectionAccount {
        direction,
        ledger: ledger::of(&case),
        tcp: tcp::of(record, direction),
        steady: steady::of(record, direction),
    }
}
