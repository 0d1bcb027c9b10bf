//! The ladder: layer by layer over loopback, and where it cannot be climbed.

use std::path::Path;

use lab::{Access, Link, LinkSpec};

use crate::support::{
    Finished, Running, Server, free_port, linerate, linerate_on, plain_iperf3, run, skip,
};

fn ladder(server: &Server, options: &str) -> Finished {
    run(linerate(&server.arguments("ladder", options)))
}

fn link() -> Option<Link> {
    if let Access::Forbidden { reason } = lab::prepare() {
        return skip(&reason);
    }
    Link::create(&LinkSpec::default()).map_or_else(|error| skip(&error.to_string()), Some)
}

#[test]
fn each_layer_has_a_rung_and_its_record() {
    let server = Server::start();
    // Loopback has no speed, and what runs beside makes results doubtful.
    let finished = ladder(&server, "-t 500ms -P 2 --json");
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    let record = finished.json();
    let layers: Vec<_> = record["rungs"].as_array().expect("rungs").iter().collect();
    let names: Vec<_> = layers.iter().map(|rung| rung["layer"].as_str().expect("a name")).collect();
    let all = ["link", "udp-batched", "udp-single", "tcp-streams", "tcp-stream", "application"];
    assert_eq!(names, all);
    for rung in &layers[1..] {
        assert!(rung["rate_bits_per_second"].as_u64() > Some(0), "{rung:#}");
        assert!(rung["record"]["judgement"]["stamp"].is_string(), "{rung:#}");
    }
    assert_eq!(layers[3]["record"]["plan"]["streams"], 2, "{record:#}");
    assert!(record["latency"]["loaded_seconds"].as_f64() > Some(0.0), "{record:#}");
    assert_eq!(record["left_out"].as_array().map(Vec::len), Some(1));
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/ladder.json");
    let schema = serde_json::from_str(&std::fs::read_to_string(schema).expect("a schema"));
    let schema = jsonschema::validator_for(&schema.expect("JSON")).expect("a schema");
    assert!(schema.is_valid(&record), "{record:#}");
}

#[test]
fn people_read_a_table_and_programs_a_line_a_layer() {
    let server = Server::start();
    let text = ladder(&server, "-R -t 500ms -P 2");
    text.assert_prints(&["ladder, receive", "UDP, batched", "TCP, 2 streams", "WHY", "DELAY"]);
    let csv = ladder(&server, "-t 500ms --format csv");
    let lines: Vec<_> = csv.stdout.lines().collect();
    assert_eq!(lines.len(), 7, "{csv:?}");
    assert!(lines[0].starts_with("layer,rate_bits_per_second,of_link_ratio"), "{}", lines[0]);
    assert!(lines[6].starts_with("application,"), "{}", lines[6]);
}

/// Frames need rights, an Ethernet interface and a neighbour.
#[test]
fn frames_that_leave_are_the_lowest_rung_that_is_measured() {
    let Some(link) = link() else { return };
    let _server = Server::start_on(&link.far, "");
    let climb = |options: &str| {
        let words = format!("ladder {} -t 500ms -P 2 {options}", link.far.ipv4());
        run(linerate_on(&link.near, &words))
    };
    let record = climb("--json").json();
    let frames = &record["rungs"][1];
    assert_eq!(frames["layer"], "frames", "{record:#}");
    assert!(frames["rate_bits_per_second"].as_u64() > Some(0), "{frames:#}");
    assert_eq!(frames["frames"]["sizes"][0], 1518, "{frames:#}");
    assert_eq!(record["left_out"].as_array().map(Vec::len), Some(0));
    climb("-R").assert_prints(&["Frames below UDP are not measured: they leave from here"]);
}

#[test]
fn the_layers_before_an_interruption_are_printed() {
    let server = Server::start();
    let line = server.arguments("ladder", "-t 500ms --json");
    let running = Running::start(linerate(&line));
    // The layer of TCP streams has ended.
    server.line_with(", UDP ");
    running.signal("INT");
    let finished = running.finish();
    assert_eq!(finished.code, Some(130), "{finished:?}");
    let record = finished.json();
    let rungs = record["rungs"].as_array().map_or(0, Vec::len);
    assert!(rungs >= 2, "{record:#}");
    let message = record["error"]["message"].as_str().unwrap_or_default();
    assert_eq!(message, "interrupted after 1 layer", "{record:#}");
}

#[test]
fn what_cannot_be_climbed_is_told_in_a_sentence() {
    let refused = |options: &str, words: &str| {
        run(linerate(&format!("ladder {options}"))).assert_complaint(2, &[words]);
    };
    refused("127.0.0.1 -t 10ms", "choose between 500ms and 1h");
    refused("127.0.0.1 --format flent", "shows single tests only: choose table, csv,");
    refused("127.0.0.1 -P 0", "streams");
    run(linerate("ladder 127.0.0.1:1")).assert_complaint(1, &["refused"]);
}

#[test]
fn a_plain_iperf3_answers_up_to_the_round_trips() {
    let port = free_port();
    let Some(server) = plain_iperf3(&format!("-s -p {port}")) else { return };
    let _server = Running::start_listening(server, port);
    let finished = run(linerate(&format!("ladder 127.0.0.1:{port} -t 500ms --json")));
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let record = finished.json();
    assert_eq!(record["rungs"].as_array().map(Vec::len), Some(4), "{record:#}");
    let told = record["error"]["message"].as_str().expect("a sentence");
    assert!(told.contains("linerate serve"), "{told}");
}
