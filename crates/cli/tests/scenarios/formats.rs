//! What is printed: tables, records, help.

use std::path::Path;

use lab::{Link, LinkSpec, Rate, Shape};
use measurement::schema;
use serde_json::Value;

use crate::service::exposition::Exposition;
use crate::support::{Directory, Server, across, client, json, linerate, list, run, shell, test};

#[test]
fn one_row_is_one_record() {
    let record = json(&Server::start(), "--tcp --send -t 300ms");
    assert_eq!(record["schema"], "linerate/record/1");
    assert_eq!(record["outcome"]["ending"]["state"], "completed");
    assert_is_valid(&record, &schema::record());
    assert_makes_sense(&record);
}

#[test]
fn several_rows_are_several_records() {
    let set = json(&Server::start(), "-t 300ms -i 100ms");
    assert_eq!(set["schema"], "linerate/records/1");
    assert_is_valid(&set, &schema::record_set());
    let rows: Vec<_> = records(&set)
        .map(|record| [text(record, "/plan/transport"), text(record, "/plan/direction")].join(" "))
        .collect();
    assert_eq!(rows, ["tcp send", "tcp receive", "udp send", "udp receive"]);
    records(&set).for_each(assert_makes_sense);
}

#[test]
fn every_option_gives_a_valid_record() {
    let server = Server::start();
    for options in [
        "--tcp --bidir -P 3 -t 300ms -N -w 64K -C reno -M 1000 --tag a=b",
        "--udp --bidir -P 2 -b 10M -l 1000 -t 300ms",
        "--tcp --receive -n 3M",
        "--udp --send -k 50 -b 50M",
    ] {
        let record = json(&server, options);
        assert_is_valid(&record, &schema::record());
        assert_makes_sense(&record);
    }
}

#[test]
fn records_are_valid_by_the_published_schemas_too() {
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    let server = Server::start();
    let documents = [
        ("record", json(&server, "--udp --send -b 50M -t 100ms")),
        ("records", json(&server, "--udp -b 50M -t 100ms --repeat 2")),
    ];
    for (kind, document) in documents {
        let files = std::fs::read_dir(&published).into_iter().flatten().flatten();
        let named = |name: &str| name.split('.').next().is_some_and(|stem| stem.ends_with(kind));
        for file in files.filter(|file| named(&file.file_name().to_string_lossy())) {
            let schema = std::fs::read_to_string(file.path()).expect("a schema");
            assert_is_valid(&document, &serde_json::from_str(&schema).expect("JSON"));
        }
    }
}

#[test]
fn the_omitted_start_is_not_part_of_the_result() {
    let server = Server::start();
    for row in ["--tcp --send", "--tcp --receive", "--udp --send", "--udp --receive"] {
        let record = json(&server, &format!("{row} -b 40M -O 1s -t 1s -i 250ms"));
        assert_makes_sense(&record);
        for end in ["offered", "delivered"] {
            let throughput = &record["outcome"]["directions"][0][end];
            let (seconds, bytes) = (number(throughput, "/seconds"), number(throughput, "/bytes"));
            assert!((0.7..1.6).contains(&seconds), "{row} {end}: {throughput}");
            // 5 MB a second; both seconds would be 10 MB.
            assert!(bytes < 8e6, "{row} {end}: {throughput}");
        }
        let omitted = intervals(&record).filter(|interval| interval["omitted"] == true);
        let until = omitted.map(|interval| number(interval, "/to_seconds")).fold(0.0, f64::max);
        assert!((0.9..1.6).contains(&until), "{row}: {until}");
    }
}

