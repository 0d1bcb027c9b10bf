//! The search for throughput: up to a highest load, and where it ends early. Behind a shaper its bounds
//! are a measurement: `cargo xtask proof knee`.

use std::path::Path;

use serde_json::Value;

use crate::support::{Finished, Running, Server, free_port, linerate, plain_iperf3, run};

fn search(server: &Server, options: &str) -> Finished {
    run(linerate(&server.arguments("search", options)))
}

#[test]
fn a_highest_load_that_passes_is_the_answer() {
    let server = Server::start();
    let options = "--max-rate 1M --loss 50% --final-trial 200ms";
    let record = search(&server, &format!("{options} --json")).json();
    assert_eq!(record["goals"][0]["end"], "max-load", "{record:#}");
    assert_eq!(record["goals"][0]["lower_bits_per_second"], 1_000_000, "{record:#}");
    assert_eq!(record["limit"], "none", "{record:#}");
    assert_eq!(record["deviations"].as_array().map(Vec::is_empty), Some(false));
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/search.json");
    let schema = serde_json::from_str(&std::fs::read_to_string(schema).expect("a schema"));
    let schema = jsonschema::validator_for(&schema.expect("JSON")).expect("a schema");
    assert!(schema.is_valid(&record), "{record:#}");
    let text = search(&server, options);
    text.assert_success();
    text.assert_prints(&["lower bound", "1.000 Mbit/s", "LIMIT", "No load failed"]);
}

#[test]
fn paced_tcp_and_the_other_direction_are_searched_as_well() {
    let server = Server::start();
    for options in ["--tcp", "-R", "--tcp -R -P 2"] {
        let options = format!("{options} --max-rate 1M --loss 50% --final-trial 200ms --json");
        let record = search(&server, &options).json();
        assert_eq!(record["goals"][0]["end"], "max-load", "{options}: {record:#}");
    }
}

#[test]
fn a_stream_has_a_line_for_each_trial_and_one_for_the_end() {
    let server = Server::start();
    let options = "--max-rate 1M --loss 50% --final-trial 200ms --json-stream";
    let finished = search(&server, options);
    finished.assert_success();
    let lines: Vec<Value> = finished
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object a line"))
        .collect();
    let (last, trials) = lines.split_last().expect("lines");
    assert_eq!(last["event"], "end");
    assert_eq!(last["search"]["trials"].as_array().map(Vec::len), Some(trials.len()));
    assert!(trials.iter().all(|line| line["event"] == "trial"), "{trials:?}");
}

#[test]
fn what_is_known_is_printed_when_it_is_interrupted() {
    let server = Server::start();
    let line = server.arguments("search", "--final-trial 20s --budget 5m --json --start-rate 1M");
    let running = Running::start(linerate(&line));
    // The third test: two trials have ended.
    (0..3).for_each(|_| drop(server.line_with("begins")));
    running.signal("INT");
    let finished = running.finish();
    assert_eq!(finished.code, Some(130), "{finished:?}");
    let record = finished.json();
    assert!(record["trials"].as_array().is_some_and(|trials| trials.len() >= 2), "{record:#}");
    assert_eq!(record["error"]["kind"], "interrupted", "{record:#}");
    let trials = record["trials"].as_array().map_or(0, Vec::len);
    let told = format!("interrupted after {trials} trials");
    assert_eq!(record["error"]["message"], told, "{record:#}");
    assert!(finished.stderr.ends_with(&format!("linerate: {told}\n")), "{finished:?}");
    assert_eq!(record["goals"][0]["end"], "stopped", "{record:#}");
}

#[test]
fn a_refused_connection_is_no_budget_that_ended() {
    let finished = run(linerate("search 127.0.0.1:1 --json"));
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let record = finished.json();
    assert_eq!(record["goals"][0]["end"], "stopped", "{record:#}");
    let message = record["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("refused"), "{record:#}");
}

#[test]
fn a_plain_iperf3_answers_trials() {
    let port = free_port();
    let Some(server) = plain_iperf3(&format!("-s -p {port}")) else { return };
    let _server = Running::start_listening(server, port);
    let options = "--max-rate 1M --loss 50% --final-trial 200ms --json";
    let options = format!("search 127.0.0.1:{port} {options}");
    let record = run(linerate(&options)).json();
    assert_eq!(record["goals"][0]["end"], "max-load", "{record:#}");
}

#[test]
fn what_cannot_be_searched_is_told_in_a_sentence() {
    let refused = |options: &str, words: &str| {
        run(linerate(&format!("search {options}"))).assert_complaint(2, &[words]);
    };
    refused("127.0.0.1 --loss 60%", "choose 0, or a share up to 50%");
    refused("127.0.0.1 --width 0%", "choose between 0.1% and 50%");
    refused("127.0.0.1 -t 5s", "type --budget");
    refused("127.0.0.1 --format hdr-log", "shows single tests only: choose table, csv,");
    let help = run(linerate("search --help")).stdout;
    assert!(help.contains("- csv:") && !help.contains("- hdr-log:"), "{help}");
    run(linerate("search 127.0.0.1:1")).assert_complaint(1, &["refused"]);
}
