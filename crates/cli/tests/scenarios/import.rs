//! `linerate import`: runs of other programs, from files and standard input.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::support::{Directory, linerate, list, run};

/// A text with both ends of a run over UDP and of one that nobody confirmed, and other lines.
const MAIL: &str = "\
On Monday I tried:

> $ iperf3 -c 10.0.0.2 -u -b 10M -t 2
> Connecting to host 10.0.0.2, port 5201
> [  5] local 10.0.0.1 port 40000 connected to 10.0.0.2 port 5201
> [ ID] Interval           Transfer     Bitrate         Total Datagrams
> [  5]   0.00-1.00   sec  1.19 MBytes  10.0 Mbits/sec  863
> [  5]   1.00-2.00   sec  1.19 MBytes  10.0 Mbits/sec  863
> - - - - - - - - - - - - - - - - - - - - - - - - -
> [ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
> [  5]   0.00-2.00   sec  2.38 MBytes  10.0 Mbits/sec  0.000 ms  0/1726 (0%)  sender
> [  5]   0.00-2.00   sec  1.19 MBytes  5.00 Mbits/sec  0.020 ms  863/1726 (50%)  receiver
>
> iperf Done.

The server said:

Accepted connection from 10.0.0.1, port 39999
[  5] local 10.0.0.2 port 5201 connected to 10.0.0.1 port 40000
[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5]   0.00-2.00   sec  1.19 MBytes  5.00 Mbits/sec  0.020 ms  863/1726 (50%)  receiver

and with the older program:

$ iperf -c 10.0.0.2 -p 5201 -b 1G
------------------------------------------------------------
Client connecting to 10.0.0.2, TCP port 5201
TCP window size: 85.0 KByte (default)
------------------------------------------------------------
[  3] local 10.0.0.1 port 46780 connected with 10.0.0.2 port 5201
[ ID] Interval       Transfer     Bandwidth
[  3]  0.0-10.0 sec   222 MBytes   186 Mbits/sec
";

#[test]
fn the_runs_of_a_mail_are_a_table() {
    let directory = Directory::new("imported-table");
    let file = directory.file("mail.txt");
    fs::write(&file, MAIL).expect("a file");
    let finished = run(linerate(&format!("import {}", file.display())));
    assert_eq!(finished.code, Some(3), "a run of it is INVALID: {finished:?}");
    let shown = finished.stdout.replace(&file.display().to_string(), "mail.txt");
    insta::assert_snapshot!(shown);
}

#[test]
fn the_records_of_a_mail_are_stored_and_explained() {
    let directory = Directory::new("imported-records");
    let (mail, records) = (directory.file("mail.txt"), directory.file("records.json"));
    fs::write(&mail, MAIL).expect("a file");
    let (mail, records) = (mail.display().to_string(), records.display().to_string());
    let finished = run(linerate(&format!("import {mail} --json -o {records}")));
    assert_eq!(finished.code, Some(3), "{finished:?}");
    let set = finished.json();
    assert_eq!(list(&set["records"]).len(), 2);
    assert_eq!(set["records"][0]["outcome"]["directions"][0]["datagrams"]["lost"], 863);
    assert_eq!(set["records"][1]["judgement"]["stamp"], "INVALID");
    assert!(finished.stderr.contains("not read: 3 lines (1, 16, 23)"), "{}", finished.stderr);
    for file in [mail, records] {
        let finished = run(linerate(&format!("explain {file}")));
        assert_eq!(finished.code, Some(3), "{finished:?}");
        finished.assert_prints(&["UDP send", "no result from the receiver"]);
    }
}

/// What a client of iperf 2 prints over TCP, and nothing else is known.
const CLIENT: &str = "\
------------------------------------------------------------
Client connecting to 10.0.0.2, TCP port 5001
TCP window size: 3.76 MByte (default)
------------------------------------------------------------
[  1] local 10.0.0.1 port 33086 connected with 10.0.0.2 port 5001 (icwnd/mss/irtt=14/1448/310)
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-10.0123 sec  1.09 GBytes   939 Mbits/sec
";

#[test]
fn a_tcp_client_of_iperf_2_is_believed_but_for_its_socket_buffer() {
    let directory = Directory::new("imported-iperf2");
    let file = directory.file("client.txt");
    fs::write(&file, CLIENT).expect("a file");
    let mut command = linerate(&format!("import {}", file.display()));
    command.env("COLUMNS", "80");
    let finished = run(command);
    finished.assert_success();
    let said =
        ["939.0 Mbit/s", "SUSPECT: run 1: sender's rate: up to 0.4 % may not have left its socket"];
    finished.assert_prints(&said);
    assert!(!finished.stdout.contains("INVALID"), "{finished:?}");
    assert!(finished.stdout.lines().all(|line| line.chars().count() <= 80), "{finished:?}");
    // To the port of an iperf3, which reads nothing of it, nothing is known.
    fs::write(&file, CLIENT.replace("5001", "5201")).expect("a file");
    let finished = run(linerate(&format!("import {}", file.display())));
    finished.assert_prints(&["INVALID: run 1: no result from the receiver"]);
}

#[test]
fn who_imports_a_profile_is_told_where_it_is_shown() {
    let perf = concat!(env!("CARGO_MANIFEST_DIR"), "/../report/tests/perf/two-reports.txt");
    let finished = run(linerate(&format!("import {perf}")));
    finished.assert_complaint(1, &["has output of perf", &format!("linerate explain {perf}")]);
    run(linerate(&format!("explain {perf}"))).assert_success();
}

/// Rates that a review of a NanoPi R4S published, one run each, in words of our own.
#[test]
fn single_runs_of_a_review_show_no_difference() {
    let directory = Directory::new("review");
    let file = directory.file("review.md");
    let text = "Default settings, then interrupts on the fast cores.\n\n\
        | MTU | proto | default Mbits/sec | optimized Mbits/sec |\n|---|---|---|---|\n\
        | 1500 | TCP | 941 | 941 |\n| 1500 | UDP | 808 | 742 |\n\
        | 512 | TCP | 575 | 588 |\n| 512 | UDP | 556 | (854) |\n\n\
        WARNING: did not receive ack of last datagram after 10 tries.\n";
    fs::write(&file, text).expect("a file");
    let finished = run(linerate(&format!("import {}", file.display())));
    assert_eq!(finished.code, Some(3), "{finished:?}");
    for (line, row) in [(5, "1500 TCP"), (6, "1500 UDP"), (7, "512 TCP"), (8, "512 UDP")] {
        let says = format!("line {line}: {row}: one run each: no difference can be shown");
        finished.assert_prints(&[&says]);
    }
    let text = finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let doubted = "INVALID: line 8: 854.0 Mbit/s is in parentheses, and does not count: the receiver \
                   never confirmed it (line 10)";
    assert!(text.contains(doubted), "{finished:?}");
}

#[test]
fn standard_input_is_read() {
    let mut command = linerate("import -");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("a pipe").write_all(MAIL.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.code() == Some(3) && text.starts_with("2 runs in standard input"),
        "{text}"
    );
}

#[test]
fn a_text_without_a_run_is_an_error() {
    let directory = Directory::new("imported-nothing");
    let file = directory.file("letter.txt");
    fs::write(&file, "Dear all,\nit is slow.\n").expect("a file");
    let finished = run(linerate(&format!("import {}", file.display())));
    finished.assert_complaint(1, &["no run of iperf3 or iperf is in"]);
    run(linerate("import /nonesuch")).assert_complaint(1, &["cannot read /nonesuch"]);
    run(linerate("import")).assert_complaint(2, &["FILE"]);
}

/// A client of iperf3 over TCP with this rate in Mbit/s, and what the server counted.
fn tcp(port: u16, rate: u32) -> String {
    let (bytes, rate) = (f64::from(rate) / 8.388_608, f64::from(rate));
    let row = format!("{bytes:.1} MBytes  {rate:.1} Mbits/sec");
    format!(
        "Connecting to host 10.0.0.2, port 5201\n\
         [  5] local 10.0.0.1 port {port} connected to 10.0.0.2 port 5201\n\
         [ ID] Interval           Transfer     Bitrate         Retr\n\
         [  5]   0.00-1.00   sec  {row}    0             sender\n\
         [  5]   0.00-1.00   sec  {row}                  receiver\n\n\
         iperf Done.\n"
    )
}

#[test]
fn saved_runs_are_in_the_history_and_compared() {
    let directory = Directory::new("imported-saved");
    let within = |line: &str| {
        let mut command = linerate(line);
        command.env("XDG_STATE_HOME", directory.path());
        run(command)
    };
    let logs = [("old", 80), ("new", 95)].map(|(name, rate)| {
        let file = directory.file(&format!("{name}.log"));
        let runs = (0..4).map(|at| tcp(40_000 + at, rate + u32::from(at)));
        fs::write(&file, runs.collect::<String>()).expect("a file");
        file.display().to_string()
    });
    for (name, log) in ["nic=old", "nic=new"].iter().zip(&logs) {
        within(&format!("import {log} --save --tag {name}")).assert_success();
    }
    let history = within("history");
    history.assert_prints(&["unknown", "10.0.0.2", "nic=old", "nic=new", "TCP send"]);
    let runs = within("history --json").json();
    assert_eq!(list(&runs["runs"]).len(), 8, "{runs}");
    for known_of_nobody in ["host", "kernel", "driver", "linerate"] {
        assert_eq!(runs["runs"][0][known_of_nobody], "", "{runs}");
    }
    assert_eq!(runs["runs"][0]["command"], "import");
    within("explain last").assert_prints(&["TCP send"]);
    // Nobody tested by turns, and what one host did to all runs is not known.
    let words = ["better", "Welch", "Runs: 4 before, 4 after."];
    within("compare nic=old nic=new").assert_prints(&words);
    within(&format!("compare {} {}", logs[0], logs[1])).assert_prints(&words);
    let nowhere = directory.file("no/such/folder/history.db");
    let refused = within(&format!("import {} --save --store {}", logs[0], nowhere.display()));
    refused.assert_success();
    fs::write(directory.file("plain"), "x").expect("a file");
    let refused =
        within(&format!("import {} --save --store {}/plain", logs[0], directory.path().display()));
    refused.assert_complaint(1, &["the runs are not in the history"]);
}

#[test]
fn loads_are_a_picture() {
    let directory = Directory::new("imported-picture");
    let file = directory.file("sweep.log");
    let runs = [(10, 10), (20, 20), (40, 38), (80, 41)].map(|(asked, arrived)| {
        let rate =
            |rate: u32| format!("{:.2} MBytes  {rate}.0 Mbits/sec", f64::from(rate) / 8.388_608);
        let (all, lost) = (asked * 100, (asked - arrived) * 100);
        format!(
            "$ iperf3 -c 10.0.0.2 -u -b {asked}M -t 1\n\
             Connecting to host 10.0.0.2, port 5201\n\
             [  5] local 10.0.0.1 port {} connected to 10.0.0.2 port 5201\n\
             [ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n\
             [  5]   0.00-1.00   sec  {}  0.000 ms  0/{all} (0%)  sender\n\
             [  5]   0.00-1.00   sec  {}  0.010 ms  {lost}/{all} ({:.1}%)  receiver\n\n\
             iperf Done.\n",
            40_000 + asked,
            rate(asked),
            rate(arrived),
            100.0 * f64::from(lost) / f64::from(all)
        )
    });
    fs::write(&file, runs.concat()).expect("a file");
    let finished = run(linerate(&format!("import {}", file.display())));
    finished.assert_success();
    let picture = finished.stdout.split_once("UDP from").expect("a curve").1;
    insta::assert_snapshot!(picture);
}
