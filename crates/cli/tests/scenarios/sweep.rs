//! `linerate sweep`: points, budget, and a file that survives a break.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use analysis::CurvePoint;
use lab::{Link, LinkSpec, Rate, Shape};
use serde_json::Value;

use crate::support::{
    Directory, LINERATE, Running, Server, before_others, client_of, eventually, linerate,
    linerate_on, program, run, skip,
};

#[test]
fn a_sweep_tells_its_plan_and_draws_its_curve() {
    let server = Server::start();
    let options = "--over rate=1M..4M -t 300ms --no-evidence";
    let finished = run(client_of(&server, "sweep", options));
    finished.assert_ran_to_its_end();
    let told: Vec<_> = finished.stderr.lines().collect();
    assert_eq!(told[0], "linerate: 3 points over rate, about 1 s", "{finished:?}");
    assert!(told[1].starts_with("[1/3] rate 1.000 Mbit/s: "), "{finished:?}");
    assert!(told[1].contains(" left") && !told[3].contains(" left"), "{finished:?}");
    finished.assert_prints(&["rate", "packets", "delivered, Mbit/s", "rate, bit/s"]);
    assert!(finished.stdout.lines().all(|line| line.chars().count() <= 80), "{finished:?}");
}

/// A shaper keeps most of the highest rate back. Where the knee is below it, the records tell.
#[test]
fn the_knee_is_at_the_last_rate_that_arrives() {
    if crate::support::link().is_none() {
        return;
    }
    let shape = Rate::from_bits_per_second(5_000_000).map(Shape::with_rate);
    let link = Link::create(&LinkSpec { shape, ..LinkSpec::default() }).expect("a link");
    let _server = Server::start_first_on(&link.far, "");
    let directory = Directory::new("sweep-knee");
    let file = directory.file("sweep.jsonl");
    let options = format!(
        "--over rate=1M..8M --pacing average -t 1s -q -o {}",
        file.to_str().expect("a path")
    );
    let words = format!("sweep {} {options}", link.far.ipv4());
    let finished = run(before_others(linerate_on(&link.near, &words)));
    finished.assert_success();
    let points = lines(&file);
    let curve: Vec<_> = points.iter().map(|line| curve_point(line)).collect();
    let (knee, _) = analysis::knee(&curve).expect("8M does not pass");
    let knee =
        format!("KNEE   at {}: the last rate of which at least 98 % arrives", curve[knee].load);
    finished.assert_prints(&[&knee, "LIMIT  "]);
    // A test that a busy machine spoils has no verdict, and says so.
    let is_spoiled = finished.stdout.contains("INVALID");
    finished.assert_prints(&[if is_spoiled { "this host sent" } else { "near the knee:" }]);
}

/// Root varies settings of its host: each point has its own, and afterwards all is as it was.
#[test]
fn settings_of_the_host_are_varied_and_given_back() {
    if crate::support::link().is_none() {
        return;
    }
    let link = Link::create(&LinkSpec::default()).expect("a link");
    let state = || {
        let show = "ip -o link show dev near0; ethtool -k near0; cat /sys/class/net/near0/mtu";
        let shown = link.near.command("sh").args(["-c", show]).output().expect("a shell");
        String::from_utf8(shown.stdout).expect("text")
    };
    let before = state();
    let _server = Server::start_first_on(&link.far, "");
    let directory = Directory::new("sweep-settings");
    let words = format!(
        "sweep {} --tcp --send --over mtu=1400,1500 --over offload=none,all -t 500ms -q --json \
         --no-evidence --state {}",
        link.far.ipv4(),
        directory.file("state").display()
    );
    let finished = run(linerate_on(&link.near, &words));
    finished.assert_ran_to_its_end();
    let set = finished.json();
    let told = |record: &Value| {
        let settings = record["tags"]["settings"].as_str().expect("a label").to_owned();
        (settings, record["streams"][0]["mss_bytes"].as_u64().expect("a size"))
    };
    let points: Vec<_> = set["records"].as_array().expect("records").iter().map(told).collect();
    assert_eq!(points.len(), 4, "{points:?}");
    for (settings, mss) in &points {
        let mtu = if settings.contains("mtu 1400") { 1_400 } else { 1_500 };
        assert!((mtu - 60..mtu).contains(mss), "{settings}: {mss}");
    }
    assert!(points[0].0.ends_with("ethtool -K near0 gro off"), "{points:?}");
    assert_eq!(state(), before);
}

fn curve_point(line: &str) -> CurvePoint {
    let event: Value = serde_json::from_str(line).expect("JSON");
    let record = crate::support::typed(&event["record"]);
    CurvePoint {
        load: record.plan.asked().expect("a rate"),
        sent: record.outcome.directions[0].offered.map(|sent| sent.rate),
        arrived: record.outcome.rate().expect("a rate"),
    }
}

