//! Records that were captured are judged: files of hosts that told nothing of themselves.

use linerate_analysis::judge;
use measurement::{Judgement, RecordSet, RuleId, Stamp, TestRecord};

fn one(json: &str) -> Judgement {
    judge(&serde_json::from_str::<TestRecord>(json).expect("a record"))
}

fn rules(judgement: &Judgement) -> Vec<RuleId> {
    judgement.reasons.iter().map(|reason| reason.rule).collect()
}

#[test]
fn a_failure_is_invalid() {
    let judgement = one(include_str!("../../report/tests/records/failed-tcp.json"));
    assert_eq!(judgement.stamp, Stamp::Invalid);
    assert!(rules(&judgement).contains(&RuleId::TestIncomplete), "{judgement:?}");
}

#[test]
fn partial_numbers_are_no_valid_ones() {
    let judgement = one(include_str!("../../report/tests/records/interrupted-udp.json"));
    assert!(judgement.stamp >= Stamp::Suspect, "{judgement:?}");
    assert!(rules(&judgement).contains(&RuleId::TestIncomplete), "{judgement:?}");
}

#[test]
fn what_hosts_do_not_tell_is_said_not_to_be_known() {
    let json = include_str!("../../report/tests/records/four-rows.json");
    let records = serde_json::from_str::<RecordSet>(json).expect("records");
    for record in &records.records {
        let judgement = judge(record);
        assert_eq!(judgement.unchecked.len(), 2, "{judgement:?}");
        assert_eq!(judgement.directions.len(), record.outcome.directions.len());
        let ledgers = judgement.directions.iter().filter_map(|one| one.ledger.as_ref());
        for ledger in ledgers {
            assert!(!ledger.receiver_told && ledger.drops.is_empty(), "{ledger:?}");
            assert_eq!(ledger.remainder, ledger.lost());
        }
    }
}
