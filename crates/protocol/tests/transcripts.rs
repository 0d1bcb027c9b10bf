//! Control connections recorded from released versions of iperf3, replayed.
//!
//! The recorded client talks to our server, the recorded server to our client.

mod replay;

use std::collections::BTreeMap;
use std::time::Duration;

use linerate_protocol::iperf3::{
    ClientEvent, CounterWidth, ErrorCode, Hello, Parameters, ProtocolError, Results, ServerEvent,
    State, StreamResult, is_reply, stream_id,
};
use measurement::plan::PlanDraft;
use measurement::{ByteSize, Direction, End, Transport};
use replay::{Line, Message, Outcome, Replay, Transcript};

/// What a recorded command line asks for.
struct Scenario {
    name: &'static str,
    transport: Transport,
    direction: Direction,
    streams: u32,
    end: End,
    omit: u64,
    ending: Ending,
}

/// How it ends.
#[derive(Clone, Copy, PartialEq)]
enum Ending {
    Regular,
    Busy,
    ClientInterrupted,
    ServerInterrupted,
}

/// One TCP stream from client to server for a second.
const PLAIN: Scenario = Scenario {
    name: "tcp",
    transport: Transport::Tcp,
    direction: Direction::Send,
    streams: 1,
    end: End::Time(Duration::from_secs(1)),
    omit: 0,
    ending: Ending::Regular,
};
const MEBIBYTE: End = End::Bytes(ByteSize::from_bytes(1 << 20));
const FIVE_SECONDS: End = End::Time(Duration::from_secs(5));
const SCENARIOS: [Scenario; 11] = [
    PLAIN,
    Scenario { name: "tcp-reverse", direction: Direction::Receive, ..PLAIN },
    Scenario { name: "tcp-parallel-3", streams: 3, ..PLAIN },
    Scenario { name: "tcp-bytes-1m", end: MEBIBYTE, ..PLAIN },
    Scenario { name: "tcp-omit-1", omit: 1, ..PLAIN },
    Scenario { name: "udp", transport: Transport::Udp, ..PLAIN },
    Scenario {
        name: "udp-reverse",
        transport: Transport::Udp,
        direction: Direction::Receive,
        ..PLAIN
    },
    Scenario { name: "udp-bidir", transport: Transport::Udp, direction: Direction::Both, ..PLAIN },
    Scenario { name: "busy", ending: Ending::Busy, ..PLAIN },
    Scenario {
        name: "client-interrupted",
        end: FIVE_SECONDS,
        ending: Ending::ClientInterrupted,
        ..PLAIN
    },
    Scenario {
        name: "server-interrupted",
        end: FIVE_SECONDS,
        ending: Ending::ServerInterrupted,
        ..PLAIN
    },
];

impl Scenario {
    fn of(transcript: &Transcript) -> &'static Self {
        let name = transcript.scenario();
        SCENARIOS.iter().find(|scenario| scenario.name == name).expect("a known scenario")
    }

    /// Streams in both directions.
    fn all_streams(&self) -> usize {
        self.streams as usize * if self.direction == Direction::Both { 2 } else { 1 }
    }

    /// Whether the client sends stream `index` (clause 7.5).
    fn client_sends(&self, index: usize) -> bool {
        self.direction.sends() && index < self.streams as usize
    }
}

fn replay(transcript: &Transcript, piece: usize) -> Outcome {
    let plan = PlanDraft::new(Transport::Tcp, Direction::Send).check().expect("a valid plan");
    let otherwise = Parameters::new(&plan, ByteSize::from_bytes(1000));
    Replay::new(transcript, otherwise).play(piece)
}

fn regular() -> impl Iterator<Item = (Transcript, &'static Scenario)> {
    let all = Transcript::all().into_iter().map(|transcript| {
        let scenario = Scenario::of(&transcript);
        (transcript, scenario)
    });
    all.filter(|(_, scenario)| scenario.ending == Ending::Regular)
}