#[test]
fn csv_has_a_line_for_each_point_of_two_axes() {
    let server = Server::start();
    let options =
        "--over streams=1,2 --over direction -b 20M -t 200ms --format csv -q --no-evidence";
    let finished = run(client_of(&server, "sweep", options));
    finished.assert_success();
    let mut lines = finished.stdout.lines();
    let head = lines.next().expect("a head");
    assert!(head.starts_with("streams,test_direction,direction,delivered_bits_per_second,packets"));
    let points: Vec<_> =
        lines.map(|line| line.splitn(4, ',').take(3).collect::<Vec<_>>().join(" ")).collect();
    // Both ways are two lines each.
    let expected = ["send send", "receive receive", "both send", "both receive"];
    let expected = ["1", "2"].map(|streams| expected.map(|ways| format!("{streams} {ways}")));
    assert_eq!(points, expected.concat());
    for line in finished.stdout.lines().skip(1) {
        let cells: Vec<_> = line.split(',').collect();
        let [rate, packets] = [3, 4].map(|at| cells[at].parse::<f64>().expect("a number"));
        assert!(rate > 0.0 && packets > 0.0, "{line}");
    }
}

#[test]
fn every_axis_is_set_on_the_streams() {
    let server = Server::start();
    for (over, key, expected) in [
        ("size=100,1000", "/plan/options/block_bytes", ["100", "1000"]),
        ("write=2K,64K", "/plan/options/block_bytes", ["2048", "65536"]),
        ("buffer=64K,256K", "/plan/options/window_bytes", ["65536", "262144"]),
        ("mss=600,1200", "/plan/options/mss_bytes", ["600", "1200"]),
        ("streams=1,3", "/plan/streams", ["1", "3"]),
        ("rate=1M,2M", "/plan/options/rate_bits_per_second", ["1000000", "2000000"]),
        ("congestion=reno,cubic", "/plan/options/congestion", ["reno", "cubic"]),
        ("pages=base,huge", "/plan/options/pages", ["base", "huge"]),
        ("engine=write,sendfile", "/plan/options/engines/0", ["write", "sendfile"]),
        ("direction=send,receive", "/plan/direction", ["send", "receive"]),
        ("placement=any,0", "/tags/cpus", ["any", "0"]),
    ] {
        let rate = if over.starts_with("rate") { "" } else { "-b 10M" };
        let options = format!("--over {over} {rate} -t 100ms -q --json --no-evidence");
        let finished = run(client_of(&server, "sweep", &options));
        if finished.stderr.contains("the kernel grants no huge pages") {
            finished.assert_refusal(2, &["leave huge out"]);
            continue;
        }
        finished.assert_success();
        let set = finished.json();
        let found = crate::support::list(&set["records"]).iter().map(|record| {
            let value = record.pointer(key).unwrap_or_else(|| panic!("{over}: {record}"));
            value.as_str().map_or_else(|| value.to_string(), str::to_owned)
        });
        assert_eq!(found.collect::<Vec<_>>(), expected, "{over}");
    }
}

