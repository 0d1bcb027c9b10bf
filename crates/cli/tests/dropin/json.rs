//! What is printed as JSON.

use serde_json::{Deserializer, Value};

use crate::support::{
    Finished, Running, Server, await_words, client, report, run, server_report, test,
};

#[test]
fn one_object_tells_of_a_test() {
    let json = report("-n 1M");
    for part in ["start", "intervals", "end", "linerate"] {
        assert!(!json[part].is_null(), "{part}: {json:#}");
    }
    assert!(json["error"].is_null(), "{json:#}");
    let version = json["start"]["version"].as_str().unwrap_or_default();
    assert!(version.starts_with("iperf 3.21"), "{version}");
    assert_eq!(json["end"]["sum_received"]["bytes"], 1 << 20);
    let json = server_report("-n 1M");
    assert_eq!(json["end"]["sum_received"]["bytes"], 1 << 20, "{json:#}");
}

#[test]
fn each_event_is_a_line_as_it_happens() {
    let server = Server::start("--json-stream -1");
    let mut client = Running::start(client(server.port, "-t 1 -i 0.5 -b 10M --json-stream"));
    await_words(&client, r#""interval""#);
    assert!(client.is_running(), "it told of an interval at the end only");
    assert_events(&client.finish());
    assert_events(&server.running.finish());
}

#[test]
fn the_whole_object_follows_the_events() {
    let finished = test("-n 1M --json-stream --json-stream-full-output");
    finished.assert_success();
    let values: Result<Vec<Value>, _> =
        Deserializer::from_str(&finished.stdout).into_iter().collect();
    let values = values.unwrap_or_else(|error| panic!("{error}: {finished:?}"));
    let (whole, events) = values.split_last().expect("output");
    assert_eq!(whole["end"]["sum_received"]["bytes"], 1 << 20, "{whole:#}");
    assert!(whole["event"].is_null() && !whole["start"].is_null(), "{whole:#}");
    assert!(events.iter().all(|event| event["event"].is_string()), "{events:#?}");
}

#[test]
fn extra_data_and_the_title_are_in_the_json_of_both_ends() {
    let server = Server::start("-J -1");
    let finished = run(client(server.port, "-n 1M -J --extra-data hello -T here"));
    let server = server.running.finish();
    for json in [finished.json(), server.json()] {
        assert_eq!(json["extra_data"], "hello", "{json:#}");
        assert_eq!(json["title"], "here", "{json:#}");
    }
}

#[test]
fn the_output_of_the_server_is_in_the_json() {
    for (server, key, words) in [
        ("", "server_output_text", "Accepted connection from"),
        ("-J", "server_output_json", "sum_received"),
    ] {
        let server = Server::start(server);
        let finished = run(client(server.port, "-n 1M -J --get-server-output"));
        finished.assert_success();
        let output = finished.json()[key].to_string();
        assert!(output.contains(words), "{key}: {output}");
        assert!(!output.contains(r#""linerate":"#), "{key}: {output}");
    }
}

#[test]
fn what_has_no_meaning_in_json_is_warned_of() {
    let finished = test("-n 1M -J -f m");
    assert_eq!(finished.code, Some(0));
    assert!(finished.stderr.starts_with("warning: Report format"), "{finished:?}");
    assert!(finished.json()["error"].is_null());
}

/// A start, some intervals, an end.
fn assert_events(finished: &Finished) {
    finished.assert_success();
    let lines = finished.json_lines();
    let names: Vec<_> = lines.iter().map(|line| line["event"].as_str().unwrap_or("none")).collect();
    assert_eq!(names.first(), Some(&"start"), "{names:?}");
    let intervals = names.iter().filter(|name| **name == "interval").count();
    assert!(intervals >= 1, "{names:?}");
    assert_eq!(names.last(), Some(&"end"), "{names:?}");
    assert_eq!(intervals + 2, names.len(), "{names:?}");
    let own = lines.last().map(|line| &line["data"]["linerate"]);
    assert!(own.is_some_and(Value::is_object), "{lines:#?}");
    assert!(lines.iter().all(|line| line["data"].is_object()), "{lines:#?}");
}
