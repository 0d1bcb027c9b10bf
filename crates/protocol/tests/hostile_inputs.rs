//! What broke iperf3, sent to both machines: one test for each kind of input behind a CVE of
//! the years 2023 to 2025.
//!
//! The bytes are what a peer would send. CVE-2024-26306 (the time that a server takes to open
//! a token), CVE-2025-54349 and CVE-2025-54350 are about tokens:
//! `authentication/tests/hostile_tokens.rs`.

#![expect(clippy::disallowed_methods, reason = "a test reads what memory it has")]

use std::fs;
use std::time::Duration;

use linerate_protocol::iperf3::{
    Client, ClientEvent, Cookie, CounterWidth, ErrorCode, Header, OptionalParameters, Parameters,
    ProtocolError, Results, Server, ServerEvent, State,
};
use measurement::plan::{MIN_DATAGRAM, PlanDraft};
use measurement::{ByteSize, Direction, Timestamp, Transport};
use serde_json::{Value, json};

/// CVE-2023-38403: a length of `0xffffffff` overflowed when one was added for the end of the
/// text; iperf3 before 3.14 reserved nothing and wrote the text over its heap.
///
/// No length begins with a byte other than zero, so these four are a state that has no place;
/// of the lengths that are left, those above the limit are refused at once.
#[test]
fn cve_2023_38403_a_length_that_overflows_is_refused() {
    for (mut server, text) in [(server(), "parameters"), (hearing_server(), "results")] {
        server.handle_bytes(b"\xff\xff\xff\xff{\"tcp\":true}", START);
        assert!(matches!(
            end_of_server(&mut server),
            ProtocolError::UnexpectedState { state: State::AccessDenied, .. }
        ));
        let mut server = if text == "results" { hearing_server() } else { self::server() };
        server.handle_bytes(b"\x00\xff\xff\xff{\"tcp\":true}", START);
        let error = end_of_server(&mut server);
        assert!(
            matches!(error, ProtocolError::TooLong { what, length: 0xff_ffff, .. } if what == text),
            "{error:?}"
        );
    }
}

/// The same from a server, for which iperf3's clients reserved what it announced.
#[test]
fn cve_2023_38403_a_server_cannot_announce_such_a_length_either() {
    let mut client = hearing_client();
    client.handle_bytes(b"\xff\xff\xff\xff{}", START);
    assert_eq!(end_of_client(&mut client), ProtocolError::Busy);
    let mut client = hearing_client();
    client.handle_bytes(b"\x00\xff\xff\xff{}", START);
    assert!(matches!(end_of_client(&mut client), ProtocolError::TooLong { .. }));
}

/// What follows from the same: a length alone must cost nothing. Two hundred servers announce
/// 15 MiB each, the most that a client takes; were that reserved, it would be three gigabytes.
#[test]
fn cve_2023_38403_no_memory_is_reserved_for_an_announced_length() {
    let before = address_space_bytes();
    let mut clients: Vec<_> = (0..200).map(|_| hearing_client()).collect();
    for client in &mut clients {
        client.handle_bytes(b"\x00\xf0\x00\x00{", START);
        assert!(client.deadline().is_some(), "it waits for the rest");
    }
    let grown = address_space_bytes().saturating_sub(before);
    assert!(grown < 1 << 30, "{grown} bytes for announcements alone");
}

/// CVE-2023-7250: a client that sent less than it had announced kept an iperf3 server before
/// 3.15 waiting for ever, and with it everybody else.
///
/// The phase has a deadline, and bytes that come one by one do not move it.
#[test]
fn cve_2023_7250_less_than_was_announced_ends_at_the_deadline() {
    let short: [&[u8]; 4] =
        [b"", b"\x00\x00", b"\x00\x00\x01\x00", b"\x00\x00\x01\x00{\"tcp\":true,\"omit\":0"];
    for bytes in short {
        for mut server in [server(), hearing_server()] {
            let deadline = server.deadline().expect("a peer is waited for");
            assert!(deadline <= START.after(Duration::from_secs(30)));
            for (drop, second) in bytes.iter().zip(0..) {
                server.handle_bytes(&[*drop], START.after(Duration::from_millis(second)));
            }
            assert_eq!(server.deadline(), Some(deadline));
            assert_eq!(server.poll_event(), None);
            server.handle_timeout(deadline);
            assert!(matches!(end_of_server(&mut server), ProtocolError::TimedOut(_)));
        }
    }
}

/// The same, where the client hangs up instead.
#[test]
fn cve_2023_7250_less_than_was_announced_ends_with_the_connection() {
    for mut server in [server(), hearing_server()] {
        server.handle_bytes(b"\x00\x00\x01\x00{\"tcp\":", START);
        server.handle_close();
        assert!(matches!(end_of_server(&mut server), ProtocolError::Closed(_)));
    }
}