#[test]
fn a_kill_loses_nothing_and_nothing_is_measured_twice() {
    let server = Server::start();
    let directory = Directory::new("sweep-kill");
    let file = directory.file("sweep.jsonl");
    let options = format!(
        "--over streams=1..64 -b 1M -t 500ms --no-evidence -o {}",
        file.to_str().expect("a path")
    );
    let running = Running::start(client_of(&server, "sweep", &options));
    eventually("two points", || lines(&file).len() >= 2);
    running.signal("KILL");
    let killed = running.finish();
    assert_eq!(killed.code, None, "{killed:?}");
    let before = lines(&file);
    let count = before.len();
    assert!((2..7).contains(&count), "{count} points");
    // As if the kill had come while a line was written.
    let mut bytes = fs::read(&file).expect("a file");
    bytes.extend_from_slice(br#"{"event":"row","row":9,"record":{"schema":"#);
    fs::write(&file, bytes).expect("written");
    run(client_of(&server, "sweep", &options))
        .assert_refusal(2, &["exists: add --resume to go on with it"]);
    let resumed = run(client_of(&server, "sweep", &format!("{options} --resume")));
    resumed.assert_ran_to_its_end();
    let told = format!("{} over streams, about ", points(7 - count));
    assert!(resumed.stderr.contains(&told), "{resumed:?}");
    assert!(resumed.stderr.contains(&format!(", {count} of 7 are in the file")), "{resumed:?}");
    let after = lines(&file);
    assert_eq!(after[..count], before[..], "what was there is kept");
    let points = ["1", "2", "4", "8", "16", "32", "64"];
    assert_eq!(streams(&after), points.map(str::to_owned).into());
    assert_eq!(after.len(), 7);
    // All of it is drawn.
    assert_eq!(resumed.stdout.lines().filter(|line| line.contains("bit/s ")).count(), 7);
    let again = run(client_of(&server, "sweep", &format!("{options} --resume -q --format csv")));
    again.assert_ran_to_its_end();
    assert_eq!(again.stdout.lines().count(), 8, "{again:?}");
    assert_eq!(lines(&file), after, "nothing is measured again");
    let explained = run(linerate(&format!("explain {}", file.display())));
    assert_eq!(explained.code, Some(0), "{explained:?}");
}

#[test]
fn a_line_that_lacks_only_its_end_is_kept() {
    let server = Server::start();
    let directory = Directory::new("sweep-end");
    let file = directory.file("sweep.jsonl");
    let sweep = |over: &str| {
        let file = file.to_str().expect("a path");
        let options = format!("--over {over} -t 100ms --no-evidence --resume -q -o {file}");
        run(client_of(&server, "sweep", &options))
    };
    sweep("streams=1").assert_ran_to_its_end();
    let whole = fs::read_to_string(&file).expect("a file");
    fs::write(&file, whole.trim_end()).expect("written");
    sweep("streams=1,2").assert_ran_to_its_end();
    let after = fs::read_to_string(&file).expect("a file");
    assert!(after.starts_with(&whole) && lines(&file).len() == 2);
    let other = whole.replace("127.0.0.1:", "127.0.0.2:");
    fs::write(&file, other).expect("written");
    sweep("streams=1").assert_refusal(2, &["the file is of a sweep with 127.0.0.2"]);
    for text in ["text\n", "text", "{}"] {
        fs::write(&file, text).expect("written");
        sweep("streams=1").assert_refusal(2, &["line 1 of ", " is no record: choose another file"]);
        assert_eq!(fs::read_to_string(&file).expect("a file"), text, "what is no sweep is kept");
    }
}

#[test]
fn a_full_disk_keeps_the_points_before() {
    let directory = Directory::new("sweep-full");
    let namespace = |script: &str| {
        let mut command = program(Command::new("unshare"));
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]);
        command.arg(&directory.0).arg(LINERATE);
        command
    };
    let mount = "mkdir \"$1\"/disk && mount -t tmpfs -o size=64k none \"$1\"/disk";
    if run(namespace(&format!("{mount} && umount \"$1\"/disk && rmdir \"$1\"/disk"))).code
        != Some(0)
    {
        return skip::<()>("no namespace with a disk of its own").unwrap_or_default();
    }
    let server = Server::start();
    let points = "--over streams=1..32/32 -b 2M -t 50ms --no-evidence -q --format csv";
    let sweep = server.arguments("sweep", points);
    let play =
        format!("\"$2\" {sweep} -o \"$1\"/disk/file; echo \"exit $?\"; cp \"$1\"/disk/file \"$1\"");
    let finished = run(namespace(&format!("{mount} && {play}")));
    assert!(finished.stdout.ends_with("exit 1\n"), "{finished:?}");
    let words = "no space left on device; the points before are in it, go on with --resume";
    assert!(finished.stderr.contains(words), "{finished:?}");
    let file = directory.file("file");
    let before = lines(&file);
    assert!((1..32).contains(&before.len()), "{} points", before.len());
    let bytes = fs::read(&file).expect("a file");
    assert_eq!(bytes.last(), Some(&b'\n'), "no part of a line is left");
    // The point that was not stored is drawn too.
    let drawn = finished.stdout.lines().filter(|line| line.contains(",send,")).count();
    assert_eq!(drawn, before.len() + 1, "{finished:?}");
    let resume = format!("{points} --resume -o {}", file.display());
    let resumed = run(client_of(&server, "sweep", &resume));
    resumed.assert_ran_to_its_end();
    let after = lines(&file);
    assert_eq!((after.len(), streams(&after).len()), (32, 32));
    assert_eq!(after[..before.len()], before[..]);
}

#[test]
fn ctrl_c_keeps_what_is_done_and_draws_it() {
    let server = Server::start();
    let directory = Directory::new("sweep-interrupt");
    let file = directory.file("sweep.jsonl");
    let options = format!(
        "--over streams=1..64 -b 1M -t 700ms --no-evidence -o {}",
        file.to_str().expect("a path")
    );
    let running = Running::start(client_of(&server, "sweep", &options));
    eventually("two points", || lines(&file).len() >= 2);
    running.signal("INT");
    let finished = running.finish();
    assert_eq!(finished.code, Some(130), "{finished:?}");
    let count = lines(&file).len();
    assert!((2..7).contains(&count), "{count}");
    let rows = finished.stdout.lines().filter(|line| line.contains("bit/s ")).count();
    assert_eq!(rows, count, "{finished:?}");
    finished.assert_prints(&["delivered, Mbit/s", "streams"]);
    let told = format!("linerate: ended early, {} not run", points(7 - count));
    assert!(finished.stderr.contains(&told), "{told}: {finished:?}");
    let end = format!("linerate: interrupted after {}\n", points(count));
    assert!(finished.stderr.ends_with(&end), "{end}: {finished:?}");
}

