//! The text.

use std::time::Duration;

use linerate_report::iperf3::{PeerResults, Role, ServerOutput, Text, UnitFormat};
use measurement::plan::PlanDraft;
use measurement::{ByteSize, Direction, End, Transport};

use crate::scene::{Scene, TEN_MEGABITS};

use Direction::{Both, Receive, Send};
use Role::{Client, Server};
use Transport::{Tcp, Udp};

/// All that an end prints of a test.
fn play(scene: &Scene, mut text: Text) -> String {
    let mut out = text.version("Linux host 6.18 x86_64");
    out += &text.contact(&scene.contact(), &scene.plan);
    out += &text.opened(&scene.streams);
    out += &text.started(&scene.plan, scene.block());
    for samples in 1..=scene.samples.len() {
        out += &text.sampled(&scene.course_at(samples));
    }
    out + &text.summary(&scene.course(), &scene.peer_results())
}

fn plain(scene: &Scene) -> String {
    play(scene, Text::new(scene.role, false, UnitFormat::Adaptive))
}

fn verbose(scene: &Scene) -> String {
    play(scene, Text::new(scene.role, true, UnitFormat::Adaptive))
}

fn two_streams(draft: &mut PlanDraft) {
    draft.streams = 2;
}

fn omitting(draft: &mut PlanDraft) {
    draft.omit = Duration::from_secs(1);
}

#[test]
fn a_client_sends_over_tcp() {
    insta::assert_snapshot!(plain(&Scene::new(Client, Tcp, Send)));
}

#[test]
fn a_client_receives_two_tcp_streams() {
    insta::assert_snapshot!(plain(&Scene::new(Client, Tcp, Receive).with(two_streams)));
}

#[test]
fn both_ends_send_over_tcp_and_omit_the_start() {
    let scene = |role| Scene::new(role, Tcp, Both).with(omitting).with(two_streams);
    insta::assert_snapshot!("tcp_both_client", verbose(&scene(Client)));
    insta::assert_snapshot!("tcp_both_server", verbose(&scene(Server)));
}

#[test]
fn a_client_sends_over_udp() {
    insta::assert_snapshot!(plain(&Scene::new(Client, Udp, Send)));
}

#[test]
fn a_client_receives_two_udp_streams_with_loss_and_reordering() {
    insta::assert_snapshot!(plain(&Scene::new(Client, Udp, Receive).with(two_streams)));
}

#[test]
fn both_ends_send_over_udp() {
    let scene = |role| Scene::new(role, Udp, Both).with(omitting);
    insta::assert_snapshot!("udp_both_client", plain(&scene(Client)));
    insta::assert_snapshot!("udp_both_server", verbose(&scene(Server)));
}

#[test]
fn a_server_receives_and_sends_over_tcp() {
    insta::assert_snapshot!("tcp_server_receives", verbose(&Scene::new(Server, Tcp, Send)));
    let sends = Scene::new(Server, Tcp, Receive).with(two_streams);
    insta::assert_snapshot!("tcp_server_sends", verbose(&sends));
}

#[test]
fn a_server_receives_and_sends_over_udp() {
    let receives = Scene::new(Server, Udp, Send).with(two_streams);
    insta::assert_snapshot!("udp_server_receives", plain(&receives));
    let sends = Scene::new(Server, Udp, Receive).with(two_streams);
    insta::assert_snapshot!("udp_server_sends", plain(&sends));
}

#[test]
fn verbose_tells_what_was_agreed_on() {
    let scene = Scene::new(Client, Udp, Send).with(|draft| {
        draft.end = End::Bytes(ByteSize::from_bytes(10_485_760));
        draft.options.rate = Some(TEN_MEGABITS);
    });
    insta::assert_snapshot!("verbose_bytes", verbose(&scene));
    let scene = Scene::new(Client, Tcp, Send).with(|draft| {
        draft.end = End::Blocks(80);
        draft.options.mss = Some(1400);
        draft.options.type_of_service = 184;
    });
    insta::assert_snapshot!("verbose_blocks", verbose(&scene));
    let text = Text::new(Client, true, UnitFormat::Adaptive);
    assert_eq!(
        text.connected(Some(1448), Some(ByteSize::from_bytes(1448))),
        "Control connection MSS 1448\nSetting UDP block size to 1448\n"
    );
}