#[test]
fn every_version_has_every_scenario() {
    let mut versions: BTreeMap<Vec<u32>, Vec<String>> = BTreeMap::new();
    for transcript in Transcript::all() {
        versions.entry(transcript.version()).or_default().push(transcript.scenario().to_owned());
    }
    assert!(versions.len() >= 14, "versions are missing: {versions:?}");
    for (version, scenarios) in versions {
        for Scenario { name, direction, .. } in SCENARIOS {
            // Clause 1.4: older versions cannot test both directions.
            let known = version >= vec![3, 7] || direction != Direction::Both;
            assert_eq!(scenarios.iter().any(|other| other == name), known, "{version:?} {name}");
        }
    }
}

#[test]
fn every_connection_ends_as_it_did() {
    for transcript in Transcript::all() {
        let outcome = replay(&transcript, usize::MAX);
        let (client, server) = match Scenario::of(&transcript).ending {
            Ending::Regular => (ClientEvent::Done, Some(ServerEvent::Done)),
            Ending::Busy => (ClientEvent::Failed(ProtocolError::Busy), None),
            Ending::ClientInterrupted => failed(&ProtocolError::ClientTerminated),
            Ending::ServerInterrupted => failed(&ProtocolError::ServerTerminated),
        };
        assert_eq!(outcome.client.last(), Some(&client), "{}", transcript.name);
        assert_eq!(outcome.server.last(), server.as_ref(), "{}", transcript.name);
        let ends = outcome.client.iter().filter(|e| is_end(e)).count();
        assert_eq!(ends, 1, "{}: it goes on after its end", transcript.name);
    }
}

fn failed(error: &ProtocolError) -> (ClientEvent, Option<ServerEvent>) {
    (ClientEvent::Failed(error.clone()), Some(ServerEvent::Failed(error.clone())))
}

fn is_end(event: &ClientEvent) -> bool {
    matches!(event, ClientEvent::Done | ClientEvent::Failed(_))
}

#[test]
fn every_connection_is_the_same_however_its_bytes_are_cut() {
    for transcript in Transcript::all() {
        let whole = replay(&transcript, usize::MAX);
        for piece in [1, 2, 3, 7] {
            assert_eq!(replay(&transcript, piece), whole, "{} in {piece}", transcript.name);
        }
    }
}

#[test]
fn hosts_hear_what_happened_in_order() {
    for (transcript, _) in regular() {
        let outcome = replay(&transcript, usize::MAX);
        let asked = transcript.parameters().expect("it was asked");
        let [client, server] = transcript.results().expect("they were exchanged");
        assert_eq!(
            outcome.client,
            [
                ClientEvent::CreateStreams,
                ClientEvent::Start,
                ClientEvent::Run,
                ClientEvent::ResultsWanted,
                ClientEvent::Results(server),
                ClientEvent::Done,
            ],
            "{}",
            transcript.name
        );
        assert_eq!(
            outcome.server,
            [
                ServerEvent::Asked(Box::new(asked)),
                ServerEvent::Ended,
                ServerEvent::Results(client),
                ServerEvent::Done,
            ],
            "{}",
            transcript.name
        );
    }
}

#[test]
fn the_machines_say_what_iperf3_said() {
    for (transcript, _) in regular() {
        let outcome = replay(&transcript, usize::MAX);
        let (cookie, said) = outcome.client_said.split_at(37);
        assert_eq!(cookie, transcript.cookie().as_bytes(), "{}", transcript.name);
        let mut recorded = transcript.client_messages();
        if is_without_last_word(&transcript) {
            recorded.push(Message::State(State::IperfDone));
        }
        assert_eq!(shape(&Message::cut(said)), shape(&recorded), "{}", transcript.name);
        let recorded = transcript.server_messages();
        let recorded: Vec<_> =
            recorded.into_iter().filter(|message| !matches!(message, Message::Error(_))).collect();
        let said = Message::cut(&outcome.server_said);
        assert_eq!(shape(&said), shape(&recorded), "{}", transcript.name);
    }
}

