//! More streams than an iperf3 can have (clauses 13.12 to 13.14).

use std::time::Duration;

use linerate_protocol::iperf3::{
    Announcement, Client, ClientEvent, Cookie, ErrorCode, Extension, Parameters, ProtocolError,
    Results, Server, ServerEvent, State, StreamResult, stream_id,
};
use measurement::plan::{MAX_STREAMS, PlanDraft};
use measurement::{ByteSize, Direction, StreamCounters, StreamSample, Timestamp, Transport};

const NOW: Timestamp = Timestamp::from_nanos(1_000_000_000_000);

#[test]
fn two_linerates_open_count_and_compare_any_number() {
    let mut asked = parameters(1000);
    asked.announcement.as_mut().expect("a linerate").further_ports = 2;
    let (mut client, mut server) = (of(asked), Server::new(NOW));
    client.take_output();
    exchange(&mut client, &mut server);
    assert!(
        matches!(server.poll_event(), Some(ServerEvent::Asked(asked)) if asked.plan.streams == 1000)
    );
    // One more than the client asked for.
    server.offer(64, vec![40_000, 40_001, 40_002]);
    server.accept(None, NOW);
    exchange(&mut client, &mut server);
    let Some(ClientEvent::PeerAnnounced(peer)) = client.poll_event() else { panic!("who?") };
    assert_eq!((peer.under_way, peer.ports), (Some(64), vec![40_000, 40_001]));
    assert_eq!(client.poll_event(), Some(ClientEvent::CreateStreams));
    for arrived in [16, 48, 32] {
        server.report_arrived(arrived);
    }
    exchange(&mut client, &mut server);
    assert_eq!(client.arrived(), 48, "what has come does not go");
    server.streams_open(NOW);
    exchange(&mut client, &mut server);
    client.end_test(NOW);
    exchange(&mut client, &mut server);
    server.request_results(Vec::new(), NOW);
    exchange(&mut client, &mut server);
    client.send_results(&results(1000), NOW);
    exchange(&mut client, &mut server);
    assert_eq!(server.poll_event(), Some(ServerEvent::Ended));
    assert_eq!(server.poll_event(), Some(ServerEvent::Results(results(1000))));
    server.send_results(&results(1000), NOW);
    exchange(&mut client, &mut server);
    let told = std::iter::from_fn(|| client.poll_event())
        .find(|event| matches!(event, ClientEvent::Results(_)));
    assert_eq!(told, Some(ClientEvent::Results(results(1000))));
    assert_eq!(server.poll_event(), Some(ServerEvent::Done));
}

#[test]
fn an_iperf3_that_would_try_is_left_in_order() {
    let mut client = client(129);
    client.handle_bytes(&[State::ParamExchange.byte()], NOW);
    client.take_output();
    client.handle_bytes(&[State::CreateStreams.byte()], NOW);
    assert_eq!(client.poll_event(), Some(ClientEvent::Failed(ProtocolError::TooManyStreams)));
    assert_eq!(client.take_output(), [State::ClientTerminate.byte()]);
}

#[test]
fn an_iperf3s_refusal_is_told_in_our_words() {
    let mut client = client(129);
    client.handle_bytes(&[State::ParamExchange.byte()], NOW);
    let code = ErrorCode::STREAMS.0.to_be_bytes();
    client.handle_bytes(&[&[State::ServerError.byte()][..], &code, &[0; 4]].concat(), NOW);
    assert_eq!(client.poll_event(), Some(ClientEvent::Failed(ProtocolError::TooManyStreams)));
}

#[test]
fn who_does_not_know_of_it_is_neither_offered_nor_told_anything() {
    let mut older = parameters(1);
    let mut announcement = Announcement::own();
    announcement.extensions.retain(|name| name != "many-streams");
    older.announcement = Some(announcement);
    let (mut client, mut server) = (of(older), Server::new(NOW));
    client.take_output();
    exchange(&mut client, &mut server);
    server.offer(64, vec![40_000]);
    server.accept(None, NOW);
    server.report_arrived(1);
    let said = String::from_utf8_lossy(&server.take_output()).into_owned();
    assert!(!said.contains("under_way") && !said.contains("arrived"), "{said}");
}

#[test]
fn only_streams_that_have_come_buy_time() {
    let mut client = client(1000);
    let announced = Extension::Announcement(Announcement::own());
    client.handle_bytes(&[State::ParamExchange.byte()], NOW);
    client.handle_bytes(&message(&announced), NOW);
    client.handle_bytes(&message(&Extension::Arrived { arrived: 7 }), NOW);
    assert_eq!(client.arrived(), 0, "none is open yet");
    client.handle_bytes(&[State::CreateStreams.byte()], NOW);
    let mut told = |arrived, seconds| {
        let now = NOW.after(Duration::from_secs(seconds));
        client.handle_bytes(&message(&Extension::Arrived { arrived }), now);
        client.deadline().expect("it does not wait for ever")
    };
    let first = told(0, 0);
    assert_eq!([told(0, 1), told(0, 2)], [first; 2]);
    let second = told(500, 3);
    assert!(second > first);
    assert_eq!([told(500, 4), told(499, 5)], [second; 2]);
    let third = told(u32::MAX - 1, 6);
    assert!(third > second);
    assert_eq!(told(u32::MAX, 7), third, "no more than all can come");
    assert_eq!(client.arrived(), 1000);
}