#[test]
fn a_budget_sets_the_time_of_each_point_or_is_refused() {
    let server = Server::start();
    let options = "--over rate=1M..8M --budget 5s -q --no-evidence --json";
    let finished = run(client_of(&server, "sweep", options));
    finished.assert_ran_to_its_end();
    assert!(finished.took < std::time::Duration::from_secs(8), "{:?}", finished.took);
    let set = finished.json();
    let records = crate::support::list(&set["records"]);
    assert_eq!(records.len(), 4);
    // A quarter of the budget, less what is around a test.
    let time = |record: &Value| record["plan"]["end"]["time_seconds"].as_f64().expect("a time");
    let times: Vec<_> = records.iter().map(time).collect();
    assert!(times.iter().all(|time| (0.8..1.0).contains(time)), "{times:?}");
    let refused = run(client_of(&server, "sweep", "--over rate --budget 5s"));
    refused.assert_refusal(2, &["11 points of 500ms do not fit --budget: choose 9s or fewer"]);
}

#[test]
fn a_point_that_fails_is_told_and_the_others_are_measured() {
    let server = Server::start_with("--bind 127.0.0.1 --max-streams 3");
    let options = "--over streams=1,4,2 -t 100ms --no-evidence";
    let finished = run(client_of(&server, "sweep", options));
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let rows = finished.stdout.lines().filter(|line| line.contains("bit/s ")).count();
    assert_eq!(rows, 2, "{finished:?}");
    let json = run(client_of(&server, "sweep", &format!("{options} --json -q")));
    assert_eq!(json.code, Some(1), "{json:?}");
    let set = json.json();
    assert_eq!(
        (set["error"]["kind"].as_str(), crate::support::list(&set["records"]).len()),
        (Some("failed"), 2)
    );
    let told = "linerate: 1 of the points failed; streams 4: ";
    assert!(finished.stderr.contains(told) && finished.stderr.contains("[3/3]"), "{finished:?}");
    drop(server);
    let gone = run(linerate("sweep 127.0.0.1:1 --over streams=1,2 -q"));
    gone.assert_refusal(1, &["connection refused"]);
}

#[test]
fn what_is_no_sweep_is_one_sentence() {
    for (options, words) in [
        ("--over speed", "there is no axis 'speed': type rate, size, streams"),
        ("--over rate=1M..1G/0", "needs a number of values between 2 and 1000"),
        ("--over mss=10", "88"),
        ("--over size=10", "length"),
        ("--over streams=1,0", "number of streams"),
        ("--over rate --over rate=1M", "--over rate twice"),
        ("--over rate --over size --over streams", "choose two axes"),
        ("--over write --udp", "--over write is for TCP"),
        ("--over size --tcp", "type --udp, or --over write"),
        ("--over congestion=nonesuch", "there is no congestion control 'nonesuch' here"),
        ("--over engine=gso --tcp", "--engine gso is for UDP"),
        ("--over rate=1M..1G/100 --over streams=1..100/100", "10000 points are too many"),
        ("--over streams --repeat 3", "leave --repeat out"),
        ("--over streams --fastest", "type --over engine"),
        ("--over streams --unit m", "leave --unit out"),
        ("--over streams --resume", "--output"),
        ("--over streams -o /dev/null --resume", "/dev/null is no file"),
        ("--over streams -o /dev/null", "/dev/null exists"),
        ("", "--over"),
        ("--over streams -o /nonexistent/file", "cannot write /nonexistent/file"),
    ] {
        let finished = run(linerate(&format!("sweep 127.0.0.1:1 {options}")));
        assert_eq!(finished.code, Some(2), "{options}: {finished:?}");
        assert!(finished.stderr.contains(words), "{options}: {finished:?}");
        assert!(finished.stderr.lines().count() == 1 && finished.stdout.is_empty(), "{finished:?}");
    }
}

/// The whole lines of a file; none: it is not there.
fn lines(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_inclusive('\n').filter(|line| line.ends_with('\n')).map(str::to_owned).collect()
}

/// The numbers of streams in the lines of a file.
fn streams(lines: &[String]) -> BTreeSet<String> {
    let of_line = |line: &String| {
        let event: Value = serde_json::from_str(line).expect("JSON");
        event["record"]["plan"]["streams"].to_string()
    };
    lines.iter().map(of_line).collect()
}

fn points(count: usize) -> String {
    if count == 1 { "1 point".to_owned() } else { format!("{count} points") }
}
