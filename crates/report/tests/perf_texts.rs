//! Texts of perf as people keep them: two in one file, quoted in a mail, from a screen, in another
//! language.

use analysis::attribute;
use linerate_report::Width;
use linerate_report::import::{Imported, Table, importer};
use linerate_report::tables::{self, AttributedTable};
use measurement::verdict::Work;
use measurement::{Attribution, BitRate, Profile};

fn import(text: &str) -> (Imported, Vec<usize>) {
    let format = importer(text.as_bytes()).expect("it is perf's");
    let imported = format.read(text.as_bytes()).expect("it has rows");
    (imported, format.unread(text.as_bytes()))
}

fn tables_of(text: &str) -> (Vec<Table>, Vec<usize>) {
    match import(text) {
        (Imported::Tables(tables), unread) => (tables, unread),
        other => panic!("it has several tables: {other:?}"),
    }
}

fn attributed(profile: &Profile) -> Attribution {
    attribute(profile, Some("riscv64"), Some(BitRate::from_bits_per_second(686_000_000)))
}

fn share(attribution: &Attribution, work: Work) -> f64 {
    attribution.work.get(&work).map_or(0.0, |cost| cost.share)
}

fn assert_shares(profile: &Profile, work: Work, percent: f64) {
    let found = share(&attributed(profile), work);
    assert!((100.0 * found - percent).abs() < 1e-6, "{work}: {found}");
}

#[test]
fn two_reports_in_one_file_are_compared_and_not_added() {
    let (tables, unread) = tables_of(include_str!("perf/two-reports.txt"));
    let places: Vec<_> = tables.iter().map(|table| (table.line, &*table.heading)).collect();
    assert_eq!(places, [(3, "Before"), (29, "After")]);
    assert!(unread.is_empty(), "{unread:?}");
    assert_shares(&tables[0].profile, Work::CopyUser, 33.71);
    assert_shares(&tables[1].profile, Work::CopyUser, 9.63);
    assert_shares(&tables[0].profile, Work::CopyMemory, 41.28);
    assert_shares(&tables[1].profile, Work::CopyMemory, 52.40);
    assert!(tables.iter().all(|table| table.profile.event == "cpu-clock"));
}

#[test]
fn the_comparison_of_two_reports_is_printed() {
    let (tables, _) = tables_of(include_str!("perf/two-reports.txt"));
    let tables = tables.into_iter().map(|table| AttributedTable {
        line: table.line,
        section: table.section,
        heading: table.heading,
        attribution: attributed(&table.profile),
    });
    let mut out = Vec::new();
    tables::write(&tables.collect::<Vec<_>>(), Width::UNKNOWN, &mut out)
        .expect("a vector takes all");
    insta::assert_snapshot!(String::from_utf8(out).expect("it is text"));
}

#[test]
fn screens_after_one_another_are_told_apart() {
    let (tables, unread) = tables_of(include_str!("perf/two-screens.txt"));
    let places: Vec<_> = tables.iter().map(|table| (table.line, &*table.heading)).collect();
    assert_eq!(places, [(1, "task-clock"), (8, "task-clock")]);
    assert!(unread.is_empty(), "{unread:?}");
    assert_shares(&tables[0].profile, Work::CopyMemory, 40.40);
    assert_shares(&tables[1].profile, Work::CopyMemory, 50.35);
    assert!(tables.iter().all(|table| table.profile.event == "task-clock"));
}

#[test]
fn a_screen_with_commas_and_signs_is_read() {
    let text = include_str!("perf/screen-with-commas.txt");
    let (Imported::Profile(profile), unread) = import(text) else { panic!("one table: {text}") };
    assert!(unread.is_empty(), "{unread:?}");
    let attribution = attribute(&profile, Some("aarch64"), None);
    for (work, percent) in
        [(Work::CopyUser, 38.02), (Work::Driver, 12.40), (Work::Locking, 6.77), (Work::User, 2.50)]
    {
        assert!((100.0 * share(&attribution, work) - percent).abs() < 1e-6, "{attribution:?}");
    }
}

#[test]
fn a_quoted_mail_has_its_tables_and_the_rest_is_counted() {
    let (tables, unread) = tables_of(include_str!("perf/quoted-mail.txt"));
    let headings: Vec<_> = tables.iter().map(|table| &*table.heading).collect();
    let own = "Thanks, that is what I hoped for.";
    assert_eq!(headings, ["with 6.1 I see:", "and with the patch:", own]);
    assert_shares(&tables[0].profile, Work::CopyMemory, 41.28);
    assert_shares(&tables[1].profile, Work::CopyMemory, 35.20);
    assert_shares(&tables[2].profile, Work::CopyMemory, 20.10);
    // The greeting, the share that nobody can read, and the thanks.
    assert_eq!(unread, [2, 11, 18]);
}
