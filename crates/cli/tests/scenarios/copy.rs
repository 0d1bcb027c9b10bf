//! `linerate copy`: of this host, beside a test, and what is refused.

use std::path::Path;

use crate::support::{Directory, Finished, Server, linerate, run};

/// With a cache of its own.
fn copy(directory: &Directory, options: &str) -> Finished {
    let mut command = linerate(&format!("copy --quick {options}"));
    command.env("XDG_CACHE_HOME", directory.path()).env_remove("COPY_ROUTINE");
    run(command)
}

#[test]
fn programs_read_speeds_of_routines_and_of_the_kernel() {
    let directory = Directory::new("copy-json");
    let finished = copy(&directory, "--json");
    finished.assert_success();
    let record = finished.json();
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/copy.json");
    let schema = serde_json::from_str(&std::fs::read_to_string(schema).expect("a schema"));
    let schema = jsonschema::validator_for(&schema.expect("JSON")).expect("a schema");
    assert!(schema.is_valid(&record), "{record:#}");
    let core = &record["cores"][0];
    let speeds = core["routines"].as_array().expect("routines").iter();
    let is_byte = |one: &&serde_json::Value| one["routine"] == "byte";
    assert!(speeds.filter(is_byte).all(|one| one["bytes_per_second"].as_f64() > Some(1e6)));
    let paths = core["kernel"].as_array().expect("paths");
    assert_eq!(paths.len(), 7, "{core:#}");
    assert_eq!(core["choice"]["by"], "probe");
    let again = copy(&directory, "--json").json();
    let choice = &again["cores"][0]["choice"];
    assert_eq!((&choice["by"], &choice["routine"]), (&"cache".into(), &core["choice"]["routine"]));
    let fresh = copy(&directory, "--fresh --json").json();
    assert_eq!(fresh["cores"][0]["choice"]["by"], "probe");
}

#[test]
fn every_format_has_the_same_rows() {
    let directory = Directory::new("copy-formats");
    let in_format = |name: &str| {
        let finished = copy(&directory, &format!("--routine byte --format {name}"));
        finished.assert_success();
        finished.stdout
    };
    let csv = in_format("csv");
    let rows = csv.lines().count() - 1;
    assert!(csv.starts_with("cpu,copy,length_bytes,") && rows > 7, "{csv}");
    assert_eq!(in_format("markdown").lines().count(), 2 + rows);
    let metrics = in_format("openmetrics");
    let samples =
        metrics.lines().filter(|line| line.starts_with("linerate_copy_bytes_per_second{"));
    assert_eq!(samples.count(), rows, "{metrics}");
    assert!(metrics.ends_with("# EOF\n") && !in_format("prometheus").contains("# EOF"));
    let lines = in_format("json-stream");
    assert_eq!(lines.lines().filter(|line| line.contains(r#""event":"row""#)).count(), rows);
    let last = lines.lines().last().expect("an end");
    let last: serde_json::Value = serde_json::from_str(last).expect("an object");
    assert_eq!(last["copy"]["schema"], "linerate/copy/1");
    assert_eq!(in_format("json-compact").lines().count(), 1);
    let refused = copy(&directory, "--format flent");
    refused.assert_complaint(2, &["--format flent shows single tests only"]);
}

#[test]
fn people_see_a_table_a_picture_and_the_choice() {
    let directory = Directory::new("copy-text");
    let finished = copy(&directory, "");
    finished.assert_success();
    finished.assert_prints(&["GB/s", "shift-x8", "length of a copy", "MSG_TRUNC", "CHOICE"]);
    assert!(finished.stdout.lines().all(|line| line.chars().count() <= 80), "{finished:?}");
}

#[test]
fn copies_explain_a_part_of_a_test() {
    let directory = Directory::new("copy-record");
    let server = Server::start();
    let file = directory.file("test.json");
    let test = format!("-t 1s --tcp --send --json -o {}", file.display());
    run(linerate(&server.arguments("test", &test)));
    let record = copy(&directory, &format!("{} --json", file.display())).json();
    let share = &record["explained"][0];
    let (measured, most) = (&share["measured_bits_per_second"], &share["at_most_bits_per_second"]);
    let (measured, most) = (measured.as_f64().expect("a rate"), most.as_f64().expect("a rate"));
    let ratio = share["of_cpu_ratio"].as_f64().expect("a share");
    assert!((ratio - measured / most).abs() < 1e-6, "{share:#}");
    let screen = copy(&directory, &file.display().to_string());
    screen.assert_prints(&["copies allow at most", "you measured"]);
}

#[test]
fn one_routine_is_measured_and_another_processors_is_refused() {
    let directory = Directory::new("copy-routine");
    let finished = copy(&directory, "--routine shift-x4 --json");
    let record = finished.json();
    let routines = record["cores"][0]["routines"].as_array().expect("routines");
    assert!(routines.iter().all(|one| one["routine"] == "shift-x4"), "{record:#}");
    assert_eq!(record["cores"][0]["choice"]["by"], "user");
    let mut asked = linerate("copy --quick");
    asked.env("COPY_ROUTINE", "memcpy").env("XDG_CACHE_HOME", directory.path());
    let refused = run(asked);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("there is no such copy routine"), "{refused:?}");
}
