//! The screen of stored runs, at several widths.

use linerate_report::rates::UnitFormat;
use linerate_report::screen::{Head, Rest, Screen, Shape};

fn records(text: &str) -> measurement::RecordSet {
    let mut records: measurement::RecordSet = serde_json::from_str(text).expect("records");
    for record in &mut records.records {
        record.judgement = Some(analysis::judge(record));
    }
    analysis::judge_together(&mut records.records);
    records
}

/// As it is printed on a terminal of that width, without colours.
fn screen(text: &str, width: usize) -> String {
    let records = records(text);
    let plans: Vec<_> = records.records.iter().map(|record| record.plan.clone()).collect();
    let unit = UnitFormat::Adaptive;
    let shape = Shape { plans: &plans, probed: false, repeated: false, unit };
    let command = "linerate test 10.24.2.2".to_owned();
    let screen = Screen::new(width, &shape, command).with_rest(Rest::Kept);
    let first = &records.records[0];
    let kernel = first.environment.as_ref().map_or("", |one| one.kernel.as_str());
    let head =
        Head::new(first.peer.as_ref(), &first.plan, &first.streams, kernel, (plans.len(), None));
    let mut lines = screen.opening(&head);
    lines.extend(records.records.iter().flat_map(|record| screen.row(record, "")));
    let mut rest = Vec::new();
    screen.close(&records, &mut rest).expect("a vector takes all");
    let text = lines.join("\n") + "\n" + &String::from_utf8(rest).expect("it is text");
    plain(&text)
}

fn plain(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

/// Runs of four rows: a shaped link without the counters of its hosts, one with them, where other
/// processes were busy, a loopback, and two lines of homes: one with a rate in each direction, and
/// one that is slow in one direction only.
const RUNS: [(&str, &str); 5] = [
    ("four_rows", include_str!("records/four-rows.json")),
    ("home_router", include_str!("records/home-router.json")),
    ("loopback", include_str!("records/loopback.json")),
    ("asymmetric", include_str!("records/asymmetric.json")),
    ("slow_upload", include_str!("records/slow-upload.json")),
];

#[test]
fn a_screen_fits_its_width() {
    for (name, records) in RUNS {
        for width in [60, 72, 80, 100, 120] {
            let screen = screen(records, width);
            let is_command = |line: &str| line.contains("here:  ") || line.contains("server:  ");
            let widest = screen.lines().filter(|line| !is_command(line));
            let widest = widest.map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(widest <= width, "{name} {width}: {screen}");
        }
    }
}

#[test]
fn a_screen_is_read_in_half_a_minute_and_names_the_limit_at_once() {
    let words = |text: &str| text.split_whitespace().count();
    for (name, records) in RUNS {
        for (width, most) in [(60, 30), (80, 22), (120, 22)] {
            let screen = screen(records, width);
            assert!(screen.lines().count() <= most, "{name} {width}: {screen}");
            assert!(words(&screen) <= 160, "{name} {width}: {} words: {screen}", words(&screen));
            let (_, under) = screen.split_once("UDP receive").expect("the last row");
            let (row, under) = under.split_once('\n').expect("more lines");
            let (before, limit) = under.split_once("  LIMIT").expect("a limit");
            let limit = limit.split("\n\n").next().unwrap_or_default();
            let until = words(before) + 1 + words(limit);
            assert!(until <= 60, "{name} {width}: {until} words under {row}: {screen}");
        }
    }
}

#[test]
fn what_is_left_out_is_counted() {
    let screen = screen(RUNS[4].1, 80);
    assert!(screen.contains("\n  1 more limit, 1 more remedy, "), "{screen}");
}

#[test]
fn two_rates_of_a_path_are_two_limits() {
    let screen = screen(RUNS[3].1, 80);
    let limit = screen.split("LIMIT").nth(1).and_then(|rest| rest.split("TRY").next());
    let limit = limit.unwrap_or_default();
    for told in ["20.02", "100.1"] {
        assert!(limit.contains(told), "{screen}");
    }
}

#[test]
fn screens_at_three_widths() {
    for (name, records) in RUNS {
        for width in [60, 80, 120] {
            insta::assert_snapshot!(format!("{name}_{width}"), screen(records, width));
        }
    }
}
