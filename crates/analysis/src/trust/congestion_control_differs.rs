//! `congestion-control-differs`: the server used another congestion control than was asked.

use measurement::Role;

use super::{Finding, Page, Rule, RuleId, Test};

pub(crate) const PAGE: Page = Page {
    id: RuleId::CongestionControlDiffers,
    title: "Congestion control differs from the request",
    what: "It sends with another one.",
    why: "The result is of that one.",
    evidence: "What it read back from its sockets.",
    remedy: "Load it there, or allow it.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    let plan = &test.record.plan;
    let asked = plan.options.congestion.as_deref().filter(|_| plan.direction.receives());
    let used = test.record.reported.congestion.as_deref();
    let Some((asked, used)) = asked.zip(used).filter(|(asked, used)| asked != used) else {
        return Vec::new();
    };
    let sentence = format!(
        "asked for congestion control {asked}, the server sends with {used}: it does not have \
         {asked}, or may not use it (net.ipv4.tcp_allowed_congestion_control); load tcp_{asked} there"
    );
    vec![Finding::suspect(Some(&Role::Peer), sentence)]
}

#[cfg(test)]
mod tests {
    use measurement::Direction;

    use super::*;
    use crate::test_record;

    #[test]
    fn another_control_than_was_asked_makes_it_suspect() {
        let mut record = test_record::tcp();
        record.reported.congestion = Some("cubic".to_owned());
        assert_eq!(test_record::found(&RULE, &record), []);
        record.plan = test_record::plan_with(&record.plan, |draft| {
            draft.direction = Direction::Receive;
            draft.options.congestion = Some("bbr".to_owned());
        });
        assert!(
            test_record::suspected(&RULE, &record).contains("bbr, the server sends with cubic")
        );
        record.reported.congestion = Some("bbr".to_owned());
        assert_eq!(test_record::found(&RULE, &record), []);
    }
}
