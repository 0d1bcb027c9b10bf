//! `concurrent-tests`: the server ran tests of others at the same time.

use measurement::record::Neighbour;
use measurement::{BitRate, ByteSize, Role};

use super::{Finding, Page, Rule, RuleId, Test};

pub(crate) const PAGE: Page = Page {
    id: RuleId::ConcurrentTests,
    title: "Server ran other tests at the same time",
    what: "Other clients' tests moved bytes there meanwhile.",
    why: "They shared its CPUs and its link.",
    evidence: "The server's word.",
    remedy: "`--queue` at the server, or repeat.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    let record = test.record;
    let moved: Vec<_> = record.reported.shared.iter().filter(|other| other.bytes > 0).collect();
    if moved.is_empty() {
        return Vec::new();
    }
    let bytes = moved.iter().map(|other| other.bytes).fold(0, u64::saturating_add);
    let span = record.stopped.zip(record.start).map(|(stopped, start)| stopped.since(start));
    let amount = span.map_or_else(
        || ByteSize::from_bytes(bytes).to_string(),
        |span| BitRate::average(bytes, span).to_string(),
    );
    let sentence = format!(
        "{} of {} moved {amount} at the server meanwhile; test again, or serve with --queue",
        tests(&moved),
        whose(&moved)
    );
    vec![Finding::suspect(Some(&Role::Peer), sentence)]
}

fn tests(moved: &[&Neighbour]) -> String {
    let tests = moved.iter().map(|other| other.tests).fold(0, u32::saturating_add);
    if tests == 1 { "1 test".to_owned() } else { format!("{tests} tests") }
}

fn whose(moved: &[&Neighbour]) -> String {
    match moved {
        [Neighbour { address: Some(address), .. }] => address.to_string(),
        [_] => "others".to_owned(),
        several => format!("{} other clients", several.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;

    #[test]
    fn neighbours_that_moved_something_make_it_suspect() {
        let mut record = test_record::udp();
        record.reported.shared = vec![Neighbour { address: None, tests: 1, bytes: 0 }];
        assert_eq!(test_record::found(&RULE, &record), []);
        record.reported.shared[0].bytes = 12_500_000;
        let text = test_record::suspected(&RULE, &record);
        assert!(text.starts_with("1 test of others moved 10.00 Mbit/s at the"), "{text}");
    }
}