#[test]
fn a_message_that_came_in_part_is_read_whole_though_this_end_goes_on() {
    let mut client = client(1000);
    let announced = Extension::Announcement(Announcement::own());
    client.handle_bytes(&[State::ParamExchange.byte()], NOW);
    client.handle_bytes(&message(&announced), NOW);
    for state in [State::CreateStreams, State::TestStart, State::TestRunning] {
        client.handle_bytes(&[state.byte()], NOW);
    }
    let last = message(&Extension::Final { streams: Vec::new() });
    let (some, rest) = last.split_at(6);
    client.handle_bytes(some, NOW);
    client.end_test(NOW);
    client.handle_bytes(rest, NOW);
    client.handle_bytes(&[State::ExchangeResults.byte()], NOW);
    let last = std::iter::from_fn(|| client.poll_event()).last();
    assert_eq!(last, Some(ClientEvent::ResultsWanted));
}

#[test]
fn the_largest_results_of_the_largest_test_are_told_in_a_length_that_is_taken() {
    for worst in [worst(u64::MAX, None), worst(u64::MAX, Some(3))] {
        let (mut client, mut server) = both_ways_at_the_end();
        client.send_results(&worst, NOW);
        exchange(&mut client, &mut server);
        let Some(ServerEvent::Results(told)) = server.poll_event() else { panic!("refused") };
        assert_told(&told, &worst);
        server.send_results(&worst, NOW);
        exchange(&mut client, &mut server);
        let told = std::iter::from_fn(|| client.poll_event()).find_map(|event| match event {
            ClientEvent::Results(results) => Some(results),
            _ => None,
        });
        assert_told(&told.expect("refused"), &worst);
    }
}

#[test]
fn likely_results_of_the_largest_test_are_told_whole() {
    let (mut client, mut server) = both_ways_at_the_end();
    let likely = worst(1 << 22, Some(0));
    client.send_results(&likely, NOW);
    exchange(&mut client, &mut server);
    assert_eq!(server.poll_event(), Some(ServerEvent::Results(likely)));
}

/// iperf3's figures are there.
fn assert_told(told: &Results, worst: &Results) {
    assert_eq!(told.streams.len(), worst.streams.len());
    for (told, worst) in told.streams.iter().zip(&worst.streams) {
        let figures = |one: &StreamResult| {
            let counts = [one.bytes, one.retransmits.unsigned_abs(), one.packets, one.errors];
            (one.id, counts.map(|count| count.min(1 << 53)))
        };
        assert_eq!(figures(told), figures(worst));
        assert_eq!(told.counted, None);
        assert!(told.omitted_packets.is_none() || told.omitted_packets == worst.omitted_packets);
    }
}

/// The largest test that there is, with every number so large.
fn worst(number: u64, omitted: Option<u64>) -> Results {
    let most = number.min(1 << 53);
    let omitted = Some(omitted.unwrap_or(most));
    let stream = |index| {
        let id = stream_id(index);
        let counters = StreamCounters {
            bytes: most,
            blocks: most,
            sequence: most,
            unique: most,
            ..StreamCounters::default()
        };
        StreamResult {
            id,
            bytes: most,
            retransmits: most.cast_signed(),
            errors: most,
            packets: most,
            omitted_errors: omitted,
            omitted_packets: omitted,
            seconds: 86_400.25,
            counted: Some(StreamSample { id, counters, tcp: None, udp: None }),
            ..StreamResult::default()
        }
    };
    let streams = MAX_STREAMS;
    Results { streams: (0..streams).map(stream).collect(), ..Results::default() }
}

/// Both ends of the largest test, when results are due.
fn both_ways_at_the_end() -> (Client, Server) {
    let mut draft = PlanDraft::new(Transport::Tcp, Direction::Both);
    draft.streams = MAX_STREAMS / 2;
    let plan = draft.check().expect("a plan");
    let mut client = of(Parameters::new(&plan, ByteSize::from_bytes(1000)));
    let mut server = Server::new(NOW);
    client.take_output();
    exchange(&mut client, &mut server);
    server.accept(None, NOW);
    server.streams_open(NOW);
    exchange(&mut client, &mut server);
    client.end_test(NOW);
    exchange(&mut client, &mut server);
    server.request_results(Vec::new(), NOW);
    exchange(&mut client, &mut server);
    while server.poll_event().is_some() {}
    (client, server)
}

/// An extension as it travels.
fn message(extension: &Extension) -> Vec<u8> {
    let text = serde_json::to_vec(extension).expect("serialises");
    let length = u32::try_from(text.len()).expect("short").to_be_bytes();
    [&[State::Extension.byte()], &length[..], &text].concat()
}

fn parameters(streams: u32) -> Parameters {
    let mut draft = PlanDraft::new(Transport::Tcp, Direction::Send);
    draft.streams = streams;
    Parameters::new(&draft.check().expect("a plan"), ByteSize::from_bytes(1000))
}

fn of(parameters: Parameters) -> Client {
    Client::new(parameters, &Cookie::from_random([7; 36]), NOW)
}

fn client(streams: u32) -> Client {
    of(parameters(streams))
}

fn results(streams: u32) -> Results {
    let stream = |index| {
        let (id, bytes) = (stream_id(index), u64::from(index) << 20);
        let mut counted = StreamSample { id, ..StreamSample::default() };
        counted.counters.bytes = bytes;
        StreamResult {
            id,
            bytes,
            retransmits: -1,
            omitted_errors: Some(0),
            omitted_packets: Some(0),
            seconds: 2.5,
            counted: Some(counted),
            ..StreamResult::default()
        }
    };
    Results { streams: (0..streams).map(stream).collect(), ..Results::default() }
}

/// Carries everything both ways until nobody has more to say.
fn exchange(client: &mut Client, server: &mut Server) {
    loop {
        let (up, down) = (client.take_output(), server.take_output());
        if up.is_empty() && down.is_empty() {
            return;
        }
        server.handle_bytes(&up, NOW);
        client.handle_bytes(&down, NOW);
    }
}
