//! What iperf3 and iperf print, as people paste it: every run is found, every wrong number is told,
//! and nothing else is a run.
//!
//! `tests/transcripts` has what real programs of many versions printed, `NAME.client.txt` and
//! `NAME.server.txt`. [`shapes`] does to it what mail, terminals, logs and pages do.

#![expect(clippy::disallowed_methods, reason = "a test reads its files")]

mod shapes;
mod threads;
mod wrong;

use std::fmt::Write;
use std::path::PathBuf;

use linerate_report::import::transcript::{Runs, runs};
use measurement::TestRecord;
use measurement::outcome::Ending;

/// What a program printed.
struct Printed {
    name: String,
    text: String,
}

/// All files, in the order of their names.
fn printed() -> Vec<Printed> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let files = std::fs::read_dir(folder).expect("the folder");
    let mut printed: Vec<_> = files
        .map(|file| {
            let path = file.expect("a file").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            Printed { name, text: std::fs::read_to_string(path).expect("a text") }
        })
        .collect();
    printed.sort_by(|a, b| a.name.cmp(&b.name));
    printed
}

fn find(text: &str) -> Runs {
    runs(&[text.as_bytes()])
}

/// Runs in short: what went which way, and what is wrong.
fn summary(runs: &Runs) -> String {
    let mut out = String::new();
    for run in &runs.runs {
        out += &of_record(&run.record);
    }
    out
}

fn of_record(record: &TestRecord) -> String {
    let mut out = String::new();
    let outcome = &record.outcome;
    for one in &outcome.directions {
        let rate = |throughput: Option<measurement::Throughput>| {
            throughput.map_or_else(|| "?".to_owned(), |one| one.rate.to_string())
        };
        let title = record.plan.row_of_direction(one.direction);
        _ = write!(out, "{title}: sent {}, arrived {}", rate(one.offered), rate(one.delivered));
        if let Some(span) = one.headline().map(|one| one.span) {
            _ = write!(out, ", {:.2} s", span.as_secs_f64());
        }
        if let Some(rate) = one.asked {
            _ = write!(out, ", asked {rate}");
        }
        if let Some(all) = one.datagrams {
            _ = write!(out, ", lost {} of {}", all.lost, all.sent);
        }
        if let Some(count) = one.retransmits {
            _ = write!(out, ", {count} retransmits");
        }
        out.push('\n');
    }
    if let Ending::Failed { error } = &outcome.ending {
        _ = writeln!(out, "  failed: {error}");
    }
    for text in &outcome.contradictions {
        _ = writeln!(out, "  contradiction: {text}");
    }
    for text in &outcome.notes {
        _ = writeln!(out, "  note: {text}");
    }
    out
}

#[test]
fn each_end_of_every_version_is_read() {
    let mut out = String::new();
    for Printed { name, text } in printed() {
        let runs = find(&text);
        assert_eq!(runs.runs.len(), 1, "{name}");
        assert_eq!(runs.broken, [Vec::<usize>::new()], "{name}");
        assert_eq!(runs.unread, [Vec::<usize>::new()], "{name}");
        _ = writeln!(out, "{name}\n{}", summary(&runs));
    }
    insta::assert_snapshot!(out);
}

#[test]
fn both_ends_are_one_run_in_any_order_and_in_files_of_their_own() {
    let printed = printed();
    let mut out = String::new();
    for client in &printed {
        let Some(name) = client.name.strip_suffix(".client.txt") else { continue };
        let server = printed.iter().find(|one| one.name == format!("{name}.server.txt"));
        let Some(server) = server else { continue };
        let (client, server) = (client.text.as_str(), server.text.as_str());
        let apart = runs(&[client.as_bytes(), server.as_bytes()]);
        let expected = summary(&apart);
        assert_eq!(apart.runs.len(), 1, "{name}");
        for text in [
            format!("{client}\n\n{server}"),
            format!("The server printed:\n{server}\nand the client:\n{client}"),
            format!("{client}\n> {}", server.replace('\n', "\n> ")),
        ] {
            let found = find(&text);
            assert_eq!(found.runs.len(), 1, "{name}\n{}", summary(&found));
            let is_one = name.contains("csv") || summary(&found) == expected;
            assert!(is_one, "{name}\n{expected}\n{}", summary(&found));
        }
        _ = writeln!(out, "{name}\n{expected}");
    }
    insta::assert_snapshot!(out);
}

#[test]
fn the_same_text_again_is_no_other_run() {
    for Printed { name, text } in printed() {
        let twice = format!("{text}\nOn Monday somebody wrote:\n> {}", text.replace('\n', "\n> "));
        let found = find(&twice);
        assert_eq!(found.runs.len(), 1, "{name}\n{}", summary(&found));
    }
}

#[test]
fn all_of_them_in_one_text_are_all_found() {
    let printed = printed();
    let pairs = printed.iter().filter(|one| one.name.ends_with("client.txt"));
    let alone = |one: &&Printed| {
        let client = one.name.replace("server.txt", "client.txt");
        one.name.ends_with("server.txt") && printed.iter().all(|other| other.name != client)
    };
    let expected = pairs.count() + printed.iter().filter(alone).count();
    let all: Vec<_> = printed.iter().map(|one| format!("{}\n{}", one.name, one.text)).collect();
    let found = find(&all.join("\nthe next one\n\n"));
    assert_eq!(found.runs.len(), expected, "{}", summary(&found));
}