/// The order of messages, whatever is in the JSON.
fn shape(messages: &[Message]) -> String {
    let words = messages.iter().map(|message| match message {
        Message::State(state) => state.to_string(),
        Message::Json(_) => "{}".to_owned(),
        Message::Error(code) => format!("error {}", code.0),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn parameters_mean_what_the_command_line_says() {
    for transcript in Transcript::all() {
        let (Some(asked), scenario) = (transcript.parameters(), Scenario::of(&transcript)) else {
            continue;
        };
        let name = &transcript.name;
        assert_eq!(asked.plan.transport, scenario.transport, "{name}");
        assert_eq!(asked.plan.direction, scenario.direction, "{name}");
        assert_eq!(asked.plan.streams, scenario.streams, "{name}");
        assert_eq!(asked.plan.end, scenario.end, "{name}");
        assert_eq!(asked.plan.omit, Duration::from_secs(scenario.omit), "{name}");
        assert_eq!(asked.counter_width, CounterWidth::Bits32, "{name}");
        assert_eq!(asked.announcement, None, "{name}");
        // Clause 6.4: 3.17 is the one that gives another version.
        let version = name.split('/').next().map(|v| if v == "3.17" { "3.16+" } else { v });
        assert_eq!(Some(asked.client_version.as_str()), version, "{name}");
        let paced = scenario.transport == Transport::Udp || scenario.end == FIVE_SECONDS;
        assert_eq!(asked.plan.options.rate.is_some(), paced, "{name}");
    }
}

#[test]
fn results_name_every_stream_with_plausible_values() {
    for (transcript, scenario) in regular() {
        let [client, server] = transcript.results().expect("they were exchanged");
        for (results, is_client) in [(&client, true), (&server, false)] {
            let ids: Vec<_> = results.streams.iter().map(|stream| stream.id).collect();
            let count = u32::try_from(scenario.all_streams()).expect("few");
            assert_eq!(ids, (0..count).map(stream_id).collect::<Vec<_>>(), "{}", transcript.name);
            for (index, stream) in results.streams.iter().enumerate() {
                let sends = scenario.client_sends(index) == is_client;
                check_stream(&transcript, scenario, stream, sends);
            }
            check_retransmits(&transcript, scenario, results, is_client);
            assert!((0.0..1000.0).contains(&results.cpu.total), "{}", transcript.name);
        }
        for (ours, theirs) in client.streams.iter().zip(&server.streams) {
            let gap = ours.packets.abs_diff(theirs.packets);
            assert!(gap < 10, "{}: packets {gap} apart", transcript.name);
        }
    }
}

fn check_stream(transcript: &Transcript, scenario: &Scenario, stream: &StreamResult, sends: bool) {
    let (name, version) = (&transcript.name, transcript.version());
    let udp = scenario.transport == Transport::Udp;
    // Clause 10.2: in a test this short all can still be in flight when it ends.
    let least = if scenario.end == MEBIBYTE && !sends { 0 } else { 50_000 };
    assert!(stream.bytes >= least, "{name}: {stream:?}");
    assert_eq!(stream.retransmits >= 0, sends && !udp, "{name}: {stream:?}");
    assert!(stream.retransmits >= -1, "{name}: {stream:?}");
    assert_eq!(stream.packets > 0, udp, "{name}: {stream:?}");
    assert!(!udp || sends || stream.jitter > 0.0, "{name}: {stream:?}");
    assert!((0.0..0.1).contains(&stream.jitter), "{name}: {stream:?}");
    assert!(stream.errors < 10, "{name}: {stream:?}");
    // Clause 10.6: since when a version writes these keys.
    assert_eq!(stream.omitted_errors.is_some(), version >= vec![3, 14], "{name}: {stream:?}");
    assert_eq!(stream.omitted_packets.is_some(), version >= vec![3, 14], "{name}: {stream:?}");
    let longest = if version >= vec![3, 2] { 2.0 } else { 0.0 };
    assert!((0.0..=longest).contains(&stream.seconds), "{name}: {stream:?}");
    assert_eq!(stream.seconds > 0.0, longest > 0.0, "{name}: {stream:?}");
    assert_eq!(stream.counted, None, "{name}");
}

/// Clause 10.5: -1 for an end that only receives, however it is written (clause 5.5).
fn check_retransmits(
    transcript: &Transcript,
    scenario: &Scenario,
    results: &Results,
    is_client: bool,
) {
    let sends = (0..scenario.all_streams()).any(|index| scenario.client_sends(index) == is_client);
    let expected = match (sends, scenario.transport) {
        (false, _) => -1,
        (true, Transport::Udp) => 0,
        (true, Transport::Tcp) => 1,
    };
    assert_eq!(results.sender_has_retransmits, expected, "{}", transcript.name);
}

#[test]
fn every_cookie_is_taken_for_one() {
    for transcript in Transcript::all() {
        assert!(transcript.cookie().is_plausible(), "{}", transcript.name);
    }
}

#[test]
fn every_hello_and_reply_is_recognised() {
    for transcript in Transcript::all() {
        let name = &transcript.name;
        let version = transcript.version();
        // Clause 8.2; all were recorded on a little-endian host.
        let expected =
            if version >= vec![3, 12] { Hello::Current } else { Hello::LegacyLittleEndian };
        let mut pending = None;
        let mut streams = 0;
        for line in &transcript.lines {
            match line {
                Line::Hello(datagram) => {
                    assert_eq!(Hello::recognise(datagram), Some(expected), "{name}");
                    assert_eq!(pending.replace(expected), None, "{name}: two at a time");
                }
                Line::Reply(datagram) => {
                    assert!(is_reply(datagram), "{name}");
                    let hello = pending.take().expect("a hello before each reply");
                    assert_eq!(datagram, &hello.reply(), "{name}");
                    streams += 1;
                }
                _ => {}
            }
        }
        let scenario = Scenario::of(&transcript);
        let udp = scenario.transport == Transport::Udp;
        assert_eq!(streams, if udp { scenario.all_streams() } else { 0 }, "{name}");
    }
}

#[test]
fn version_3_21_reports_an_old_error_after_a_good_test() {
    // Clause 11.4 (b): the code is that of streams which it found closed.
    let transcript = named("3.21/tcp-reverse");
    let last = transcript.server_messages().pop();
    assert_eq!(last, Some(Message::Error(ErrorCode(205))));
    assert_eq!(replay(&transcript, 1).client.last(), Some(&ClientEvent::Done));
}

#[test]
fn version_3_21_answers_a_client_that_gave_up() {
    // Clause 11.2.
    let transcript = named("3.21/client-interrupted");
    assert_eq!(transcript.server_messages().pop(), Some(Message::Error(ErrorCode(119))));
}

#[test]
fn version_3_2_closes_without_a_last_word() {
    // Clause 10.4: the close after DISPLAY_RESULTS is a regular end.
    for (transcript, _) in regular().filter(|(transcript, _)| transcript.version() == [3, 2]) {
        assert!(is_without_last_word(&transcript), "{}", transcript.name);
        assert_eq!(replay(&transcript, 1).server.last(), Some(&ServerEvent::Done));
    }
}

#[test]
fn version_3_12_writes_minus_one_as_a_huge_number() {
    let transcript = named("3.12/udp-bidir");
    let text = transcript.server_messages().into_iter().find_map(Message::json).expect("results");
    let text = String::from_utf8(text).expect("UTF-8");
    assert!(text.contains("\"retransmits\":18446744073709551615"), "{text}");
}

fn is_without_last_word(transcript: &Transcript) -> bool {
    !transcript.client_messages().contains(&Message::State(State::IperfDone))
}

fn named(name: &str) -> Transcript {
    Transcript::all().into_iter().find(|transcript| transcript.name == name).expect("it was there")
}
