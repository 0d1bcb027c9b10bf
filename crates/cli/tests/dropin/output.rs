//! What is printed as text, where, and when.

use std::fs;

use crate::peer::parameters;
use crate::support::{
    Directory, Running, Server, await_words, client, iperf3, run, side_by_side, test,
};

#[test]
fn each_format_has_its_unit() {
    side_by_side(
        [
            ("k", "Kbits/sec"),
            ("m", "Mbits/sec"),
            ("g", "Gbits/sec"),
            ("t", "Tbits/sec"),
            ("K", "KBytes/sec"),
            ("M", "MBytes/sec"),
            ("G", "GBytes/sec"),
            ("T", "TBytes/sec"),
        ],
        |(letter, unit)| {
            let finished = test(&format!("-n 1M -f {letter}"));
            finished.assert_success();
            let rows = finished.stdout.lines().filter(|line| line.contains("/sec"));
            let rows: Vec<_> = rows.collect();
            assert!(rows.len() >= 2 && rows.iter().all(|row| row.contains(unit)), "{rows:?}");
        },
    );
    test("-n 1M -f x").assert_usage("");
}

#[test]
fn verbose_output_has_the_details() {
    let finished = test("-n 1M -V");
    finished.assert_success();
    let program = test("-n 1M").stdout;
    for words in
        ["iperf 3.21", "Time: ", "Cookie: ", "Test Complete. Summary Results:", "CPU Utilization: "]
    {
        finished.assert_prints(&[words]);
        assert!(!program.contains(words), "'{words}': {program}");
    }
}

#[test]
fn intervals_are_printed_as_often_as_asked() {
    let server = Server::start("-i 0.5");
    let text = run(client(server.port, "-t 1 -i 0.2 -b 10M")).stdout;
    // Each has a row, and so has each end in the summary.
    let rows = |text: &str| text.matches("/sec").count();
    assert!((6..=9).contains(&rows(&text)), "{text}");
    let text = server.stop().stdout;
    assert!((3..=4).contains(&rows(&text)), "{text}");
    test("-i 0.05").assert_usage("invalid report interval");
}

#[test]
fn each_line_begins_with_the_title() {
    let finished = test("-n 1M -T here");
    finished.assert_success();
    let lines = finished.stdout.lines();
    let without: Vec<_> = lines.filter(|line| !line.starts_with("here:  ")).collect();
    assert!(without.is_empty() && !finished.stdout.is_empty(), "{finished:?}");
}

#[test]
fn each_line_begins_with_the_time() {
    let finished = test("-n 1M --timestamps=%s<");
    let seconds = |line: &str| line.split_once('<').and_then(|(time, _)| time.parse::<u64>().ok());
    assert!(
        finished.stdout.lines().all(|line| seconds(line) > Some(1_600_000_000)),
        "{finished:?}"
    );
    // The form of strftime(3): Thu Jan  1 00:00:00 1970 and a blank.
    let finished = test("-n 1M --timestamps");
    let is_time = |line: &str| {
        let begins = DAYS.iter().any(|day| line.starts_with(day));
        begins && line.get(13..14) == Some(":") && line.get(24..25) == Some(" ")
    };
    assert!(finished.stdout.lines().all(is_time), "{finished:?}");
    let server = Server::start("--timestamps=%s<");
    run(client(server.port, "-n 1M")).assert_success();
    let text = server.stop().stdout;
    assert!(text.lines().all(|line| seconds(line) > Some(1_600_000_000)), "{text}");
}

#[test]
fn a_log_file_has_the_output_of_each_run_and_standard_output_none() {
    let directory = Directory::new("logfile");
    let [of_the_server, log] = ["server", "client"].map(|name| directory.file(name));
    let server = Server::start(&format!("--logfile {}", of_the_server.display()));
    for _ in 0..2 {
        let finished = run(client(server.port, &format!("-n 1M --logfile {}", log.display())));
        finished.assert_success();
        assert_eq!(finished.stdout, "");
    }
    let text = fs::read_to_string(&log).expect("a file");
    assert_eq!(text.matches("iperf Done.").count(), 2, "{text}");
    assert_eq!(server.stop().stdout, "");
    let text = fs::read_to_string(of_the_server).expect("a file");
    assert_eq!(text.matches("Accepted connection from").count(), 2, "{text}");
    let finished = run(client(1, &format!("--logfile {}", log.display())));
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(1), ""));
    assert!(fs::read_to_string(&log).expect("a file").contains("Connection refused"));
}

#[test]
fn output_comes_while_the_test_runs() {
    let server = Server::start("--forceflush");
    let mut client = Running::start(client(server.port, "-t 20 -i 0.2 -b 10M --forceflush"));
    await_words(&client, "0.00-0.");
    assert!(client.is_running());
    let server = server.running;
    await_words(&server, "0.00-1.");
}

#[test]
fn the_output_of_the_server_is_shown() {
    let finished = test("-n 1M --get-server-output");
    finished.assert_success();
    let (_, output) = finished.stdout.split_once("Server output:").expect("its output");
    assert!(output.contains("Accepted connection from 127.0.0.1"), "{output}");
    assert!(output.contains("receiver"), "{output}");
    assert!(!test("-n 1M").stdout.contains("Accepted connection"));
}

#[test]
fn debugging_shows_the_parameters() {
    let finished = test("-n 1M -d -P 2");
    assert_eq!(finished.code, Some(0));
    assert!(finished.stdout.contains(r#""parallel": 2"#), "{finished:?}");
    let server = Server::start("--debug=2");
    run(client(server.port, "-n 1M -P 2")).assert_success();
    assert!(server.stop().stdout.contains(r#""parallel": 2"#));
}

#[test]
fn the_pacing_timer_reaches_the_server() {
    assert_eq!(parameters("--pacing-timer 2500")["pacing_timer"], 2500);
    assert_eq!(parameters("--pacing-timer 1K")["pacing_timer"], 1024);
}

#[test]
fn the_version_names_iperf3() {
    for flag in ["-v", "--version"] {
        let finished = run(iperf3(flag));
        finished.assert_success();
        assert!(finished.stdout.starts_with("iperf 3.21 (linerate "), "{finished:?}");
        finished.assert_prints(&["\nOptional features available: "]);
    }
}

#[test]
fn help_shows_the_usage() {
    for flag in ["-h", "--help"] {
        let finished = run(iperf3(flag));
        finished.assert_success();
        finished.assert_prints(&["Usage: iperf3 [-s|-c host] [options]"]);
    }
}

const DAYS: [&str; 7] = ["Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat ", "Sun "];

#[test]
fn a_run_is_kept_only_where_the_environment_names_a_file() {
    let (directory, server) = (Directory::new("kept"), Server::start(""));
    let file = directory.file("history.db");
    let test = |store: &str| {
        let mut command = client(server.port, "-n 1M");
        command.env("LINERATE_STORE", store).env("XDG_STATE_HOME", directory.file("state"));
        run(command)
    };
    let usual = test("");
    usual.assert_success();
    let kept = test(&file.display().to_string());
    kept.assert_success();
    assert_eq!(kept.stdout.lines().count(), usual.stdout.lines().count(), "{kept:?}");
    assert_eq!((kept.stderr.as_str(), usual.stderr.as_str()), ("", ""));
    assert!(file.exists() && !directory.file("state").exists());
    let refused = test("/proc/1/nowhere/history.db");
    assert_eq!(refused.code, Some(0), "the test itself went well: {refused:?}");
    assert!(refused.stderr.contains("the run is not in the history"), "{refused:?}");
}
