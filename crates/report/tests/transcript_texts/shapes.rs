//! What mail, terminals, logs and pages do to lines.

use super::{Printed, find, printed, summary};

/// A name, and what is done to a text.
type Shape = (&'static str, fn(&str) -> String);

/// Shapes that leave JSON and CSV readable.
const OF_ALL: [Shape; 12] = [
    ("lines end as on Windows", |text| text.replace('\n', "\r\n")),
    ("a byte order mark", |text| format!("\u{feff}{text}")),
    ("quoted mail", |text| each(text, |line| format!("> {line}"))),
    ("mail quoted twice", |text| each(text, |line| format!("> > {line}"))),
    ("quoted without spaces", |text| each(text, |line| format!(">>{line}"))),
    ("added lines of a diff", |text| each(text, |line| format!("+{line}"))),
    ("indented code", |text| each(text, |line| format!("    {line}"))),
    ("indented by a tab", |text| each(text, |line| format!("\t{line}"))),
    ("a fence of Markdown", |text| format!("Here:\n\n```\n{text}\n```\n\nThat is slow.\n")),
    ("prose of other languages", |text| {
        format!("Результат показывает скорость 127 Мбит/с:\n\n{text}\n結果は遅い。100 %\n")
    }),
    ("blank lines between", |text| text.replace('\n', "\n\n")),
    ("no end of the last line", |text| text.trim_end().to_owned()),
];

/// Shapes of text alone.
const OF_TEXT: [Shape; 22] = [
    ("colours", |text| each(text, |line| format!("\u{1b}[32m{line}\u{1b}[0m\u{1b}[K"))),
    ("the title of a terminal", |text| format!("\u{1b}]0;root@host\u{7}{text}")),
    ("syslog", |text| each(text, |line| format!("Nov 25 01:57:30 host iperf3: {line}"))),
    ("journald", |text| each(text, |line| format!("Nov 25 01:57:30 host iperf3[4242]: {line}"))),
    ("docker compose", |text| each(text, |line| format!("iperf3-1  | {line}"))),
    ("times of ISO 8601", |text| each(text, |line| format!("2026-11-25T01:57:30.123Z {line}"))),
    ("times in brackets", |text| each(text, |line| format!("[2026-11-25 01:57:30] {line}"))),
    ("times of ts(1)", |text| each(text, |line| format!("Nov 25 01:57:30 {line}"))),
    ("numbered lines", |text| {
        let lines = text.lines().enumerate();
        let lines: Vec<_> = lines.map(|(at, line)| format!("{:>4}  {line}", at + 1)).collect();
        lines.join("\n") + "\n"
    }),
    ("spaces of a web page", |text| text.replace("  ", "\u{a0} ")),
    ("thin spaces", |text| text.replace("  ", "\u{202f} ")),
    ("dashes of a word processor", |text| {
        text.replace("0.00-", "0.00\u{2013}").replace("1.00-", "1.00\u{2013}")
    }),
    ("one space each", |text| {
        each(text, |line| line.split_whitespace().collect::<Vec<_>>().join(" "))
    }),
    ("tabs", |text| text.replace("   ", "\t")),
    ("no spaces at the end", |text| each(text, |line| line.trim_end().to_owned())),
    ("more spaces at the end", |text| each(text, |line| format!("{line}        "))),
    ("a bar at both sides", |text| each(text, |line| format!("| {line} |"))),
    ("a list of Markdown", |text| each(text, |line| format!("* {line}"))),
    ("wrapped at 78", |text| wrapped(text, 78)),
    ("wrapped at 72 and quoted", |text| each(&wrapped(text, 72), |line| format!("> {line}"))),
    ("wrapped at 64", |text| wrapped(text, 64)),
    ("a bell and a backspace", |text| each(text, |line| format!("{line}\u{7}\u{8}"))),
];

fn each(text: &str, line: impl Fn(&str) -> String) -> String {
    text.lines().map(|one| line(one) + "\n").collect()
}

/// Lines that are broken at the last space before `width`, as mail does.
fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut line = line.trim_end();
        while line.len() > width {
            let Some(at) = line[..width].rfind(' ').filter(|at| !line[..*at].trim().is_empty())
            else {
                break;
            };
            out += line[..at].trim_end();
            out.push('\n');
            line = line[at..].trim_start();
        }
        out += line;
        out.push('\n');
    }
    out
}

fn is_text(printed: &Printed) -> bool {
    !["json", "csv", "events"].iter().any(|other| printed.name.contains(other))
}

#[test]
fn every_shape_has_the_same_runs() {
    let mut wrong = Vec::new();
    for one in printed() {
        let expected = lineless(&summary(&find(&one.text)));
        let shapes = OF_ALL.iter().chain(OF_TEXT.iter().filter(|_| is_text(&one)));
        for (name, shape) in shapes {
            let found = lineless(&summary(&find(&shape(&one.text))));
            if found != expected {
                wrong.push(format!("{name}: {}\n{expected}{found}", one.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong\n{}", wrong.len(), wrong.join("\n"));
}

/// Without numbers of lines.
fn lineless(text: &str) -> String {
    each(text, |line| match line.split_once(": line ") {
        Some((before, after)) => {
            format!("{before} {}", after.split_once(':').map_or("", |it| it.1))
        }
        None => line.to_owned(),
    })
}

#[test]
fn two_columns_are_two_ends() {
    let printed = printed();
    let text = |name: &str| {
        let one = printed.iter().find(|one| one.name == name).expect("it is there");
        one.text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    for name in ["iperf3-3.12-udp", "iperf3-3.12-tcp", "iperf3-3.6-tcp", "iperf3-3.12-streams"] {
        let (client, server) =
            (text(&format!("{name}.client.txt")), text(&format!("{name}.server.txt")));
        let lines = (0..client.len().max(server.len())).map(|at| {
            let side = |lines: &[String]| lines.get(at).cloned().unwrap_or_default();
            format!("{:<100}{}\n", side(&client), side(&server))
        });
        let found = find(&lines.collect::<String>());
        assert_eq!(found.runs.len(), 1, "{name}\n{}", summary(&found));
        assert_eq!(found.runs[0].lines.len(), 2, "{name}: both ends");
        let apart = find(&(client.join("\n") + "\n\n" + &server.join("\n")));
        assert_eq!(summary(&found), summary(&apart), "{name}");
    }
}

#[test]
fn any_part_of_a_text_has_no_run_that_is_not_there() {
    for one in printed().iter().filter(|one| is_text(one)) {
        let lines: Vec<_> = one.text.lines().collect();
        for end in 0..lines.len() {
            let found = find(&lines[..end].join("\n"));
            assert!(found.runs.len() <= 1, "{} to line {end}\n{}", one.name, summary(&found));
        }
        for begin in 0..lines.len() {
            let found = find(&lines[begin..].join("\n"));
            assert!(found.runs.len() <= 2, "{} from line {begin}\n{}", one.name, summary(&found));
        }
    }
}
