//! What limits is named, by tests, by looking, and from files.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::{Directory, Server, json, linerate, run, test};

fn diagnose(server: &Server, options: &str) -> crate::support::Finished {
    run(linerate(&server.arguments("diagnose", options)))
}

#[test]
fn every_row_of_a_test_has_a_verdict() {
    let set = json(&Server::start(), "-t 300ms");
    for record in set["records"].as_array().expect("rows") {
        let verdict = &record["judgement"]["verdict"];
        assert!(verdict["sentence"].as_str().is_some_and(|text| !text.is_empty()), "{verdict}");
    }
}

#[test]
fn what_was_asked_and_arrived_was_delivered() {
    let finished = test(&Server::start(), "--tcp -b 2M --pacing average -t 2s --format details");
    finished.assert_success();
    let sentence = "verdict: every row: reached the asked rate";
    finished.assert_prints(&[sentence]);
}

#[test]
fn a_server_is_diagnosed() {
    let finished = diagnose(&Server::start(), "-t 300ms");
    finished.assert_success();
    finished.assert_prints(&["\nTCP send: ", "\nTCP receive: ", "\nUDP send: ", "\nUDP receive: "]);
}

#[test]
fn four_rows_alone_are_run_without_a_follow_up() {
    let finished = diagnose(&Server::start(), "-t 300ms --no-follow-up --json");
    finished.assert_ran_to_its_end();
    assert_eq!(finished.json()["records"].as_array().map(Vec::len), Some(4));
}

#[test]
fn a_record_is_explained_from_its_file() {
    let directory = Directory::new("explained");
    let server = Server::start();
    for options in ["--tcp --send", "--tcp"] {
        let file = directory.file("record.json").display().to_string();
        test(&server, &format!("{options} -t 300ms --output {file}")).assert_success();
        let begin = Instant::now();
        let finished = run(linerate(&format!("explain {file}")));
        assert!(begin.elapsed() < GENEROUS, "{:?}", begin.elapsed());
        finished.assert_success();
        // Stamp, rate, limit and remedy are on the first screen; the evidence is one option away.
        assert!(finished.stdout.lines().count() <= 24, "{finished:?}");
        finished.assert_prints(&["trust", "TCP send", "bit/s", "LIMIT"]);
        let all = run(linerate(&format!("explain {file} -v")));
        all.assert_success();
        all.assert_prints(&["\nTCP send: "]);
    }
}

#[test]
fn a_record_from_anybody_moves_no_cursor_and_fills_no_memory() {
    let directory = Directory::new("forged");
    let file = directory.file("record.json");
    let mut record = json(&Server::start(), "--tcp --send -t 100ms");
    record["peer"]["software"] = "evil\u{1b}[31m".into();
    fs::write(&file, record.to_string()).expect("a file");
    let explain = || run(linerate(&format!("explain -v --color always {}", file.display())));
    let finished = explain();
    finished.assert_success();
    finished.assert_prints(&["(evil [31m)"]);
    record["plan"]["transport"] = "evil\u{1b}[31m\n".repeat(1000).into();
    fs::write(&file, record.to_string()).expect("a file");
    let finished = explain();
    finished.assert_refusal(1, &["it is no record of linerate", "evil [31m "]);
    assert!(finished.stderr.len() < 600 && !finished.stderr.contains("\u{1b}[31m"));
    run(linerate("explain /dev/zero")).assert_refusal(1, &["/dev/zero is longer than 512 MiB"]);
}

#[test]
fn a_rule_is_explained_by_its_name() {
    for name in ["udp-receive-buffer", "UDP-Receive-Buffer"] {
        let finished = run(linerate(&format!("explain {name}")));
        finished.assert_success();
        let heading = "udp-receive-buffer: UDP receive buffer overflow\n";
        assert!(finished.stdout.starts_with(heading), "{finished:?}");
    }
    let list = run(linerate("explain"));
    list.assert_success();
    list.assert_prints(&["  cgroup-cpu-quota            cgroup CPU quota throttled"]);
    let all = run(linerate("explain --json")).json();
    assert!(all.as_array().is_some_and(|all| all.len() > 30));
}

#[test]
fn what_is_no_rule_and_no_record_is_said() {
    run(linerate("explain X9")).assert_refusal(1, &["no rule", "X9"]);
    let directory = Directory::new("no-record");
    let file = directory.file("x.json");
    fs::write(&file, "{\"schema\": \"linerate/record/1\", \"tags\": 7}").expect("written");
    let finished = run(linerate(&format!("explain {}", file.display())));
    finished.assert_refusal(1, &["x.json", "no record"]);
}

#[test]
fn the_text_of_perf_is_explained_with_what_could_be() {
    let texts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/perf");
    let file = texts.join("tcp-receive-before.txt").display().to_string();
    let finished = run(linerate(&format!("explain {file} --rate 686M --architecture riscv64")));
    finished.assert_success();
    let headline = "copying limits: 73 % of the busy time; without copies to and from processes: \
                    copy within the kernel";
    assert!(finished.stdout.starts_with(headline), "{finished:?}");
    let what_if = "if copies to and from processes cost nothing: 686.0 Mbit/s -> at most";
    finished.assert_prints(&[what_if]);
    let object = run(linerate(&format!("explain {file} --json"))).json();
    assert!(object["work"]["copy_memory"]["share"].as_f64().is_some_and(|share| share > 0.4));
    assert!(object["what_if"].is_null(), "{object}");
}