#[test]
fn a_file_holds_what_json_prints() {
    let (server, directory) = (Server::start(), Directory::new("output"));
    let file = directory.file("record.json");
    let mut command = client(&server, "--tcp --send -t 100ms --json --output");
    command.arg(&file);
    let finished = run(command);
    finished.assert_success();
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), finished.stdout);
    assert_eq!(directory.names(), ["record.json"]);

    // A table on standard output, over the old file.
    let mut command = client(&server, "--udp -b 50M -t 100ms --output");
    command.arg(&file);
    let finished = run(command);
    finished.assert_success();
    finished.assert_prints(&["UDP receive"]);
    let set: Value = serde_json::from_slice(&std::fs::read(&file).expect("a file")).expect("JSON");
    assert_is_valid(&set, &schema::record_set());
}

#[test]
fn what_is_no_file_is_written_into_and_stays_what_it_is() {
    let (server, directory) = (Server::start(), Directory::new("devices"));
    let link = directory.file("link");
    std::os::unix::fs::symlink("/dev/null", &link).expect("a link");
    let mut command = client(&server, "--tcp --send -t 50ms --output");
    command.arg(&link);
    run(command).assert_success();
    assert!(link.is_symlink() && !Path::new("/dev/null").is_file());
    let mut command = client(&server, "--tcp --send -t 50ms --output /dev/full");
    command.env_remove("LINERATE_OUTPUT");
    let finished = run(command);
    assert!(finished.stderr.contains("cannot write /dev/full"), "{finished:?}");
    assert!(!Path::new("/dev/full").is_file());
}

#[test]
fn repeated_rows_have_a_median_between_the_extremes() {
    let server = Server::start();
    let set = json(&server, "--tcp -P 2 -b 20M -t 100ms --repeat 3");
    assert_is_valid(&set, &schema::record_set());
    assert_eq!(records(&set).count(), 6);
    let summaries = set["summaries"].as_array().expect("summaries");
    let rows: Vec<_> = summaries.iter().map(|summary| text(summary, "/row")).collect();
    assert_eq!(rows, ["TCP send, 2 streams", "TCP receive, 2 streams"]);
    for summary in summaries {
        let [slowest, median, fastest] = ["slowest", "median", "fastest"]
            .map(|key| number(summary, &format!("/{key}_bits_per_second")));
        assert!(0.0 < slowest && slowest <= median && median <= fastest, "{summary}");
        assert_eq!(summary["runs"], 3);
    }
    let table = test(&server, "--tcp --send -b 20M -t 100ms --repeat 2 --format details").stdout;
    assert!(table.contains("median") && table.contains("runs"), "{table}");
    assert!(table.contains("TCP send 1/2 ") && table.contains("TCP send 2/2 "), "{table}");
}

#[test]
fn tags_label_the_record() {
    let record = json(&Server::start(), "--tcp --send -t 100ms --tag site=lab --tag note=a=b");
    assert_eq!(record["tags"], serde_json::json!({"site": "lab", "note": "a=b"}));
}

#[test]
fn the_environment_sets_what_flags_override() {
    let server = Server::start();
    let with = |variables: &[(&str, &str)], options: &str| {
        let mut command = client(&server, options);
        command.envs(variables.iter().copied());
        let finished = run(command);
        finished.assert_success();
        finished
    };
    let settings = [("LINERATE_TIME", "200ms"), ("LINERATE_JSON", "1"), ("LINERATE_SEND", "yes")];
    let record = with(&settings, "--tcp").json();
    assert_eq!(record["plan"]["end"]["time_seconds"], 0.2);
    let record = with(&settings, "--tcp -t 100ms").json();
    assert_eq!(record["plan"]["end"]["time_seconds"], 0.1);
    let off = [("LINERATE_TIME", "100ms"), ("LINERATE_JSON", "false"), ("LINERATE_QUIET", "0")];
    let table = with(&off, "--tcp --send").stdout;
    assert!(table.contains("TCP send"), "{table}");

    // What means nothing for a test does not prevent it.
    let record = with(&[("LINERATE_PACING", "even")], "--json --tcp --send -t 100ms").json();
    assert_eq!(record["plan"]["options"]["pacing"], Value::Null);
    let settings = [("LINERATE_PACING", "even"), ("LINERATE_JSON", "1")];
    let record = with(&settings, "--udp -t 100ms --send -b 10M").json();
    assert_eq!(record["plan"]["options"]["pacing"], "even");

    let mut command = client(&server, "--tcp --send -t 100ms --verbose");
    command.env("LINERATE_QUIET", "1");
    let told = run(command).stderr;
    assert!(told.contains("1 stream opened"), "the flag is nearer than the environment: {told}");

    let mut command = linerate("test 127.0.0.1");
    command.env("LINERATE_RATE", "fast");
    run(command).assert_refusal(2, &["'fast'", "LINERATE_RATE"]);
}