#[test]
fn every_unit_can_be_chosen() {
    let scene = Scene::new(Client, Tcp, Send);
    let row = |letter: char| {
        let unit = letter.to_string().parse().expect("a unit");
        play(&scene, Text::new(Client, false, unit)).lines().nth(4).map(str::to_owned)
    };
    let rows: Vec<_> = "kmgtKMGT".chars().filter_map(row).collect();
    insta::assert_snapshot!(rows.join("\n"));
}

#[test]
fn without_intervals_the_omitted_start_is_not_shown() {
    let mut scene = Scene::new(Client, Tcp, Send).with(omitting);
    scene = scene.with(|draft| draft.interval = Duration::ZERO);
    scene.samples.remove(2);
    insta::assert_snapshot!(verbose(&scene));
}

#[test]
fn a_last_sliver_without_payload_is_left_out() {
    let mut scene = Scene::new(Client, Tcp, Send);
    let whole = plain(&scene);
    let mut sliver = scene.samples.last().expect("samples").clone();
    sliver.at = sliver.at.after(Duration::from_micros(10));
    scene.samples.push(sliver);
    assert_eq!(plain(&scene), whole);
}

#[test]
fn the_time_of_a_sender_ends_when_it_stops() {
    let mut scene = Scene::new(Client, Tcp, Send);
    let whole = plain(&scene);
    let stopped = scene.samples[2].at;
    scene.samples[2].at = stopped.after(Duration::from_millis(200));
    let mut text = Text::new(Client, false, UnitFormat::Adaptive);
    let mut course = scene.course();
    course.stopped = Some(stopped);
    let told = text.sampled(&course) + &text.summary(&course, &scene.peer_results());
    assert!(whole.ends_with(&told), "{told}");
}

#[test]
fn intervals_that_were_not_told_come_before_the_summary() {
    let scene = Scene::new(Client, Tcp, Send);
    let mut text = Text::new(Client, false, UnitFormat::Adaptive);
    let told = text.summary(&scene.course(), &scene.peer_results());
    assert!(plain(&scene).ends_with(&told), "{told}");
}

#[test]
fn losses_that_an_old_peer_tells_are_unknown_if_there_was_an_omitted_start() {
    let scene = Scene::new(Client, Udp, Send).with(omitting).old_peer();
    let text = plain(&scene);
    assert!(text.contains(" ms  Unknown/1604  receiver\n"), "{text}");
    let text = plain(&Scene::new(Client, Udp, Send).old_peer());
    assert!(text.contains(" ms  5/1604 (0.31%)  receiver\n"), "{text}");
}

#[test]
fn a_peer_that_never_answered_received_nothing() {
    let scene = Scene::new(Client, Tcp, Send);
    let mut text = Text::new(Client, false, UnitFormat::Adaptive);
    insta::assert_snapshot!(text.summary(&scene.course(), &PeerResults::default()));
}

#[test]
fn a_test_without_streams_has_an_empty_summary() {
    for transport in [Tcp, Udp] {
        let scene = Scene::new(Client, transport, Send).with(two_streams).empty();
        insta::assert_snapshot!(format!("empty_{transport}"), verbose(&scene));
    }
}

#[test]
fn a_file_is_told_of_between_both_ends() {
    let mut text = Text::new(Client, false, UnitFormat::Adaptive);
    text.file("payload.bin", 469_762_048);
    insta::assert_snapshot!(play(&Scene::new(Client, Tcp, Send), text));
}

#[test]
fn a_server_waits_between_two_lines() {
    insta::assert_snapshot!(Text::listening(5201, 2));
}

#[test]
fn what_the_server_printed_stands_behind_the_summary() {
    let text = Text::new(Client, false, UnitFormat::Adaptive);
    let said = text.server_output(&ServerOutput::Text("[  5] a line\n"));
    assert_eq!(said, "\nServer output:\n[  5] a line\n\n");
    let json = serde_json::json!({"start": {}});
    let said = text.server_output(&ServerOutput::Json(&json));
    assert_eq!(said, "\nServer JSON output:\n{\n\t\"start\":\t{\n\t}\n}\n");
    assert_eq!(Text::done(), "\niperf Done.\n");
}