#[test]
fn several_tables_in_one_text_are_compared() {
    let texts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/perf");
    let file = texts.join("two-reports.txt").display().to_string();
    let finished = run(linerate(&format!("explain {file} --rate 686M")));
    finished.assert_success();
    assert!(finished.stdout.starts_with("table 1, line 3: Before\ncopying limits: 75 %"));
    finished.assert_prints(&["table 2, line 29: After", "-> table 2", "686.0 Mbit/s was reached"]);
    let object = run(linerate(&format!("explain {file} --json"))).json();
    let second = &object["tables"][1];
    assert_eq!((&second["line"], &second["heading"]), (&29.into(), &"After".into()));
    let copied = second["attribution"]["work"]["copy_user"]["share"].as_f64();
    assert!(copied.is_some_and(|share| share < 0.1), "{object}");
    let folded = Directory::new("tables").path().join("a.folded").display().to_string();
    run(linerate(&format!("explain {file} --folded {folded}"))).assert_refusal(1, &["2 profiles"]);
    let mail = texts.join("quoted-mail.txt").display().to_string();
    run(linerate(&format!("explain {mail}"))).assert_prints(&["not read: 3 lines (2, 11, 18)"]);
}

#[test]
fn chains_of_calls_are_written_for_flame_graphs() {
    let directory = Directory::new("folded");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (script, folded) = (path("script.txt"), path("a.folded"));
    let sample = "iperf3  4242 [001]  1234.567890:     250000 cpu-clock:\n\
                  \tffffffff81a00010 memcpy+0x10 ([kernel.kallsyms])\n\
                  \tffffffff81900020 stmmac_rx+0x20 ([stmmac])\n";
    fs::write(&script, sample).expect("written");
    run(linerate(&format!("explain {script} --folded {folded}"))).assert_success();
    let told = fs::read_to_string(&folded).expect("it was written");
    assert_eq!(told, "iperf3;stmmac_rx;memcpy 1\n");
    let record = path("record.json");
    let words = format!("--tcp --send -t 1500ms --profile 997 --output {record}");
    test(&Server::start(), &words).assert_success();
    let finished = run(linerate(&format!("explain {record} --folded {folded}")));
    // Who may not look at the CPUs has nothing to write, and says so.
    if finished.stderr.contains("it has no CPU profile") {
        return finished.assert_refusal(1, &["--folded"]);
    }
    finished.assert_success();
    let told = fs::read_to_string(&folded).expect("it was written");
    let is_stack =
        |line: &str| line.rsplit_once(' ').is_some_and(|(_, n)| n.parse::<u64>().is_ok());
    assert!(told.lines().count() > 1 && told.lines().all(is_stack), "{told}");
}

#[test]
fn a_record_needs_no_rate_and_other_texts_are_no_profile() {
    let directory = Directory::new("no-profile");
    let file = directory.file("x.txt").display().to_string();
    fs::write(&file, "once upon a time").expect("written");
    run(linerate(&format!("explain {file}"))).assert_refusal(1, &["x.txt", "no output of perf"]);
    fs::write(&file, "{}").expect("written");
    run(linerate(&format!("explain {file} --rate 1G"))).assert_refusal(1, &["--rate"]);
}

#[test]
fn a_captured_host_is_diagnosed() {
    let trees = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/tests/trees");
    let root = trees.join("nanopi-r4s").display().to_string();
    let finished = run(linerate(&format!("diagnose --root {root}")));
    finished.assert_success();
    assert!(finished.stdout.starts_with("FriendlyWrt: FriendlyElec NanoPi R4S"), "{finished:?}");
    let object = run(linerate(&format!("diagnose --json --root {root}"))).json();
    assert_eq!(object["schema"], "linerate/diagnosis/1");
    assert!(object["findings"].is_array());
}

/// A published script for this board sets the masks 10 and 20 for the interrupts and for RPS. This one
/// has RPS use the other fast core: RPS to the core of the interrupt only queues packets again.
#[test]
fn a_captured_host_gets_a_script_that_makes_and_undoes_the_changes() {
    let trees = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/tests/trees");
    let root = trees.join("nanopi-r4s").display().to_string();
    let finished = run(linerate(&format!("diagnose --script --root {root}")));
    finished.assert_success();
    insta::assert_snapshot!(finished.stdout);
    let directory = Directory::new("script");
    let file = directory.file("tune.sh");
    fs::write(&file, &finished.stdout).expect("a file");
    let checked = std::process::Command::new("sh").arg("-n").arg(&file).status();
    assert!(checked.expect("a shell").success());
    let tuned = trees.join("nanopi-r4s-tuned").display().to_string();
    let finished = run(linerate(&format!("diagnose --script --root {tuned}")));
    finished.assert_success();
    finished.assert_prints(&["# No setting of this host would be changed."]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    run(linerate("diagnose 127.0.0.1 --root x")).assert_refusal(2, &["--root"]);
    run(linerate("diagnose 127.0.0.1 --script")).assert_refusal(2, &["--script"]);
    run(linerate("diagnose --script --json")).assert_complaint(2, &["'--script' and '--json'"]);
    run(linerate("diagnose --persist udev")).assert_refusal(2, &["--script"]);
    run(linerate("diagnose --root /nowhere")).assert_refusal(1, &["/nowhere"]);
}

/// A release build takes some 10 ms, start and end of the process included.
const GENEROUS: Duration = Duration::from_secs(2);