#[test]
fn colours_are_for_those_who_want_them() {
    let server = Server::start();
    let has_colours = |options: &str, no_color: bool| {
        let mut command = client(&server, &format!("--tcp --send -t 50ms {options}"));
        if no_color {
            command.env("NO_COLOR", "1");
        }
        run(command).stdout.contains('\x1b')
    };
    assert!(!has_colours("", false), "no terminal");
    assert!(!has_colours("--color auto", true));
    assert!(!has_colours("--color never", false));
    assert!(has_colours("--color always", false));
    assert!(has_colours("--color always", true), "the flag is nearer than the environment");
    assert!(!has_colours("--color always --json", false), "a record is not text for people");
}

#[test]
fn intervals_are_shown_on_request() {
    let server = Server::start();
    let finished = test(&server, "--tcp --send -b 80M -O 1s -t 500ms -i 250ms --verbose");
    finished.assert_ran_to_its_end();
    assert!(finished.stderr.lines().all(|line| line.starts_with("TCP send  ")), "{finished:?}");
    let (workers, lines): (Vec<_>, Vec<_>) =
        finished.stderr.lines().partition(|line| !line.contains("bit/s"));
    assert!(lines.len() >= 4, "{finished:?}");
    assert!(workers[0].starts_with("TCP send  1 stream opened in "), "{finished:?}");
    assert_eq!(workers[1], "TCP send  here worker 0, any CPU: 1 stream (1)");
    let busy = |whose: &str| format!("TCP send  {whose} worker 0, any CPU: 1 stream, busy ");
    assert!(workers[2].starts_with(&busy("here")), "{finished:?}");
    assert!(workers[3].starts_with(&busy("the server's")), "{finished:?}");
    let (first, last) = (lines[0], lines[lines.len() - 1]);
    assert!(first.ends_with("(omitted)") && !last.ends_with("(omitted)"), "{finished:?}");
}

#[test]
fn a_pipe_has_the_table_alone_and_with_an_interval_lines_that_begin_with_their_time() {
    let server = Server::start();
    let lines = |options: &str| {
        let finished = test(&server, options);
        finished.assert_ran_to_its_end();
        let all = finished.stdout.lines().map(str::to_owned);
        all.filter(|line| line.contains("TCP send")).collect::<Vec<_>>()
    };
    let rows = lines("--tcp --send -b 80M -t 2500ms");
    assert!(rows.iter().all(|line| !line.contains("sent")), "{rows:#?}");
    let rows = lines("--tcp --send -b 80M -t 1s -i 250ms");
    let (of_intervals, others): (Vec<_>, Vec<_>) =
        rows.iter().partition(|line| line.contains("TCP send  sent "));
    assert!(of_intervals.len() >= 3, "{rows:#?}");
    assert!(of_intervals[0].starts_with("    0.0-0."), "{rows:#?}");
    assert!(others.iter().any(|line| line.starts_with("  TCP send ")), "{rows:#?}");
    let quiet = lines("--tcp --send -t 1s -i 250ms -q");
    assert!(quiet.iter().all(|line| !line.contains("sent ")), "{quiet:#?}");
}

