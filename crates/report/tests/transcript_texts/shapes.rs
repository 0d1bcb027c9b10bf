//! What mail, terminals, logs and pages do to lines.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Printed, find, printed, summary};

/// A name, and what is done to a text.
type Shape = (&'static str, fn(&str) -> String);

/// Shapes that leave JSON and CSV readable.
const OF_ALL: [Shape; 22] = [
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
    ("a redirection of PowerShell before it was UTF-8", |text| text.replace('\n', "\r\r\n")),
    ("prose in German", |text| {
        format!("Moin,\n\nseit gestern nur noch 9,41 MBit/s statt 94,1:\n\n{text}\nGrüße\n")
    }),
    ("prose in French", |text| {
        format!("Bonjour,\n\nvoici le résultat (débit : 94,1 Mbit/s) :\n\n{text}\nMerci !\n")
    }),
    ("prose in Chinese", |text| {
        format!("测试结果如下（带宽只有 94.1 Mbits/sec）：\n\n{text}\n请问为什么？\n")
    }),
    ("a block of BBCode", |text| {
        format!("[quote=\"admin\"]Post it[/quote]\n[code]\n{text}[/code]\n[b]Slow![/b]\n")
    }),
    ("a block of Jira", |text| format!("h2. Result\n{{noformat}}\n{text}{{noformat}}\n")),
    ("a block of HTML", |text| {
        format!("<p>Result:</p>\n<pre>\n{text}</pre>\n<p>[1] and (2)</p>\n")
    }),
    ("a block of reStructuredText", |text| {
        format!("Result::\n\n{}\nThat is all [5]_.\n", each(text, |line| format!("   {line}")))
    }),
    ("files that tail follows", |text| {
        format!("==> /var/log/iperf3.log <==\n{text}\n==> other.log <==\n[ 12] done 3-4\n")
    }),
    ("a recorded terminal", |text| {
        format!(
            "Script started on 2026-11-25 01:57:30+00:00 [TERM=\"xterm\"]\n{text}\nScript done [COMMAND_EXIT_CODE=\"0\"]\n"
        )
    }),
];

/// Shapes of text alone.
const OF_TEXT: [Shape; 56] = [
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
    ("entities of HTML", |text| each(&entities(text), |line| format!("{line}<br />"))),
    ("quoted, as entities of HTML", |text| each(&entities(text), |line| format!("&gt; {line}"))),
    ("code in each line of HTML", |text| each(text, |line| format!("<code>{line}</code><br>"))),
    ("journald with a zone", |text| {
        each(text, |line| format!("2026-11-25T01:57:30+0100 host iperf3[42]: {line}"))
    }),
    ("syslog of RFC 5424", |text| {
        each(text, |line| format!("<30>1 2026-11-25T01:57:30.123Z host iperf3 42 - - {line}"))
    }),
    ("kubectl logs --prefix", |text| each(text, |line| format!("[pod/iperf3-7c9f/iperf3] {line}"))),
    ("a log of CRI", |text| {
        each(text, |line| format!("2026-11-25T01:57:30.123456789Z stdout F {line}"))
    }),
    ("a log of Docker", |text| {
        let quoted = |line: &str| line.replace('"', "\\\"");
        each(text, |line| {
            format!(
                "{{\"log\":\"{}\\n\",\"stream\":\"stdout\",\"time\":\"2026-11-25T01:57:30.1Z\"}}",
                quoted(line)
            )
        })
    }),
    ("lines as Ansible prints them", |text| {
        let lines = each(text, |line| format!("        \"{}\",", line.replace('"', "\\\"")));
        format!("ok: [host1] => {{\n    \"stdout_lines\": [\n{lines}    ]\n}}\n")
    }),
    ("lines as Python prints them", |text| each(text, |line| format!("b'{line}\\n'"))),
    ("log4j", |text| {
        each(text, |line| format!("2026-11-25 01:57:30,123 [main] INFO  Runner - {line}"))
    }),
    ("logging of Python", |text| each(text, |line| format!("INFO:iperf:{line}"))),
    ("logcat", |text| {
        each(text, |line| format!("11-25 01:57:30.123  4242  4243 I iperf3  : {line}"))
    }),
    ("times of the kernel", |text| each(text, |line| format!("[   12.345678] {line}"))),
    ("times of a CI", |text| each(text, |line| format!("[01:57:30] {line}"))),
    ("times since the start", |text| each(text, |line| format!("00:00:01.000123 {line}"))),
    ("times since the epoch", |text| each(text, |line| format!("1764035850.123456 {line}"))),
    ("grep -n", |text| each(text, |line| format!("12:{line}"))),
    ("grep -Hn", |text| each(text, |line| format!("logs/iperf3-client.log:12:{line}"))),
    ("cat -A", |text| each(text, |line| format!("{line}$"))),
    ("removed lines of a diff", |text| each(text, |line| format!("-{line}"))),
    ("a frame", |text| each(text, |line| format!("\u{2502} {line:<90} \u{2502}"))),
    ("a heavy frame", |text| each(text, |line| format!("\u{2503}{line:<90}\u{2503}"))),
    ("an example of Org", |text| each(text, |line| format!(": {line}"))),
    ("a remark of a shell", |text| each(text, |line| format!("# {line}"))),
    ("a remark of C", |text| each(text, |line| format!("// {line}"))),
    ("spaces without width", |text| {
        text.replace("] ", "]\u{200b} ").replace(" sec", "\u{200b} sec")
    }),
    ("marks of writing direction", |text| each(text, |line| format!("\u{200e}{line}\u{202c}"))),
    ("ideographic spaces", |text| text.replace("   ", "\u{3000} ")),
    ("decimal commas", |text| decimal_commas(text)),
    ("names in place of addresses", |text| text.replace("127.0.0.1", "CLIENT_IP")),
    ("addresses that are blacked out", |text| text.replace("127.0.0.1", "xxx.xxx.xx.x")),
    ("addresses in part", |text| text.replace("127.0.0.1", "127.0.*.*")),
    ("addresses in angle brackets", |text| text.replace("127.0.0.1", "<redacted>")),
];

/// Spaces as a web page has them.
fn entities(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace("  ", "&nbsp; ")
}

/// Points between digits as commas, but for those of addresses and versions.
fn decimal_commas(text: &str) -> String {
    each(text, |line| {
        if !line.contains("bits/sec") && !line.contains("Bytes/sec") {
            return line.to_owned();
        }
        let letters: Vec<_> = line.chars().collect();
        let is_digit =
            |at: Option<usize>| at.and_then(|at| letters.get(at)).is_some_and(char::is_ascii_digit);
        let comma = |(at, letter): (usize, &char)| {
            let between = is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
            if *letter == '.' && between { ',' } else { *letter }
        };
        letters.iter().enumerate().map(comma).collect()
    })
}

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

/// Shapes of the document of `--json`.
const OF_JSON: [Shape; 9] = [
    ("one line of JSON", |text| compact(text)),
    ("JSON with two spaces", |text| text.replace('\t', "  ")),
    ("JSON with sorted keys", |text| {
        if text.matches("\"sum_sent\"").count() > 1 {
            // Two sums have one name: a reader keeps one.
            return text.to_owned();
        }
        let all: BTreeMap<String, Value> = serde_json::from_str(&valid(text)).expect("JSON");
        serde_json::to_string_pretty(&all).expect("JSON")
    }),
    ("JSON in a list", |text| format!("[\n{text},\n{{\"name\": \"another\"}}\n]\n")),
    ("JSON below a key", |text| format!("{{\"host\": \"a\", \"result\": {text}}}\n")),
    ("JSON in a text of JSON", |text| {
        let inner = serde_json::to_string(text).expect("JSON");
        format!("{{\"changed\": true, \"rc\": 0, \"stdout\": {inner}}}\n")
    }),
    ("one line of JSON behind a time", |text| format!("2026-11-25T01:57:30Z {}\n", compact(text))),
    ("JSON behind warnings", |text| {
        format!("warning: this system does not seem to support IPv6\n{text}")
    }),
    ("JSON and what a shell prints", |text| {
        format!("$ iperf3 -c host --json\n{text}$ echo $?\n0\n")
    }),
];

fn compact(text: &str) -> String {
    // A name may be there twice.
    text.lines().map(str::trim).collect::<String>() + "\n"
}

/// iperf3 prints `nan` where a number is not known.
fn valid(text: &str) -> String {
    text.replace("-nan", "null").replace("nan", "null")
}

#[test]
fn every_shape_has_the_same_runs() {
    let mut wrong = Vec::new();
    for one in printed() {
        let expected = lineless(&summary(&find(&one.text)));
        let shapes = OF_ALL.iter().chain(OF_TEXT.iter().filter(|_| is_text(&one)));
        let shapes = shapes.chain(
            OF_JSON.iter().filter(|_| one.text.starts_with('{') && !one.name.contains("events")),
        );
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
