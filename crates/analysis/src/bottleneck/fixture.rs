//! A record that fires a rule, and one that nearly does; every rule has both.

use measurement::engine::Engine;
use measurement::record::PeerReport;
use measurement::remedy::Setting;
use measurement::{Certainty, Conclusion, Direction, RuleId, TestRecord, Transport};

use super::rules::{FIXTURES, RULES};
use super::{Case, Found, Rule, verdict};
use crate::accounts::Test;
use crate::test_record;

/// What shows that a rule works.
pub(super) struct Fixture {
    pub(super) rule: &'static Rule,
    pub(super) record: fn() -> TestRecord,
    pub(super) fires: fn(&mut TestRecord),
    pub(super) silent: fn(&mut TestRecord),
}

impl Fixture {
    /// A fixture of `rule` on a clean record: [`test_record::tcp`], say.
    pub(super) const fn on(rule: &'static Rule, record: fn() -> TestRecord) -> Self {
        Self { rule, record, fires: is_missing, silent: is_missing }
    }

    /// Spoils the record so that the rule fires, and is the headline if it is sure.
    pub(super) const fn fires(self, fires: fn(&mut TestRecord)) -> Self {
        Self { fires, ..self }
    }

    /// Spoils the record a little less, or in another way that must not be mistaken for this.
    pub(super) const fn silent(self, silent: fn(&mut TestRecord)) -> Self {
        Self { silent, ..self }
    }

    fn found(&self, spoil: fn(&mut TestRecord)) -> Vec<Found> {
        let mut record = (self.record)();
        spoil(&mut record);
        let test = Test::from_record(&record);
        let attributions = test_record::attributions(&record);
        (self.rule.check)(&Case::of_test(&test, &attributions))
    }
}

/// The record that fires each rule.
pub(crate) fn firing_records() -> impl Iterator<Item = (RuleId, TestRecord)> {
    FIXTURES.iter().map(|fixture| {
        let mut record = (fixture.record)();
        (fixture.fires)(&mut record);
        (fixture.rule.page.id, record)
    })
}

fn is_missing(_: &mut TestRecord) {
    panic!("a fixture shows both when its rule fires and when it is silent");
}

#[test]
fn every_rule_has_a_fixture() {
    let of = |rule: &Rule| rule.page.id;
    let mut rules: Vec<_> = RULES.iter().map(of).collect();
    let mut fixtures: Vec<_> = FIXTURES.iter().map(|fixture| of(fixture.rule)).collect();
    rules.sort_unstable();
    fixtures.sort_unstable();
    fixtures.dedup();
    assert_eq!(rules, fixtures);
}

#[test]
fn every_rule_fires_where_it_should_and_only_there() {
    for fixture in FIXTURES {
        let id = fixture.rule.page.id;
        let found = fixture.found(fixture.fires);
        assert!(!found.is_empty(), "{id} does not fire");
        for one in found {
            assert!(!one.evidence.is_empty(), "{id} has no evidence: {}", one.text);
            assert!(!one.remedy.sentence.is_empty(), "{id} has no remedy: {}", one.text);
            assert!(!one.text.ends_with('.'), "{id}: {}", one.text);
        }
        assert_eq!(fixture.found(fixture.silent), [], "{id} fires where it should not");
    }
}

#[test]
fn every_command_of_a_remedy_is_read_back_as_its_setting() {
    let mut rules = 0;
    for fixture in FIXTURES {
        let found = fixture.found(fixture.fires);
        let changes: Vec<_> = found.iter().flat_map(|one| &one.remedy.changes).collect();
        for change in &changes {
            let command = change.command();
            assert_eq!(command.parse(), Ok(change.setting.clone()), "{command}");
        }
        rules += usize::from(!changes.is_empty());
    }
    assert!(rules >= LEAST_WITH_CHANGES, "{rules} rules name a setting");
}

#[test]
fn every_option_of_a_remedy_exists_for_the_transport_of_the_test() {
    let mut options = 0;
    for fixture in FIXTURES {
        let transport = (fixture.record)().plan.transport;
        for found in fixture.found(fixture.fires) {
            let (id, sentence) = (fixture.rule.page.id, &found.remedy.sentence);
            let changes = found.remedy.changes.iter().map(|change| &change.setting);
            let changes = changes.filter(|one| one.is_option()).map(Setting::to_string);
            for text in changes.chain([sentence.clone()]) {
                for (option, value) in options_in(&text) {
                    assert!(exists(transport, &option, &value), "{id}: {option} {value}: {text}");
                    options += 1;
                }
            }
        }
    }
    assert!(options >= LEAST_OPTIONS, "{options} options are named");
}

