//! Texts of comparisons and of histories.

use linerate_report::{Width, comparison, history};
use measurement::comparison::{
    Change, Comparison, Difference, EffectSize, Method, RatioInterval, RowComparison, Side,
    Version, VersionChange, Versions,
};
use measurement::{Quantity, Run, RunRow, Stamp};

fn text(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).expect("a vector takes all");
    String::from_utf8(out).expect("UTF-8")
}

fn side(mean: f64, left_out: u32) -> Side {
    Side { runs: 5, left_out, suspect: left_out, mean }
}

fn row(name: &str, quantity: Quantity, ratio: f64, half: f64) -> RowComparison {
    let base = if quantity == Quantity::Rate { 900e6 } else { 52e-6 };
    let interval = Some(RatioInterval { low: ratio - half, high: ratio + half });
    RowComparison {
        row: name.to_owned(),
        quantity,
        before: side(base, 1),
        after: side(base * ratio, 0),
        method: Method::Paired,
        effect: Some(EffectSize { ratio, interval }),
    }
}

fn compared() -> Comparison {
    let lone = RowComparison {
        before: Side { runs: 1, ..side(1e9, 0) },
        after: Side { runs: 1, ..side(1.1e9, 0) },
        method: Method::TooFew,
        effect: Some(EffectSize { ratio: 1.1, interval: None }),
        ..row("TCP receive", Quantity::Rate, 1.1, 0.0)
    };
    Comparison {
        confidence: 0.95,
        rows: vec![
            row("TCP send", Quantity::Rate, 1.2, 0.03),
            lone,
            row("UDP send", Quantity::Rate, 1.001, 0.02),
            row("TCP request", Quantity::RoundTrip, 1.3, 0.1),
        ],
        unmatched: vec!["UDP receive".to_owned(), "UDP send".to_owned()],
        missing: vec!["UDP receive".to_owned()],
        differences: vec![Difference {
            what: "client net.core.rmem_max".to_owned(),
            before: "212992".to_owned(),
            after: String::new(),
        }],
        kernels: ("6.1.0".to_owned(), "6.12.0".to_owned()),
    }
}

#[test]
fn a_comparison_names_its_method_and_what_does_not_count() {
    insta::assert_snapshot!("text", text(|out| comparison::write(&compared(), out)));
}

#[test]
fn a_comparison_fits_80_columns_whatever_its_rows_are_called() {
    for title in ["TCP send", "TCP request", "UDP receive (both ways), 128 streams"] {
        let mut compared = compared();
        for row in &mut compared.rows {
            title.clone_into(&mut row.row);
        }
        let text = text(|out| comparison::write(&compared, out));
        let plain = anstyle_free(&text);
        let widest = plain.lines().map(|line| line.chars().count()).max();
        assert!(widest.is_some_and(|widest| (60..=80).contains(&widest)), "{widest:?}\n{plain}");
        assert!(plain.matches(title).count() >= 4, "{plain}");
    }
}

/// Without escape sequences of colours.
fn anstyle_free(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or("").to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn a_run_of_another_program_has_no_time() {
    let imported = Run { command: "import".to_owned(), host: String::new(), ..run(7, &[]) };
    let text = anstyle_free(&text(|out| history::write(&[imported], Width::UNKNOWN, out)));
    assert!(text.contains("unknown") && !text.contains("2026"), "{text}");
}

#[test]
fn a_commit_message_has_a_table_of_the_rows() {
    insta::assert_snapshot!("markdown", text(|out| comparison::write_markdown(&compared(), out)));
}

#[test]
fn settings_beyond_a_screen_are_counted() {
    let mut compared = compared();
    let one = compared.differences[0].clone();
    compared.differences = vec![one; 25];
    let text = text(|out| comparison::write(&compared, out));
    assert!(text.ends_with("    5 more: --format json\n"), "{text}");
}

fn run(id: i64, tags: &[&str]) -> Run {
    let row = |row: &str, stamp, limit: &str| RunRow {
        row: row.to_owned(),
        settings: String::new(),
        quantity: Quantity::Rate,
        value: 941.4e6,
        stamp,
        limit: limit.to_owned(),
    };
    Run {
        id,
        started_millis: 1_794_225_600_000,
        command: "test".to_owned(),
        host: "nas".to_owned(),
        kernel: "6.1.0".to_owned(),
        driver: "r8169".to_owned(),
        firmware: String::new(),
        linerate: "0.1.0".to_owned(),
        peer: "10.0.0.2".to_owned(),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        rows: vec![
            row("TCP send", Some(Stamp::Valid), "line-rate"),
            row("UDP send", Some(Stamp::Invalid), ""),
        ],
    }
}

#[test]
fn a_history_has_a_line_for_each_row() {
    let empty = Run { rows: Vec::new(), peer: String::new(), ..run(3, &[]) };
    let runs = [empty, run(12, &["before", "site=lab"])];
    insta::assert_snapshot!("history", text(|out| history::write(&runs, Width::UNKNOWN, out)));
    let narrow = anstyle_free(&text(|out| history::write(&runs, Width::of(80), out)));
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    assert!(narrow.contains("no room for: limit") && narrow.contains("TCP send"), "{narrow}");
}

#[test]
fn versions_tell_what_changed_or_what_is_missing() {
    let version = |name: &str, mean: f64, runs: u32| Version {
        name: name.to_owned(),
        side: Side { runs, ..side(mean, 0) },
    };
    let interval = Some(RatioInterval { low: 0.8, high: 0.9 });
    let changed = Versions {
        series: "TCP send, nas > 10.0.0.2".to_owned(),
        quantity: Quantity::Rate,
        versions: vec![version("6.1.0", 940e6, 4), version("6.12.0", 800e6, 4)],
        changes: vec![VersionChange {
            from: "6.1.0".to_owned(),
            to: "6.12.0".to_owned(),
            effect: EffectSize { ratio: 0.851, interval },
            change: Change::Worse,
        }],
        needs_runs: None,
        confidence: 0.95,
    };
    let same = Versions { changes: Vec::new(), ..changed.clone() };
    let few = Versions {
        versions: vec![version("", 940e6, 1), version("6.12.0", 800e6, 4)],
        needs_runs: Some(3),
        ..same.clone()
    };
    let alone = Versions { versions: vec![version("6.1.0", 940e6, 4)], ..few.clone() };
    let all = [changed, same, few, alone];
    insta::assert_snapshot!(
        "versions",
        text(|out| history::write_versions(&all, Width::UNKNOWN, out))
    );
}