#[test]
fn a_screen_has_a_row_for_each_direction_and_fits_a_terminal() {
    let server = Server::start();
    let finished = test(&server, "-b 20M -t 300ms");
    finished.assert_ran_to_its_end();
    let lines: Vec<_> = finished.stdout.lines().collect();
    // Whatever else this machine does meanwhile has lines of its own.
    assert!(lines.len() <= 30, "{finished:?}");
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{finished:?}");
    for row in ["TCP send", "TCP receive", "UDP send", "UDP receive"] {
        let is_row = |line: &&&str| line.trim_start().starts_with(row) && line.contains("Mbit/s");
        assert_eq!(lines.iter().filter(is_row).count(), 1, "{row}: {finished:?}");
    }
    assert!(finished.stdout.contains("  LIMIT    "), "{finished:?}");
}

#[test]
fn the_last_run_is_kept_and_explained() {
    let folder = std::env::temp_dir().join(format!("linerate-last-{}", std::process::id()));
    let with = |mut command: std::process::Command| {
        command.env("XDG_STATE_HOME", &folder);
        run(command)
    };
    with(linerate("explain last")).assert_complaint(1, &["no test was run yet by this user"]);
    let server = Server::start();
    with(client(&server, "--tcp --send -t 200ms")).assert_ran_to_its_end();
    let explained = with(linerate("explain last"));
    assert_eq!(explained.code, Some(0), "{explained:?}");
    assert!(
        explained.stderr.starts_with("linerate: this is run 1, linerate test, "),
        "{explained:?}"
    );
    assert!(explained.stdout.contains("TCP send"), "{explained:?}");
    _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn a_table_has_a_row_for_each_direction() {
    let server = Server::start();
    let table = test(&server, "-b 20M -t 200ms --format details").stdout;
    with_redactions(|| insta::assert_snapshot!("four_rows", table));
    let table = test(&server, "--udp --bidir -P 2 -k 40 -b 20M --format details").stdout;
    with_redactions(|| insta::assert_snapshot!("both_ways", table));
    let table = test(&server, "--tcp --send -t 100ms --repeat 2 --format details").stdout;
    with_redactions(|| insta::assert_snapshot!("repeated", table));
}

#[test]
fn a_result_is_metrics_with_its_stamp() {
    let server = Server::start();
    let finished = test(&server, "--latency --format openmetrics -b 10M -t 300ms");
    finished.assert_ran_to_its_end();
    let metrics = Exposition::read(&finished.stdout);
    for row in ["TCP send", "TCP receive", "UDP send", "UDP receive"] {
        let of = |name: &str, more: &str| {
            let labels = format!("row=\"{row}\",peer=\"127.0.0.1\"{more}");
            format!("linerate_test_{name}{{{labels}}}")
        };
        let state = |state| of("stamp", &format!(",linerate_test_stamp=\"{state}\""));
        let states = ["VALID", "SUSPECT", "INVALID"].map(|one| metrics.count(&state(one)));
        assert_eq!(states.iter().sum::<u64>(), 1, "{row}");
        assert!(metrics.value(&of("rate_bits_per_second", "")) > 1e6, "{row}");
        assert!(metrics.value(&of("round_trip_seconds", ",quantile=\"0.99\"")) > 0.0, "{row}");
    }
}

#[test]
fn a_format_has_a_name_and_the_command_line_goes_before_the_environment() {
    let records = "../report/tests/records/four-rows.json";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(records).display().to_string();
    let explained = |words: &str, variable: Option<(&str, &str)>| {
        let mut command = linerate(&format!("explain {file} {words}"));
        command.envs(variable);
        let finished = run(command);
        finished.assert_success();
        finished.stdout
    };
    let (compact, indented) = (explained("--format json-compact", None), explained("--json", None));
    assert_eq!(compact.lines().count(), 1, "{compact}");
    assert!(indented.starts_with("{\n"), "{indented}");
    assert_eq!(explained("", Some(("LINERATE_FORMAT", "json-compact"))), compact);
    assert_eq!(explained("--json", Some(("LINERATE_FORMAT", "table"))), indented);
    let table = explained("--format table", Some(("LINERATE_JSON", "1")));
    assert!(table.contains("delivered") && !table.contains('{'), "{table}");
    let page = run(linerate("explain gro-off --format json-compact"));
    assert_eq!(page.stdout.lines().count(), 1, "{page:?}");
    assert_eq!(page.json(), run(linerate("explain gro-off --json")).json());
    run(linerate("explain gro-off --format csv"))
        .assert_complaint(2, &["choose table, json or json-compact"]);
}

#[test]
fn a_stream_of_json_tells_each_event_when_it_happens() {
    let server = Server::start();
    let finished = test(&server, "--tcp -t 400ms -i 100ms --json-stream --tag a=b");
    assert!(finished.ran_to_its_end(), "{finished:?}");
    let lines: Vec<Value> = finished
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object on each line"))
        .collect();
    let schema = measurement::schema::run_event();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    for line in &lines {
        let errors: Vec<_> = validator.iter_errors(line).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
    let of = |event: &str| lines.iter().filter(|line| line["event"] == event).collect::<Vec<_>>();
    let rows = |event: &str| of(event).iter().map(|line| line["row"].clone()).collect::<Vec<_>>();
    assert_eq!((rows("start"), rows("row")), (vec![0.into(), 1.into()], vec![0.into(), 1.into()]));
    assert!(of("interval").len() >= 6, "{finished:?}");
    let interval = &of("interval")[0];
    assert!(interval["rate_bits_per_second"].as_u64() > Some(0), "{interval}");
    assert_eq!((&lines[0]["event"], &lines[0]["title"]), (&"start".into(), &"TCP send".into()));
    let end = lines.last().expect("lines");
    assert_eq!((&end["event"], list(&end["rows"]).len()), (&"end".into(), 2));
    assert_eq!(of("row")[0]["record"]["tags"]["a"], "b");
    let directory = Directory::new("stream");
    let file = directory.file("stream.json");
    std::fs::write(&file, &finished.stdout).expect("a file");
    run(linerate(&format!("explain {}", file.display()))).assert_prints(&["TCP receive"]);
}

#[test]
fn what_a_terminal_of_80_columns_shows_is_not_wider() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests");
    let (records, perf) = (tests.join("records"), tests.join("perf"));
    let mut lines: Vec<_> =
        ["host", "diagnose", "explain", "explain cpu-saturated", "calc goodput 10G"]
            .map(str::to_owned)
            .into();
    for name in ["asymmetric", "four-rows", "home-router", "latency", "slow-upload"] {
        let file = records.join(name).with_extension("json").display().to_string();
        lines.extend([format!("explain {file}"), format!("explain {file} -v")]);
    }
    lines.push(format!("explain {}", perf.join("two-reports.txt").display()));
    for line in lines {
        let mut command = linerate(&line);
        command.env("COLUMNS", "80");
        let finished = run(command);
        finished.assert_success();
        let is_long = |line: &&str| line.chars().count() > 80;
        // A command that was broken could not be copied.
        let is_command = |line: &str| line.trim_start().starts_with("run ");
        let long = finished.stdout.lines().find(|line| is_long(line) && !is_command(line));
        assert_eq!(long, None, "{line}");
    }
}

#[test]
fn a_record_of_five_seconds_is_short_in_a_file_that_is_packed() {
    let (server, folder) = (Server::start(), Directory::new("packed"));
    let file = folder.file("row.json.gz");
    let name = file.display().to_string();
    let finished = test(&server, &format!("--tcp --send -b 80M -t 5s --json -o {name}"));
    assert!(finished.ran_to_its_end(), "{finished:?}");
    let record = finished.json();
    assert!(record["hosts"][1]["series"]["at_nanos"].is_array(), "with evidence");
    let bytes = record["samples"].as_array().expect("samples").last().expect("one");
    let bytes = bytes["streams"][0]["bytes"].as_u64().expect("a number");
    assert!(bytes >= 40_000_000, "{bytes}");
    let size = std::fs::metadata(&file).expect("a file").len();
    assert!(size <= 40_000, "{size} bytes");
    let shown = run(linerate(&format!("export {name} --format json")));
    assert_eq!(shown.json(), record);
    let table = run(linerate(&format!("show {name}")));
    table.assert_prints(&["TCP send", "LIMIT"]);
    std::fs::write(&file, &std::fs::read(&file).expect("a file")[..2_000]).expect("a disk");
    let cut = run(linerate(&format!("export {name} --format json")));
    cut.assert_complaint(1, &[&format!("cannot read {name}: ")]);
}

#[test]
fn help_is_for_people() {
    for command in [
        "",
        "serve",
        "test",
        "latency",
        "search",
        "sweep",
        "ladder",
        "packets",
        "dut",
        "ab",
        "demo",
        "calc",
        "copy",
        "diagnose",
        "explain",
        "host",
        "capture",
        "undo",
        "completions",
        "man",
    ] {
        let finished = run(linerate(&format!("{command} --help")));
        finished.assert_success();
        let name = if command.is_empty() { "help" } else { &format!("help_{command}") };
        insta::assert_snapshot!(name, finished.stdout);
        finished.assert_prints(&["Example"]);
    }
}

#[test]
fn completions_know_the_commands() {
    for (shell, mark) in
        [("bash", "complete -F _linerate"), ("zsh", "#compdef linerate"), ("fish", "complete -c")]
    {
        let finished = run(linerate(&format!("completions {shell}")));
        finished.assert_success();
        finished.assert_prints(&[mark, "serve", "demo", "receive", "link-rate"]);
    }
}

#[test]
fn the_manual_page_has_every_command_and_option() {
    let page = run(linerate("man"));
    page.assert_success();
    page.assert_prints(&[".TH linerate 1"]);
    for command in ["serve", "test", "demo", "completions", "man"] {
        assert!(page.stdout.contains(&format!(".SH LINERATE {}", command.to_uppercase())));
        let help = run(linerate(&format!("{command} --help"))).stdout;
        let options: Vec<_> = help
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
            .filter(|word| word.starts_with("--") && word.len() > 2)
            .collect();
        assert!(options.len() > 1, "{help}");
        for option in options {
            // roff(7) writes a minus as `\-`.
            assert!(page.stdout.contains(&option.replace('-', "\\-")), "{command} {option}");
        }
    }
}

fn assert_is_valid(document: &Value, schema: &Value) {
    let validator = jsonschema::validator_for(schema).expect("a schema");
    let errors: Vec<_> = validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
}

/// Every amount fits the others.
fn assert_makes_sense(record: &Value) {
    let outcome = &record["outcome"];
    for direction in outcome["directions"].as_array().expect("directions") {
        let offered = number(direction, "/offered/bytes");
        let delivered = number(direction, "/delivered/bytes");
        // A receiver may count what left just before the sender's measurement began.
        assert!(0.0 < delivered && delivered <= offered * 1.05 + 5e6, "{direction}");
        for end in ["/offered", "/delivered"] {
            let rate = number(direction, &format!("{end}/rate_bits_per_second"));
            let bits = 8.0 * number(direction, &format!("{end}/bytes"));
            let expected = bits / number(direction, &format!("{end}/seconds"));
            assert!((rate / expected - 1.0).abs() < 1e-3, "{direction}");
        }
        if let Some(datagrams) = direction.get("datagrams") {
            let [sent, received, lost] =
                ["/sent", "/received", "/lost"].map(|key| number(datagrams, key));
            assert!((sent - received - lost).abs() < 0.5, "{datagrams}");
        }
    }
    // What the intervals add up to is what this end counted.
    let counted = |direction: &Value| {
        let key = match text(direction, "/direction").as_str() {
            "receive" => "/delivered/bytes",
            _ if direction.get("acknowledged").is_some() => "/acknowledged/bytes",
            _ => "/offered/bytes",
        };
        number(direction, key)
    };
    let directions = outcome["directions"].as_array().expect("directions");
    let total: f64 = directions.iter().map(counted).sum();
    let kept = intervals(record).filter(|interval| interval["omitted"] == false);
    let sum: f64 = kept.map(|interval| number(interval, "/bytes")).sum();
    assert!((sum - total).abs() <= 1.0, "{sum} of {total}: {outcome}");
}

fn records(set: &Value) -> impl Iterator<Item = &Value> {
    set["records"].as_array().expect("records").iter()
}

fn intervals(record: &Value) -> impl Iterator<Item = &Value> {
    let directions = record["intervals"].as_array().expect("intervals");
    directions.iter().flat_map(|direction| direction["intervals"].as_array().expect("intervals"))
}

fn number(value: &Value, pointer: &str) -> f64 {
    let number = value.pointer(pointer).and_then(Value::as_f64);
    number.unwrap_or_else(|| panic!("no number {pointer} in {value}"))
}

fn text(value: &Value, pointer: &str) -> String {
    let text = value.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_else(|| panic!("no text {pointer} in {value}")).to_owned()
}

/// Takes out of a table what differs from run to run, and the widths with it.
fn with_redactions(check: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    // So does what kept a rate from being kept, and what is noted of a busy machine.
    // What is said of a run depends on the host, and on what else runs there.
    settings.add_filter(r"\n(\n  +(verdict|seen|would decide|may be|besides): .*)+", "");
    settings.add_filter(r"\n(\n  (note|not checked|SUSPECT|INVALID|steady): .*)+", "");
    settings.add_filter(r"(\n  (note|not checked|SUSPECT|INVALID|steady): .*)+", "");
    settings.add_filter(r"(VALID|SUSPECT|INVALID)\n", "[stamp]\n");
    settings.add_filter(r"((ledger|time|ipdv): [^:\n]*): .*", "$1");
    settings.add_filter(r"(pacing: [^;\n]*);.*", "$1");
    settings.add_filter(r"linerate \d+\.\d+\.\d+", "linerate [version]");
    settings.add_filter(r":\d{2,5} ", ":[port] ");
    // Whether a rate falls short depends on how busy the machine is.
    settings.add_filter(r"[\d.]+ [kMGT]?bit/s( !)?", "[rate]");
    settings.add_filter(r"\d+ \([\d.]+ %\)", "[loss]");
    settings.add_filter(r"[\d.]+ ms", "[jitter]");
    settings.add_filter(r" [\d.]+[mu]?s\b", " [time]");
    // Jain's index.
    settings.add_filter(r" [01]\.\d{3}\b( !)?", " [index]");
    settings.add_filter(r" {2,}\d+\b", "  [count]");
    settings.add_filter(r" {2,}", "  ");
    settings.bind(check);
}

/// Each is typed on the host that it names.
#[test]
fn commands_on_the_screen_work_where_they_are_to_be_typed() {
    if crate::support::link().is_none() {
        return;
    }
    let shape = Rate::from_bits_per_second(50_000_000).map(Shape::with_rate);
    let link = Link::create(&LinkSpec { shape, ..LinkSpec::default() }).expect("a link");
    let server = Server::start_on(&link.far, "");
    let finished = across(&link, "test", "--tcp -t 1s");
    finished.assert_ran_to_its_end();
    let mut typed = 0;
    for line in finished.stdout.lines() {
        let places = [("here:  ", &link.near), ("on the server:  ", &link.far)];
        let found = places
            .iter()
            .find_map(|(place, host)| Some((line.trim_start().strip_prefix(place)?, host)));
        let Some((command, host)) = found else { continue };
        assert!(shell(host, command), "{command}: {finished:?}");
        typed += 1;
    }
    assert!(typed > 0, "{finished:?}");
    drop(server);
}