/// CVE-2024-53580: parameters whose values had other types than iperf3 before 3.18 expected
/// made it follow a null pointer, e.g. where it copied a text that was a number.
///
/// A key of the wrong type counts as absent (clause 5.6 of docs/protocol/iperf3.md); a text
/// that is no object is refused with iperf3's number.
#[test]
fn cve_2024_53580_no_type_of_a_parameter_does_harm() {
    let values = [json!(null), json!(-1), json!("x"), json!([]), json!({}), json!([{"a": null}])];
    for key in PARAMETER_KEYS {
        for value in &values {
            let mut server = server();
            server.handle_bytes(&framed(&json!({ key: value }).to_string()), START);
            match server.poll_event() {
                Some(ServerEvent::Asked(asked)) => {
                    let draft = PlanDraft::from(asked.plan.clone());
                    assert_eq!(draft.check(), Ok(asked.plan), "{key}: {value}");
                }
                Some(ServerEvent::Failed(ProtocolError::ServerError { .. })) => {}
                other => panic!("{key}: {value}: {other:?}"),
            }
        }
    }
    for text in ["null", "7", "\"tcp\"", "[{\"tcp\":true}]", "", "{\"tcp\":true}\0", "{\"tcp\":"] {
        let mut server = server();
        server.handle_bytes(&framed(text), START);
        let refused =
            ProtocolError::ServerError { code: ErrorCode::PARAMETERS, errno: 0, why: None };
        assert_eq!(end_of_server(&mut server), refused, "{text}");
    }
}

/// The same kind in results, at either end: they are read, or the test fails in words.
#[test]
fn cve_2024_53580_no_type_in_results_does_harm() {
    let good = Results::default().to_json();
    let stream =
        json!({"id": 1, "bytes": 0, "retransmits": 0, "jitter": 0, "errors": 0, "packets": 0});
    let values = [json!(null), json!(-1), json!("x"), json!([null]), json!([[]]), json!({"a": []})];
    for value in &values {
        for key in ["cpu_util_total", "sender_has_retransmits", "streams", "linerate"] {
            let mut results = good.clone();
            results[key] = value.clone();
            both_read_or_fail(&results);
        }
        for key in ["id", "bytes", "retransmits", "jitter", "errors", "packets", "end_time"] {
            let mut results = good.clone();
            results["streams"] = json!([stream]);
            results["streams"][0][key] = value.clone();
            both_read_or_fail(&results);
        }
    }
}

/// The depth that overflows the stack of a reader that calls itself for each level.
#[test]
fn cve_2024_53580_no_depth_of_a_text_does_harm() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for levels in [100, 200, 10_000] {
            let text = format!("{}0{}", open.repeat(levels), close.repeat(levels));
            let mut server = server();
            server.handle_bytes(&framed(&text), START);
            assert!(server.poll_event().is_some());
            assert!(Results::from_json(text.as_bytes()).is_err());
        }
    }
}

/// CVE-2025-54351: with `--skip-rx-copy` iperf3 before 3.19.1 received by `MSG_TRUNC`, where
/// the kernel reports the length of the datagram and not of what it copied, and then read and
/// wrote beyond its buffer.
///
/// A client can ask for that with datagrams of the least size. They have room for a header,
/// and a header is read only from the bytes that came, never by a length that was reported.
#[test]
fn cve_2025_54351_a_header_is_read_only_from_bytes_that_came() {
    let asked = r#"{"udp":true,"skip_rx_copy":1,"udp_counters_64bit":1,"len":16}"#;
    let asked = Parameters::from_json(asked.as_bytes()).expect("iperf3 asks for it too");
    assert!(asked.block().bytes() >= MIN_DATAGRAM);
    let least = usize::try_from(MIN_DATAGRAM).expect("small");
    for width in [CounterWidth::Bits32, CounterWidth::Bits64] {
        assert!(least >= width.header_length());
        for length in 0..64 {
            let header = Header::read(width, &vec![0xff; length]);
            assert_eq!(header.is_some(), length >= width.header_length(), "{length}");
        }
    }
    let less = r#"{"udp":true,"skip_rx_copy":1,"len":15}"#;
    assert_eq!(Parameters::from_json(less.as_bytes()), Err(ErrorCode::BLOCK));
}

/// CVE-2025-54349 and CVE-2025-54350 came in by `authtoken`: whatever it is, it is a text of
/// at most the size of the parameters, or counts as absent.
#[test]
fn cve_2025_54350_no_token_does_harm_before_it_is_judged() {
    let token = |value: Value| {
        let asked = json!({ "authtoken": value }).to_string();
        Parameters::from_json(asked.as_bytes()).expect("the token is judged later").optional.token
    };
    for absent in [json!(null), json!(7), json!([]), json!({}), json!(true)] {
        assert_eq!(token(absent), None);
    }
    for text in ["", "=", "====", "\0", "%", &"A".repeat(60_000)] {
        assert_eq!(token(json!(text)).expect("a text").0, text);
    }
}

