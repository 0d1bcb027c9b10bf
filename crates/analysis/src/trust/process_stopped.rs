//! `process-stopped`: the program of an end stood still.

use super::{Finding, Rule, Test};
use crate::evidence::HostView;
use crate::facts::stopped::{self, PAGE, THRESHOLDS};
use crate::words::{self, percent};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    test.ends().filter_map(|host| finding(test, host)).collect()
}

fn finding(test: &Test<'_>, host: &HostView<'_>) -> Option<Finding> {
    let share = stopped::share(test, host)?;
    let most = if test.is_at_ease() { THRESHOLDS.limiting } else { THRESHOLDS.noticeable };
    (share > most).then(|| {
        let sentence = format!(
            "linerate on {} was stopped for {} of the time; see ps (state T), a frozen cgroup, \
             vmstat 1",
            words::host(host.role()),
            percent(share)
        );
        Finding::suspect(Some(host.role()), sentence)
    })
}

#[cfg(test)]
mod tests {
    use measurement::Role;

    use super::*;
    use crate::test_record;

    #[test]
    fn a_server_that_was_stopped_makes_it_suspect() {
        let mut record = test_record::udp();
        test_record::host(&mut record, &Role::Peer).still_seconds = 0.9;
        assert_eq!(test_record::found(&RULE, &record), [], "all arrived");
        test_record::lose(&mut record, 16_000);
        let text = test_record::suspected(&RULE, &record);
        assert!(text.starts_with("linerate on the server was stopped for 9.0 %"), "{text}");
        test_record::host(&mut record, &Role::Peer).still_seconds = 0.4;
        assert_eq!(test_record::found(&RULE, &record), []);
    }
}
