//! What memory the longest messages of a peer take until they are read, whatever is in them:
//! the server books so much for every test (`Results::most_memory`).

use std::sync::{Mutex, MutexGuard, PoisonError};

use linerate_protocol::iperf3::{
    Client, ClientEvent, Cookie, OptionalParameters, Parameters, ProtocolError, Results, Server,
    ServerEvent, State,
};
use measurement::plan::PlanDraft;
use measurement::{ByteSize, Direction, Timestamp, Transport};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

#[test]
fn no_results_take_more_of_a_server_than_is_booked_for_them() {
    let _alone = alone();
    for (name, text) in worst_results() {
        let mut server = hearing_server();
        let peak = peak_while(|| push(&text, |piece| server.handle_bytes(piece, NOW)));
        let event = server.poll_event().expect(name);
        assert!(
            matches!(
                event,
                ServerEvent::Results(_) | ServerEvent::Failed(ProtocolError::BadJson { .. })
            ),
            "{name} was not read"
        );
        drop(event);
        assert_peak(name, &text, peak);
        let booked = Results::most_memory(2 * STREAMS);
        assert!(peak as u64 <= booked, "{name}: {peak} bytes, booked are {booked}");
    }
}

#[test]
fn rows_of_zeros_are_read() {
    let _alone = alone();
    let text = document(r#""linerate":{"rows":["#, ROW_OF_ZEROS, "]}");
    let mut server = hearing_server();
    push(&text, |piece| server.handle_bytes(piece, NOW));
    let Some(ServerEvent::Results(results)) = server.poll_event() else { panic!("not read") };
    assert!(results.streams.len() > 40_000 && results.streams[7].counted.is_some());
}

#[test]
fn no_results_take_more_of_a_client_and_its_servers_output_no_more_than_a_tree() {
    let _alone = alone();
    for (name, text) in worst_results() {
        let mut client = hearing_client(true);
        let peak = peak_while(|| push(&text, |piece| client.handle_bytes(piece, NOW)));
        assert!(client.poll_event().is_some(), "{name} was not read");
        assert_peak(name, &text, peak);
    }
    // Denser than iperf3's.
    let names: Vec<_> = (0..SIZE / 10).map(|name| format!("\"{name:05x}\":0,")).collect();
    for (name, text) in [
        ("objects", document(r#""server_output_json":{"a":["#, r#"{"sender":12345678},"#, "]}")),
        ("lists", document(r#""server_output_json":{"a":["#, "[12345678901234567],", "]}")),
        ("names", document(r#""server_output_json":{"#, &names.concat(), "}")),
    ] {
        let mut client = hearing_client(true);
        let peak = peak_while(|| push(&text, |piece| client.handle_bytes(piece, NOW)));
        let Some(ClientEvent::Results(results)) = client.poll_event() else { panic!("{name}") };
        assert!(results.server_output.is_some(), "{name}");
        assert!(peak < OUTPUT_PER_BYTE * text.len(), "{name}: {peak} bytes for {}", text.len());
    }
}

#[test]
fn a_hosts_word_on_itself_takes_no_more_of_a_client_than_a_tree() {
    let _alone = alone();
    let names: Vec<_> = (0..SIZE / 12).map(|name| format!("\"{name:05x}\":[0],")).collect();
    let host = r#""linerate":{"evidence":{"host":{"role":"peer","inventory":{},"series":{"#;
    for (name, text) in [
        ("names", format!(r#"{host}"at":[0],"families":[],"gauges":{{}},"counters":{{"#)),
        ("families", format!(r#"{host}"at":[0],"counters":{{}},"gauges":{{}},"families":["#)),
    ]
    .map(|(name, begin)| match name {
        "names" => (name, document(&begin, &names.concat(), "}}}}}")),
        _ => (name, document(&begin, r#""a","#, "]}}}}")),
    }) {
        let mut client = hearing_client(false);
        let peak = peak_while(|| push(&text, |piece| client.handle_bytes(piece, NOW)));
        assert!(client.poll_event().is_some(), "{name} was not read");
        assert!(peak < OUTPUT_PER_BYTE * text.len(), "{name}: {peak} bytes for {}", text.len());
    }
}

#[test]
fn no_extension_takes_more_of_a_client() {
    let _alone = alone();
    let message = |begin: &str, each: &str, end: &str| {
        // 64 KiB, and 96 bytes for each stream.
        let count = (64 * 1024 + 96 * 2 * STREAMS as usize - 100) / each.len();
        let elements = each.repeat(count);
        format!("{{{begin}{}{end}}}", elements.trim_end_matches(','))
    };
    for (name, text) in [
        ("final", message(r#""final":["#, "[0,0,0],", "]")),
        ("final of nothing", message(r#""final":["#, "{},", "]")),
        ("lists in final", message(r#""final":["#, "[],", "]")),
        ("names", message(r#""extensions":["#, r#""","#, "]")),
        ("ports", message(r#""ports":["#, "1,", "]")),
        ("objects", message("", r#""":{},"#, "")),
    ] {
        let mut client = ending_client(parameters(false));
        client.handle_bytes(&[State::Extension.byte()], NOW);
        let peak = peak_while(|| push(&text, |piece| client.handle_bytes(piece, NOW)));
        assert!(client.poll_event().is_some(), "{name} was not read");
        assert_peak(name, &text, peak);
    }
}

/// Texts that would be far larger as trees, or that become large numbers of something.
fn worst_results() -> Vec<(&'static str, String)> {
    let escapes = r"\u0041";
    vec![
        ("rows of zeros", document(r#""linerate":{"rows":["#, ROW_OF_ZEROS, "]}")),
        ("empty rows", document(r#""linerate":{"rows":["#, "[],", "]}")),
        ("streams as lists", document(r#""linerate":{"streams":["#, SAMPLE_OF_ZEROS, "]}")),
        ("samples of nothing", document(r#""linerate":{"streams":["#, "{},", "]}")),
        ("neighbours", document(r#""linerate":{"shared":["#, "[null,0,0],", "]}")),
        ("lateness", document(r#""linerate":{"pacing":{"lateness":["#, "0,", "]}}")),
        ("saturated", document(r#""linerate":{"runtime":{"mpus":[],"saturated":["#, "0,", "]}}")),
        ("units", document(r#""linerate":{"runtime":{"mpus":["#, UNIT_OF_ZEROS, "]}}")),
        ("what nobody knows", document(r#""linerate":{"tomorrow":["#, "[],", "]}")),
        ("nothing known", document(r#""tomorrow":{"#, r#""":{},"#, "}")),
        ("escapes", document(r#""congestion_used":""#, escapes, "\"")),
        ("lines", document(r#""server_output_text":""#, escapes, "\"")),
        ("dense output", document(r#""server_output_json":{"a":["#, "[],", "]}")),
        ("output of empty names", document(r#""server_output_json":{"#, r#""":0,"#, "}")),
        ("streams", of_streams(STREAM_OF_ZEROS)),
        ("streams of nothing", of_streams("[],")),
    ]
}

/// Results as long as they may be with `each` as often as it fits between the other two.
fn document(begin: &str, each: &str, end: &str) -> String {
    let elements = each.repeat(SIZE / each.len());
    format!("{{{HEAD},\"streams\":[],{begin}{}{end}}}", elements.trim_end_matches(','))
}

fn of_streams(each: &str) -> String {
    let elements = each.repeat(SIZE / each.len());
    format!("{{{HEAD},\"streams\":[{}]}}", elements.trim_end_matches(','))
}

fn assert_peak(name: &str, text: &str, peak: usize) {
    let most = PER_BYTE * text.len() + FREE;
    assert!(peak <= most, "{name}: {peak} bytes for {}, more than {most}", text.len());
}

/// What other tests take is not to be seen by the one that holds this.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The memory that `work` takes beyond what is taken already.
fn peak_while(work: impl FnOnce()) -> usize {
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    work();
    ALLOCATOR.peak_usage().saturating_sub(before)
}

/// As it comes from a socket: its length, and then piece by piece.
fn push(text: &str, mut take: impl FnMut(&[u8])) {
    take(&u32::try_from(text.len()).expect("short").to_be_bytes());
    text.as_bytes().chunks(16 * 1024).for_each(take);
}

fn parameters(wants_output: bool) -> Parameters {
    let mut draft = PlanDraft::new(Transport::Tcp, Direction::Both);
    draft.streams = STREAMS;
    let optional =
        OptionalParameters { server_output: wants_output, ..OptionalParameters::default() };
    Parameters::new(&draft.check().expect("a plan"), ByteSize::from_bytes(1000))
        .with_optional(optional)
}

fn hearing_server() -> Server {
    let mut server = Server::new(NOW);
    push(&parameters(false).to_json().to_string(), |piece| server.handle_bytes(piece, NOW));
    server.accept(None, NOW);
    server.streams_open(NOW);
    server.handle_bytes(&[State::TestEnd.byte()], NOW);
    server.request_results(Vec::new(), NOW);
    while server.poll_event().is_some() {}
    server
}

fn ending_client(parameters: Parameters) -> Client {
    let mut client = Client::new(parameters, &Cookie::from_random([7; 36]), NOW);
    client.handle_bytes(&[State::ParamExchange, State::Extension].map(State::byte), NOW);
    let announced = r#"{"version":"1","extensions":["many-streams","final-sequence"]}"#;
    push(announced, |piece| client.handle_bytes(piece, NOW));
    let opening = [State::CreateStreams, State::TestStart, State::TestRunning];
    client.handle_bytes(&opening.map(State::byte), NOW);
    client.end_test(NOW);
    while client.poll_event().is_some() {}
    client
}

fn hearing_client(wants_output: bool) -> Client {
    let mut client = ending_client(parameters(wants_output));
    client.handle_bytes(&[State::ExchangeResults.byte()], NOW);
    client.send_results(&Results::default(), NOW);
    while client.poll_event().is_some() {}
    client
}

const NOW: Timestamp = Timestamp::from_nanos(1_000_000_000_000);
/// In each direction.
const STREAMS: u32 = 3000;
/// Nearly the limit for so many: 32 KiB, 2 KiB for each of 256, 384 bytes for each other one.
const SIZE: usize = 32 * 1024 + 256 * 2048 + 5744 * 384 - 1000;
const HEAD: &str =
    r#""cpu_util_total":0,"cpu_util_user":0,"cpu_util_system":0,"sender_has_retransmits":0"#;
const ROW_OF_ZEROS: &str = "[1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],";
const SAMPLE_OF_ZEROS: &str = "[0,[0,0,0,0,0,0,0,0,0,0],null],";
const UNIT_OF_ZEROS: &str = "[null,0,0,0,0,0,0,0,0],";
const STREAM_OF_ZEROS: &str =
    r#"{"id":1,"bytes":0,"retransmits":0,"jitter":0,"errors":0,"packets":0},"#;
/// As `Results::most_memory` has it.
const PER_BYTE: usize = 10;
const FREE: usize = 64 * 1024;
/// What a tree of an output takes that is no denser than may be; only a client that
/// asked for it makes one.
const OUTPUT_PER_BYTE: usize = 40;
