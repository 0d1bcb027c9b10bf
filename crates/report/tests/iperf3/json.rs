//! The JSON.

use std::time::Duration;

use linerate_report::iperf3::{Json, Role, ServerOutput, Tree, event, line, pretty};
use measurement::plan::PlanDraft;
use measurement::{ByteSize, Direction, End, Transport};

use crate::scene::{Scene, TEN_MEGABITS};

use Direction::{Both, Receive, Send};
use Role::{Client, Server};
use Transport::{Tcp, Udp};

/// A test up to its summary.
fn play(scene: &Scene) -> Json {
    let mut json = Json::new(scene.role, "Linux host 6.18 x86_64");
    play_on(&mut json, scene);
    json
}

/// The events of a test up to its summary.
fn play_on(json: &mut Json, scene: &Scene) -> Vec<Tree> {
    json.contact(&scene.contact(), &scene.plan);
    json.opened(&scene.streams);
    let mut events = vec![event("start", &json.started(&scene.plan, scene.block()))];
    for samples in 1..=scene.samples.len() {
        let intervals = json.sampled(&scene.course_at(samples));
        events.extend(intervals.iter().map(|interval| event("interval", interval)));
    }
    assert!(json.summary(&scene.course(), &scene.peer_results()).is_empty(), "all were told");
    events
}

fn whole(scene: &Scene) -> String {
    // Snapshots trim the ends of their lines.
    pretty(&play(scene).finish())
}

fn two_streams(draft: &mut PlanDraft) {
    draft.streams = 2;
}

fn omitting(draft: &mut PlanDraft) {
    draft.omit = Duration::from_secs(1);
}

#[test]
fn a_client_sends_over_tcp() {
    insta::assert_snapshot!(whole(&Scene::new(Client, Tcp, Send)));
}

#[test]
fn a_client_receives_two_tcp_streams() {
    insta::assert_snapshot!(whole(&Scene::new(Client, Tcp, Receive).with(two_streams)));
}

#[test]
fn both_ends_send_over_tcp_and_omit_the_start() {
    let scene = |role| Scene::new(role, Tcp, Both).with(omitting);
    insta::assert_snapshot!("json_tcp_both_client", whole(&scene(Client)));
    insta::assert_snapshot!("json_tcp_both_server", whole(&scene(Server)));
}

#[test]
fn a_client_sends_over_udp() {
    let scene = Scene::new(Client, Udp, Send).with(|draft| {
        draft.end = End::Bytes(ByteSize::from_bytes(2_000_000));
        draft.options.rate = Some(TEN_MEGABITS);
        draft.options.window = Some(ByteSize::from_bytes(200_000));
        draft.options.segmentation_offload = true;
    });
    insta::assert_snapshot!(whole(&scene));
}

#[test]
fn a_client_receives_two_udp_streams_with_loss_and_reordering() {
    insta::assert_snapshot!(whole(&Scene::new(Client, Udp, Receive).with(two_streams)));
}

#[test]
fn both_ends_send_over_udp() {
    let scene = |role| Scene::new(role, Udp, Both).with(omitting);
    insta::assert_snapshot!("json_udp_both_client", whole(&scene(Client)));
    insta::assert_snapshot!("json_udp_both_server", whole(&scene(Server)));
}

#[test]
fn a_server_receives_and_sends_over_tcp() {
    insta::assert_snapshot!("json_tcp_server_receives", whole(&Scene::new(Server, Tcp, Send)));
    insta::assert_snapshot!("json_tcp_server_sends", whole(&Scene::new(Server, Tcp, Receive)));
}

#[test]
fn a_server_receives_and_sends_over_udp() {
    insta::assert_snapshot!("json_udp_server_receives", whole(&Scene::new(Server, Udp, Send)));
    insta::assert_snapshot!("json_udp_server_sends", whole(&Scene::new(Server, Udp, Receive)));
}

#[test]
fn a_test_that_failed_has_one_error() {
    let mut json = Json::new(Client, "Linux host 6.18 x86_64");
    json.error("error - unable to connect to server: Connection refused");
    json.error("another");
    insta::assert_snapshot!(pretty(&json.finish()));
}

#[test]
fn a_test_without_streams_has_no_intervals() {
    let scene = Scene::new(Client, Udp, Send).empty();
    insta::assert_snapshot!(whole(&scene));
}

#[test]
fn a_stream_has_one_event_per_line() {
    let scene = Scene::new(Client, Tcp, Send);
    let mut json = Json::new(Client, "Linux host 6.18 x86_64");
    json.keep_intervals(false);
    let mut events = play_on(&mut json, &scene);
    json.server_output(&ServerOutput::Text("a line\n"));
    json.error("interrupted");
    events.extend(json.last_events());
    let lines: Vec<_> = events.iter().map(line).collect();
    insta::assert_snapshot!(lines.join("\n"));
    let object = json.finish();
    assert_eq!(object.get("intervals"), Some(&Tree::List(Vec::new())));
}

#[test]
fn what_a_user_adds_stands_at_the_end() {
    let mut json = play(&Scene::new(Client, Tcp, Send));
    json.annotate(Some("a title"), Some("more"));
    json.server_output(&ServerOutput::Json(&serde_json::json!({"end": {}})));
    json.error("why");
    json.truth(&serde_json::json!({"nanos": u64::MAX}));
    let Tree::Object(members) = json.finish() else { panic!("an object") };
    let keys: Vec<_> = members.iter().map(|(key, _)| key.as_str()).collect();
    let expected = [
        "start",
        "intervals",
        "end",
        "error",
        "title",
        "extra_data",
        "server_output_json",
        "linerate",
    ];
    assert_eq!(keys, expected);
}

#[test]
fn a_file_stands_between_both_ends() {
    let mut json = Json::new(Client, "Linux host 6.18 x86_64");
    json.file("payload.bin", 469_762_048);
    play_on(&mut json, &Scene::new(Client, Tcp, Send));
    let stream = json.end().get("streams").cloned();
    insta::assert_snapshot!(pretty(&stream.expect("streams")));
}

#[test]
fn no_time_is_a_rate_of_zero() {
    for transport in [Tcp, Udp] {
        let mut scene = Scene::new(Client, transport, Both);
        let start = scene.samples[0].at;
        scene.samples.iter_mut().for_each(|sample| sample.at = start);
        let text = whole(&scene);
        assert!(!text.contains("null"), "{text}");
    }
}

#[test]
fn no_key_stands_twice() {
    for role in [Client, Server] {
        for transport in [Tcp, Udp] {
            let scene = Scene::new(role, transport, Both).with(|draft| {
                draft.options.rate = Some(TEN_MEGABITS);
            });
            assert_distinct_keys(&play(&scene).finish());
        }
    }
}

fn assert_distinct_keys(tree: &Tree) {
    match tree {
        Tree::List(values) => values.iter().for_each(assert_distinct_keys),
        Tree::Object(members) => {
            let mut keys: Vec<_> = members.iter().map(|(key, _)| key).collect();
            keys.sort();
            assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "{keys:?}");
            members.iter().map(|(_, value)| value).for_each(assert_distinct_keys);
        }
        _ => {}
    }
}
