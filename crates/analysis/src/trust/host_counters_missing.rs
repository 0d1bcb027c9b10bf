//! `host-counters-missing`: hosts that report nothing of themselves, which no rule can check.

use measurement::record::Source;
use measurement::{Peer, Role};

use super::{Finding, Page, Rule, RuleId, Test};
use crate::words;

pub(crate) const PAGE: Page = Page {
    id: RuleId::HostCountersMissing,
    title: "Host reports no counters",
    what: "An end of the test, or this host itself, told nothing of its CPUs, interfaces and \
           sockets.",
    why: "Rules look at hosts that told; what no rule could check there is said once, and not \
           by each of them.",
    evidence: "Hosts that are missing in the record.",
    remedy: "A linerate at the other end, without `--no-evidence`.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    let silent = [Role::Here, Role::Peer].into_iter();
    let silent = silent.filter(|role| test.host(role).is_none());
    let nobody_watched = test.host(&Role::Here).is_none();
    let mut findings: Vec<_> = silent
        .map(|role| {
            let what = format!("CPUs, interfaces and sockets of {}", words::host(&role));
            Finding::unchecked(what, why(test, nobody_watched))
        })
        .collect();
    if nobody_watched {
        let sentence = match &test.record.origin.source {
            Source::Measured => "this host's counters were not read; leave out --no-evidence",
            Source::Imported(_) => {
                "this host's counters were not read; test with linerate at both ends"
            }
        };
        findings.push(Finding::suspect(None, sentence.to_owned()));
    }
    findings
}

fn why(test: &Test<'_>, nobody_watched: bool) -> String {
    let Some(Peer { software, .. }) = &test.record.peer else {
        return "the record has none".to_owned();
    };
    match software.starts_with("linerate") {
        _ if nobody_watched => "it was not asked for".to_owned(),
        true => format!(
            "{software} does not report them: started with --no-evidence, or gone too \
        soon"
        ),
        false => format!("{software} does not report them"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;

    #[test]
    fn a_host_that_tells_nothing_is_named() {
        let mut record = test_record::udp();
        assert_eq!(test_record::found(&RULE, &record), []);
        record.hosts.truncate(1);
        assert_eq!(
            test_record::unchecked(&RULE, &record),
            "CPUs, interfaces and sockets of the server"
        );
    }

    #[test]
    fn a_result_for_which_nobody_looked_is_suspect() {
        let mut record = test_record::udp();
        record.hosts.clear();
        let findings = test_record::found(&RULE, &record);
        assert_eq!(findings.len(), 3, "{findings:?}");
    }
}
