//! Records of which parts are not known: those that a log or one end alone gave.

use linerate_analysis::judge;
use measurement::plan::PlanDraft;
use measurement::{ByteSize, Direction, DirectionOutcome, RecordSet, TestRecord, Transport};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

#[test]
fn a_test_of_which_nothing_is_known_is_judged() {
    for transport in [Transport::Tcp, Transport::Udp] {
        let plan = PlanDraft::new(transport, Direction::Send).check().expect("a plan");
        let mut record = TestRecord::imported(plan, "a log");
        let judgement = judge(&record);
        assert!(judgement.verdict.is_none(), "{judgement:?}");
        record.outcome.directions = vec![DirectionOutcome::unknown(Direction::Send)];
        let judgement = judge(&record);
        assert_eq!(judgement.stamp, measurement::Stamp::Invalid, "nothing is confirmed");
        assert!(!judgement.unchecked.is_empty(), "what hosts did is not known");
    }
}

/// Records of full tests, and of a host on the way.
fn full() -> Vec<TestRecord> {
    let json = include_str!("../../report/tests/records/four-rows.json");
    serde_json::from_str::<RecordSet>(json).expect("records").records
}

#[test]
fn a_block_of_any_length_is_judged() {
    let fuzzed = include_str!("../../../fuzz/records/udp.json");
    let fuzzed = serde_json::from_str::<TestRecord>(fuzzed).expect("a record");
    for mut record in full().into_iter().chain([fuzzed]) {
        for length in [0, u64::MAX / 2, u64::MAX] {
            for stream in &mut record.streams {
                stream.block = ByteSize::from_bytes(length);
            }
            judge(&record);
        }
    }
}

/// Takes one part out of a value: a member of an object or an element of a list, anywhere.
fn drop_one(value: &mut Value, path: &[Index]) {
    let Some((first, rest)) = path.split_first() else { return };
    match value {
        Value::Object(members) if !members.is_empty() => {
            let key = first.get(&members.keys().cloned().collect::<Vec<_>>()).clone();
            if rest.is_empty() {
                members.remove(&key);
            } else if let Some(member) = members.get_mut(&key) {
                drop_one(member, rest);
            }
        }
        Value::Array(elements) if !elements.is_empty() => {
            let index = first.index(elements.len());
            if rest.is_empty() {
                elements.remove(index);
            } else {
                drop_one(&mut elements[index], rest);
            }
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn a_record_without_any_of_its_parts_is_judged_or_is_none(
        row in any::<Index>(),
        paths in proptest::collection::vec(
            proptest::collection::vec(any::<Index>(), 1..5),
            1..12,
        ),
    ) {
        let record = row.get(&full()).clone();
        let mut value = serde_json::to_value(&record).expect("serialises");
        for path in &paths {
            let mut less = value.clone();
            drop_one(&mut less, path);
            // What every record has stays.
            if serde_json::from_value::<TestRecord>(less.clone()).is_ok() {
                value = less;
            }
        }
        let partial = serde_json::from_value::<TestRecord>(value).expect("was read before");
        let judgement = judge(&partial);
        prop_assert_eq!(judge(&partial), judgement);
    }
}
