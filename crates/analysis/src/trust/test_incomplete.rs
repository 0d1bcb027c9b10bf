//! `test-incomplete`: the test did not end as planned.

use measurement::outcome::Ending;
use measurement::units::show_time;

use measurement::TestRecord;

use super::{Finding, Page, Rule, RuleId, Test};

pub(crate) const PAGE: Page = Page {
    id: RuleId::TestIncomplete,
    title: "Test did not end as planned",
    what: "It failed, or was interrupted.",
    why: "A failure is no slow network: what was counted up to then covers less than was \
           asked, or nothing.",
    evidence: "How the session ended.",
    remedy: "The error says it; run it again.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    let record = test.record;
    match &record.outcome.ending {
        Ending::Completed => broken(record).into_iter().collect(),
        Ending::Interrupted => {
            let ran = show_time(record.course().span(true));
            let sentence = format!(
                "the numbers are partial: the run was interrupted after {ran}; run it to its end"
            );
            vec![Finding::suspect(None, sentence)]
        }
        Ending::Failed { error } => {
            vec![Finding::invalid(
                None,
                format!("the numbers are partial: the run failed: {error}"),
            )]
        }
    }
}

/// A stream ended before its time, and the test went on without it.
fn broken(record: &TestRecord) -> Option<Finding> {
    let why = record.outcome.broken.as_ref()?;
    Some(Finding::suspect(None, format!("{why}; see the firewall, the routes and the link there")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;

    #[test]
    fn a_stream_that_broke_makes_it_suspect() {
        let mut record = test_record::udp();
        record.outcome.broken = Some("stream 1 broke: operation not permitted".to_owned());
        assert!(test_record::suspected(&RULE, &record).contains("not permitted; see the firewall"));
    }

    #[test]
    fn partial_numbers_are_suspect_and_those_of_a_failure_invalid() {
        let mut record = test_record::udp();
        assert_eq!(test_record::found(&RULE, &record), []);
        record.outcome.ending = Ending::Interrupted;
        assert!(test_record::suspected(&RULE, &record).contains("interrupted after 10 s"));
        record.outcome.ending = Ending::Failed { error: "the server is gone".to_owned() };
        assert!(test_record::refuted(&RULE, &record).ends_with("failed: the server is gone"));
    }
}
