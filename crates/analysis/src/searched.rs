//! Verdicts on rows whose rate a search found.

use measurement::{Conclusion, RateSearchEnd, RuleId, TestRecord, Verdict};

use crate::test_record::{self, searched};
use crate::{judge, judge_together};

fn verdict(record: &TestRecord) -> Verdict {
    judge(record).verdict.expect("something was measured")
}

#[test]
fn what_nothing_explains_above_the_rate_is_the_path() {
    let row = searched(RateSearchEnd::Loss, |above| test_record::lose(above, 9_000));
    let verdict = verdict(&row);
    assert_eq!(verdict.conclusion, Conclusion::Limited);
    assert_eq!(verdict.findings[0].rule, RuleId::PathRateLimit);
    let text = "the path is the limit: it passes 90.00 Mbit/s of payload without loss; at 100.0 \
                Mbit/s 9.0 % of the datagrams were lost";
    assert!(verdict.sentence.starts_with(text), "{}", verdict.sentence);
    assert!(verdict.findings.iter().all(|one| one.rule != RuleId::UdpPathLoss), "{verdict:?}");
}

#[test]
fn what_a_host_counts_above_the_rate_names_the_host() {
    let row = searched(RateSearchEnd::Loss, |above| {
        test_record::lose(above, 3_000);
        test_record::drop_in_sockets(above, 3_000);
    });
    let verdict = verdict(&row);
    assert_eq!(verdict.findings[0].rule, RuleId::UdpReceiveBuffer, "{verdict:?}");
    assert!(verdict.findings.iter().all(|one| one.rule != RuleId::PathRateLimit), "{verdict:?}");
}

#[test]
fn a_sender_at_its_limit_is_named() {
    let row = searched(RateSearchEnd::Sender, |above| {
        test_record::send_only(above, 90_000_000);
        test_record::occupy(above, &measurement::Role::Here, 0.99);
    });
    let verdict = verdict(&row);
    let found = verdict.findings.iter().find(|one| one.rule == RuleId::SenderBelowRate);
    let text = &found.unwrap_or_else(|| panic!("{verdict:?}")).text;
    assert_eq!(text, "this host cannot send more than 72.00 Mbit/s");
}

#[test]
fn a_trial_at_a_rate_that_a_later_one_held_says_nothing() {
    let names = |held: u64| {
        let mut row = searched(RateSearchEnd::Sender, |above| {
            test_record::send_only(above, 90_000_000);
            test_record::occupy(above, &measurement::Role::Here, 0.99);
        });
        let search = row.trials.rate.as_mut().expect("a search");
        search.held = measurement::BitRate::from_bits_per_second(held);
        let findings = verdict(&row).findings;
        findings.iter().any(|one| one.rule == RuleId::SenderBelowRate)
    };
    assert!(names(90_000_000));
    assert!(!names(200_000_000));
}

#[test]
fn a_sender_that_had_time_for_as_much_is_held_up_by_the_path() {
    let here = measurement::Role::Here;
    let row = |held: f64, above: u64| {
        let mut row = searched(RateSearchEnd::Sender, |trial| {
            test_record::send_only(trial, above);
            test_record::occupy(trial, &here, 0.99);
            test_record::fill(test_record::host(trial, &here), 0.98);
        });
        test_record::fill(test_record::host(&mut row, &here), held);
        verdict(&row)
    };
    let told = row(0.70, 115_000_000);
    assert_eq!(told.findings[0].rule, RuleId::PathRateLimit, "{told:?}");
    // Here the CPU was full before, and there much more was sent.
    for told in [row(0.95, 115_000_000), row(0.70, 124_000_000)] {
        assert_eq!(told.findings[0].host, Some(here.clone()), "{told:?}");
    }
}

#[test]
fn a_row_that_loses_as_much_as_the_trial_above_is_judged_by_itself() {
    let mut row = searched(RateSearchEnd::Loss, |above| test_record::lose(above, 1_000));
    test_record::send_only(&mut row, 125_000_000);
    test_record::lose(&mut row, 1_000);
    let verdict = verdict(&row);
    assert_eq!(verdict.findings[0].rule, RuleId::UdpPathLoss, "{verdict:?}");
}

#[test]
fn a_searched_row_is_not_what_was_asked() {
    let row = searched(RateSearchEnd::Time, |_| {});
    assert_ne!(verdict(&row).conclusion, Conclusion::Delivered);
}

#[test]
fn tcp_and_a_searched_row_that_stop_at_one_rate_name_the_path() {
    let mut tcp = test_record::tcp();
    test_record::offer(&mut tcp, 108_000_000, 108_000_000);
    let row = searched(RateSearchEnd::Loss, |above| test_record::lose(above, 9_000));
    let mut records = [tcp, row];
    for record in &mut records {
        record.judgement = Some(judge(record));
    }
    judge_together(&mut records);
    for record in &records {
        let verdict = record.judgement.as_ref().and_then(|judged| judged.verdict.as_ref());
        let sentence = &verdict.expect("judged").sentence;
        assert!(
            sentence.starts_with("the path to the server is the limit: both")
                || sentence.starts_with("the path is the limit: both rows stop at"),
            "{sentence}"
        );
    }
}