/// The options in a text with the word behind each, but for those of other programs.
fn options_in(text: &str) -> Vec<(String, String)> {
    let clauses = text.split([',', ';', '(', ')', ':']);
    let own = clauses.filter(|clause| !clause.split_whitespace().any(|w| PROGRAMS.contains(&w)));
    let pairs = own.flat_map(|clause| {
        let words: Vec<_> = clause.split_whitespace().map(str::to_owned).collect();
        let next = words.iter().skip(1).cloned().chain([String::new()]).collect::<Vec<_>>();
        words.into_iter().zip(next)
    });
    pairs.filter(|(word, _)| word.len() > 1 && word.starts_with('-')).collect()
}

/// Whether `linerate test` has the option, for that transport.
fn exists(transport: Transport, option: &str, value: &str) -> bool {
    match option {
        "--engine" => Engine::named(value).is_some_and(|engine| engine.transport == transport),
        "-M" | "-C" => transport == Transport::Tcp,
        _ => OPTIONS.contains(&option),
    }
}

/// Options of `linerate test` that both transports have (`cli/src/flags/test.rs`).
const OPTIONS: [&str; 12] = [
    "-P",
    "-l",
    "-w",
    "-b",
    "-t",
    "-O",
    "-u",
    "--cpus",
    "--pacing",
    "--fastest",
    "--observe",
    "--latency",
];
/// Programs that remedies name, which have options of their own.
const PROGRAMS: [&str; 8] =
    ["conntrack", "dmesg", "iptables", "sysctl", "numactl", "ethtool", "taskset", "tc"];
const LEAST_OPTIONS: usize = 40;

/// Rules whose remedy is a setting with a known value, at least.
const LEAST_WITH_CHANGES: usize = 20;

#[test]
fn what_is_sure_is_the_headline() {
    for fixture in FIXTURES {
        let id = fixture.rule.page.id;
        let mut record = (fixture.record)();
        (fixture.fires)(&mut record);
        let is_sure =
            fixture.found(fixture.fires).iter().any(|one| one.certainty == Certainty::Limit);
        if !is_sure {
            continue;
        }
        let test = Test::from_record(&record);
        let attributions = test_record::attributions(&record);
        let case = Case::of_test(&test, &attributions);
        let verdict = verdict(&test, &case).expect("something was measured");
        assert_eq!(verdict.conclusion, Conclusion::Limited, "{id}");
        assert_eq!(verdict.findings[0].rule, id, "{:?}", verdict.findings);
    }
}

#[test]
fn nothing_is_found_in_what_is_clean() {
    for record in [test_record::udp(), test_record::udp_received(), test_record::tcp_at_a_rate()] {
        let test = Test::from_record(&record);
        let verdict = verdict(&test, &Case::of_test(&test, &[])).expect("something was measured");
        assert_eq!((verdict.conclusion, verdict.findings), (Conclusion::Delivered, vec![]));
    }
}

#[test]
fn pages_are_whole_and_have_names_of_their_own() {
    let mut ids = Vec::new();
    for page in super::pages() {
        let parts = [page.title, page.what, page.why, page.evidence, page.remedy];
        assert!(parts.iter().all(|part| !part.is_empty()), "{}", page.id);
        assert!(!page.title.ends_with('.'), "{}", page.id);
        ids.push(page.id);
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

/// TCP from an iperf3, which tells only how many segments it sent again.
pub(super) fn tcp_from_iperf3(again: u64) -> TestRecord {
    let mut record = test_record::tcp();
    record.plan =
        test_record::plan_with(&record.plan, |draft| draft.direction = Direction::Receive);
    record.streams[0].sender = false;
    record.reported = PeerReport::default();
    record.hosts.truncate(1);
    let outcome = &mut record.outcome.directions[0];
    (outcome.direction, outcome.retransmits) = (Direction::Receive, Some(again));
    let last = test_record::sent(&mut record);
    (last.segment, last.min_rtt_micros) = (1_448, 20_000);
    record
}