fn both_read_or_fail(results: &Value) {
    let message = framed(&results.to_string());
    let (mut server, mut client) = (hearing_server(), hearing_client());
    server.handle_bytes(&message, START);
    let said = server.poll_event();
    assert!(
        matches!(
            said,
            Some(ServerEvent::Results(_) | ServerEvent::Failed(ProtocolError::BadJson { .. }))
        ),
        "{results}: {said:?}"
    );
    client.handle_bytes(&message, START);
    let said = client.poll_event();
    assert!(
        matches!(
            said,
            Some(ClientEvent::Results(_) | ClientEvent::Failed(ProtocolError::BadJson { .. }))
        ),
        "{results}: {said:?}"
    );
}

/// A server that has just asked for the parameters.
fn server() -> Server {
    let mut server = Server::new(START);
    assert_eq!(server.take_output(), [State::ParamExchange.byte()]);
    server
}

/// A server that waits for the results of a client that is no linerate.
fn hearing_server() -> Server {
    let mut server = server();
    server.handle_bytes(&framed("{\"tcp\":true}"), START);
    assert!(matches!(server.poll_event(), Some(ServerEvent::Asked(_))));
    server.accept(None, START);
    server.streams_open(START);
    server.handle_bytes(&[State::TestEnd.byte()], START);
    assert_eq!(server.poll_event(), Some(ServerEvent::Ended));
    server.request_results(Vec::new(), START);
    server
}

/// A client that waits for the server's results, and output with them: the longest text.
fn hearing_client() -> Client {
    let draft = PlanDraft::new(Transport::Tcp, Direction::Send);
    let plan = draft.check().expect("a valid plan");
    let optional = OptionalParameters { server_output: true, ..OptionalParameters::default() };
    let parameters = Parameters::new(&plan, ByteSize::from_bytes(1000)).with_optional(optional);
    let mut client = Client::new(parameters, &Cookie::from_random([7; 36]), START);
    let opening =
        [State::ParamExchange, State::CreateStreams, State::TestStart, State::TestRunning];
    client.handle_bytes(&opening.map(State::byte), START);
    client.end_test(START);
    client.handle_bytes(&[State::ExchangeResults.byte()], START);
    while client.poll_event().is_some() {}
    client.send_results(&Results::default(), START);
    client
}

/// The last that a server says; it stays over whatever comes.
fn end_of_server(server: &mut Server) -> ProtocolError {
    let Some(ServerEvent::Failed(error)) = server.poll_event() else { panic!("it goes on") };
    server.handle_bytes(&[0; 1000], START);
    assert_eq!((server.poll_event(), server.deadline()), (None, None));
    error
}

/// The last that a client says; it stays over whatever comes.
fn end_of_client(client: &mut Client) -> ProtocolError {
    let Some(ClientEvent::Failed(error)) = client.poll_event() else { panic!("it goes on") };
    client.handle_bytes(&[0; 1000], START);
    assert_eq!((client.poll_event(), client.deadline()), (None, None));
    error
}

/// A text with its length in front (clause 5.1 of docs/protocol/iperf3.md).
fn framed(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).expect("short");
    [&length.to_be_bytes(), text.as_bytes()].concat()
}

/// What this process has reserved, used or not (proc_pid_statm(5)).
fn address_space_bytes() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").expect("Linux has it");
    let pages: u64 = statm.split(' ').next().and_then(|pages| pages.parse().ok()).expect("pages");
    // No page of Linux is smaller.
    pages * 4096
}

const START: Timestamp = Timestamp::from_nanos(1_000_000_000_000);
/// Every key that iperf3's clients send (clauses 6.2 to 6.4).
const PARAMETER_KEYS: [&str; 38] = [
    "tcp",
    "udp",
    "sctp",
    "omit",
    "server_affinity",
    "time",
    "num",
    "blockcount",
    "MSS",
    "nodelay",
    "parallel",
    "reverse",
    "bidirectional",
    "window",
    "len",
    "bandwidth",
    "fqrate",
    "pacing_timer",
    "burst",
    "TOS",
    "flowlabel",
    "title",
    "extra_data",
    "congestion",
    "congestion_used",
    "get_server_output",
    "udp_counters_64bit",
    "repeating_payload",
    "zerocopy",
    "dont_fragment",
    "skip_rx_copy",
    "gso",
    "gso_dg_size",
    "gro",
    "mptcp",
    "authtoken",
    "client_version",
    "linerate",
];
