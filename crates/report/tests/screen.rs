//! The screen of stored runs, at several widths.

use linerate_report::screen::{Head, Rest, Screen, Shape};

fn records() -> measurement::RecordSet {
    let text = include_str!("records/four-rows.json");
    let mut records: measurement::RecordSet = serde_json::from_str(text).expect("records");
    for record in &mut records.records {
        record.judgement = Some(analysis::judge(record));
    }
    analysis::judge_together(&mut records.records);
    records
}

/// As it is printed on a terminal of that width, without colours.
fn screen(width: usize) -> String {
    let records = records();
    let plans: Vec<_> = records.records.iter().map(|record| record.plan.clone()).collect();
    let shape = Shape { plans: &plans, probed: false, repeated: false };
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

#[test]
fn a_screen_fits_its_width() {
    for width in [60, 72, 80, 100, 120] {
        let screen = screen(width);
        let is_command = |line: &str| line.contains("here:  ") || line.contains("server:  ");
        let widest = screen.lines().filter(|line| !is_command(line));
        let widest = widest.map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= width, "{width}: {screen}");
        let most = if width < 80 { 26 } else { 22 };
        assert!(screen.lines().count() <= most, "{width}: {screen}");
    }
}

#[test]
fn screens_at_three_widths() {
    for width in [60, 80, 120] {
        insta::assert_snapshot!(format!("four_rows_{width}"), screen(width));
    }
}
